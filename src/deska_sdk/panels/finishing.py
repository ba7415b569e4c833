"""How a call ends: answered by the page, then finished and replied to (A-3, A-5, sections W, N).

Content of a page is in a :class:`~deska_sdk.panels.effects.Reply` only when the task's switch to
Supervised succeeded in a turn that is still open (S-1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deska_sdk.errors import InvalidValue, PageCode, TooLarge
from deska_sdk.panels.answers import (
    WriteAnswer,
    fenced,
    read_answer,
    write_answer,
    write_text,
)
from deska_sdk.panels.effects import SettleRespond
from deska_sdk.panels.encoding import Encoding
from deska_sdk.panels.requests import Entering, Request, Requests
from deska_sdk.panels.tables import Cause, DeferredCause
from deska_sdk.records import CounterBlockRecord

if TYPE_CHECKING:
    from deska_sdk.panels.deferred import Deferrals
    from deska_sdk.panels.events import Responded
    from deska_sdk.steps import Committed


class Finishing:
    """What the page answers, until the agent has its reply."""

    def __init__(self, requests: Requests, deferrals: Deferrals) -> None:
        self._requests = requests
        self._deferrals = deferrals
        self._desk = requests.desk
        self._steps = requests.steps
        self._limits = requests.steps.limits

    # --- the page answers

    def respond(self, event: Responded, now: float) -> None:
        """Take a page's answer, or say why not (A-5)."""
        page = self._desk.pages.get(event.instance)
        asked = None if page is None else page.asks.get(event.call_id)
        if asked is None:
            return self._settle(event, PageCode.UNKNOWN_CALL)
        output = asked.offered.output
        write = read = None
        try:
            if output is None:
                write = write_answer(event.payload, self._limits)
            else:
                read = read_answer(event.payload, output, self._limits)
        except InvalidValue:
            return self._settle(event, PageCode.INVALID_ARGS)
        except TooLarge:
            # A-5, N-4: the page did answer; it is the agent that is told.
            self._settle(event, None)
            if isinstance(asked, Request):
                return self._requests.move(asked, Cause.ANSWER_TOO_LARGE)
            return self._deferrals.move(asked, DeferredCause.ANSWER_TOO_LARGE)
        self._settle(event, None)
        if not isinstance(asked, Request):
            assert read is not None, "only reads are deferred"
            return self._deferrals.accept(asked, read, now)
        asked.write, asked.read = write, read
        if write is not None:
            self._requests.move(asked, Cause.WRITE_ACCEPTED)
            return self._number(asked, write, now)
        return self._encode(asked, now)

    def _settle(self, event: Responded, code: PageCode | None) -> None:
        self._steps.emit(SettleRespond(event.instance, event.respond_id, code))

    # --- finishing a write

    def _number(self, request: Request, answer: WriteAnswer, now: float) -> None:
        if answer.revision is None:
            return self._tell_write(request, answer, None)
        task, panel = request.connection.task, request.panel_id
        counter = self._desk.counter(task, panel)
        if counter.needs_block(answer.revision):
            # a number is given only after the block it is from is durable.
            self._reserve(task, panel, counter.given, request)
            if request.timer is None:
                self._steps.deadlines.set(
                    request,
                    now + self._limits.switching_seconds,
                    lambda _: self._tell_write(request, answer, None, Cause.DEADLINE),
                )
            return None
        before = counter.given
        shown = counter.show(answer.revision)
        if (
            counter.reserved is not None
            and counter.given > before
            and counter.reserved - counter.given == self._limits.counter_block // 4
        ):
            # Reserve ahead, so that in a steady flow no reply waits for the store.
            self._reserve(task, panel, counter.reserved, None)
        return self._tell_write(request, answer, shown)

    def _reserve(self, task: str, panel: str, after: int, waiting: Request | None) -> None:
        record = CounterBlockRecord(task, panel, after + self._limits.counter_block)

        def written(event: Committed, now: float) -> None:
            if event.ok:
                self._desk.apply((record,))
            # It may have ended meanwhile; the block is reserved all the same.
            if waiting is None or waiting.write is None or not waiting.state.finishing:
                return
            if event.ok:
                self._number(waiting, waiting.write, now)
            else:
                self._tell_write(waiting, waiting.write, None)

        self._steps.persist((record,), written)

    def _tell_write(
        self,
        request: Request,
        answer: WriteAnswer,
        counter: str | None,
        cause: Cause = Cause.NUMBERED,
    ) -> None:
        request.text = write_text(answer, counter)
        self._requests.move(request, cause)

    # --- finishing a read

    def _encode(self, request: Request, now: float) -> None:
        assert request.read is not None, "only an accepted read is encoded"
        self._requests.move(request, Cause.READ_ACCEPTED)
        if not request.read.file_ids:
            return self._fence(request, Cause.IMAGES_DONE, now)

        def done(when: float, late: bool) -> None:
            self._fence(request, Cause.DEADLINE if late else Cause.IMAGES_DONE, when)

        request.encoding = Encoding(request.panel_id, request.read.file_ids, done)
        return self._requests.encoder.start(request.encoding, now)

    def _fence(self, request: Request, cause: Cause, now: float) -> None:
        """Build the text before the switch: what is too large pauses nothing."""
        assert request.read is not None, "only an accepted read is fenced"
        manifest = request.connection.panel.manifest
        numbers = {} if request.encoding is None else request.encoding.numbers
        try:
            request.text = fenced(manifest.id, manifest.name, request.read, numbers, self._limits)
        except TooLarge:
            self._requests.move(request, Cause.ANSWER_TOO_LARGE)
            return
        self._requests.move(request, cause)
        if self._requests.tasks.must_defer(request.connection.task):
            # S-1: the turn left Supervised since the page was asked, and this agent can only be
            # put back into it from its next turn on.
            self._requests.move(request, Cause.SWITCH_FAILED)
            return
        task = self._requests.tasks.get(request.connection.task)
        assert task is not None, "a task that leaves ends its calls"
        entering = request.entering = Entering(self._requests, request)
        task.pause.content(entering, now)
        if request.entering is entering:
            self._steps.deadlines.set(
                request,
                now + self._limits.switching_seconds,
                lambda _: self._requests.move(request, Cause.DEADLINE),
            )
