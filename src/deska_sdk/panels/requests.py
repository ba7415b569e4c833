"""An open request, and the one place where a request moves (A-6).

Every move is one entry of :data:`~deska_sdk.panels.tables.REQUEST`, made in one synchronous step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from deska_sdk.errors import AgentCode
from deska_sdk.notices import NoticeKind
from deska_sdk.panels.effects import Count, Reply
from deska_sdk.panels.refusals import refusal_text
from deska_sdk.panels.tables import (
    ASK,
    ASK_CAUSE,
    MAY_HAVE_HAPPENED_CODES,
    REQUEST,
    AskState,
    Cause,
    RequestState,
)
from deska_sdk.steps import Release

if TYPE_CHECKING:
    from deska_sdk.handles import ImageHandle
    from deska_sdk.panels.answers import ReadAnswer, WriteAnswer
    from deska_sdk.panels.desk import Connection, Desk, Offered, Page
    from deska_sdk.panels.encoding import Encoder, Encoding
    from deska_sdk.schema import Checked
    from deska_sdk.steps import Steps
    from deska_sdk.tasks.tasks import Tasks


# Naming a member of an enumeration takes as long as two look-ups, and these are on the way of
# every call.
_WAITING, _ENDED = RequestState.WAITING, RequestState.ENDED
_DEFERRED = Cause.DEFERRED
_READ_DEFERRED = AgentCode.READ_DEFERRED
_CALL_ENDED = NoticeKind.CALL_ENDED


@define(eq=False, repr=False)
class Request:
    """One call of an agent, from its checks to its reply."""

    id: str
    call_id: str
    turn: str
    panel_id: str
    connection: Connection
    offered: Offered
    checked: Checked
    state: RequestState = RequestState.PREPARING
    ask: AskState | None = None
    page: Page | None = None
    #: The effect it waits for, and the deadline's sequence number.
    op: int | None = None
    timer: int | None = None
    #: Images that were read and are this request's to release, until the page has them.
    images: list[ImageHandle] = field(factory=list["ImageHandle"])
    image_bytes: int = 0
    write: WriteAnswer | None = None
    read: ReadAnswer | None = None
    encoding: Encoding | None = None
    #: Its content, on the way into the turn.
    entering: Entering | None = None
    text: str = ""


@define(eq=False)
class Entering:
    """A read's content on its way into its turn (S-1)."""

    requests: Requests
    request: Request

    @property
    def panel_name(self) -> str:
        return self.request.connection.panel.manifest.folded_name

    def granted(self, now: float) -> None:  # noqa: ARG002 - as every content
        request = self.request
        over = self.requests.tasks.turn_over(request.connection.task, request.turn)
        self.requests.move(request, Cause.STOPPED if over else Cause.SWITCHED)

    def refused(self, now: float) -> None:  # noqa: ARG002
        self.requests.move(self.request, Cause.SWITCH_FAILED)


class Requests:
    """The open requests."""

    def __init__(self, desk: Desk, tasks: Tasks, steps: Steps, encoder: Encoder) -> None:
        self.desk = desk
        self.tasks = tasks
        self.steps = steps
        self.encoder = encoder
        self._open: dict[str, Request] = {}

    def __len__(self) -> int:
        return len(self._open)

    def get(self, request_id: str) -> Request | None:
        """The open request with this id."""
        return self._open.get(request_id)

    def add(self, request: Request) -> None:
        """Open a request.

        :raises ValueError: its id is that of an open one.
        """
        if request.id in self._open:
            raise ValueError("a request with this id is open")
        self._open[request.id] = request.connection.open[request.id] = request
        request.connection.panel.open_calls += 1

    def move(self, request: Request, cause: Cause, code: AgentCode | None = None) -> None:
        """Move a request; a cause that its state has no entry for changes nothing (A-6)."""
        before = request.state
        move = REQUEST.get((before, cause))
        if move is None:
            return
        if request.timer is not None or request.op is not None or request.entering is not None:
            self._stop_waiting(request)
        if before is _WAITING and cause is not _DEFERRED:
            assert request.page is not None, "a waiting request has a page"
            assert request.ask is not None, "a waiting request has an ask"
            request.ask = ASK[request.ask, ASK_CAUSE[cause]]
            del request.page.asks[request.call_id]
        request.state = move.to
        if move.to is _ENDED:
            self._end(request, code or move.code, before)

    def _stop_waiting(self, request: Request) -> None:
        steps = self.steps
        if request.timer is not None:
            steps.deadlines.clear(request)
        if request.op is not None:
            steps.cancel(request.op)
            request.op = None
        if request.entering is not None:
            entering, request.entering = request.entering, None
            task = self.tasks.get(request.connection.task)
            if task is not None:
                task.pause.leave(entering, steps.now)

    def _end(self, request: Request, code: AgentCode | None, before: RequestState) -> None:
        connection, action = request.connection, request.offered.action
        panel, limits = connection.panel, self.steps.limits
        del self._open[request.id], connection.open[request.id]
        panel.open_calls -= 1
        panel.image_bytes -= request.image_bytes
        if code is None:
            images = () if request.encoding is None else request.encoding.take()
            marked = request.panel_id if request.read is not None else ""
            reply = Reply(request.id, request.text, images, panel=marked)
        else:
            if request.images:
                self.steps.emit(Release(tuple(request.images)))
            if request.encoding is not None:
                self.encoder.stop(request.encoding)
            text = refusal_text(
                code,
                limits,
                may_have_happened=action.kind == "write"
                and before is not RequestState.PREPARING
                and code in MAY_HAVE_HAPPENED_CODES,
            )
            reply = Reply(request.id, text, code=code)
        # S-7: a deferred read is no refusal; what becomes of it is counted when it is known.
        counted = None if code is _READ_DEFERRED else code
        name = action.name
        self.steps.emit(Count(request.panel_id, name, counted))
        self.steps.notify(_CALL_ENDED, request.panel_id, connection.task, name, code)
        self.steps.emit(reply)
