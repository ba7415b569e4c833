"""What may enter the router. An event carries payloads; its ``repr`` shows none of them (B-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attrs import field, frozen

from deska_sdk.steps import Committed
from deska_sdk.tasks.events import TaskEvent

if TYPE_CHECKING:
    from deska_sdk.errors import AgentCode
    from deska_sdk.handles import ImageHandle
    from deska_sdk.panels.manifest import Manifest

PageKind = Literal["desk", "extras"]

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


@frozen
class Offered:
    """The page offers content to a task, or withdraws what it offered (O-1).

    ``offer_id`` names the page's waiting promise.
    """

    instance: str
    offer_id: int
    text: object = field(default=None, repr=False)
    files: object = field(default=None, repr=False)


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


@frozen
class SendPressed:
    """The person pressed *Send to task* (O-2, O-3).

    ``version`` is that of the button; ``task`` is needed where several are connected; ``message``
    is a fresh id.
    """

    ask: str
    panel: str
    version: int
    message: str
    task: str | None = None


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
class FilesFound:
    """``FindFiles`` ended; ``ok`` is true where the panel keeps them all."""

    op: int
    ok: bool


@frozen
class Tick:
    """Time passed. Every event makes due deadlines fall first; this one does nothing else."""


Event = (
    TaskEvent
    | ListRequested
    | CallRequested
    | CallCancelled
    | PageStarted
    | PageReady
    | PageClosed
    | Responded
    | Offered
    | SendPressed
    | InstallAsked
    | UninstallAsked
    | ConnectAsked
    | DisconnectAsked
    | SwitchAsked
    | ImageRead
    | ImageEncoded
    | FilesFound
    | Committed
    | Tick
)
