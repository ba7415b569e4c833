"""An open request, and the one place where a request moves (A-6).

Every move is one entry of :data:`~deska_sdk.panels.tables.REQUEST`, made in one synchronous step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from deska_sdk.panels.deadlines import Deadlines
from deska_sdk.panels.effects import (
    CancelOp,
    Count,
    Effect,
    ImageHandle,
    Notice,
    NoticeKind,
    Notify,
    Release,
    Reply,
)
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.errors import AgentCode
    from deska_sdk.limits import Limits
    from deska_sdk.panels.answers import ReadAnswer, WriteAnswer
    from deska_sdk.panels.desk import Connection, Desk, Offered, Page
    from deska_sdk.schema import Checked


@define(eq=False, repr=False)
class Request:
    """One call of an agent, from its checks to its reply."""

    id: str
    call_id: str
    turn: str
    connection: Connection
    offered: Offered
    checked: Checked
    state: RequestState = RequestState.PREPARING
    ask: AskState | None = None
    page: Page | None = None
    #: The effect it waits for, and the deadline's sequence number.
    op: int | None = None
    timer: int | None = None
    #: Images that are this request's to release: those read, then those encoded.
    images: list[ImageHandle] = field(factory=list[ImageHandle])
    image_bytes: int = 0
    write: WriteAnswer | None = None
    read: ReadAnswer | None = None
    #: The id of each encoded image and its ``image:N``.
    numbers: dict[str, str] = field(factory=dict[str, str])
    tried: int = 0
    text: str = ""

    @property
    def panel_id(self) -> str:
        return self.connection.panel.manifest.id


class Requests:
    """The open requests, their deadlines, and the effects they wait for."""

    def __init__(self, desk: Desk, limits: Limits, emit: Callable[[Effect], None]) -> None:
        self.desk = desk
        self.limits = limits
        self.emit = emit
        self.deadlines = Deadlines()
        self._open: dict[str, Request] = {}
        self._ops: dict[int, Request] = {}
        self._next_op = 0

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

    def new_op(self) -> int:
        """A number for an effect that the host starts; never given twice."""
        self._next_op += 1
        return self._next_op

    def start(self, request: Request) -> int:
        """A number for the effect that ``request`` now waits for."""
        op = request.op = self.new_op()
        self._ops[op] = request
        return op

    def completed(self, op: int) -> Request | None:
        """The request that waited for ``op``; ``None`` where the completion is stale."""
        request = self._ops.pop(op, None)
        if request is not None:
            request.op = None
        return request

    def turn_over(self, task: str, turn: str) -> bool:
        """Whether a task that is here is no longer in this turn."""
        here = self.desk.tasks.get(task)
        return here is not None and here.turn != turn

    def move(self, request: Request, cause: Cause, code: AgentCode | None = None) -> None:
        before = request.state
        move = REQUEST.get((before, cause))
        if move is None:
            return
        self.deadlines.clear(request)
        if request.op is not None:
            self.emit(CancelOp(request.op))
            del self._ops[request.op]
            request.op = None
        if before is RequestState.WAITING:
            assert request.page is not None, "a waiting request has a page"
            assert request.ask is not None, "a waiting request has an ask"
            request.ask = ASK[request.ask, ASK_CAUSE[cause]]
            del request.page.asks[request.call_id]
        request.state = move.to
        if move.to is RequestState.ENDED:
            self._end(request, code or move.code, before)

    def _end(self, request: Request, code: AgentCode | None, before: RequestState) -> None:
        connection, action = request.connection, request.offered.action
        panel = connection.panel
        del self._open[request.id], connection.open[request.id]
        panel.open_calls -= 1
        panel.image_bytes -= request.image_bytes
        if code is None:
            reply = Reply(request.id, request.text, tuple(request.images))
        else:
            if request.images:
                self.emit(Release(tuple(request.images)))
            text = refusal_text(
                code,
                self.limits,
                may_have_happened=action.kind == "write"
                and before is not RequestState.PREPARING
                and code in MAY_HAVE_HAPPENED_CODES,
            )
            reply = Reply(request.id, text, code=code)
        self.emit(Count(request.panel_id, action.name, code))
        self.emit(
            Notify(
                Notice(NoticeKind.CALL_ENDED, request.panel_id, connection.task, action.name, code)
            )
        )
        self.emit(reply)
