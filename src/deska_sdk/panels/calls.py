"""How a call starts and is stopped: checked, prepared, delivered, ended from outside (A-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attrs import field, frozen

from deska_sdk.errors import AgentCode, InvalidValue
from deska_sdk.notices import NoticeKind
from deska_sdk.panels.desk import Connection, Offered, Page, Route
from deska_sdk.panels.effects import (
    Count,
    Deliver,
    ReadImage,
    Reply,
)
from deska_sdk.panels.refusals import refusal_text
from deska_sdk.panels.requests import Request, Requests
from deska_sdk.panels.seen import seen
from deska_sdk.panels.tables import AskState, Cause, DeferredCause

if TYPE_CHECKING:
    from deska_sdk.panels.deferred import Deferrals
    from deska_sdk.panels.events import CallRequested, ImageRead, ListRequested


#: What an input may be as JSON text (D-11).
TEXT_TYPES = frozenset({str, bytes, bytearray, memoryview})


@frozen
class Refusal:
    """Why a call goes no further than its checks."""

    code: AgentCode
    invalid: InvalidValue | None = field(default=None, repr=False)


class Calls:
    """What the agent asks, until the page has heard it."""

    def __init__(self, requests: Requests, deferrals: Deferrals) -> None:
        self._requests = requests
        self._deferrals = deferrals
        self._desk = requests.desk
        self._tasks = requests.tasks
        self._steps = requests.steps
        self._limits = requests.steps.limits
        self._emit = requests.steps.emit

    # --- the agent asks

    def list(self, event: ListRequested) -> None:
        """Answer what is connected to the task (L-1)."""
        if self._tasks.turn_over(event.task, event.turn):
            text = refusal_text(AgentCode.STOPPED, self._limits)
            self._emit(Reply(event.request, text, code=AgentCode.STOPPED))
        else:
            self._emit(Reply(event.request, self._desk.list_text(event.task)))

    def request(self, event: CallRequested, now: float) -> None:
        """Check a call and deliver it, or prepare its images first (A-1)."""
        made = self._check(event)
        if isinstance(made, Refusal):
            self._refuse(event, made)
            return
        self._requests.add(made)
        if made.checked.images:
            self._steps.deadlines.set(
                made,
                now + self._limits.preparing_seconds,
                lambda _: self._requests.move(made, Cause.DEADLINE),
            )
            self._read_next(made)
        else:
            self._deliver(made, made.page, now)

    def _check(self, event: CallRequested) -> Request | Refusal:
        if self._tasks.turn_over(event.task, event.turn):
            return Refusal(AgentCode.STOPPED)
        route = self._desk.route(event.task, event.panel, event.action)
        if isinstance(route, AgentCode):
            return Refusal(route)
        connection, offered = route.connection, route.offered
        limits = self._limits
        if (
            len(connection.open) >= limits.open_calls_per_connection
            or connection.panel.open_calls >= limits.open_calls_per_panel
        ):
            return Refusal(AgentCode.PANEL_BUSY)
        payload = event.payload
        try:
            # D-8: a subclass of text is no text, and is refused as any value of a wrong type.
            if type(payload) in TEXT_TYPES:
                checked = offered.input.examine_json(cast("str | bytes", payload))
            else:
                checked = offered.input.examine(payload)
        except InvalidValue as invalid:
            return Refusal(AgentCode.INVALID_INPUT, invalid)
        if offered.output is not None and self._tasks.must_defer(event.task) is None:
            return Refusal(AgentCode.PAUSE_FAILED)
        if len(checked.images) > limits.images:
            return Refusal(AgentCode.TOO_MANY_IMAGES)
        return Request(
            event.request,
            event.call_id,
            event.turn,
            event.panel,
            connection,
            offered,
            checked,
            page=route.page,
        )

    def _refuse(self, event: CallRequested, refusal: Refusal) -> None:
        installed, code = self._desk.panels.get(event.panel), refusal.code
        if installed is not None:
            declared = event.action if event.action in installed.actions else ""
            self._emit(Count(event.panel, declared, code))
            self._steps.notify(NoticeKind.CALL_ENDED, event.panel, event.task, declared, code)
        text = refusal_text(code, self._limits, invalid=refusal.invalid)
        self._emit(Reply(event.request, text, code=code))

    # --- preparing

    def _read_next(self, request: Request) -> None:
        container, key = request.checked.images[len(request.images)]
        request.op = self._steps.start(lambda event, now: self._image_read(request, event, now))
        self._emit(ReadImage(request.op, request.connection.task, container[key]))

    def _image_read(self, request: Request, event: ImageRead, now: float) -> None:
        """An image of a call was read, or could not be (I-1, I-2)."""
        image = event.image
        request.op = None
        if isinstance(image, AgentCode):
            self._requests.move(request, Cause.REFUSED, image)
            return
        request.images.append(image)
        request.image_bytes += image.size
        panel = request.connection.panel
        panel.image_bytes += image.size
        if panel.image_bytes > self._limits.image_bytes_per_panel:
            self._requests.move(request, Cause.REFUSED, AgentCode.PANEL_BUSY)
        elif len(request.images) < len(request.checked.images):
            self._read_next(request)
        else:
            self._redeliver(request, now)

    def _redeliver(self, request: Request, now: float) -> None:
        # reading images took time, so the first five are asked again.
        route = self._desk.route(
            request.connection.task, request.panel_id, request.offered.action.name
        )
        if not isinstance(route, Route):
            self._requests.move(request, Cause.REFUSED, route)
        elif not _same(request.offered, route.offered):
            # The person agreed to another version meanwhile. This input was never held against
            # its schema, and what was checked is what the page gets (T-3).
            self._requests.move(request, Cause.REFUSED, AgentCode.CONSENT_CHANGED)
        else:
            request.offered = route.offered
            self._deliver(request, route.page, now)

    def _deliver(self, request: Request, page: Page | None, now: float) -> None:
        checked, connection = request.checked, request.connection
        if checked.counters:
            counter = self._desk.counter(connection.task, request.panel_id)
            for container, key in checked.counters:
                revision = counter.revision(container[key])
                if revision is not None:
                    # the page receives its own revision, which need not fit maxLength.
                    container[key] = revision
        if request.images:
            for (container, key), image in zip(checked.images, request.images, strict=True):
                container[key] = image
            # From here on the images are the page's; their bytes count until the call ends.
            request.images.clear()
        assert page is not None, "a request is delivered to the page its route named"
        self._requests.move(request, Cause.IMAGES_READ)
        request.page, request.ask = page, AskState.DELIVERED
        page.asks[request.call_id] = request
        self._steps.deadlines.set(
            request,
            now + self._limits.waiting_seconds,
            lambda _: self._requests.move(request, Cause.DEADLINE),
        )
        name = request.offered.action.name
        self._emit(
            Deliver(
                page.instance,
                request.call_id,
                name,
                checked.value,
                tuple(checked.images) if checked.images else (),
            )
        )
        self._steps.notify(NoticeKind.CALL_STARTED, request.panel_id, connection.task, name)
        if request.offered.output is not None and self._tasks.must_defer(connection.task):
            self._requests.move(request, Cause.DEFERRED)
            self._deferrals.take_over(request, page, now)

    # --- what ends calls from outside

    def cancel(self, request_id: str) -> None:
        """The agent no longer waits."""
        request = self._requests.get(request_id)
        if request is not None:
            self._requests.move(request, Cause.STOPPED)

    def end_turn(self, task: str, turn: str) -> None:
        """End the open calls of a turn."""
        for connection in self._desk.connections(task):
            for request in tuple(connection.open.values()):
                if request.turn == turn:
                    self._requests.move(request, Cause.STOPPED)

    def end_all(self, connection: Connection, cause: Cause) -> None:
        """End the open calls of a connection."""
        for request in tuple(connection.open.values()):
            self._requests.move(request, cause)

    def close_page(self, page: Page) -> None:
        """End what waits for the page (A-7)."""
        for asked in tuple(page.asks.values()):
            if isinstance(asked, Request):
                self._requests.move(asked, Cause.PAGE_CLOSED)
            else:
                self._deferrals.move(asked, DeferredCause.PAGE_CLOSED)


def _same(before: Offered, after: Offered) -> bool:
    """Whether both are one action as an agent sees it and a call needs it (C-2)."""
    return before is after or seen(before.action) == seen(after.action)
