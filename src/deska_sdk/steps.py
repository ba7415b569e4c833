"""What every part of the engine that waits for the host has in common.

A part emits effects. One that *starts* something gives it an ``op`` and the function that takes
its completion; a completion nobody waits for is stale. Deadlines are all in one heap.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

from deska_sdk.notices import Notice, NoticeKind, Notify

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.errors import AgentCode, PersonCode
    from deska_sdk.handles import ImageHandle
    from deska_sdk.limits import Limits
    from deska_sdk.records import Record


@frozen
class Persist:
    """*Starts.* Write all these records in one transaction; ends with ``Committed``."""

    op: int
    records: tuple[Record, ...]


@frozen
class CancelOp:
    """Nobody waits for this op any more. Its completion, if it comes, is stale."""

    op: int


@frozen
class Release:
    """These images are not used by anything any more."""

    images: tuple[ImageHandle, ...]


@frozen
class Committed:
    """``Persist`` ended. ``ok`` is false where the store failed and nothing was written."""

    op: int
    ok: bool = True


@frozen
class Done:
    """An ask ended: ``code`` is why it was refused, ``failed`` that the store failed."""

    ask: str
    code: PersonCode | None = None
    failed: bool = False


class Timed(Protocol):
    """Something that has at most one deadline at a time."""

    timer: int | None


class Deadlines:
    """When the next deadline falls. One that was moved or cleared stays in the heap until it
    would fall, or until such entries outnumber the live ones."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timed, Callable[[float], None]]] = []
        self._sequence = 0
        self._live = 0

    def set(self, subject: Timed, when: float, due: Callable[[float], None]) -> None:
        """Give ``subject`` a deadline in the place of any it had; ``due`` hears when it fell."""
        self.clear(subject)
        self._sequence += 1
        self._live += 1
        subject.timer = self._sequence
        heappush(self._heap, (when, self._sequence, subject, due))

    def clear(self, subject: Timed) -> None:
        """``subject`` has no deadline any more."""
        if subject.timer is None:
            return
        subject.timer = None
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

    def pop_due(self, now: float) -> tuple[float, Callable[[float], None]] | None:
        """The earliest deadline at or before ``now``: when it fell, and who hears it."""
        # One that was cleared is never later than the live ones behind it.
        if not self._heap or self._heap[0][0] > now:
            return None
        when = self.next()
        if when is None or when > now:
            return None
        _, _, subject, due = heappop(self._heap)
        subject.timer = None
        self._live -= 1
        return when, due


class Steps:
    """Effects, completions and deadlines of one router."""

    def __init__(self, limits: Limits, emit: Callable[[Any], None]) -> None:
        self.limits = limits
        self.emit = emit
        self.deadlines = Deadlines()
        #: Whether anybody hears notices.
        self.notifying = True
        #: The time of the step, or of the deadline, that is being done.
        self.now = float("-inf")
        self._waiting: dict[int, Callable[[Any, float], None]] = {}
        self._last_op = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def begin(self, now: float) -> float:
        """Let every deadline at or before ``now`` fall, the earliest first (A-3).

        Returns the time of the step.

        Time never runs backwards: an earlier ``now`` is taken as the latest one seen.
        """
        if now < self.now:
            now = self.now
        while (due := self.deadlines.pop_due(now)) is not None:
            self.now, fall = due
            fall(self.now)
        self.now = now
        return now

    def start(self, done: Callable[[Any, float], None]) -> int:
        """An op for an effect that the host starts; ``done`` takes its completion."""
        self._last_op = op = self._last_op + 1
        self._waiting[op] = done
        return op

    def complete(self, op: int, event: object, now: float) -> bool:
        """Hand a completion to who waits for it; false where it is stale."""
        done = self._waiting.pop(op, None)
        if done is None:
            return False
        done(event, now)
        return True

    def cancel(self, op: int | None) -> None:
        """Nobody waits for ``op`` any more; without one, or an ended one: nothing."""
        if op is not None and self._waiting.pop(op, None) is not None:
            self.emit(CancelOp(op))

    def notify(
        self,
        kind: NoticeKind,
        panel: str = "",
        task: str = "",
        action: str = "",
        code: AgentCode | None = None,
    ) -> None:
        """Tell the embedder that something happened (B-2)."""
        if self.notifying:
            self.emit(Notify(Notice(kind, panel, task, action, code)))

    def persist(self, records: tuple[Record, ...], done: Callable[[Committed, float], None]) -> int:
        """Have records written; ``done`` hears how it went."""
        op = self.start(done)
        self.emit(Persist(op, records))
        return op
