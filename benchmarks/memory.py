"""What idle connections and open calls take of memory; a process of its own for each question.

``python -m benchmarks.memory connections traced auto`` and ``… calls …`` print one line of JSON. A
process that measured other things before would answer with what those left behind.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tracemalloc
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from deska_host import Host, ManualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from deska_host import Agent
    from deska_sdk.codec import Codec

_TEXT: Final = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 100}}}


def panel(name: str, actions: int = 1) -> dict[str, Any]:
    """The manifest of a panel with so many writes."""
    acts = [
        {"name": f"act_{place}", "kind": "write", "description": "Acts.", "input": _TEXT}
        for place in range(actions)
    ]
    return {
        "id": name,
        "name": name,
        "version": "1.0.0",
        "sdk": 4,
        "permissions": ["agent"],
        "agent": {"actions": acts},
    }


class Gate:
    """Pages that keep their calls until :meth:`open` lets them answer."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], Awaitable[Any]]] = []

    async def page(self, deska: Any) -> None:
        async def hear(call: dict[str, Any]) -> None:
            self.waiting.append(lambda: deska.agent.respond(call["callId"], {"ok": True}))

        deska.on("agent.action", hear)
        await deska.ready()

    async def open(self) -> None:
        answers, self.waiting = self.waiting, []
        for answer in answers:
            await answer()


def traced() -> int:
    """The bytes that Python objects hold."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def resident() -> int:
    """The bytes of memory the process has, or 0 where the system does not say."""
    gc.collect()
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * 4_096


@asynccontextmanager
async def desk(
    panels: int, tasks: int, gate: Gate, codec: Codec
) -> AsyncIterator[tuple[Host, list[Agent]]]:
    """A host with running panels and tasks in a turn, and no connection yet."""
    async with Host(clock=ManualClock(), codec=codec) as host:
        for place in range(panels):
            await host.install(panel(f"p{place}"), page=gate.page)
            await host.start_page(f"p{place}")
        agents = [host.attach_task(f"t{place}").start_turn() for place in range(tasks)]
        yield host, agents


async def connect(host: Host, panels: int, tasks: int) -> None:
    """Connect every task to every panel."""
    for place in range(panels):
        consent = host.person.sheet(f"p{place}").fingerprint
        for task in range(tasks):
            await host.person.connect(f"t{task}", f"p{place}", consent=consent)


async def connections(
    count: Callable[[], int], codec: Codec, panels: int = 100, tasks: int = 100
) -> Any:
    """The bytes of one idle connection among 10,000."""
    async with desk(panels, tasks, Gate(), codec) as (host, _):
        await connect(host, 1, 1)
        before = count()
        await connect(host, panels, tasks)
        number = panels * tasks - 1
        return {"connections": number, "each": (count() - before) / number}


async def calls(count: Callable[[], int], codec: Codec, panels: int = 40, tasks: int = 5) -> Any:
    """The bytes that open calls hold: at 1/4, 1/2 and all of them, and when all have ended."""
    gate = Gate()
    async with desk(panels, tasks, gate, codec) as (host, agents):
        await connect(host, panels, tasks)
        await _opened(gate, agents, panels, 1)  # what the first call of all compiles and imports
        before = count()
        points: list[tuple[int, int]] = []
        for each in (12, 25, 50):
            points.append(await _opened(gate, agents, panels, each, count))
        assert host.pending == 0
        return {
            "points": [(number, held - before) for number, held in points],
            "kept": count() - before,
        }


async def _opened(
    gate: Gate, agents: list[Agent], panels: int, each: int, count: Callable[[], int] = traced
) -> tuple[int, int]:
    """Open ``each`` calls on every connection, count, and let them end.

    Gives how many there were and what they held.
    """
    number = each * panels * len(agents)
    async with asyncio.TaskGroup() as group:
        for agent in agents:
            for place in range(panels):
                for _ in range(each):
                    group.create_task(agent.call_action(f"p{place}", "act_0", {"text": "Water"}))
        while len(gate.waiting) < number:
            await asyncio.sleep(0)
        held = count()
        await gate.open()
    return number, held


def main() -> None:
    """Answer one question."""
    question, how, codec = sys.argv[1:]
    if how == "traced":
        tracemalloc.start()
    count = {"traced": traced, "resident": resident}[how]
    answer = {"connections": connections, "calls": calls}[question]
    print(json.dumps(asyncio.run(answer(count, cast("Codec", codec)))))


if __name__ == "__main__":
    main()
