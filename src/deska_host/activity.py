"""What a panel did on this computer: counts per action and per refusal (B-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from deska_host.store import CountRow
from deska_sdk.router import Count

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_host.engine import Engine
    from deska_host.keeper import Keeper


@frozen
class ActionCount:
    """How often tasks called a declared action, and when last (seconds of the wall clock)."""

    action: str
    called: int
    last: float


@frozen
class RefusalCount:
    """How often calls were refused with a code; ``action`` is empty where none was declared."""

    action: str
    code: str
    count: int
    last: float


@frozen
class Activity:
    """What one panel did on this computer. Counts only; no name that an agent chose."""

    panel: str
    actions: tuple[ActionCount, ...]
    refusals: tuple[RefusalCount, ...]


class Counts:
    """Gathers counts in memory, off the way of a call; the store gets them in batches."""

    def __init__(self, engine: Engine, keeper: Keeper, wall: Callable[[], float]) -> None:
        self._keeper = keeper
        self._wall = wall
        self._new: dict[tuple[str, str, str], tuple[int, float]] = {}
        engine.perform(Count, self._count)

    def _count(self, effect: Count) -> None:
        now = self._wall()
        if effect.action and effect.called:
            self._add((effect.panel, effect.action, ""), now)
        if effect.code is not None:
            self._add((effect.panel, effect.action, effect.code.value), now)

    def _add(self, key: tuple[str, str, str], now: float) -> None:
        self._new[key] = (self._new.get(key, (0, 0.0))[0] + 1, now)

    def flush(self) -> None:
        """Hand what was gathered to the store."""
        if not self._new:
            return
        rows = tuple(CountRow(*key, count, last) for key, (count, last) in self._new.items())
        self._new = {}
        store = self._keeper.store
        # Counts are never waited for: where the store fails they are lost, nothing else is.
        self._keeper.post(lambda: store.counts_add(rows), lambda _result, _error: None)

    async def of(self, panel: str) -> Activity:
        """The sums of one panel."""
        self.flush()
        store = self._keeper.store
        rows = await self._keeper.run(lambda: store.counts(panel))
        return Activity(
            panel,
            tuple(ActionCount(r.action, r.count, r.last) for r in rows if not r.code),
            tuple(RefusalCount(r.action, r.code, r.count, r.last) for r in rows if r.code),
        )
