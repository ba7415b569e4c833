"""The pause for approvals of one task (S-1, S-2, S-5, S-6). Its table is in ``tables``.

Content of a panel enters a turn only when the task is in Supervised. Whoever has content asks
:meth:`Pause.content` and is told ``granted`` or ``refused``; content is built nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from deska_sdk._words import Word
from deska_sdk.records import PauseRecord
from deska_sdk.tasks import rows
from deska_sdk.tasks.effects import RowKind, ShowRow, SwitchMode
from deska_sdk.tasks.tables import PAUSE, PauseCause, PauseState

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.steps import Committed, Steps
    from deska_sdk.tasks.events import ModeSwitched
    from deska_sdk.tasks.modes import Modes


class Outcome(Word):
    """How a change of mode went."""

    DONE = "done"
    FAILED = "failed"
    #: A newer wish took its place, or the task left.
    OVER = "over"


class Content(Protocol):
    """Something of a panel that waits to enter a turn."""

    @property
    def panel_name(self) -> str:
        """The panel's folded name, for the row."""
        ...

    def granted(self, now: float) -> None:
        """The task is in Supervised: hand the content over in this step."""
        ...

    def refused(self, now: float) -> None:
        """The task could not be put into Supervised: hand nothing over."""
        ...


class Pause:
    """The mode of one task, and the pause on it.

    :param settled: called when the mode is at rest again, so that what waits for it may start.
    :param durable: called with each record that the store has.
    """

    def __init__(
        self,
        task: str,
        modes: Modes,
        mode: str,
        steps: Steps,
        settled: Callable[[float], None],
        durable: Callable[[PauseRecord], None],
    ) -> None:
        self._task = task
        self._modes = modes
        self._steps = steps
        self._settled = settled
        self._durable = durable
        self.timer: int | None = None
        #: The mode the task is in, as far as the host has said.
        self.mode = mode
        self.state = PauseState.NONE
        # Every mode the agent may be in: more than one while a switch is on its way, and after
        # one of which nobody knows how it went.
        self._may_be = frozenset((mode,))
        self._only_supervised = frozenset((modes.supervised,))
        self._supervised_start = False
        # The mode that comes back; the panels that sent content since it left, and in this turn.
        self._before = mode
        self._panels: list[str] = []
        self._in_turn: list[str] = []
        self._waiting: list[Content] = []
        self._op: int | None = None
        # The record that the task is paused: written, or being written.
        self._recorded = False
        self._recording: int | None = None
        self._switched = False
        # A change of mode that is on its way: who is told, and the mode.
        self._choice: tuple[Callable[[Outcome], None], str] | None = None
        # Whether the mode from before comes back where that change fails.
        self._owed = False
        self._recovering = False

    @property
    def stands(self) -> bool:
        """Whether a pause stands, is about to, or stood when the task was last here (S-4, S-5)."""
        return self.state is not PauseState.NONE or self._recovering

    @property
    def holds(self) -> bool:
        """Whether content of a panel is in the turn and the task in Supervised (S-4)."""
        return self.state is PauseState.HOLDING

    @property
    def at_rest(self) -> bool:
        """Whether no change of mode is under way."""
        return self.state is PauseState.NONE and self._op is None

    @property
    def supervised_start(self) -> bool:
        """Whether the turn was in Supervised from its start, and nothing left it since (S-7)."""
        return self._supervised_start

    def turn_started(self) -> None:
        """A turn of the task began."""
        self._supervised_start = self._is_supervised

    @property
    def _is_supervised(self) -> bool:
        return self._may_be == self._only_supervised

    # --- content

    def content(self, content: Content, now: float) -> None:
        """Let ``content`` in once the task is in Supervised."""
        if self.state is PauseState.HOLDING:
            if self._is_supervised:
                self._enter(content, now)
            else:
                # The person's change is on its way, or nobody knows whether it was made.
                content.refused(now)
            return
        if self._choice is not None:
            # S-1: the person is changing the mode at this moment.
            content.refused(now)
            return
        self._waiting.append(content)
        if self.state is PauseState.SWITCHING:
            return
        if self.state is PauseState.NONE:
            self._before = self.mode
        self._move(PauseCause.CONTENT)
        self._switched = False
        if not self._recorded:
            # S-6: after a crash a task that was paused has to stay in Supervised.
            self._record(paused=True)
        self._switch(self._modes.supervised, self._supervised)
        self._limit(self._give_up, now)

    def leave(self, content: Content, now: float) -> None:
        """``content`` does not wait any more; without anyone waiting there is no switch."""
        if content in self._waiting:
            self._waiting.remove(content)
            if not self._waiting and self.state is PauseState.SWITCHING:
                self._move(PauseCause.ABANDONED)
                self._restore(now)

    def _supervised(self, now: float, *, ok: bool) -> None:
        if ok:
            self._switched = True
            self.mode = self._modes.supervised
            self._hold(now)
        else:
            self._give_up(now)

    def _hold(self, now: float) -> None:
        if not self._switched or self._recording is not None:
            return
        self._move(PauseCause.SWITCHED)
        waiting, self._waiting = self._waiting, []
        for content in waiting:
            self._enter(content, now)

    def _enter(self, content: Content, now: float) -> None:
        name = content.panel_name
        if name not in self._panels:
            self._panels.append(name)
        if name not in self._in_turn:
            self._in_turn.append(name)
            self._row(RowKind.PAUSED, rows.paused(self._in_turn))
        content.granted(now)

    def _give_up(self, now: float) -> None:
        waiting, self._waiting = self._waiting, []
        if self._op is None and self.mode == self._before:
            self._move(PauseCause.FAILED)
            self._forget()
        else:
            # The switch was or may have been made, or an earlier pause had not been undone yet.
            self._move(PauseCause.ABANDONED)
            self._restore(now)
        for content in waiting:
            content.refused(now)

    # --- the end of the pause

    def end_turn(self, now: float) -> None:
        """The turn is over: the mode from before comes back (S-1, S-6)."""
        self._in_turn.clear()
        if self.state is not PauseState.HOLDING:
            return
        if self._choice is not None:
            # The person's change is on its way and is what stays, if it is made.
            self._move(PauseCause.PERSON)
            self._owed = True
        else:
            self._move(PauseCause.TURN_ENDED)
            self._restore(now)

    def _restore(self, now: float) -> None:
        self._switch(self._before, self._restored)
        self._limit(self._restore_late, now)

    def _restore_late(self, now: float) -> None:
        self._steps.cancel(self._op)
        self._op = None
        self._restored(now, ok=False)

    def _restored(self, now: float, *, ok: bool) -> None:
        self._steps.deadlines.clear(self)
        # A task that was in Supervised before is in its mode, whatever became of the switch.
        if ok or self._before == self._modes.supervised:
            self.mode = self._before
            self._move(PauseCause.RESTORED)
            if self._panels:
                label = self._modes.label(self.mode)
                self._row(RowKind.BACK, rows.back(self._panels, label), keep_asking=True)
        else:
            # S-1: it stays in Supervised. Where the switch that is undone here was never confirmed,
            # nobody knows that it is, and the row says so.
            said = rows.stays if self.mode == self._modes.supervised else rows.unsure
            self.mode = self._modes.supervised
            self._move(PauseCause.NOT_RESTORED)
            self._row(RowKind.STAYS, said(self._modes.label(self._before)))
        self._forget()
        self._settled(now)

    # --- the person's own change, and the assistant's where no pause stands

    def choose(self, mode: str, told: Callable[[Outcome], None], now: float) -> None:
        """Put the task into ``mode``; ``told`` hears whether it is."""
        if self._choice is not None:
            # The newer wish is the one that counts.
            earlier, _ = self._choice
            self._choice = None
            earlier(Outcome.OVER)
        waiting, self._waiting = self._waiting, []
        if self.state in (PauseState.SWITCHING, PauseState.RESTORING):
            self._move(PauseCause.PERSON)
            self._owed = True
        for content in waiting:
            content.refused(now)
        self._choice = (told, mode)
        self._switch(mode, self._chosen)
        self._limit(self._choice_late, now)

    def _choice_late(self, now: float) -> None:
        self._steps.cancel(self._op)
        self._op = None
        self._chosen(now, ok=False)

    def _chosen(self, now: float, *, ok: bool) -> None:
        assert self._choice is not None, "a choice is what ended"
        self._steps.deadlines.clear(self)
        told, mode = self._choice
        self._choice = None
        owed, self._owed = self._owed, False
        recovering, self._recovering = self._recovering, False
        if ok:
            self.mode = mode
            if self.state is PauseState.HOLDING:
                self._move(PauseCause.PERSON)
            self._forget()
        told(Outcome.DONE if ok else Outcome.FAILED)
        if not ok and owed:
            self._move(PauseCause.NOT_CHANGED)
            self._restore(now)
        elif not ok and recovering:
            self._row(RowKind.STAYS, rows.not_recovered())
        self._settled(now)

    # --- when the task is here again

    def recover(self, now: float) -> None:
        """The task was paused when it was last here: it stays in Supervised (S-6)."""

        def told(outcome: Outcome) -> None:
            if outcome is Outcome.DONE:
                self._row(RowKind.RESTARTED, rows.restarted())

        self._recorded = self._recovering = True
        self._choice = (told, self._modes.supervised)
        self._switch(self._modes.supervised, self._chosen)
        self._limit(self._choice_late, now)

    def close(self) -> None:
        """The task left: nothing is waited for any more, and no mode is put back."""
        self._waiting.clear()
        if self._choice is not None:
            told, _ = self._choice
            self._choice = None
            told(Outcome.OVER)
        if self.state is PauseState.NONE:
            self._stop()
        else:
            self._move(PauseCause.LEFT)

    # ---

    def _move(self, cause: PauseCause) -> None:
        self.state = PAUSE[self.state, cause]
        if self._choice is None:
            # What a pause waited for; a person's change on its way goes on.
            self._stop()

    def _stop(self) -> None:
        self._steps.deadlines.clear(self)
        self._steps.cancel(self._op)
        self._op = None

    def _limit(self, late: Callable[[float], None], now: float) -> None:
        self._steps.deadlines.set(self, now + self._steps.limits.switching_seconds, late)

    def _switch(self, mode: str, done: _Switched) -> None:
        self._steps.cancel(self._op)
        was = self._may_be
        self._may_be = was | {mode}
        self._supervised_start &= mode == self._modes.supervised

        def ended(event: ModeSwitched, now: float) -> None:
            self._op = None
            self._may_be = frozenset((mode,)) if event.ok else was
            done(now, ok=event.ok)

        self._op = self._steps.start(ended)
        self._steps.emit(SwitchMode(self._op, self._task, mode))

    def _record(self, *, paused: bool) -> None:
        self._recorded = paused
        record = PauseRecord(self._task, paused)

        def written(event: Committed, now: float) -> None:
            if event.ok:
                self._durable(record)
            if event.op == self._recording:
                self._written(now, ok=event.ok)

        op = self._steps.persist((record,), written)
        if paused:
            self._recording = op

    def _written(self, now: float, *, ok: bool) -> None:
        self._recording = None
        if not ok:
            self._recorded = False
        if self.state is not PauseState.SWITCHING:
            return
        if ok:
            self._hold(now)
        else:
            self._give_up(now)

    def _forget(self) -> None:
        """The pause is over: so is its record."""
        self._panels.clear()
        if self._recorded:
            self._record(paused=False)

    def _row(self, kind: RowKind, text: str, *, keep_asking: bool = False) -> None:
        self._steps.emit(ShowRow(self._task, kind, text, keep_asking))


class _Switched(Protocol):
    def __call__(self, now: float, *, ok: bool) -> None: ...
