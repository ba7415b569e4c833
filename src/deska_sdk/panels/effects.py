"""What the router wants done. An effect carries payloads; its ``repr`` shows none of them (B-2).

Effects marked *starts* are done in the background and end with the completion event of the same
``op``; all others are done at once, in order, without yielding in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from deska_sdk.notices import Notify
from deska_sdk.steps import CancelOp, Done, Persist, Release
from deska_sdk.tasks.effects import TaskEffect

if TYPE_CHECKING:
    from deska_sdk.errors import AgentCode, PageCode
    from deska_sdk.handles import ImageHandle
    from deska_sdk.panels.consent import Sheet
    from deska_sdk.schema import Slot


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
class FindFiles:
    """*Starts.* Look whether the panel keeps all of these ids (O-1)."""

    op: int
    panel: str
    file_ids: tuple[str, ...] = field(repr=False)


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
class SettleOffer:
    """The page's ``offer`` resolves to true, or fails with ``code`` (O-1)."""

    instance: str
    offer_id: int
    code: PageCode | None


@frozen
class OfferButton:
    """Light the host's *Send to task* button for the panel, or put it out (O-2).

    ``version`` names what pressing sends now; ``None`` is off. The page is never told.
    """

    panel: str
    version: int | None


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
    #: The panel whose content the text is; empty where it is the host's own (S-5).
    panel: str = ""


# --- to the person, and to the program for them


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
    #: False for what became of a deferred read, which was counted when it was called.
    called: bool = True


Effect = (
    TaskEffect
    | ReadImage
    | EncodeImage
    | FindFiles
    | Persist
    | CancelOp
    | Release
    | Deliver
    | SettleRespond
    | SettleOffer
    | OfferButton
    | Init
    | Connected
    | ClosePage
    | Reply
    | Done
    | ShowSheet
    | Count
    | Notify
)
