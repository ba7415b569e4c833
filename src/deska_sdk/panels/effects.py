"""What the router wants done. An effect carries payloads; its ``repr`` shows none of them (B-2).

Effects marked *starts* are done in the background and end with the completion event of the same
``op``; all others are done at once, in order, without yielding in between.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from deska_sdk.errors import AgentCode, PageCode, PersonCode
    from deska_sdk.panels.consent import Sheet
    from deska_sdk.records import Record
    from deska_sdk.schema import Slot


@frozen
class ImageHandle:
    """An image whose bytes the host keeps. ``size`` is in bytes."""

    id: str
    media_type: str
    size: int


# --- work that the host starts


@frozen
class ReadImage:
    """*Starts.* Read and decode the image at ``path`` in the task's folder (I-1, I-2)."""

    op: int
    task: str
    path: str = field(repr=False)


@frozen
class EncodeImage:
    """*Starts.* Write an image that the panel keeps again as PNG (I-4, I-5)."""

    op: int
    panel: str
    file_id: str = field(repr=False)


@frozen
class SwitchMode:
    """*Starts.* Put the task into Supervised before content enters the turn (S-1)."""

    op: int
    task: str
    turn: str


@frozen
class Persist:
    """*Starts.* Write all these records in one transaction."""

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


# --- to the page


@frozen
class Deliver:
    """Hand a checked call to the page as ``agent.action`` (A-2).

    ``images`` are the places in ``input`` where an :class:`ImageHandle` stands; the host puts
    its Blob there.
    """

    instance: str
    call_id: str = field(repr=False)
    action: str
    input: dict[str, Any] = field(repr=False)
    images: tuple[Slot, ...] = field(repr=False)


@frozen
class SettleRespond:
    """The page's ``respond`` resolves to true, or fails with ``code`` (A-5)."""

    instance: str
    respond_id: int
    code: PageCode | None


@frozen
class Init:
    """The page's ``ready()`` resolves (C-5)."""

    instance: str
    tasks: int


@frozen
class Connected:
    """Tell the page to how many tasks its panel is connected (C-5)."""

    instance: str
    tasks: int


@frozen
class ClosePage:
    """The page's panel was replaced or removed: stop it."""

    instance: str


# --- to the agent


@frozen
class Reply:
    """The one reply to a request (A-3). ``code`` is ``None`` where nothing was refused."""

    request: str
    text: str = field(repr=False)
    images: tuple[ImageHandle, ...] = ()
    code: AgentCode | None = None


# --- to the person, and to the program for them


@frozen
class Done:
    """An ask ended: ``code`` is why it was refused, ``failed`` that the store failed."""

    ask: str
    code: PersonCode | None = None
    failed: bool = False


@frozen
class ShowSheet:
    """The ask waits for the person: show the sheet, then ask again with its fingerprint (C-1)."""

    ask: str
    sheet: Sheet


@frozen
class Count:
    """Count one call for *What it did on this computer* (B-1).

    ``action`` is empty where the agent named none that the panel declares.
    """

    panel: str
    action: str
    code: AgentCode | None


class NoticeKind(StrEnum):
    """What an embedder can be told about."""

    INSTALLED = "installed"
    UNINSTALLED = "uninstalled"
    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    TURNED_ON = "turned_on"
    TURNED_OFF = "turned_off"
    PAGE_STARTED = "page_started"
    PAGE_CLOSED = "page_closed"
    CALL_STARTED = "call_started"
    CALL_ENDED = "call_ended"


@frozen
class Notice:
    """Something happened. A notice never carries what an agent or a page said (B-2)."""

    kind: NoticeKind
    panel: str = ""
    task: str = ""
    #: Only an action that the panel declares.
    action: str = ""
    code: AgentCode | None = None


@frozen
class Notify:
    """Publish a notice to the embedder."""

    notice: Notice


Effect = (
    ReadImage
    | EncodeImage
    | SwitchMode
    | Persist
    | CancelOp
    | Release
    | Deliver
    | SettleRespond
    | Init
    | Connected
    | ClosePage
    | Reply
    | Done
    | ShowSheet
    | Count
    | Notify
)
