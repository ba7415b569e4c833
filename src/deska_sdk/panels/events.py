"""What may enter the router. An event carries payloads; its ``repr`` shows none of them (B-2)."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from attrs import field, frozen

if TYPE_CHECKING:
    from deska_sdk.errors import AgentCode
    from deska_sdk.panels.effects import ImageHandle
    from deska_sdk.panels.manifest import Manifest


class TaskKind(StrEnum):
    """What runs a task. Only local tasks connect (C-3)."""

    LOCAL = "local"
    ASSISTANT = "assistant"
    TERMINAL = "terminal"
    REMOTE = "remote"


PageKind = Literal["desk", "extras"]

# --- tasks and turns


@frozen
class TaskAttached:
    """A task is here. ``supervised``: the host sees what its agent does (C-3).

    ``can_switch``: the host can put it into Supervised in the middle of a turn (S-1).
    """

    task: str
    kind: TaskKind = TaskKind.LOCAL
    supervised: bool = True
    can_switch: bool = True


@frozen
class TaskDetached:
    """A task left. Its connections stay for when it is attached again."""

    task: str


@frozen
class TurnStarted:
    """A turn of the task began."""

    task: str
    turn: str


@frozen
class TurnEnded:
    """The turn is over: its open calls end with ``stopped``."""

    task: str
    turn: str


# --- the agent


@frozen
class ListRequested:
    """The agent asks which panels are connected to its task (L-1)."""

    request: str
    task: str
    turn: str


@frozen
class CallRequested:
    """The agent calls an action (A-1).

    ``payload`` is the input: JSON text as ``str`` or ``bytes``, or a JSON value. ``call_id`` is
    fresh and cannot be guessed (A-2).
    """

    request: str
    call_id: str
    task: str
    turn: str
    panel: str = field(repr=False)
    action: str = field(repr=False)
    payload: object = field(repr=False)


@frozen
class CallCancelled:
    """The agent no longer waits for this request; it ends with ``stopped``."""

    request: str


# --- pages


@frozen
class PageStarted:
    """A page of the panel runs. From now on it hears calls, if it is the desk's (C-4)."""

    instance: str
    panel: str
    kind: PageKind = "desk"


@frozen
class PageReady:
    """The page called ``ready()`` (C-5)."""

    instance: str


@frozen
class PageClosed:
    """The page is gone; a reload is a close and a start (A-7)."""

    instance: str


@frozen
class Responded:
    """The page answers a call (A-5). ``respond_id`` names the page's waiting promise."""

    instance: str
    respond_id: int
    call_id: str = field(repr=False)
    payload: object = field(repr=False)


# --- the person, and the program for them. Each is told its end under ``ask``.


@frozen
class InstallAsked:
    """Install a checked panel, or let it take the place of an earlier version (P-6)."""

    ask: str
    manifest: Manifest
    folder: str | None = None


@frozen
class UninstallAsked:
    """Remove a panel and what it kept, but its ledger entry and counter numbers (G-3)."""

    ask: str
    panel: str


@frozen
class ConnectAsked:
    """Connect the panel to the task. ``consent`` is the fingerprint the person agreed to."""

    ask: str
    task: str
    panel: str
    consent: str | None = None


@frozen
class DisconnectAsked:
    """Disconnect the panel from the task; its open calls end at once (C-7)."""

    ask: str
    task: str
    panel: str


@frozen
class SwitchAsked:
    """Turn panel actions on or off for every task (C-6)."""

    ask: str
    on: bool


# --- completions: the host did what an effect asked for


@frozen
class ImageRead:
    """``ReadImage`` ended: the image, or why there is none."""

    op: int
    image: ImageHandle | AgentCode


@frozen
class ImageEncoded:
    """``EncodeImage`` ended: the PNG, or ``None`` where there is none (I-4)."""

    op: int
    image: ImageHandle | None


@frozen
class ModeSwitched:
    """``SwitchMode`` ended."""

    op: int
    ok: bool


@frozen
class Committed:
    """``Persist`` ended. ``ok`` is false where the store failed and nothing was written."""

    op: int
    ok: bool = True


@frozen
class Tick:
    """Time passed. Every event makes due deadlines fall first; this one does nothing else."""


Event = (
    TaskAttached
    | TaskDetached
    | TurnStarted
    | TurnEnded
    | ListRequested
    | CallRequested
    | CallCancelled
    | PageStarted
    | PageReady
    | PageClosed
    | Responded
    | InstallAsked
    | UninstallAsked
    | ConnectAsked
    | DisconnectAsked
    | SwitchAsked
    | ImageRead
    | ImageEncoded
    | ModeSwitched
    | Committed
    | Tick
)
