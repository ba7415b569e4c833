"""Streamable HTTP on this computer's own addresses (M-7): uvicorn's protocol, without its process.

uvicorn's server takes the process's signals and logs each request; its protocol does neither, so
that is what listens here, with the door's :class:`~deska_host.mcp._guard.Guard` behind it.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import socket
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
import h11
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from deska_host.cancelling import on_asyncio
from deska_host.mcp._address import PATH, HttpAddress
from deska_host.mcp._guard import Door, Guard, crowded
from deska_host.mcp._quiet import WIRE_LOG

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mcp.server.lowlevel import Server

    from deska_host.mcp._limits import DoorLimits

_BACKLOG: Final = 1_024

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
    guard = Guard(manager.handle_request, Door(_names(port), token.encode()), limits)
    failed: Exception | None = None
    async with AsyncExitStack() as stack:
        for one in sockets:
            stack.callback(one.close)
        await stack.enter_async_context(manager.run())
        listener = Listener(address, guard, limits)
        stack.push_async_callback(listener.stop)
        await listener.start(sockets)
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
        self._servers: list[asyncio.Server] = []
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

    async def start(self, sockets: list[socket.socket]) -> None:
        """Accept connections."""
        loop = asyncio.get_running_loop()
        for one in sockets:
            self._servers.append(
                await loop.create_server(self._protocol, sock=one, backlog=_BACKLOG)
            )

    def _protocol(self) -> _Protocol:
        return _Protocol(self._config, self._state, self._limits)

    async def stop(self) -> None:
        """End every connection; who still waits for an answer is told that the door is closed."""
        with anyio.CancelScope(shield=True):
            for server in self._servers:
                server.close()
            self._guard.close()
            if self._state.tasks:
                await asyncio.wait(self._state.tasks, timeout=self._limits.farewell_seconds)
            # A client that does not read its answer does not hold up the end.
            for connection in tuple(self._state.connections):
                connection.transport.abort()
            if self._state.tasks:
                await asyncio.wait(self._state.tasks)
            for server in self._servers:
                await server.wait_closed()


class _Protocol(H11Protocol):
    """One connection. A client that does not say what it wants is not waited for.

    uvicorn would wait for ever: for a first request, for the rest of headers, and for the rest of
    a body that nobody wants because the request was refused.
    """

    def __init__(self, config: Config, state: ServerState, limits: DoorLimits) -> None:
        super().__init__(config, state, {})
        # Not uvicorn's own: another server in this process may be using those.
        self.logger = WIRE_LOG
        self.access_log = False
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            # uvicorn's own limit would refuse everybody; who was here first is served.
            self.app = crowded
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # Between requests uvicorn has its own timer, until the next byte comes.
        if self.conn.their_state is h11.SEND_BODY:
            self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_timer()

    def _look(self) -> None:
        # It is None before the first request, whatever its type says.
        begun = self.cycle is not None  # pyright: ignore[reportUnnecessaryComparison]
        under_way = begun and not self.cycle.response_complete
        if under_way or self.transport.is_closing():
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self._limits.header_seconds, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
