"""What tasks want done (see :mod:`deska_sdk.router` for how effects are done)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen

from deska_sdk._words import Word

if TYPE_CHECKING:
    from deska_sdk.errors import AgentCode
    from deska_sdk.tasks.queue import Message


@frozen
class SwitchMode:
    """*Starts.* Put the task's agent into ``mode``; ends with ``ModeSwitched`` (S-1).

    A later one for the same task takes the place of an earlier one that has not ended.
    """

    op: int
    task: str
    mode: str


class RowKind(Word):
    """Why a row stands in a task (S-1, S-2, S-6)."""

    PAUSED = "paused"
    BACK = "back"
    STAYS = "stays"
    #: The task was paused when it was last here; the host, or only the task, began again.
    RESTARTED = "restarted"
    NOT_SENT = "not_sent"


@frozen
class ShowRow:
    """Show the person a row in the task. A ``paused`` row takes the place of the turn's earlier.

    ``keep_asking``: the row offers *Keep asking* (S-2).
    """

    task: str
    kind: RowKind
    #: The host's own sentence with panel names in it, which are their packages' text.
    text: str = field(repr=False)
    keep_asking: bool = False


@frozen
class StartTurn:
    """Begin a turn of the task's agent with this message; feed ``TurnStarted`` at once (O-4)."""

    task: str
    message: Message


@frozen
class Steer:
    """Put the person's message into the turn that runs (*Steer now*)."""

    task: str
    turn: str
    message: Message


@frozen
class AskApproval:
    """Ask the person whether the agent may do what it asks for; feed ``Approved``."""

    request: str
    task: str
    #: What the agent calls it. Its own text.
    key: str = field(repr=False)


@frozen
class Decided:
    """The agent's request for an approval ended."""

    request: str
    allowed: bool


@frozen
class ToolAnswered:
    """Whether a tool of the host may run now; ``code`` is why not (S-4)."""

    request: str
    code: AgentCode | None


@frozen
class ConfirmNeeded:
    """The assistant asked for something that only the person may grant now (S-5).

    Feed ``Confirmed`` with the same ``ask``.
    """

    ask: str
    task: str
    #: The mode it wants the task in, or the agent's request that it wants to approve.
    mode: str = ""
    request: str = ""


TaskEffect = (
    SwitchMode | ShowRow | StartTurn | Steer | AskApproval | Decided | ToolAnswered | ConfirmNeeded
)
