"""Two tasks of one host, a client at each door, and everything that can end a call, all at once.

    python -m tests.byhand.two_doors --rounds 40

A child process has one host with one panel and two doors by HTTP. The protocol's own clients call
at both, in both eras, interleaved: reads that give back a marker of their task, writes whose
counters are given back, calls that are cancelled, connections that drop, streams that are left.
No marker and no counter may come out at the other door, and nothing may be pending when all is
over. Then the child is killed in the middle of calls, and each client has to get an error. A seed
is printed; ``--seed`` plays its order again, as far as the loop lets it.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import httpx2
from attrs import asdict, define, field
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from deska_host import Host
from deska_host.mcp import Heard, McpDoor
from tests.byhand.serving import PATIENCE, ROOT
from tests.doors.support_door import ERAS, INITIALIZE
from tests.doors.support_http import ACCEPT
from tests.host.support_host import an_object, connect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

TASKS = ("garden", "attic")
MARK = an_object(("mark",), mark={"type": "string", "maxLength": 60})
KINDS = {"give": "read", "keep": "write", "check": "write", "wait": "write"}


def a_panel() -> dict[str, Any]:
    """The panel: it gives a marker back, keeps one as a revision, checks one, or says nothing."""
    actions: list[dict[str, Any]] = [
        {"name": name, "kind": kind, "description": f"Does {name}.", "input": MARK}
        for name, kind in KINDS.items()
    ]
    actions[0]["output"] = MARK
    actions[2]["input"] = an_object(
        ("mark", "revision"), **MARK["properties"], revision={"type": "string", "maxLength": 8}
    )
    return {
        "id": "echo",
        "name": "Echo",
        "version": "1.0.0",
        "sdk": 4,
        "permissions": ["agent"],
        "agent": {"actions": actions},
    }


# ---------------------------------------------------------------- the child: one host, two doors


async def page(deska: Any) -> None:
    """The panel's page."""

    async def hear(call: dict[str, Any]) -> None:
        action, given = call["action"], call["input"]
        await anyio.sleep(random.random() / 200)
        if action == "give":
            await deska.agent.respond(call["callId"], given)
        elif action == "keep":
            await deska.agent.respond(call["callId"], {"ok": True, "revision": given["mark"]})
        elif action == "check":
            # What the agent gave as a counter is here the revision that it stands for.
            own = given["revision"] == given["mark"]
            answer = {"ok": True} if own else {"ok": False, "error": "conflict"}
            await deska.agent.respond(call["callId"], answer)

    deska.on("agent.action", hear)
    await deska.ready()


async def child() -> None:
    """Serve, and say what is pending whenever a line comes."""
    heard: dict[str, Counter[str]] = {task: Counter() for task in TASKS}

    async def on_switch(_: str) -> bool:
        return True

    async with Host() as host, AsyncExitStack() as stack:
        await host.install(a_panel(), page=page)
        await host.start_page("echo")
        begun = {}
        for task in TASKS:

            def on_call(one: Heard, task: str = task) -> None:
                heard[task][one.code or one.action] += 1

            door = McpDoor(host, task, supervisor=on_switch, on_call=on_call)
            await stack.enter_async_context(door)
            await connect(host, task, "echo")
            begun[task] = asdict(await stack.enter_async_context(door.http()))
        print(json.dumps(begun), flush=True)
        while await anyio.to_thread.run_sync(sys.stdin.readline):
            print(json.dumps({"pending": host.pending, "heard": heard}), flush=True)


# ---------------------------------------------------------------- the clients


@define
class Door:
    """One task's door, and what its clients saw there."""

    task: str
    url: str
    headers: dict[str, str]
    seen: Counter[str] = field(factory=Counter)
    wrong: list[str] = field(factory=list)
    marks: int = 0

    def mark(self) -> str:
        """A new marker of this task."""
        self.marks += 1
        return f"{self.task}-{self.marks}"

    @asynccontextmanager
    async def client(self, era: str) -> AsyncGenerator[Client]:
        """The SDK's own."""
        try:
            async with (
                httpx2.AsyncClient(headers=self.headers, verify=False, timeout=PATIENCE) as http,
                Client(streamable_http_client(self.url, http_client=http), mode=era) as client,
            ):
                yield client
        except* anyio.BrokenResourceError:
            # It trips over the answer to a call that it cancelled, if that comes while it leaves.
            pass

    async def call(self, client: Client, action: str, **given: str) -> str:
        """The text of what a call gives."""
        arguments = {"panel": "echo", "action": action, "input": given}
        result = await client.call_tool("call_action", arguments)
        assert result.content[0].type == "text"
        text = result.content[0].text
        others = [task for task in TASKS if task != self.task and task in text]
        if others:
            self.wrong.append(f"{self.task} got {text!r}")
        return text

    async def give(self, client: Client) -> None:
        """A read that gives its own marker back."""
        mark = self.mark()
        text = await self.call(client, "give", mark=mark)
        if f'{{"mark":"{mark}"}}' not in text:
            self.wrong.append(f"{self.task} asked for {mark} and got {text!r}")

    async def keep(self, client: Client) -> None:
        """A write with a counter, which stands for this task's revision and no other."""
        mark = self.mark()
        counter = json.loads(await self.call(client, "keep", mark=mark))["revision"]
        checked = json.loads(await self.call(client, "check", mark=mark, revision=counter))
        if checked["ok"] is not True:
            self.wrong.append(f"{self.task}: {counter} is not {mark}")

    async def cancel(self, client: Client) -> None:
        """A call that is cancelled in the middle."""
        with anyio.move_on_after(random.random() / 10):
            await self.call(client, "wait", mark=self.mark())

    async def drop(self, era: str) -> None:
        """A client that is gone in the middle of a call."""
        async with anyio.create_task_group() as group:

            async def asks() -> None:
                async with self.client(era) as client:
                    await self.call(client, "wait", mark=self.mark())

            group.start_soon(asks)
            await anyio.sleep(0.05 + random.random() / 10)
            group.cancel_scope.cancel()

    async def leave_stream(self) -> None:
        """A stream of events that is opened and left."""
        async with httpx2.AsyncClient(headers=self.headers | ACCEPT, verify=False) as http:
            opened = await http.post(self.url, json=INITIALIZE)
            session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
            async with http.stream("GET", self.url, headers=session) as stream:
                assert stream.status_code == 200

    async def work(self, rounds: int, order: random.Random) -> None:
        """All of it, over and over, with one client of each era."""
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(self.client(era)) for era in ERAS]
            for _ in range(rounds):
                async with anyio.create_task_group() as group:
                    for name in order.choices(
                        ("give", "keep", "cancel", "drop", "leave_stream"), (8, 8, 3, 1, 1), k=16
                    ):
                        self.seen[name] += 1
                        at = order.randrange(len(ERAS))
                        if name == "drop":
                            group.start_soon(self.drop, ERAS[at])
                        elif name == "leave_stream":
                            group.start_soon(self.leave_stream)
                        else:
                            group.start_soon(getattr(self, name), clients[at])

    async def until_killed(self, order: random.Random, busy: anyio.Event) -> int:
        """Calls until the server is killed; how many clients got an error."""
        errors = 0

        async def one(era: str) -> None:
            nonlocal errors
            try:
                async with self.client(era) as client:
                    while True:
                        await self.call(client, order.choice(("give", "keep")), mark="x")
                        busy.set()
            except Exception:
                errors += 1

        async with anyio.create_task_group() as group:
            for era in ERAS:
                group.start_soon(one, era)
        return errors


async def run(process: subprocess.Popen[str], rounds: int, seed: int) -> int:
    """All of it; how much is wrong."""
    assert process.stdout is not None
    assert process.stdin is not None

    def ask() -> dict[str, Any]:
        process.stdin.write("\n")
        process.stdin.flush()
        told: dict[str, Any] = json.loads(process.stdout.readline())
        return told

    begun = json.loads(process.stdout.readline())
    doors = [
        Door(task, told["url"], {"Authorization": f"Bearer {told['token']}"})
        for task, told in begun.items()
    ]
    async with anyio.create_task_group() as group:
        for at, door in enumerate(doors):
            group.start_soon(door.work, rounds, random.Random(seed + at))
    # A client that has left is noticed at the next turn of the server's loop.
    with anyio.move_on_after(PATIENCE):
        while (told := ask())["pending"]:
            await anyio.sleep(0.05)
    wrong = [one for door in doors for one in door.wrong]
    for door in doors:
        heard = dict(sorted(told["heard"][door.task].items()))
        print(f"{door.task}: did {dict(sorted(door.seen.items()))}; the host heard {heard}")
        if door.seen["give"] != heard["give"]:
            wrong.append(f"{door.task}: reads were lost")
    print(f"pending when all was over: {told['pending']}")
    if told["pending"]:
        wrong.append("something is pending")

    errors: list[int] = []

    async def killed(door: Door, busy: anyio.Event) -> None:
        errors.append(await door.until_killed(random.Random(seed), busy))

    with anyio.move_on_after(PATIENCE) as patience:
        async with anyio.create_task_group() as group:
            events = [anyio.Event() for _ in doors]
            for door, busy in zip(doors, events, strict=True):
                group.start_soon(killed, door, busy)
            for busy in events:
                await busy.wait()
            process.send_signal(signal.SIGKILL)
    clients = len(doors) * len(ERAS)
    print(f"killed in the middle of calls: {sum(errors)} of {clients} clients got an error")
    if patience.cancelled_caught or sum(errors) != clients:
        wrong.append("a client was not told that the server is gone")
    for one in wrong:
        print(f"WRONG: {one}")
    return len(wrong)


def main() -> int:
    """Run all; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        anyio.run(child)
        return 0
    print(f"seed {given.seed}")
    random.seed(given.seed)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.byhand.two_doors", "--child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stderr is not None
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.extend(process.stderr), daemon=True)
    reader.start()
    try:
        wrong = anyio.run(run, process, given.rounds, given.seed)
    finally:
        process.kill()
        process.wait()
        reader.join()
        sys.stderr.writelines(said)
    return 1 if wrong or said else 0


if __name__ == "__main__":
    sys.exit(main())
