"""A call as two records with a table each (A-6): the agent's request and the page's ask.

A missing entry is the refusal: what is not in a table does not happen. The diagrams of the
documentation are drawn from these tables.
"""

from __future__ import annotations

from attrs import frozen

from deska_sdk._words import Word
from deska_sdk.errors import AgentCode


class RequestState(Word):
    """Where an agent's request stands. The three ``finishing`` states are A-6's one."""

    PREPARING = "preparing"
    WAITING = "waiting"
    FINISHING_IMAGES = "finishing: images"
    FINISHING_SWITCH = "finishing: switch"
    FINISHING_NUMBER = "finishing: number"
    ENDED = "ended"

    @property
    def finishing(self) -> bool:
        """Whether the page has answered and the agent is still to be told."""
        return self.value.startswith("finishing")


class Cause(Word):
    """What moves an agent's request."""

    IMAGES_READ = "images read"
    REFUSED = "refused"
    DEADLINE = "deadline"
    DEFERRED = "deferred"
    STOPPED = "stopped"
    TURNED_OFF = "turned off"
    DISCONNECTED = "disconnected"
    PAGE_CLOSED = "page closed"
    WRITE_ACCEPTED = "write accepted"
    READ_ACCEPTED = "read accepted"
    ANSWER_TOO_LARGE = "answer too large"
    IMAGES_DONE = "images done"
    SWITCHED = "switched"
    SWITCH_FAILED = "switch failed"
    NUMBERED = "numbered"


@frozen
class Move:
    """The next state, and the code the agent gets where the move ends the request."""

    to: RequestState
    code: AgentCode | None = None


_P, _W = RequestState.PREPARING, RequestState.WAITING
_I, _S, _N = (
    RequestState.FINISHING_IMAGES,
    RequestState.FINISHING_SWITCH,
    RequestState.FINISHING_NUMBER,
)
_END = RequestState.ENDED

#: Ways in which the person, the turn or the switch ends a call wherever it stands (C-6, C-7, A-9).
_ANYWHERE = {
    Cause.STOPPED: AgentCode.STOPPED,
    Cause.TURNED_OFF: AgentCode.TURNED_OFF,
    Cause.DISCONNECTED: AgentCode.NOT_CONNECTED,
}

REQUEST: dict[tuple[RequestState, Cause], Move] = {
    (_P, Cause.IMAGES_READ): Move(_W),
    # The code of a refusal is the refusal's own: the caller gives it.
    (_P, Cause.REFUSED): Move(_END),
    (_P, Cause.DEADLINE): Move(_END, AgentCode.IMAGE_TIMEOUT),
    # S-7: the agent is told at once; the page's ask goes on as a deferred read.
    (_W, Cause.DEFERRED): Move(_END, AgentCode.READ_DEFERRED),
    (_W, Cause.DEADLINE): Move(_END, AgentCode.PANEL_TIMEOUT),
    # only a waiting request ends with its page. One that is being prepared finds out when
    # it is delivered, and after an accepted answer a close changes nothing.
    (_W, Cause.PAGE_CLOSED): Move(_END, AgentCode.PANEL_CLOSED),
    (_W, Cause.ANSWER_TOO_LARGE): Move(_END, AgentCode.ANSWER_TOO_LARGE),
    (_W, Cause.READ_ACCEPTED): Move(_I),
    (_W, Cause.WRITE_ACCEPTED): Move(_N),
    # late images are unavailable, they do not end the call.
    (_I, Cause.DEADLINE): Move(_S),
    (_I, Cause.IMAGES_DONE): Move(_S),
    (_I, Cause.ANSWER_TOO_LARGE): Move(_END, AgentCode.ANSWER_TOO_LARGE),
    (_S, Cause.SWITCHED): Move(_END),
    (_S, Cause.SWITCH_FAILED): Move(_END, AgentCode.PAUSE_FAILED),
    (_S, Cause.DEADLINE): Move(_END, AgentCode.PAUSE_FAILED),
    (_N, Cause.NUMBERED): Move(_END),
    # The store did not reserve numbers in time: the write's answer goes without a counter.
    (_N, Cause.DEADLINE): Move(_END),
    **{
        (state, cause): Move(_END, code)
        for state in (_P, _W, _I, _S, _N)
        for cause, code in _ANYWHERE.items()
    },
}


class AskState(Word):
    """Where the page's ask stands. Only a delivered ask takes an answer."""

    DELIVERED = "delivered"
    ACCEPTED = "accepted"
    EXPIRED = "expired"
    DROPPED = "dropped"


class AskCause(Word):
    """What moves a page's ask."""

    ACCEPT = "accept"
    EXPIRE = "expire"
    DROP = "drop"


ASK: dict[tuple[AskState, AskCause], AskState] = {
    (AskState.DELIVERED, AskCause.ACCEPT): AskState.ACCEPTED,
    (AskState.DELIVERED, AskCause.EXPIRE): AskState.EXPIRED,
    (AskState.DELIVERED, AskCause.DROP): AskState.DROPPED,
}

#: What a move of a waiting request does to its ask. A deferred read takes the ask over as it is.
ASK_CAUSE: dict[Cause, AskCause] = {
    Cause.READ_ACCEPTED: AskCause.ACCEPT,
    Cause.WRITE_ACCEPTED: AskCause.ACCEPT,
    Cause.ANSWER_TOO_LARGE: AskCause.ACCEPT,
    Cause.DEADLINE: AskCause.EXPIRE,
    Cause.PAGE_CLOSED: AskCause.DROP,
    Cause.STOPPED: AskCause.DROP,
    Cause.TURNED_OFF: AskCause.DROP,
    Cause.DISCONNECTED: AskCause.DROP,
}


class DeferredState(Word):
    """Where a deferred read stands: a message of the panel's that is still to come (S-7)."""

    ASKED = "asked"
    ENCODING = "encoding"
    QUEUED = "queued"
    IN_ITS_TURN = "in its turn"
    DROPPED = "dropped"


class DeferredCause(Word):
    """What moves a deferred read."""

    ACCEPTED = "answer accepted"
    ANSWER_TOO_LARGE = "answer too large"
    IMAGES_DONE = "images done"
    TURN_STARTED = "its turn started"
    DEADLINE = "deadline"
    PAGE_CLOSED = "page closed"
    REPLACED = "replaced by a newer read"
    STOPPED = "task stopped"
    TURNED_OFF = "turned off"
    DISCONNECTED = "disconnected"
    REMOVED = "removed by the person"


_A, _E, _Q, _D = (
    DeferredState.ASKED,
    DeferredState.ENCODING,
    DeferredState.QUEUED,
    DeferredState.DROPPED,
)

DEFERRED: dict[tuple[DeferredState, DeferredCause], DeferredState] = {
    (_A, DeferredCause.ACCEPTED): _E,
    (_A, DeferredCause.ANSWER_TOO_LARGE): _D,
    (_A, DeferredCause.DEADLINE): _D,
    (_A, DeferredCause.PAGE_CLOSED): _D,
    (_E, DeferredCause.IMAGES_DONE): _Q,
    (_E, DeferredCause.ANSWER_TOO_LARGE): _D,
    (_Q, DeferredCause.TURN_STARTED): DeferredState.IN_ITS_TURN,
    (_Q, DeferredCause.REMOVED): _D,
    **{
        (state, cause): _D
        for state in (_A, _E, _Q)
        for cause in (
            DeferredCause.REPLACED,
            DeferredCause.STOPPED,
            DeferredCause.TURNED_OFF,
            DeferredCause.DISCONNECTED,
        )
    },
}

#: What is counted when a deferred read is dropped; what the person or the task did is not (S-7).
DEFERRED_COUNTS = {
    DeferredCause.DEADLINE: AgentCode.PANEL_TIMEOUT,
    DeferredCause.PAGE_CLOSED: AgentCode.PANEL_CLOSED,
    DeferredCause.ANSWER_TOO_LARGE: AgentCode.ANSWER_TOO_LARGE,
}

#: A-9: where a write had been handed to the page, these say that it may have happened.
MAY_HAVE_HAPPENED_CODES = frozenset(
    {
        AgentCode.PANEL_TIMEOUT,
        AgentCode.PANEL_CLOSED,
        AgentCode.STOPPED,
        AgentCode.NOT_CONNECTED,
        AgentCode.TURNED_OFF,
    }
)
