"""One HTTP connection of a door (M-7): uvicorn's, which here waits for nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from deska_host.mcp._lifeline import KEY
from deska_host.mcp._quiet import WIRE_LOG

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn.config import Config
    from uvicorn.server import ServerState

    from deska_host.mcp._limits import DoorLimits


class Connection(H11Protocol):
    """One connection. A client that does not say what it wants is not waited for.

    uvicorn would wait for ever: for a first request, for the rest of headers, for the rest of a
    body that nobody wants because the request was refused, and for a client to take its answer.
    """

    def __init__(
        self,
        config: Config,
        state: ServerState,
        limits: DoorLimits,
        on_change: Callable[[], None],
    ) -> None:
        super().__init__(config, state, {})
        # Not uvicorn's own: another server in this process may be using those.
        self.logger = WIRE_LOG
        self.access_log = False
        self._limits = limits
        #: Until when the client has to say what it wants, and to take what it was answered.
        self._asking: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None
        self._since = self.loop.time()
        #: Told when this is gone, or asks for nothing any more.
        self._on_change = on_change

    # --- what uvicorn and the loop call

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.DONE and not self.transport.is_closing():
            # The next request, before the answer to this one. uvicorn would stop reading, and so
            # not hear when the client leaves.
            if len(self.conn.trailing_data[0]) > self._limits.header_bytes:
                self.transport.abort()
            else:
                self.flow.resume_reading()
        self._look()

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state is h11.IDLE or self.conn.our_state is h11.SEND_RESPONSE:
            super().send_400_response(msg)
        else:
            # It was answered already, and what goes on there is no body. uvicorn would raise.
            self.transport.abort()

    def on_response_complete(self) -> None:
        self._since = self.loop.time()
        self._look_at_taking()
        super().on_response_complete()
        self._on_change()
        # Between requests uvicorn has its own timer, until the next byte comes.
        if self.conn.their_state is h11.SEND_BODY:
            self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look_at_taking()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look_at_taking()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        _stop(self._asking)
        _stop(self._taking)
        self._on_change()

    # --- who is not waited for

    @property
    def waits(self) -> bool:
        """Whether no request is under way."""
        # It is None before the first request, whatever its type says.
        begun = self.cycle is not None  # pyright: ignore[reportUnnecessaryComparison]
        return not begun or self.cycle.response_complete

    @property
    def waits_since(self) -> float:
        """Since when, by the loop's clock."""
        return self._since

    @property
    def is_known(self) -> bool:
        """Whether its last request had the token."""
        # It is None before the first request, whatever its type says.
        asked = self.scope is not None  # pyright: ignore[reportUnnecessaryComparison]
        return asked and KEY in self.scope

    def _look(self) -> None:
        if not self.waits or self.transport.is_closing():
            _stop(self._asking)
            self._asking = None
        elif self._asking is None:
            patience = self._limits.header_seconds
            self._asking = self.loop.call_later(patience, self.transport.abort)

    def _look_at_taking(self) -> None:
        _stop(self._taking)
        if self.transport.get_write_buffer_size():
            self._taking = self.loop.call_later(self._limits.idle_seconds, self._end_if_untaken)

    def _end_if_untaken(self) -> None:
        # Nothing of it moved meanwhile, or this would have been put off.
        if self.transport.get_write_buffer_size():
            self.transport.abort()


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
