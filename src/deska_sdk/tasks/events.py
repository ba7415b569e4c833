"""What may happen to tasks, their turns, their modes and their queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen

from deska_sdk._words import Word
from deska_sdk.tasks.modes import DEFAULT_MODES, Modes

if TYPE_CHECKING:
    from deska_sdk.tasks.queue import Message


class TaskKind(Word):
    """What runs a task. Only local tasks connect (C-3)."""

    LOCAL = "local"
    ASSISTANT = "assistant"
    TERMINAL = "terminal"
    REMOTE = "remote"


class Switches(Word):
    """When an agent can be put into Supervised (S-7)."""

    MID_TURN = "mid_turn"
    NEXT_TURN = "next_turn"
    NEVER = "never"


class Who(Word):
    """Who asks for something that the person's own word decides (S-5)."""

    PERSON = "person"
    ASSISTANT = "assistant"


class TurnEnd(Word):
    """How a turn ended. Stopping and interrupting drop the task's deferred reads (S-7)."""

    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


class HostTool(Word):
    """Tools of the host that a pause holds back (S-4)."""

    PREVIEW = "preview"
    SUBAGENT = "subagent"


class Answer(Word):
    """What the person says to a request for an approval."""

    ONCE = "once"
    ALWAYS = "always"
    DENY = "deny"


def _is_a_mode(attached: TaskAttached, _attribute: object, mode: str) -> None:
    if mode not in attached.modes:
        raise ValueError("the task is in a mode that it does not have")


@frozen
class TaskAttached:
    """A task is here. ``supervised``: the host sees what its agent does (C-3).

    ``mode`` is the mode its agent is in now. ``runs_messages``: the host starts a turn when told
    to; otherwise what is queued waits.

    :raises ValueError: ``mode`` is none of ``modes``.
    """

    task: str
    kind: TaskKind = TaskKind.LOCAL
    supervised: bool = True
    switches: Switches = Switches.MID_TURN
    modes: Modes = DEFAULT_MODES
    mode: str = field(default="supervised", validator=_is_a_mode)
    runs_messages: bool = False


@frozen
class TaskDetached:
    """A task left. Its connections stay for when it is attached again; its queue does not."""

    task: str


@frozen
class TaskStopped:
    """The person stopped or interrupted the task while no turn of it ran (S-7)."""

    task: str


@frozen
class TurnStarted:
    """A turn of the task began; ``message`` is the one that started it, if one did."""

    task: str
    turn: str
    message: str | None = None


@frozen
class TurnEnded:
    """The turn is over: its open calls end with ``stopped``."""

    task: str
    turn: str
    how: TurnEnd = TurnEnd.COMPLETED


@frozen
class ModeSwitched:
    """``SwitchMode`` ended. Where ``ok`` is false the agent is in the mode it was in before."""

    op: int
    ok: bool


@frozen
class ModeAsked:
    """Someone wants the task in ``mode``. Only the person's own change ends a pause (S-5)."""

    ask: str
    task: str
    mode: str
    by: Who = Who.PERSON


@frozen
class KeepAsking:
    """The person pressed *Keep asking*: Supervised until they change it (S-2)."""

    ask: str
    task: str


@frozen
class Confirmed:
    """The person answered ``ConfirmNeeded``."""

    ask: str
    yes: bool


@frozen
class ApprovalRequested:
    """The agent asks whether it may do something. The same ``key`` is the same thing."""

    request: str
    task: str
    turn: str
    key: str = field(repr=False)


@frozen
class Approved:
    """Someone answered ``AskApproval``."""

    ask: str
    request: str
    answer: Answer
    by: Who = Who.PERSON


@frozen
class ToolRequested:
    """The agent wants to use one of the host's tools that a pause holds back (S-4)."""

    request: str
    task: str
    turn: str
    tool: HostTool


@frozen
class MessageQueued:
    """A message of the person, or of another sender, waits for the task (O-4)."""

    ask: str
    task: str
    message: Message


@frozen
class MessageSteered:
    """The person wants a waiting message in the turn that runs now (*Steer now*)."""

    ask: str
    task: str
    message: str


@frozen
class MessageEdited:
    """The person wants a waiting message to say something else."""

    ask: str
    task: str
    message: str
    text: str = field(repr=False)


@frozen
class MessageRemoved:
    """The person takes a waiting message away."""

    ask: str
    task: str
    message: str


TaskEvent = (
    TaskAttached
    | TaskDetached
    | TaskStopped
    | TurnStarted
    | TurnEnded
    | ModeSwitched
    | ModeAsked
    | KeepAsking
    | Confirmed
    | ApprovalRequested
    | Approved
    | ToolRequested
    | MessageQueued
    | MessageSteered
    | MessageEdited
    | MessageRemoved
)
