"""All deadlines of the open requests in one heap: a request has at most one at a time (A-3)."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deska_sdk.panels.requests import Request


class Deadlines:
    """When the next request is due. A deadline that was moved or cleared stays in the heap until
    it would fall, or until such entries outnumber the live ones."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Request]] = []
        self._sequence = 0
        self._live = 0

    def set(self, request: Request, when: float) -> None:
        """Give ``request`` a deadline in the place of any it had."""
        self.clear(request)
        self._sequence += 1
        self._live += 1
        request.timer = self._sequence
        heappush(self._heap, (when, self._sequence, request))

    def clear(self, request: Request) -> None:
        """``request`` has no deadline any more."""
        if request.timer is None:
            return
        request.timer = None
        self._live -= 1
        # Without this a busy desk would hold 30 seconds' worth of ended calls.
        if len(self._heap) > 64 and len(self._heap) > 4 * self._live:
            self._heap = sorted(entry for entry in self._heap if entry[2].timer == entry[1])

    def next(self) -> float | None:
        """When the next deadline falls; ``None`` where there is none."""
        heap = self._heap
        while heap and heap[0][2].timer != heap[0][1]:
            heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now: float) -> tuple[float, Request] | None:
        """The next request whose deadline is at or before ``now``, and when it fell."""
        when = self.next()
        if when is None or when > now:
            return None
        _, _, request = heappop(self._heap)
        request.timer = None
        self._live -= 1
        return when, request
