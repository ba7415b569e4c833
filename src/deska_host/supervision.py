"""What the person sees of the tasks: rows, buttons, and what waits for their word (S-2, O-2)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from deska_sdk.router import (
    ConfirmNeeded,
    Notice,
    NoticeKind,
    OfferButton,
    RowKind,
    ShowRow,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_host.engine import Engine

#: How many rows of a task are kept for the person's side.
ROWS = 100


class Screen:
    """The host's own part of the screen, as values."""

    def __init__(self, engine: Engine, notify: Callable[[Notice], None]) -> None:
        self._notify = notify
        self._rows: dict[str, deque[ShowRow]] = {}
        # The tasks whose last row may take the names of more panels: it is of the same turn.
        self._same_turn: set[str] = set()
        #: The version of what each panel's *Send to task* button sends; no entry is off.
        self.offers: dict[str, int] = {}
        #: What the assistant asked for and the person has to confirm, by ask.
        self.confirmations: dict[str, ConfirmNeeded] = {}
        engine.perform(ShowRow, self._row)
        engine.perform(OfferButton, self._offer)
        engine.perform(ConfirmNeeded, self._confirm)

    def rows(self, task: str) -> tuple[ShowRow, ...]:
        """The task's rows, the oldest first."""
        return tuple(self._rows.get(task, ()))

    def turn_over(self, task: str) -> None:
        """A turn of the task ends, so its row is as it is."""
        self._same_turn.discard(task)

    def forget(self, task: str) -> None:
        """The task left, and with it its rows and what waited for the person's word."""
        self._rows.pop(task, None)
        self._same_turn.discard(task)
        for ask in [ask for ask, of in self.confirmations.items() if of.task == task]:
            del self.confirmations[ask]

    def over(self, ask: str) -> None:
        """An ask has ended: the person's word is not waited for any more."""
        self.confirmations.pop(ask, None)

    def _row(self, effect: ShowRow) -> None:
        rows = self._rows.setdefault(effect.task, deque(maxlen=ROWS))
        if effect.kind is RowKind.PAUSED:
            if effect.task in self._same_turn and rows[-1].kind is RowKind.PAUSED:
                # A turn has one such row, with the names of all its panels.
                rows.pop()
            self._same_turn.add(effect.task)
        rows.append(effect)
        self._notify(Notice(NoticeKind.ROW_SHOWN, task=effect.task))

    def _offer(self, effect: OfferButton) -> None:
        if effect.version is None:
            self.offers.pop(effect.panel, None)
        else:
            self.offers[effect.panel] = effect.version
        self._notify(Notice(NoticeKind.OFFER_CHANGED, effect.panel))

    def _confirm(self, effect: ConfirmNeeded) -> None:
        self.confirmations[effect.ask] = effect
        self._notify(Notice(NoticeKind.CONFIRMATION_ASKED, task=effect.task))
