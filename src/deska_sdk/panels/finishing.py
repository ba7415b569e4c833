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
from deska_sdk.panels.effects import (
    EncodeImage,
    Persist,
    Release,
    SettleRespond,
    SwitchMode,
)
from deska_sdk.panels.tables import Cause, RequestState
from deska_sdk.records import CounterBlockRecord

if TYPE_CHECKING:
    from deska_sdk.panels.events import Committed, ImageEncoded, ModeSwitched, Responded
    from deska_sdk.panels.requests import Request, Requests


class Finishing:
    """What the page answers, until the agent has its reply."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._desk = requests.desk
        self._limits = requests.limits
        self._emit = requests.emit
        self._blocks: dict[int, CounterBlockRecord] = {}

    # --- the page answers

    def respond(self, event: Responded, now: float) -> None:
        """Take a page's answer, or say why not (A-5)."""
        page = self._desk.pages.get(event.instance)
        request = None if page is None else page.asks.get(event.call_id)
        if request is None:
            return self._settle(event, PageCode.UNKNOWN_CALL)
        output = request.offered.output
        try:
            if output is None:
                request.write = write_answer(event.payload, self._limits)
            else:
                request.read = read_answer(event.payload, output, self._limits)
        except InvalidValue:
            return self._settle(event, PageCode.INVALID_ARGS)
        except TooLarge:
            # A-5, N-4: the page did answer; it is the agent that is told.
            self._settle(event, None)
            self._requests.move(request, Cause.ANSWER_TOO_LARGE)
            return None
        self._settle(event, None)
        if output is None:
            self._requests.move(request, Cause.WRITE_ACCEPTED)
            self._number(request, now)
        else:
            self._requests.move(request, Cause.READ_ACCEPTED)
            self._requests.deadlines.set(request, now + self._limits.finishing_images_seconds)
            self._encode_next(request, now)
        return None

    def _settle(self, event: Responded, code: PageCode | None) -> None:
        self._emit(SettleRespond(event.instance, event.respond_id, code))

    # --- finishing a write

    def _number(self, request: Request, now: float) -> None:
        answer = request.write
        assert answer is not None, "only an accepted write is numbered"
        if answer.revision is None:
            return self._tell_write(request, answer, None)
        task, panel = request.connection.task, request.panel_id
        counter = self._desk.counter(task, panel)
        if counter.needs_block(answer.revision):
            # a number is given only after the block it is from is durable.
            self._reserve(self._requests.start(request), task, panel, counter.given)
            if request.timer is None:
                self._requests.deadlines.set(request, now + self._limits.switching_seconds)
            return None
        before = counter.given
        shown = counter.show(answer.revision)
        if (
            counter.reserved is not None
            and counter.given > before
            and counter.reserved - counter.given == self._limits.counter_block // 4
        ):
            # Reserve ahead, so that in a steady flow no reply waits for the store.
            self._reserve(self._requests.new_op(), task, panel, counter.reserved)
        return self._tell_write(request, answer, shown)

    def _reserve(self, op: int, task: str, panel: str, after: int) -> None:
        record = CounterBlockRecord(task, panel, after + self._limits.counter_block)
        self._blocks[op] = record
        self._emit(Persist(op, (record,)))

    def committed(self, event: Committed, now: float) -> bool:
        """A block of numbers is durable. False where the op is not one of a call."""
        record = self._blocks.pop(event.op, None)
        if record is None:
            return False
        if event.ok:
            self._desk.apply((record,))
        request = self._requests.completed(event.op)
        if request is not None:
            if event.ok:
                self._number(request, now)
            else:
                self._without_number(request, Cause.NUMBERED)
        return True

    def _tell_write(self, request: Request, answer: WriteAnswer, counter: str | None) -> None:
        request.text = write_text(answer, counter)
        self._requests.move(request, Cause.NUMBERED)

    def _without_number(self, request: Request, cause: Cause) -> None:
        assert request.write is not None, "only an accepted write is numbered"
        request.text = write_text(request.write, None)
        self._requests.move(request, cause)

    # --- finishing a read

    def _encode_next(self, request: Request, now: float) -> None:
        assert request.read is not None, "only an accepted read is encoded"
        ids = request.read.file_ids
        if request.tried < len(ids):
            op = self._requests.start(request)
            self._emit(EncodeImage(op, request.panel_id, ids[request.tried]))
        else:
            self._fence(request, Cause.IMAGES_DONE, now)

    def image_encoded(self, event: ImageEncoded, now: float) -> None:
        """An image of an answer is a PNG, or is unavailable (I-4)."""
        image = event.image
        request = self._requests.completed(event.op)
        if request is None:
            if image is not None:
                self._emit(Release((image,)))
            return None
        assert request.read is not None, "only an accepted read is encoded"
        ids = request.read.file_ids
        if image is not None:
            if sum(kept.size for kept in request.images) + image.size > self._limits.png_bytes:
                # I-4: this one and the later ones are unavailable.
                self._emit(Release((image,)))
                request.tried = len(ids)
                return self._encode_next(request, now)
            request.images.append(image)
            request.numbers[ids[request.tried]] = f"image:{len(request.images)}"
        request.tried += 1
        return self._encode_next(request, now)

    def _fence(self, request: Request, cause: Cause, now: float) -> None:
        """Build the text before the switch: what is too large pauses nothing."""
        assert request.read is not None, "only an accepted read is fenced"
        manifest = request.connection.panel.manifest
        try:
            request.text = fenced(
                manifest.id, manifest.name, request.read, request.numbers, self._limits
            )
        except TooLarge:
            self._requests.move(request, Cause.ANSWER_TOO_LARGE)
            return
        self._requests.move(request, cause)
        op = self._requests.start(request)
        self._requests.deadlines.set(request, now + self._limits.switching_seconds)
        self._emit(SwitchMode(op, request.connection.task, request.turn))

    def mode_switched(self, event: ModeSwitched) -> None:
        """The task is in Supervised, or could not be put there (S-1)."""
        request = self._requests.completed(event.op)
        if request is None:
            return
        if self._requests.turn_over(request.connection.task, request.turn):
            self._requests.move(request, Cause.STOPPED)
        else:
            self._requests.move(request, Cause.SWITCHED if event.ok else Cause.SWITCH_FAILED)

    # --- deadlines

    def expire(self, now: float) -> None:
        """Let every deadline at or before ``now`` fall, the earliest first (A-3)."""
        while (due := self._requests.deadlines.pop_due(now)) is not None:
            when, request = due
            if request.state is RequestState.FINISHING_IMAGES:
                self._fence(request, Cause.DEADLINE, when)
            elif request.state is RequestState.FINISHING_NUMBER:
                self._without_number(request, Cause.DEADLINE)
            else:
                self._requests.move(request, Cause.DEADLINE)
