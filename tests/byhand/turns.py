"""Many turns with random pauses: memory stays flat, and so does the cost of a turn (A-8, S-6).

    python -m tests.byhand.turns --turns 10000

Two tasks work on one panel, one whose agent switches in the middle of a turn and one that does
only between turns. What happens in each turn is random, and ``--seed`` plays it again. After every
turn nothing is pending, no pause stands, and the agent is in the mode it should be in.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
from attrs import define, field

from deska_host import Blob, Host, ManualClock
from deska_sdk import AgentCode, PageError, Refused
from tests.host.support_host import Images, a_panel, connect, later, picture

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from deska_host import Agent, Deska, Task
    from deska_host.tasks import Turn

MODES = ("supervised", "accept_edits", "automatic")


@define
class Worker:
    """A task, the mode its agent is in, and the mode it should be in between turns."""

    name: str
    task: Task = field(init=False)
    now: str = "automatic"
    wanted: str = "automatic"
    refuses: bool = False

    async def on_switch(self, mode: str) -> bool:
        await anyio.lowlevel.checkpoint()
        if self.refuses and mode == "supervised":
            return False
        self.now = mode
        return True


@define
class Turns:
    """The desk, and what happened on it."""

    seed: int
    kinds: Counter[str] = field(factory=Counter)
    random: random.Random = field(init=False)
    clock: ManualClock = field(factory=ManualClock)
    host: Host = field(init=False)
    workers: dict[str, Worker] = field(factory=dict)
    deska: Deska = field(init=False)
    up: anyio.Event = field(factory=anyio.Event)
    kept: str = ""

    def __attrs_post_init__(self) -> None:
        self.random = random.Random(self.seed)

    # --- the page

    async def page(self, deska: Deska) -> None:
        async def hear(call: dict[str, Any]) -> None:
            if call["action"] == "read":
                answer: dict[str, Any] = {"notes": ["x" * self.random.randrange(2_000)]}
                if self.random.random() < 0.2:
                    answer["images"] = [self.kept]
            else:
                answer = {"ok": True, "revision": f"v{self.random.randrange(20)}"}
            try:
                await deska.agent.respond(call["callId"], answer)
            except PageError:
                self.kinds["answered too late"] += 1

        self.deska = deska
        deska.on("agent.action", hear)
        await deska.ready()
        self.up.set()

    # --- one turn

    async def on_turn(self, turn: Turn, worker: Worker) -> None:
        if turn.message.panel:
            assert worker.now == "supervised"
            assert worker.task.paused
            self.kinds["panel's turns"] += 1
        await self.work(turn.agent, worker)
        if self.random.random() < 0.05:
            worker.task.stop()

    async def work(self, agent: Agent, worker: Worker) -> None:
        """What an agent does in a turn, and what the person does meanwhile."""
        things: list[Callable[[Agent, Worker], Awaitable[None]]] = [
            self.read,
            self.read,
            self.write,
            self.ask,
            self.change_mode,
            self.give_up,
        ]
        for _ in range(self.random.randrange(4)):
            await self.random.choice(things)(agent, worker)

    async def read(self, agent: Agent, worker: Worker) -> None:
        worker.refuses = self.random.random() < 0.1
        reply = await agent.call_action("board", "read", {})
        worker.refuses = False
        self.kinds[f"read: {reply.code or 'came'}"] += 1
        if reply.code is None:
            assert worker.now == "supervised"
            assert worker.task.paused
            assert await agent.may_preview() is AgentCode.PREVIEW_PAUSED

    async def write(self, agent: Agent, worker: Worker) -> None:
        reply = await agent.call_action("board", "add", {"text": "x"})
        self.kinds[f"write: {reply.code or 'done'}"] += 1

    async def ask(self, agent: Agent, worker: Worker) -> None:
        async with anyio.create_task_group() as group:
            got = later(group, agent.ask_approval, f"key {self.random.randrange(5)}")
            await settle()
            for asked in self.host.person.approvals():
                answer = self.random.choice(("once", "always", "deny"))
                await self.host.person.approve(asked.request, answer)
                self.kinds["approvals"] += 1
            await got.wait()

    async def change_mode(self, agent: Agent, worker: Worker) -> None:
        mode = self.random.choice(MODES)
        await self.host.person.set_mode(worker.name, mode)
        worker.wanted = mode
        self.kinds["modes set"] += 1

    async def give_up(self, agent: Agent, worker: Worker) -> None:
        """A read that is cancelled somewhere on its way."""
        async with anyio.create_task_group() as group:
            reading = later(group, agent.call_action, "board", "read", {})
            for _ in range(self.random.randrange(8)):
                await anyio.lowlevel.checkpoint()
            reading.scope.cancel()
            await reading.ended()
        self.kinds["reads given up"] += 1

    async def turn(self) -> None:
        """One turn, begun by the program, by a message or by Send to task."""
        worker = self.random.choice(list(self.workers.values()))
        match self.random.randrange(4):
            case 0:
                await worker.task.send("work")
            case 1:
                files = [self.kept] if self.random.random() < 0.3 else None
                await self.deska.agent.offer(text="look", files=files)
                try:
                    await self.host.person.send_to_task("board", task=worker.name)
                except Refused:
                    self.kinds["not sent"] += 1
            case _:
                agent = worker.task.start_turn()
                await self.work(agent, worker)
                worker.task.end_turn(self.random.choice(("completed", "failed", "stopped")))
        await self.quiet()

    async def quiet(self) -> None:
        """Wait until nothing happens any more, and look that nothing is left."""
        for _ in range(100):
            await settle()
            if not self.host.pending and not any(w.task.in_turn for w in self.workers.values()):
                break
        self.clock.advance(self.random.random() * 3)
        await settle()
        assert self.host.pending == 0, self.host.pending
        for worker in self.workers.values():
            assert not worker.task.in_turn
            assert not worker.task.paused
            assert worker.now == worker.task.mode == worker.wanted, (worker, worker.task.mode)

    async def run(self, turns: int, measure: Callable[[int], None]) -> None:
        async with Host(clock=self.clock, images=Images()) as host:
            self.host = host
            await host.install(a_panel())
            await host.start_page("board", page=self.page)
            await self.up.wait()
            self.kept = (await self.deska.files.put(Blob(picture())))["id"]
            for name in ("mid_turn", "next_turn"):
                worker = self.workers[name] = Worker(name)

                async def on_turn(turn: Turn, worker: Worker = worker) -> None:
                    await self.on_turn(turn, worker)

                worker.task = host.attach_task(
                    name,
                    mode=worker.now,
                    switches=name,
                    on_switch=worker.on_switch,
                    on_turn=on_turn,
                )
                await connect(host, name, "board")
            for number in range(turns):
                await self.turn()
                measure(number + 1)


async def settle() -> None:
    for _ in range(12):
        await anyio.lowlevel.checkpoint()


@define
class Measured:
    """Figures of one run. Memory in bytes, time in seconds of this process."""

    kinds: Counter[str]
    #: Memory at each tenth of the run, from the first on.
    traced: list[int] = field(factory=list)
    resident: list[int] = field(factory=list)
    #: How many objects Python's collector knows, at each tenth.
    objects: list[int] = field(factory=list)
    #: Seconds of this process at each tenth.
    spent: list[float] = field(factory=list)


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def measured(turns: int, seed: int, backend: str, *, trace: bool) -> Measured:
    """Play ``turns`` turns; with ``trace`` Python's own memory is counted, which takes time."""
    desk = Turns(seed)
    figures = Measured(desk.kinds)
    step = max(1, turns // 10)

    def measure(number: int) -> None:
        if number % step == 0:
            figures.spent.append(time.process_time())
            gc.collect()
            figures.resident.append(resident())
            figures.objects.append(len(gc.get_objects()))
            if trace:
                figures.traced.append(tracemalloc.get_traced_memory()[0])

    if trace:
        tracemalloc.start()
    try:
        figures.spent.append(time.process_time())
        anyio.run(desk.run, turns, measure, backend=backend)
    finally:
        if trace:
            tracemalloc.stop()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--backend", choices=("asyncio", "trio"), default="asyncio")
    parser.add_argument("--no-trace", action="store_true", help="measure time and RSS only")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    figures = measured(options.turns, options.seed, options.backend, trace=not options.no_trace)
    for kind, count in sorted(figures.kinds.items()):
        print(f"  {count:7} {kind}")
    each = [
        (after - before) / (options.turns // 10) * 1_000
        for before, after in zip(figures.spent, figures.spent[1:], strict=False)
    ]
    print("ms of this process per turn, by tenth:", " ".join(f"{one:.2f}" for one in each))
    print("RSS, MB, by tenth:", " ".join(f"{one / 1e6:.1f}" for one in figures.resident))
    print(f"RSS from 20 % to 100 %: {figures.resident[-1] / figures.resident[1] - 1:+.2%}")
    print("objects, by tenth:", " ".join(str(one) for one in figures.objects))
    if figures.traced:
        print("Python's memory, KB, by tenth:", " ".join(f"{n // 1000}" for n in figures.traced))
        print(f"from 20 % to 100 %: {figures.traced[-1] / figures.traced[1] - 1:+.2%}")


if __name__ == "__main__":
    sys.exit(main())
