"""The door on standard input and output, line by line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from attrs import define
from mcp_types import INVALID_REQUEST, PARSE_ERROR

from deska_host import Host
from deska_host.mcp import DoorLimits, McpDoor
from tests.doors.support_door import (
    INITIALIZE,
    INITIALIZED,
    Ends,
    a_call,
    a_door,
    a_line,
    an_envelope,
    lines,
    on_asyncio,
    pipes,
    send,
)
from tests.support_installed import python_path

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.doors.support_door import Behind

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
PING = an_envelope("ping", 5)


@define
class Wire:
    """The client's end, by hand."""

    behind: Behind
    read: int
    write: int
    lines: AsyncGenerator[bytes]

    async def say(self, data: bytes) -> None:
        await send(self.write, data)

    async def hear(self) -> dict[str, Any]:
        """The next line."""
        message: dict[str, Any] = json.loads(await anext(self.lines))
        return message


@asynccontextmanager
async def a_wire(**limits: Any) -> AsyncGenerator[Wire]:
    """A client of the handshake era that has shaken hands."""
    given: dict[str, Any] = {"limits": DoorLimits(**limits)}
    async with (
        a_door(door=given) as behind,
        pipes(behind.door) as (read, write),
        aclosing(lines(read)) as answers,
    ):
        wire = Wire(behind, read, write, answers)
        await wire.say(a_line(INITIALIZE))
        assert (await wire.hear())["id"] == 0
        await wire.say(a_line(INITIALIZED))
        yield wire


@pytest.mark.rule("M-8")
@pytest.mark.parametrize(
    "line",
    [
        b"what?",
        b"{",
        b'{"jsonrpc":"2.0","method":7,"id":1}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud800"}}',
        b"[" * 100_000,
        b"\0",
    ],
    ids=["text", "half", "shape", "utf-8", "surrogate", "deep", "nul"],
)
async def test_a_line_that_is_no_message_is_said_to_be_none(line: bytes) -> None:
    async with a_wire() as wire:
        await wire.say(line + b"\n" + a_line(PING))
        refused, pong = await wire.hear(), await wire.hear()
        assert refused["id"] is None
        assert refused["error"]["code"] == PARSE_ERROR
        assert pong == {"jsonrpc": "2.0", "id": 5, "result": {}}


@pytest.mark.rule("M-8", "M-12")
async def test_a_line_may_have_its_limit_and_not_a_byte_more() -> None:
    async with a_wire(message_bytes=1_000) as wire:
        await wire.say(json.dumps(PING).encode().ljust(1_000) + b"\n")
        assert (await wire.hear())["result"] == {}
        for size in (1_001, 2_000, 70_000, 200_000):
            await wire.say(json.dumps(PING).encode().ljust(size) + b"\n" + a_line(PING))
            refused, pong = await wire.hear(), await wire.hear()
            assert refused["id"] is None
            assert refused["error"]["code"] == INVALID_REQUEST
            assert "1000 bytes" in refused["error"]["message"]
            assert pong["result"] == {}


@pytest.mark.rule("M-8")
async def test_a_line_without_an_end_takes_no_memory() -> None:
    async with a_wire(message_bytes=100_000) as wire:
        tracemalloc.start()
        try:
            chunk = b"x" * 65_536
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(128):
                await wire.say(chunk)
            await wire.say(b"\n")
            assert (await wire.hear())["error"]["code"] == INVALID_REQUEST
            assert tracemalloc.get_traced_memory()[1] - before < 2_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.rule("M-8")
async def test_blank_lines_and_other_line_ends_do_no_harm() -> None:
    async with a_wire() as wire:
        text = json.dumps(PING).encode()
        await wire.say(b"\n  \n\r\n" + text + b"\r\n" + text[:10])
        assert (await wire.hear())["result"] == {}
        await wire.say(text[10:] + b"\n")
        assert (await wire.hear())["result"] == {}


@pytest.mark.rule("M-8", "M-4")
async def test_when_the_input_ends_the_calls_do_and_the_door_returns() -> None:
    async with a_door() as behind:
        stdin, write = os.pipe()
        read, stdout = os.pipe()
        input_end = Ends(write)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(behind.door.serve_stdio, stdin, stdout)
                await send(write, a_line(INITIALIZE) + a_line(INITIALIZED))
                await send(write, a_line(a_call("add", {"text": "x"})))
                await behind.hands.calls.get()
                input_end.close()
            # It returned by itself.
            assert (await behind.heard.get()).code == "stopped"
            await behind.quiet()
        finally:
            input_end.close()
            Ends(stdin, read, stdout).close()


@pytest.mark.rule("M-8", "M-4")
async def test_when_nobody_reads_the_output_any_more_the_door_returns() -> None:
    async with a_door() as behind:
        stdin, write = os.pipe()
        read, stdout = os.pipe()
        output_end = Ends(read)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(behind.door.serve_stdio, stdin, stdout)
                await send(write, a_line(INITIALIZE) + a_line(INITIALIZED))
                await send(write, a_line(a_call("add", {"text": "x"})))
                await behind.hands.calls.get()
                output_end.close()
                await send(write, a_line(PING))
            assert (await behind.heard.get()).code == "stopped"
            await behind.quiet()
        finally:
            output_end.close()
            Ends(stdin, write, stdout).close()


@pytest.mark.rule("M-6", "M-8")
async def test_a_client_that_says_nothing_does_not_hold_up_the_end() -> None:
    async with a_door() as behind:
        stdin, write = os.pipe()
        read, stdout = os.pipe()
        try:
            async with anyio.create_task_group() as group, aclosing(lines(read)) as answers:
                group.start_soon(behind.door.serve_stdio, stdin, stdout)
                await send(write, a_line(INITIALIZE))
                assert json.loads(await anext(answers))["id"] == 0
                await behind.door.__aexit__(None, None, None)
            # It returned, with the client still there.
            assert behind.host.pending == 0
        finally:
            Ends(stdin, write, read, stdout).close()


@pytest.mark.rule("M-8")
async def test_a_client_that_does_not_read_does_not_hold_up_the_end() -> None:
    given = {"limits": DoorLimits(farewell_seconds=0.05)}
    async with a_door(door=given) as behind, pipes(behind.door) as (_, write):
        # Answers of far more than a pipe holds; the last of them wait in the door.
        await send(write, a_line(INITIALIZE) + a_line(INITIALIZED))
        for number in range(60):
            await send(write, a_line(an_envelope("tools/list", number)))
    assert behind.host.pending == 0


@pytest.mark.rule("M-8")
async def test_input_may_come_from_a_file(tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.write_bytes(a_line(INITIALIZE))
    heard = tmp_path / "heard"
    async with Host() as host, McpDoor(host, "task-1") as door:
        with told.open("rb") as source, heard.open("wb") as target:
            await door.serve_stdio(source.fileno(), target.fileno())
        with Path(os.devnull).open("rb") as source, heard.open("ab") as target:
            await door.serve_stdio(source.fileno(), target.fileno())
    (answer,) = heard.read_text().splitlines()
    assert json.loads(answer)["result"]["serverInfo"]["name"] == "deska"


# --- the process's own descriptors


@pytest.mark.rule("M-8")
async def test_standard_input_is_taken_once_and_given_back() -> None:
    kept = os.dup(0)
    stdin, write = os.pipe()
    read, stdout = os.pipe()
    ends = Ends(write, read)
    os.dup2(stdin, 0)
    os.close(stdin)
    theirs = os.fstat(0)
    try:
        async with (
            Host() as host,
            McpDoor(host, "task-1") as door,
            McpDoor(host, "task-2") as other,
            anyio.create_task_group() as group,
        ):
            group.start_soon(door.serve_stdio, None, stdout)
            await send(write, a_line(INITIALIZE))
            async with aclosing(lines(read)) as answers:
                assert json.loads(await anext(answers))["id"] == 0
            # Whoever reads meanwhile finds the end, and not a word of the protocol.
            assert os.read(0, 1) == b""
            with pytest.raises(RuntimeError, match="already"):
                await other.serve_stdio()
            with pytest.raises(RuntimeError, match="already"):
                await other.serve_stdio(None, stdout)
            ends.close()
        assert os.path.samestat(os.fstat(0), theirs)
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(stdout)
        ends.close()


@pytest.mark.rule("M-8")
@on_asyncio
async def test_nothing_but_the_protocol_is_on_standard_output() -> None:
    def run() -> tuple[bytes, bytes]:
        program = subprocess.Popen(
            [sys.executable, "-m", "tests.doors.printing_stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            # With a buffer, as most programs have one.
            env={**os.environ, "PYTHONPATH": python_path(ROOT), "PYTHONUNBUFFERED": ""},
        )
        with program as served:
            assert served.stdin is not None
            assert served.stderr is not None
            call = an_envelope("tools/call", 1, name="list_panels", arguments={})
            served.stdin.write(a_line(INITIALIZE) + a_line(INITIALIZED) + a_line(call))
            served.stdin.flush()
            told = b""
            while not told.endswith(b"done\n"):
                line = served.stderr.readline()
                assert line, told
                told += line
            out, rest = served.communicate(timeout=60)
        return out, told + rest

    out, errors = await anyio.to_thread.run_sync(run)
    *protocol, last = out.splitlines()
    assert last == b"after"
    assert [json.loads(line)["id"] for line in protocol] == [0, 1]
    assert errors == b"print\ndescriptor\nchild\ndone\nbuffered\n"
