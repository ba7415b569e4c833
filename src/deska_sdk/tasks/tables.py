"""The pause for approvals as a table: a missing entry is the refusal (S-1, S-5, S-6)."""

from __future__ import annotations

from deska_sdk._words import Word


class PauseState(Word):
    """Where the pause of a task stands."""

    NONE = "none"
    SWITCHING = "switching"
    HOLDING = "holding"
    RESTORING = "restoring"


class PauseCause(Word):
    """What moves it."""

    CONTENT = "content"
    SWITCHED = "switched"
    FAILED = "failed"
    ABANDONED = "abandoned"
    PERSON = "person's change"
    NOT_CHANGED = "person's change failed"
    TURN_ENDED = "turn ended"
    RESTORED = "restored"
    NOT_RESTORED = "not restored"
    LEFT = "task left"


_N, _S, _H, _R = (
    PauseState.NONE,
    PauseState.SWITCHING,
    PauseState.HOLDING,
    PauseState.RESTORING,
)

PAUSE: dict[tuple[PauseState, PauseCause], PauseState] = {
    (_N, PauseCause.CONTENT): _S,
    # The person's change took the place of putting the mode back, and came to nothing.
    (_N, PauseCause.NOT_CHANGED): _R,
    # S-1: more content joins a switch that is under way.
    (_S, PauseCause.CONTENT): _S,
    (_S, PauseCause.SWITCHED): _H,
    (_S, PauseCause.FAILED): _N,
    # Nobody waits any more. The switch may have happened all the same, so the mode is put back.
    (_S, PauseCause.ABANDONED): _R,
    # S-1: a person's change meanwhile fails it.
    (_S, PauseCause.PERSON): _N,
    (_H, PauseCause.CONTENT): _H,
    # S-5: only the person's own change of mode ends a pause early.
    (_H, PauseCause.PERSON): _N,
    (_H, PauseCause.TURN_ENDED): _R,
    # A new turn has content before the old mode was back.
    (_R, PauseCause.CONTENT): _S,
    (_R, PauseCause.PERSON): _N,
    (_R, PauseCause.RESTORED): _N,
    (_R, PauseCause.NOT_RESTORED): _N,
    # What is not put back now is put into Supervised when the task is here again.
    **{(state, PauseCause.LEFT): _N for state in (_S, _H, _R)},
}
