"""Deferred reads: the agent was told at once, and the answer comes as a message (S-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from deska_sdk.errors import TooLarge
from deska_sdk.panels.answers import fenced
from deska_sdk.panels.effects import Count
from deska_sdk.panels.encoding import Encoding
from deska_sdk.panels.tables import DEFERRED, DEFERRED_COUNTS, DeferredCause, DeferredState
from deska_sdk.tasks.queue import Message, Sender

if TYPE_CHECKING:
    from deska_sdk.panels.answers import ReadAnswer
    from deska_sdk.panels.desk import Connection, Offered, Page
    from deska_sdk.panels.encoding import Encoder
    from deska_sdk.panels.requests import Request
    from deska_sdk.steps import Steps
    from deska_sdk.tasks.tasks import Tasks


@define(eq=False, repr=False)
class Deferred:
    """A read whose answer is still to come, from the reply to the start of its own turn."""

    call_id: str
    connection: Connection
    offered: Offered
    page: Page
    state: DeferredState = DeferredState.ASKED
    timer: int | None = None
    encoding: Encoding | None = None

    @property
    def panel_id(self) -> str:
        return self.connection.panel.manifest.id


class Deferrals:
    """The deferred reads of all tasks: at most one per task and panel."""

    def __init__(self, tasks: Tasks, steps: Steps, encoder: Encoder) -> None:
        self._tasks = tasks
        self._steps = steps
        self._encoder = encoder
        self._waiting: dict[tuple[str, str], Deferred] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def take_over(self, request: Request, page: Page, now: float) -> None:
        """The page was asked and the agent told; the page's ask goes on here."""
        connection = request.connection
        key = (connection.task, request.panel_id)
        earlier = self._waiting.get(key)
        if earlier is not None:
            self.move(earlier, DeferredCause.REPLACED)
        deferred = Deferred(request.call_id, connection, request.offered, page)
        self._waiting[key] = page.asks[request.call_id] = deferred
        self._steps.deadlines.set(
            deferred,
            now + self._steps.limits.waiting_seconds,
            lambda _: self.move(deferred, DeferredCause.DEADLINE),
        )

    def accept(self, deferred: Deferred, read: ReadAnswer, now: float) -> None:
        """The page's answer was good."""
        self.move(deferred, DeferredCause.ACCEPTED)

        def done(when: float, _late: bool) -> None:
            self._send(deferred, read, when)

        deferred.encoding = Encoding(deferred.panel_id, read.file_ids, done)
        self._encoder.start(deferred.encoding, now)

    def _send(self, deferred: Deferred, read: ReadAnswer, now: float) -> None:
        assert deferred.encoding is not None, "its images are done"
        manifest = deferred.connection.panel.manifest
        try:
            text = fenced(
                manifest.id, manifest.name, read, deferred.encoding.numbers, self._steps.limits
            )
        except TooLarge:
            self.move(deferred, DeferredCause.ANSWER_TOO_LARGE)
            return
        images = deferred.encoding.take()
        self.move(deferred, DeferredCause.IMAGES_DONE)
        message = Message(
            deferred.call_id, text, Sender.PANEL, images, manifest.id, manifest.folded_name
        )
        # S-7: the task's next message; while a turn runs it waits at the front.
        self._tasks.send(deferred.connection.task, message, now, first=True)

    # --- the message left the queue

    def started(self, message: Message) -> None:
        """A panel's message is in its turn."""
        self._of(message, DeferredCause.TURN_STARTED)

    def removed(self, message: Message) -> None:
        """A panel's message will not be sent."""
        self._of(message, DeferredCause.REMOVED)

    def _of(self, message: Message, cause: DeferredCause) -> None:
        for deferred in self._waiting.values():
            if deferred.call_id == message.id:
                self.move(deferred, cause)
                return

    # --- what drops them

    def drop_task(self, task: str, cause: DeferredCause) -> None:
        """Drop all of the task's."""
        for deferred in tuple(self._waiting.values()):
            if deferred.connection.task == task:
                self.move(deferred, cause)

    def drop_connection(self, connection: Connection, cause: DeferredCause) -> None:
        """Drop the connection's."""
        deferred = self._waiting.get((connection.task, connection.panel.manifest.id))
        if deferred is not None:
            self.move(deferred, cause)

    def move(self, deferred: Deferred, cause: DeferredCause) -> None:
        """Move a deferred read; a cause that its state has no entry for changes nothing."""
        before = deferred.state
        to = DEFERRED.get((before, cause))
        if to is None:
            return
        deferred.state = to
        self._steps.deadlines.clear(deferred)
        if before is DeferredState.ASKED:
            # Another answer to this ask is ``unknown_call`` from here on.
            del deferred.page.asks[deferred.call_id]
        if to not in (DeferredState.DROPPED, DeferredState.IN_ITS_TURN):
            return
        del self._waiting[deferred.connection.task, deferred.panel_id]
        if to is DeferredState.IN_ITS_TURN:
            return
        if deferred.encoding is not None:
            self._encoder.stop(deferred.encoding)
        if before is DeferredState.QUEUED and cause is not DeferredCause.REMOVED:
            self._tasks.drop(deferred.connection.task, deferred.call_id, self._steps.now)
        code = DEFERRED_COUNTS.get(cause)
        if code is not None:
            name = deferred.offered.action.name
            self._steps.emit(Count(deferred.panel_id, name, code, called=False))
