"""What a door by HTTP answers to clients that mean no good, and what they cost it.

    python -m tests.byhand.hostile_http

``deska serve`` runs in a process of its own. First each request alone: what is answered. Then many
at once: how many of each status, and how much memory and how many descriptors the server has
before, at most, and after. After each storm the protocol's own client lists and calls, in both
eras. Bounded in count and time, on loopback only; about a minute. The exit status is 1 when an
answer is not the right one, memory grows, or something stays. Linux only, because of ``/proc``.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import httpx2
from attrs import define, field
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.byhand.hostile_cases import (
    CLOSED,
    PATIENCE,
    Case,
    Cases,
    a_call,
    outcome,
    reset,
    statuses,
)
from tests.byhand.serving import TRUST, Server, a_place, serving, table
from tests.cli.support_desk import write_panel
from tests.doors.support_door import ERAS, INITIALIZE, MB
from tests.doors.support_http import ACCEPT

if TYPE_CHECKING:
    from collections.abc import Awaitable

#: What memory may have grown by when a storm is over, and while it lasts. Bodies of 32 MB may be
#: under way, and each is there twice while the SDK reads it.
GROWN, SWOLLEN = 16 * MB, 160 * MB
#: 512 connections, and what the server has open for itself.
DESCRIPTORS = 540

# ---------------------------------------------------------------- one by one


async def one_by_one(server: Server) -> int:
    """Try each case; how many went wrong."""
    cases = list(Cases(server).all())
    found: dict[str, str] = {}
    limiter = anyio.Semaphore(64)

    async def attempt(case: Case) -> None:
        async with limiter:
            found[case.name] = await outcome(case, server.port)

    async with anyio.create_task_group() as group:
        # The slow ones first, so that they are slow together.
        for case in sorted(cases, key=lambda case: len(case.pieces) < 2 and bool(case.pieces)):
            group.start_soon(attempt, case)
    wrong = 0
    rows: list[tuple[object, ...]] = []
    for case in cases:
        right = found[case.name] in case.right
        wrong += not right
        note = "" if right else f"WRONG: not {' or '.join(case.right)}"
        rows.append((case.name, _short(found[case.name]), note))
    table(rows)
    print(f"{len(cases)} cases, {wrong} wrong")
    return wrong


def _short(text: str) -> str:
    parts = text.split(" ")
    return f"{len(parts)} × {parts[0]}" if len(parts) > 3 and len(set(parts)) == 1 else text


# ---------------------------------------------------------------- many at once


@define
class Cost:
    """Memory and descriptors of a process."""

    process: int
    before: int = field(init=False, default=0)
    descriptors: int = field(init=False, default=0)
    most: int = field(init=False, default=0)

    def begin(self) -> None:
        """Remember what it has, and count the most from here."""
        self.before, self.descriptors, self.most = self._memory("VmRSS"), self._count(), 0
        Path(f"/proc/{self.process}/clear_refs").write_text("5")

    async def watch(self) -> None:
        """Count descriptors until this is cancelled; memory is counted by the system."""
        while True:
            self.most = max(self.most, self._count())
            await anyio.sleep(0.02)

    async def end(self) -> tuple[str, list[str]]:
        """What it took, as a text, and what is wrong with that."""
        with anyio.move_on_after(PATIENCE):
            while self._count() > self.descriptors:
                await anyio.sleep(0.05)
        most, after, left = self._memory("VmHWM"), self._memory("VmRSS"), self._count()
        wrong = []
        if after - self.before > GROWN:
            wrong.append("memory grew")
        if most - self.before > SWOLLEN:
            wrong.append("memory swelled")
        if self.most > DESCRIPTORS:
            wrong.append("too many descriptors")
        if left > self.descriptors:
            wrong.append(f"{left - self.descriptors} descriptors stayed")
        sizes = " ".join(f"{size / MB:4.0f}" for size in (self.before, most, after))
        return f"{sizes} MB, {self.descriptors} {self.most} {left}", wrong

    def _memory(self, name: str) -> int:
        status = Path(f"/proc/{self.process}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
        assert found is not None
        return int(found[1]) * 1_024

    def _count(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.process}/fd").iterdir())


async def many(server: Server, count: int, request: bytes, wait: float = 60) -> Counter[str]:
    """So many at once, each on a connection of its own."""
    told: Counter[str] = Counter()

    async def one() -> None:
        try:
            async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
                got = b""
                with anyio.move_on_after(wait), suppress(anyio.EndOfStream):
                    await stream.send(request)
                    while not statuses(got):
                        got += await stream.receive()
                told[next(iter(statuses(got)), CLOSED)] += 1
        except (OSError, anyio.BrokenResourceError):
            told[CLOSED] += 1

    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(one)
    return told


async def strangers(server: Server) -> Counter[str]:
    """1,000 at once without the token."""
    return await many(server, 1_000, Cases(server).request(Authorization=None))


async def known(server: Server) -> Counter[str]:
    """1,000 at once with the token."""
    return await many(server, 1_000, Cases(server).request())


async def mixed(server: Server) -> Counter[str]:
    """1,000 at once, every other without the token."""
    told: Counter[str] = Counter()

    async def half(storm: Awaitable[Counter[str]]) -> None:
        told.update(await storm)

    async with anyio.create_task_group() as group:
        group.start_soon(half, many(server, 500, Cases(server).request(Authorization=None)))
        group.start_soon(half, many(server, 500, Cases(server).request()))
    return told


async def sessions(server: Server) -> Counter[str]:
    """1,000 sessions of the handshake era, 50 at a time, and all left without a word."""
    told: Counter[str] = Counter()
    request = Cases(server).request(
        body=json.dumps(INITIALIZE).encode(), MCP_Protocol_Version=None, Mcp_Method=None
    )
    for _ in range(20):
        told.update(await many(server, 50, request))
    return told


async def large_bodies(server: Server) -> Counter[str]:
    """64 bodies of 4 MiB at once, which are 256 MiB."""
    return await many(server, 64, Cases(server).request(body=b" " * (4 * MB)))


async def too_large_bodies(server: Server) -> Counter[str]:
    """64 bodies in chunks without an end, at once."""
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    endless = Cases(server).request("Transfer-Encoding: chunked", length=None, body=chunk * 80)
    return await many(server, 64, endless)


async def slow_heads(server: Server) -> Counter[str]:
    """2,000 connections that send half a head and wait."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100
    return await many(server, min(2_000, allowed), Cases(server).request()[:40], PATIENCE)


async def abandoned_streams(server: Server) -> Counter[str]:
    """300 streams of events, 100 at a time, each in a session of its own and left at once."""
    told: Counter[str] = Counter()

    async def one(http: httpx2.AsyncClient) -> None:
        opened = await http.post(server.url, json=INITIALIZE)
        if opened.status_code != 200:
            told[str(opened.status_code)] += 1
            return
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        async with http.stream("GET", server.url, headers=session) as stream:
            told[str(stream.status_code)] += 1

    for _ in range(3):
        async with _client(server) as http, anyio.create_task_group() as group:
            for _ in range(100):
                group.start_soon(one, http)
    return told


async def abandoned_calls(server: Server) -> Counter[str]:
    """60 calls that the page does not answer, each left in the middle."""
    given = {"panel": "echo", "action": "say", "input": {"word": "silence"}}
    request = Cases(server).request(body=a_call("call_action", given), Mcp_Name="call_action")
    server.all()
    async with AsyncExitStack() as stack:
        for _ in range(60):
            stream = await stack.enter_async_context(
                await anyio.connect_tcp("127.0.0.1", server.port)
            )
            await stream.send(request)
            reset(stream)
        # The last of them has been heard when another call gets its answer.
        async with _client(server) as http:
            await http.post(server.url, json=INITIALIZE)
            await anyio.sleep(0.5)
    ended = [await anyio.to_thread.run_sync(server.next) for _ in range(60)]
    return Counter(told["code"] for told in ended)


def _client(server: Server) -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx2.AsyncClient(
        headers=server.headers | ACCEPT, verify=False, limits=limits, timeout=60
    )


#: Each storm with the outcomes it may have.
STORMS: dict[Any, set[str]] = {
    strangers: {"401"},
    known: {"200", "503"},
    mixed: {"200", "401", "503"},
    sessions: {"200"},
    large_bodies: {"400", "503"},
    too_large_bodies: {"413", "503"},
    slow_heads: {CLOSED},
    abandoned_streams: {"200", "503"},
    abandoned_calls: {"stopped"},
}


async def storms(server: Server) -> int:
    """Each storm; how many went wrong."""
    cost = Cost(server.process.pid)
    # What is loaded and kept once is no growth.
    for storm in (known, large_bodies, too_large_bodies):
        await storm(server)
    await real_clients(server)
    rows: list[tuple[object, ...]] = [
        ("storm", "answers", "memory before, most, after; descriptors the same", "took", "")
    ]
    wrong = 0
    for storm, right in STORMS.items():
        cost.begin()
        began = time.monotonic()
        async with anyio.create_task_group() as group:
            group.start_soon(cost.watch)
            told = await storm(server)
            group.cancel_scope.cancel()
        took = time.monotonic() - began
        problems = [f"{told[other]} × {other}" for other in set(told) - right]
        try:
            await real_clients(server)
        except Exception as error:
            problems.append(f"a real client failed: {error!r}")
        text, more = await cost.end()
        problems += more
        answers = ", ".join(f"{count} × {status}" for status, count in sorted(told.items()))
        note = f"WRONG: {'; '.join(problems)}" if problems else ""
        rows.append(((storm.__doc__ or "").rstrip("."), answers, text, f"{took:.1f} s", note))
        wrong += bool(problems)
    table(rows)
    print(f"{len(STORMS)} storms, {wrong} wrong")
    return wrong


async def real_clients(server: Server) -> None:
    """The SDK's own client lists and calls, in both eras."""
    for era in ERAS:
        async with (
            httpx2.AsyncClient(headers=server.headers, verify=False) as http,
            Client(streamable_http_client(server.url, http_client=http), mode=era) as client,
        ):
            with anyio.fail_after(PATIENCE):
                tools = await client.list_tools()
                assert [tool.name for tool in tools.tools] == ["list_panels", "call_action"]
                given = {"panel": "echo", "action": "say", "input": {"word": era}}
                said = await client.call_tool("call_action", given)
                assert said.content[0].type == "text"
                assert said.content[0].text == '{"ok":true}', said.content[0].text


async def run(server: Server) -> int:
    """All of it; how much went wrong."""
    wrong = await one_by_one(server)
    print()
    return wrong + await storms(server)


def main() -> int:
    """Run all; 1 if something is wrong."""
    with a_place() as place:
        panel = write_panel(place.folder / "echo")
        with serving(place, *TRUST, panels=(panel,)) as server:
            wrong = anyio.run(run, server)
    if "Traceback" in server.errors:
        print(f"WRONG: the server said\n{server.errors}")
        wrong += 1
    print("the server ended with 0 when it was asked to")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
