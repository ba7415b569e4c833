"""Room for one more session of the handshake era (M-7).

Most clients of that era leave without a word, and what they leave stays for half an hour. The SDK
refuses everybody when its table is full; here the session that has rested longest makes room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from deska_host.mcp._guard import App, Message, Receive, Scope, Send

_SESSION: Final = MCP_SESSION_ID_HEADER.encode("ascii")
_VERSION: Final = MCP_PROTOCOL_VERSION_HEADER.encode("ascii")
_HANDSHAKE: Final = {version.encode("ascii") for version in HANDSHAKE_PROTOCOL_VERSIONS}


class Sessions:
    """The ASGI application that keeps the SDK's table of sessions from being full of left ones.

    :param app: the SDK's.
    :param most: how many sessions it takes.
    """

    def __init__(self, app: App, most: int) -> None:
        self._app = app
        self._most = most
        #: How many requests each open session has under way; the one that rests longest is first.
        self._open: dict[bytes, int] = {}
        #: How many requests are under way that may open one.
        self._coming = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        session = headers.get(_SESSION)
        if session is not None:
            await self._in_session(session, scope, receive, send)
        elif headers.get(_VERSION) is None or headers[_VERSION] in _HANDSHAKE:
            await self._opening(scope, receive, send)
        else:
            # The other era has no sessions.
            await self._app(scope, receive, send)

    async def _in_session(self, session: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        over = False

        async def tell(message: Message) -> None:
            nonlocal over
            if message["type"] == "http.response.start":
                over = message["status"] == 404 or scope["method"] == "DELETE"
            await send(message)

        if session in self._open:
            self._open[session] += 1
        try:
            await self._app(scope, receive, tell)
        finally:
            # It may have been sent away meanwhile.
            under_way = self._open.pop(session, None)
            if under_way is not None and not over:
                self._open[session] = under_way - 1

    async def _opening(self, scope: Scope, receive: Receive, send: Send) -> None:
        opening = scope["method"] == "POST"

        async def tell(message: Message) -> None:
            nonlocal opening
            if message["type"] == "http.response.start" and message["status"] < 400:
                session = dict(message["headers"]).get(_SESSION)
                if session is not None and opening:
                    opening = False
                    self._coming -= 1
                    self._open[session] = 0
            await send(message)

        self._coming += opening
        try:
            # Others may be coming at this moment, each of whom has the right to a place too.
            if opening and len(self._open) + self._coming > self._most:
                await self._end_one(scope)
            await self._app(scope, receive, tell)
        finally:
            self._coming -= opening

    async def _end_one(self, scope: Scope) -> None:
        """End the session that rests longest, as its client would; none if all are at work."""
        session = next((one for one, under_way in self._open.items() if not under_way), None)
        if session is None:
            return
        del self._open[session]
        asked = {**scope, "method": "DELETE", "headers": [(_SESSION, session)]}
        await self._app(asked, _nothing, _unheard)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_message: Message) -> None:
    pass
