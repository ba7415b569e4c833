"""What stands before the SDK's HTTP server: who may ask, how much, and for how long (M-7).

Pure ASGI. It has read the whole body before the SDK sees a request, and ends what the SDK does for
a request when its connection is gone.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any, Final

import anyio
from attrs import field, frozen

from deska_host.mcp._address import PATH
from deska_host.mcp._lifeline import KEY, Lifeline
from deska_host.mcp._quiet import LOG, where

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from deska_host.mcp._limits import DoorLimits

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

METHODS: Final = ("GET", "POST", "DELETE")

#: How much of an answer is given out at once.
_PIECE: Final = 65_536


@frozen
class _No:
    """A refusal, with a sentence for whoever set the client up."""

    status: int
    sentence: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


_VERSION = _No(505, "Only HTTP/1.1.", ((b"connection", b"close"),))
_HEAD = _No(431, "This request has too much before its body.", ((b"connection", b"close"),))
_HOST = _No(421, "This server answers to the names of this computer only.")
_ORIGIN = _No(403, "Web pages of other servers may not ask.")
_ELSEWHERE = _No(404, f"There is nothing here. The door is {PATH}.")
_TOKEN = _No(
    401,
    "Send the token of this door: Authorization: Bearer TOKEN.",
    ((b"www-authenticate", b'Bearer realm="deska"'),),
)
_METHOD = _No(405, "Only GET, POST and DELETE.", ((b"allow", ", ".join(METHODS).encode()),))
_SLOW = _No(408, "The body took too long.", ((b"connection", b"close"),))
_BUSY = _No(503, "Too many requests are under way. Try again.", ((b"retry-after", b"1"),))
_CLOSED = _No(503, "This door is closed.", ((b"connection", b"close"),))


@frozen
class Door:
    """By what names the server may be called, and with which token."""

    hosts: frozenset[bytes]
    token: bytes = field(repr=False)

    @property
    def origins(self) -> frozenset[bytes]:
        """The server's own origins. It has no pages, but they would be no strangers."""
        return frozenset(b"http://" + host for host in self.hosts)

    def opens(self, authorization: bytes) -> bool:
        """Whether an Authorization header has the token; how long it takes tells nothing of it."""
        scheme, _, token = authorization.partition(b" ")
        same = hmac.compare_digest(token.strip(), self.token)
        return same and scheme.lower() == b"bearer"


class Guard:
    """The ASGI application that checks each request and hands the good ones on.

    :param app: the SDK's.
    """

    def __init__(self, app: App, door: Door, limits: DoorLimits) -> None:
        self._app = app
        self._door = door
        self._limits = limits
        self._under_way: set[Lifeline] = set()
        self._bodies = 0
        self._closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        refused = self._refusal(scope)
        if refused is not None:
            await _refuse(refused, send)
            return
        lifeline = scope[KEY] = Lifeline()
        self._under_way.add(lifeline)
        body = bytearray()
        try:
            refused = await self._read(body, receive, lifeline)
            if refused is not None:
                await _refuse(refused, send)
            else:
                await _Exchange(scope, bytes(body), receive, send, lifeline).run(self._app)
        finally:
            # Counted to the end: what was made of the body lives as long as the request.
            self._bodies -= len(body)
            self._under_way.discard(lifeline)

    def close(self) -> None:
        """End what is under way, and let nothing more in."""
        self._closed = True
        for lifeline in self._under_way:
            lifeline.cut()

    def _refusal(self, scope: Scope) -> _No | None:
        """Why the request is refused before anything of its body is read.

        Names first: a page that was led here by a false name learns nothing else. What lies beside
        the door needs no token, so that a client that looks for a way to sign in finds none.
        """
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if _only(headers, b"host").lower() not in self._door.hosts:
            return _HOST
        if _all(headers, b"origin") - self._door.origins:
            return _ORIGIN
        if scope["http_version"] not in ("1.0", "1.1"):
            return _VERSION
        if _size(scope) > self._limits.header_bytes:
            # h11 looks only at what comes in several pieces.
            return _HEAD
        if scope["path"] != PATH:
            return _ELSEWHERE
        if not self._door.opens(_only(headers, b"authorization")):
            return _TOKEN
        if scope["method"] not in METHODS:
            return _METHOD
        if self._closed:
            return _CLOSED
        length = _only(headers, b"content-length")
        if length.isdigit() and int(length) > self._limits.message_bytes:
            return self._too_large
        return _BUSY if len(self._under_way) >= self._limits.requests else None

    @property
    def _too_large(self) -> _No:
        return _No(413, f"A request may have {self._limits.message_bytes} bytes at most.")

    async def _read(self, body: bytearray, receive: Receive, lifeline: Lifeline) -> _No | None:
        """Read the whole body into ``body``; why not, if so. A client that left is ``_CLOSED``."""
        with anyio.move_on_after(self._limits.body_seconds) as patience, lifeline.hang():
            more = True
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    return _CLOSED
                chunk: bytes = message.get("body", b"")
                if len(body) + len(chunk) > self._limits.message_bytes:
                    return self._too_large
                if self._bodies + len(chunk) > self._limits.bodies_bytes:
                    return _BUSY
                body += chunk
                self._bodies += len(chunk)
                more = message.get("more_body", False)
            return None
        return _SLOW if patience.cancelled_caught else _CLOSED


class _Exchange:
    """One good request, as the SDK answers it."""

    def __init__(
        self, scope: Scope, body: bytes, receive: Receive, send: Send, lifeline: Lifeline
    ) -> None:
        self._scope = scope
        self._body: bytes | None = body
        self._receive = receive
        self._send = send
        self._lifeline = lifeline
        self._gone = anyio.Event()
        self._started = False
        self._measured = False
        self._answered = False

    async def run(self, app: App) -> None:
        """Let ``app`` answer, for as long as the client is there and the door open."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch)
            try:
                with self._lifeline.hang():
                    await app(self._scope, self._replay, self._tell)
            except Exception as error:  # noqa: BLE001 - a request is not to end the server
                LOG.error("the MCP server failed at a request: %s", where(error))
            group.cancel_scope.cancel()
        if self._gone.is_set() or self._answered:
            return
        # The door was closed in the middle, or the SDK gave up.
        if not self._started:
            await _refuse(_CLOSED, self._send)
        elif not self._measured:
            await self._send(_body(b"", more=False))
        # Else the length that it was told says that something is missing; uvicorn hangs up.

    async def _watch(self) -> None:
        """Nobody else asks the connection whether the client is there."""
        while (await self._receive())["type"] == "http.request":
            pass
        # The server says the same when the answer is out, and the SDK may have work left then.
        if not self._answered:
            self._gone.set()
            self._lifeline.cut()

    async def _replay(self) -> Message:
        body, self._body = self._body, None
        if body is None:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": body, "more_body": False}

    async def _tell(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            self._measured = any(key == b"content-length" for key, _ in message["headers"])
            await self._send(message)
            return
        # Piece by piece, as the client takes it: a large answer is not copied whole, and counts as
        # a request under way until nearly all of it is gone.
        body, more = memoryview(message.get("body", b"")), message.get("more_body", False)
        while len(body) > _PIECE:
            await self._send(_body(body[:_PIECE], more=True))
            body = body[_PIECE:]
        if not more:
            self._answered = True
        await self._send(_body(body, more=more))


def _body(data: bytes | memoryview, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": bytes(data), "more_body": more}


def _size(scope: Scope) -> int:
    """How long a request was up to its body, without the spaces that nobody needs."""
    target = len(scope["raw_path"]) + len(scope["query_string"])
    # A space after the method, one after the target, the version, and the ends of both lines.
    fixed = len(scope["method"]) + 1 + 1 + len("HTTP/1.1\r\n") + len("\r\n")
    fixed += 1 if scope["query_string"] else 0
    return fixed + target + sum(len(key) + len(value) + 4 for key, value in scope["headers"])


def _all(headers: list[tuple[bytes, bytes]], name: bytes) -> set[bytes]:
    return {value for key, value in headers if key == name}


def _only(headers: list[tuple[bytes, bytes]], name: bytes) -> bytes:
    """The value of a header that stands there once; of none, or of several, nothing."""
    found = [value for key, value in headers if key == name]
    return found[0] if len(found) == 1 else b""


async def _refuse(refused: _No, send: Send) -> None:
    body = f"{refused.sentence}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        *refused.headers,
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
