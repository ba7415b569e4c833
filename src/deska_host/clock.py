"""The host's clock: the real one, and one that a test moves."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable


class Timer(Protocol):
    """What a clock runs: the host's one timer for all deadlines."""

    def deadline(self) -> float | None:
        """When the next deadline falls, on this clock."""
        ...

    def tick(self) -> None:
        """Let due deadlines fall."""
        ...

    async def changed(self) -> None:
        """Return when the next deadline has become an earlier one."""
        ...


class Clock(Protocol):
    """Two clocks in one: monotonic seconds for deadlines, wall time for records."""

    def now(self) -> float:
        """Monotonic seconds."""
        ...

    def wall(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        ...

    async def run(self, timer: Timer) -> None:
        """Keep ``timer`` until cancelled."""
        ...


class SystemClock:
    """The computer's own clock."""

    def now(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        return time.time()

    async def run(self, timer: Timer) -> None:
        """Sleep until each deadline, or until an earlier one comes up."""
        while True:
            deadline = timer.deadline()
            if deadline is None:
                await timer.changed()
                continue
            with anyio.move_on_after(max(0.0, deadline - self.now())):
                await timer.changed()
            timer.tick()


class ManualClock:
    """A clock that stands still until :meth:`advance` is called; for tests and demos.

    :param now: where it starts, in seconds, on both clocks.
    """

    def __init__(self, now: float = 1_000_000.0) -> None:
        self._now = now
        self._ticks: list[Callable[[], None]] = []

    def now(self) -> float:
        """Monotonic seconds."""
        return self._now

    def wall(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock; every deadline up to the new time has fallen when this returns.

        Call it in the thread of the host's loop (the blocking façade does so by itself).

        :raises ValueError: ``seconds`` is negative.
        """
        if seconds < 0:
            raise ValueError("a clock does not run backwards")
        self._now += seconds
        for tick in tuple(self._ticks):
            tick()

    async def run(self, timer: Timer) -> None:
        """Keep ``timer`` until cancelled; only :meth:`advance` makes it tick."""
        self._ticks.append(timer.tick)
        try:
            await anyio.sleep_forever()
        finally:
            self._ticks.remove(timer.tick)
