"""What an embedder is told, without a word of an agent or a page (B-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from deska_sdk._words import Word

if TYPE_CHECKING:
    from deska_sdk.errors import AgentCode


class NoticeKind(Word):
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
    #: A row stands in the task; the person's side shows it.
    ROW_SHOWN = "row_shown"
    #: An approval, or the confirmation of what the assistant asked, waits for the person.
    APPROVAL_ASKED = "approval_asked"
    CONFIRMATION_ASKED = "confirmation_asked"
    #: The panel's *Send to task* button went on, off, or shows something else.
    OFFER_CHANGED = "offer_changed"


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
