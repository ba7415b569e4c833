"""Streamable HTTP on this computer's own addresses (M-7): uvicorn's protocol, without its process.

uvicorn's server takes the process's signals and logs each request; its protocol does neither, so
that is what listens here, with the door's :class:`~deska_host.mcp._guard.Guard` behind it.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import socket
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from uvicorn.config import Config
from uvicorn.server import ServerState

from deska_host.cancelling import on_asyncio
from deska_host.mcp._address import PATH, HttpAddress
from deska_host.mcp._guard import Door, Guard
from deska_host.mcp._sessions import Sessions
from deska_host.mcp._wire import Connection

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mcp.server.lowlevel import Server

    from deska_host.mcp._limits import DoorLimits

#: How many connections the system may keep for us until there is room for them.
_BACKLOG: Final = 1_024
#: How long to wait when the system has no descriptor left, in seconds.
_RETRY: Final = 0.1

_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]{16,}=*")


@asynccontextmanager
async def listening(
    server: Server[Any], port: int, token: str | None, limits: DoorLimits, *, ipv6: bool
) -> AsyncGenerator[Listener]:
    """Serve until the context is left.

    :raises OSError: the port is taken.
    :raises ValueError: the port is none; or the token is none that can be sent, or too short.
    :raises RuntimeError: the loop is not asyncio's, on which uvicorn runs.
    """
    if not on_asyncio():
        raise RuntimeError("serving MCP by HTTP needs asyncio")
    if not 0 <= port < 65_536:
        raise ValueError("a port is a number below 65536")
    if token is None:
        token = secrets.token_urlsafe(32)
    if _TOKEN.fullmatch(token) is None:
        raise ValueError("a token is 16 or more of ASCII letters, digits and -._~+/")
    # Each answer is one JSON body: in a stream of events the usual clients take 1 MiB in one event,
    # and a read with images has more. The SDK's checks of names are left off; the guard has better.
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        max_request_body_size=limits.message_bytes,
        session_idle_timeout=limits.session_seconds,
        max_sessions=limits.sessions,
    )
    sockets = _bind(port, ipv6=ipv6)
    port = sockets[0].getsockname()[1]
    address = HttpAddress(f"http://127.0.0.1:{port}{PATH}", port, token)
    sessions = Sessions(manager.handle_request, limits.sessions)
    guard = Guard(sessions, Door(_names(port), token.encode()), limits)
    failed: Exception | None = None
    async with AsyncExitStack() as stack:
        for one in sockets:
            stack.callback(one.close)
        await stack.enter_async_context(manager.run())
        listener = Listener(address, guard, limits)
        stack.push_async_callback(listener.stop)
        listener.start(sockets)
        try:
            yield listener
        except Exception as error:  # noqa: BLE001 - raised below, out of the SDK's task group
            failed = error
    if failed is not None:
        raise failed


def _bind(port: int, *, ipv6: bool) -> list[socket.socket]:
    """The loopback addresses and no other."""
    sockets = [_socket(socket.AF_INET, "127.0.0.1", port)]
    if ipv6:
        try:
            sockets.append(_socket(socket.AF_INET6, "::1", sockets[0].getsockname()[1]))
        except OSError:
            sockets[0].close()
            raise
    return sockets


def _socket(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    # The protocol is named because asyncio looks at it: without, it would leave Nagle's algorithm
    # on, and every second answer would wait 40 ms for an acknowledgement.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(_BACKLOG)
        made.settimeout(0)
    except OSError:
        made.close()
        raise
    return made


def _names(port: int) -> frozenset[bytes]:
    """What this computer calls itself in a Host header."""
    names = ("127.0.0.1", "localhost", "[::1]")
    with_port = [f"{name}:{port}" for name in names]
    return frozenset(name.encode() for name in (*with_port, *(names if port == 80 else ())))


class Listener:
    """The sockets and connections of one door."""

    def __init__(self, address: HttpAddress, guard: Guard, limits: DoorLimits) -> None:
        self.address = address
        self._guard = guard
        self._state = ServerState()
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        #: Set when a connection is gone, or asks for nothing any more.
        self._room = asyncio.Event()
        self._config = Config(
            guard,
            lifespan="off",
            ws="none",
            log_config=None,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=limits.idle_seconds,
            h11_max_incomplete_event_size=limits.header_bytes,
        )
        self._limits = limits

    def start(self, sockets: list[socket.socket]) -> None:
        """Accept connections."""
        self._sockets += sockets
        loop = asyncio.get_running_loop()
        self._accepting += [loop.create_task(self._accept(one)) for one in sockets]

    async def _accept(self, listening: socket.socket) -> None:
        # asyncio's own server takes whatever comes, until the process has no descriptor left for
        # anything else. Whoever is too many here waits in the system's queue.
        loop = asyncio.get_running_loop()
        while True:
            # Room is made when somebody is there.
            await anyio.wait_readable(listening)
            await self._make_room()
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError:  # no descriptor is left, or the client has left
                await asyncio.sleep(_RETRY)
                continue
            await loop.connect_accepted_socket(self._connection, accepted)

    def _connection(self) -> Connection:
        return Connection(self._config, self._state, self._limits, self._room.set)

    @property
    def _connections(self) -> list[Connection]:
        return [one for one in self._state.connections if isinstance(one, Connection)]

    async def _make_room(self) -> None:
        """Return when one more connection may come.

        Strangers can open connections too. So one on which nothing is asked is not kept for long
        against one that may; first go the ones that have not shown the token.
        """
        loop = asyncio.get_running_loop()
        while len(self._connections) >= self._limits.connections:
            self._room.clear()
            waiting = [one for one in self._connections if one.waits]
            least = min(waiting, key=lambda one: (one.is_known, one.waits_since), default=None)
            until = None if least is None else least.waits_since + self._limits.crowd_seconds
            if least is not None and until is not None and until <= loop.time():
                least.transport.abort()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._room.wait()

    async def stop(self) -> None:
        """End every connection; who still waits for an answer is told that the door is closed."""
        with anyio.CancelScope(shield=True):
            for accepting in self._accepting:
                accepting.cancel()
            await asyncio.gather(*self._accepting, return_exceptions=True)
            for one in self._sockets:
                one.close()
            self._guard.close()
            if self._state.tasks:
                await asyncio.wait(self._state.tasks, timeout=self._limits.farewell_seconds)
            # A client that does not read its answer does not hold up the end.
            for connection in self._connections:
                connection.transport.abort()
            if self._state.tasks:
                await asyncio.wait(self._state.tasks)
            while self._connections:
                self._room.clear()
                await self._room.wait()
