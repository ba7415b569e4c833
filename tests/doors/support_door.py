"""A door with one panel behind it, and clients of the SDK's own on every way in."""

from __future__ import annotations

import json
import os
import random
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import anyio.lowlevel
import httpx2
import mcp_types as types
import pytest
from attrs import define
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from deska_host import Host, ManualClock
from deska_host.mcp import Heard, McpDoor
from tests.host.support_host import Hands, Images, Inbox, a_panel, connect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from deska_host import RunningPage
    from deska_host.mcp import HttpAddress

MB = 1_048_576
PNG_HEAD = b"\x89PNG\r\n\x1a\n"

ERAS = ("auto", "legacy")
#: Every way in, in both eras, on each loop that it runs on.
EACH_WAY = [
    (loop, way, era)
    for loop, way in (
        ("asyncio", "memory"),
        ("trio", "memory"),
        ("asyncio", "pipes"),
        ("trio", "pipes"),
        ("asyncio", "http"),
    )
    for era in ERAS
]
#: For what does not hang on the way in: each way, era and loop once.
SOME_WAYS = [
    ("asyncio", "memory", "auto"),
    ("trio", "memory", "legacy"),
    ("trio", "pipes", "auto"),
    ("asyncio", "http", "legacy"),
]
some_ways = pytest.mark.parametrize(("anyio_backend", "way", "era"), SOME_WAYS)
each_way = pytest.mark.parametrize(("anyio_backend", "way", "era"), EACH_WAY)
on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])
each_era = pytest.mark.parametrize("era", ERAS)


class Modes:
    """An embedder's supervisor: it remembers what it was asked for, and obeys."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.obeys = True

    async def on_switch(self, mode: str) -> bool:
        self.asked.append(mode)
        return self.obeys


class BigImages(Images):
    """An executor that gives an agent images of a size, whatever they show.

    The tests are about what carries them: the bytes are random, so nothing makes them smaller.
    """

    def __init__(self, megabytes: float) -> None:
        super().__init__()
        self.png = PNG_HEAD + random.Random(1).randbytes(int(megabytes * MB))

    async def to_png(self, *_: object, **__: object) -> bytes:
        await anyio.lowlevel.checkpoint()
        return self.png


@define
class Behind:
    """A door that is open, and everything behind it."""

    host: Host
    clock: ManualClock
    door: McpDoor
    hands: Hands
    page: RunningPage
    modes: Modes
    #: What ``on_call`` heard.
    heard: Inbox[Heard]

    async def quiet(self) -> None:
        """Return when nothing is open any more; it hangs when something stays."""
        while self.host.pending:
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def a_door(
    page: Any = None,
    *,
    folder: Path | None = None,
    connected: bool = True,
    panel: dict[str, Any] | None = None,
    door: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncGenerator[Behind]:
    """A :class:`Behind`. Without a ``page`` its calls are answered by hand.

    :param door: what the door is given; by default a supervisor that obeys.
    """
    options.setdefault("images", Images())
    clock = options.setdefault("clock", ManualClock())
    hands, modes, heard = Hands(), Modes(), Inbox[Heard]()
    given = {"supervisor": modes.on_switch} if door is None else door
    async with Host(**options) as host:
        manifest = await host.install(a_panel() if panel is None else panel)
        running = await host.start_page(manifest.id, page=hands.main if page is None else page)
        if page is None:
            await hands.up.wait()
        async with McpDoor(host, "task-1", folder, on_call=heard.put, **given) as opened:
            if connected:
                await connect(host, "task-1", manifest.id)
            yield Behind(host, clock, opened, hands, running, modes, heard)


@asynccontextmanager
async def a_client(door: McpDoor, way: str, era: str) -> AsyncGenerator[Client]:
    """The SDK's own client of a door, by one of its ways in."""
    if way == "memory":
        async with Client(door.server, mode=era) as client:
            yield client
    elif way == "http":
        async with (
            door.http() as address,
            an_http_client(address) as http,
            Client(streamable_http_client(address.url, http_client=http), mode=era) as client,
        ):
            yield client
    else:
        async with (
            pipes(door) as (read, write),
            Client(over_pipes(read, write), mode=era) as client,
        ):
            yield client


def an_http_client(address: HttpAddress, **headers: str) -> httpx2.AsyncClient:
    """A client that knows the token. Reading the certificates of the world takes it too long."""
    return httpx2.AsyncClient(headers=address.headers | headers, verify=False)


@asynccontextmanager
async def pipes(door: McpDoor) -> AsyncGenerator[tuple[int, int]]:
    """Serve on two pipes; the client's ends of them. It closes them, and then the door has left."""
    stdin, write = os.pipe()
    read, stdout = os.pipe()
    ends = Ends(read, write)
    async with anyio.create_task_group() as group:

        async def serve() -> None:
            try:
                await door.serve_stdio(stdin, stdout)
            finally:
                os.close(stdin)
                os.close(stdout)

        group.start_soon(serve)
        try:
            yield read, write
        finally:
            ends.close()


class Ends:
    """Descriptors that are closed once."""

    def __init__(self, *descriptors: int) -> None:
        self._open = list(descriptors)

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())


@asynccontextmanager
async def over_pipes(read: int, write: int) -> AsyncGenerator[Any]:
    """What the SDK's client speaks through: the lines of two descriptors."""
    incoming, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbox, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def reader() -> None:
        async with incoming, aclosing(lines(read)) as told:
            async for line in told:
                await incoming.send(
                    SessionMessage(types.jsonrpc_message_adapter.validate_json(line))
                )

    async def writer() -> None:
        async with outgoing:
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await send(write, text.encode() + b"\n")

    async with inbox, outbox, anyio.create_task_group() as group:
        group.start_soon(reader)
        group.start_soon(writer)
        try:
            yield inbox, outbox
        finally:
            group.cancel_scope.cancel()


async def lines(descriptor: int) -> AsyncGenerator[bytes]:
    """Each line that comes in."""
    rest: list[bytes] = []
    while True:
        await anyio.wait_readable(descriptor)
        chunk = os.read(descriptor, 1 << 20)
        if not chunk:
            return
        *ended, last = chunk.split(b"\n")
        for part in ended:
            yield b"".join((*rest, part))
            rest.clear()
        rest.append(last)


async def send(descriptor: int, data: bytes) -> None:
    """Write all of it."""
    rest = memoryview(data)
    while rest:
        await anyio.wait_writable(descriptor)
        rest = rest[os.write(descriptor, rest[:4096]) :]


async def call(client: Client, action: str, given: object = None, panel: str = "board") -> Any:
    """Call an action as an agent does."""
    arguments = {"panel": panel, "action": action, "input": {} if given is None else given}
    return await client.call_tool("call_action", arguments)


def text_of(result: Any) -> str:
    """The text of a result, which is its first content and the only text."""
    first, *others = result.content
    assert first.type == "text"
    assert all(other.type == "image" for other in others)
    assert result.structured_content is None
    return str(first.text)


def code_of(result: Any) -> str:
    """The code of a refusal."""
    assert result.is_error is True
    assert len(result.content) == 1
    return text_of(result).partition(":")[0]


def an_envelope(method: str, number: int | None = 1, **params: Any) -> dict[str, Any]:
    """A message of JSON-RPC as a client of the handshake era sends it."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if number is not None:
        message["id"] = number
    if params:
        message["params"] = params
    return message


INITIALIZE = an_envelope(
    "initialize",
    0,
    protocolVersion="2025-11-25",
    capabilities={},
    clientInfo={"name": "by hand", "version": "1"},
)
INITIALIZED = an_envelope("notifications/initialized", None)


def a_call(action: str, given: object, number: int = 1) -> dict[str, Any]:
    """A call as it goes over the wire."""
    arguments = {"panel": "board", "action": action, "input": given}
    return an_envelope("tools/call", number, name="call_action", arguments=arguments)


def a_line(message: dict[str, Any]) -> bytes:
    """A message as a line."""
    return json.dumps(message).encode() + b"\n"
