"""What the tests of the door by HTTP ask with, well and badly."""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc

from deska_host.mcp import DoorLimits
from tests.doors.support_door import INITIALIZE, INITIALIZED, a_call, a_door, an_http_client

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx2

    from deska_host.mcp import HttpAddress
    from tests.doors.support_door import Behind

ACCEPT = {"Accept": "application/json, text/event-stream"}
#: What a request of the newer era says of itself.
MODERN = ACCEPT | {
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "call_action",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@asynccontextmanager
async def served(**limits: Any) -> AsyncGenerator[tuple[Behind, HttpAddress, httpx2.AsyncClient]]:
    """A door by HTTP, with a client that knows its token."""
    given: dict[str, Any] = {"limits": DoorLimits(**limits)}
    async with (
        a_door(door=given) as behind,
        behind.door.http() as address,
        an_http_client(address, **ACCEPT) as http,
    ):
        yield behind, address, http


def modern_call(action: str = "add", given: object = None) -> dict[str, Any]:
    """A call of the newer era, which needs no session."""
    message = a_call(action, {"text": "x"} if given is None else given)
    message["params"]["_meta"] = META
    return message


async def post_call(http: httpx2.AsyncClient, address: HttpAddress) -> httpx2.Response:
    """A call that waits for the page."""
    return await http.post(address.url, json=modern_call(), headers=MODERN)


@asynccontextmanager
async def a_connection(address: HttpAddress) -> AsyncGenerator[anyio.abc.SocketStream]:
    """A connection on which a test says what it likes."""
    async with await anyio.connect_tcp("127.0.0.1", address.port) as stream:
        yield stream


def head(address: HttpAddress, *headers: str, token: bool = True) -> bytes:
    """The head of a POST."""
    lines = ["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{address.port}", "Accept: application/json"]
    lines += ["Content-Type: application/json", *headers]
    if token:
        lines.append(f"Authorization: Bearer {address.token}")
    return "\r\n".join([*lines, "", ""]).encode()


async def all_of(stream: anyio.abc.SocketStream) -> bytes:
    """What comes until the server closes."""
    got = b""
    try:
        while True:
            got += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return got


async def status_of(stream: anyio.abc.SocketStream) -> int:
    """The status of the next answer, which is read to its end if it says where that is."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += await stream.receive()
    told, _, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: (\d+)", told.lower())
    while length is not None and len(body) < int(length[1]):
        body += await stream.receive()
    return int(told.split(b" ")[1])


def a_request(address: HttpAddress, message: dict[str, Any]) -> bytes:
    """A whole POST of the newer era, as it goes over the wire."""
    body = json.dumps(message).encode()
    told = [f"{name}: {value}" for name, value in MODERN.items() if name != "Accept"]
    return head(address, *told, f"Content-Length: {len(body)}") + body


async def a_session(http: httpx2.AsyncClient, address: HttpAddress) -> dict[str, str]:
    """Open a session of the handshake era; the header that names it."""
    opened = await http.post(address.url, json=INITIALIZE)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    await http.post(address.url, json=INITIALIZED, headers=session)
    return session


async def post_none(http: httpx2.AsyncClient, address: HttpAddress) -> int:
    """A call that needs no page."""
    asked = await http.post(address.url, json=modern_call("none"), headers=MODERN)
    return asked.status_code
