"""The loop between the router and the world: events in, effects done, never re-entered."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from deska_sdk.router import Effect, Event, Router, Tick

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_host.clock import Clock

E = TypeVar("E", bound=Effect)


class Engine:
    """Owns the router. All of it runs in the loop's thread."""

    def __init__(self, router: Router, clock: Clock) -> None:
        self.router = router
        self.clock = clock
        self._performers: dict[type, Callable[[Any], None]] = {}
        self._events: deque[Event] = deque()
        self._later: deque[Callable[[], None]] = deque()
        self._stepping = False
        self._earlier = anyio.Event()
        # What the clock sleeps for, and the earliest deadline that came up since it was asked.
        self._armed = self._came_up = math.inf

    def perform(self, kind: type[E], performer: Callable[[E], None]) -> None:
        """Have effects of this kind done by ``performer``."""
        self._performers[kind] = performer

    def feed(self, event: Event) -> None:
        """Give the router an event and do what it says.

        An event that comes while effects are being done waits until they are.

        :raises Exception: what a performer raised, the first where there are several. Everything
            else was done all the same: no reply is lost to the error of a listener.
        """
        events = self._events
        events.append(event)
        if self._stepping:
            return
        self._stepping = True
        failed: Exception | None = None
        try:
            while events:
                for effect in self.router.step(events.popleft(), self.clock.now()):
                    try:
                        self._performers[type(effect)](effect)
                    except Exception as error:  # noqa: BLE001 - raised below
                        failed = failed or error
        finally:
            self._stepping = False
        deadline = self.router.next_deadline()
        if deadline is not None and deadline < self._armed:
            self._armed = self._came_up = deadline
            self._earlier.set()
        # Only now: whoever is told may do anything, and finds everything done.
        while self._later:
            try:
                self._later.popleft()()
            except Exception as error:  # noqa: BLE001 - raised below
                failed = failed or error
        if failed is not None:
            raise failed

    def after(self, call: Callable[[], None]) -> None:
        """Make a call when everything that is being done now is done."""
        self._later.append(call)

    # --- the timer that the clock runs

    def deadline(self) -> float | None:
        """When the next deadline falls, or would have fallen."""
        # One that came up and is gone again still counts once: where calls come and end all the
        # time, the clock then wakes for one of them and not for each.
        deadline = self.router.next_deadline()
        self._armed = min(math.inf if deadline is None else deadline, self._came_up)
        self._came_up = math.inf
        self._earlier = anyio.Event()
        return None if self._armed == math.inf else self._armed

    def tick(self) -> None:
        """Let due deadlines fall."""
        self.feed(Tick())

    async def changed(self) -> None:
        """Return when an earlier deadline came up."""
        await self._earlier.wait()
