"""The work that the host of the model has started, and how it ends."""

from __future__ import annotations

from deska_sdk.errors import AgentCode
from deska_sdk.router import (
    Committed,
    Effect,
    EncodeImage,
    Event,
    ImageEncoded,
    ImageHandle,
    ImageRead,
    ModeSwitched,
    Persist,
    ReadImage,
    Release,
    Reply,
    SwitchMode,
    Tick,
)
from tests.panels.support_router_watch import WatchedRouter
from tests.panels.support_router_world import LIMITS, PAGE


class WorkingHost(WatchedRouter):
    """Ends reads, encodings, switches and commits, the cancelled ones too."""

    def is_done(self, op: int) -> bool:
        return any(getattr(event, "op", None) == op for event in self.finished)

    def open_work(self) -> list[int]:
        return [op for op in self.work if not self.is_done(op)]

    def an_image(self, size: int) -> ImageHandle:
        return ImageHandle(self.fresh("image"), "image/png", size)

    def complete(self, op: int, *, ok: bool, size: int = 10, tick: bool = True) -> list[Effect]:
        """End one piece of work; if it was cancelled, the engine may only give things back."""
        if tick or op in self.cancelled:
            self.feed(Tick())
        stale = op in self.cancelled
        effect = self.work[op]
        image = self.an_image(size) if ok else None
        reading = None
        event: Event
        match effect:
            case Persist(records=records):
                if ok:
                    self.log += records
                event, image = Committed(op, ok=ok), None
            case ReadImage(path=path):
                event = ImageRead(op, image or AgentCode.IMAGE_UNSUPPORTED)
                call = self.calls.get(path.split("/")[1])
                if call is not None and image is not None and not stale:
                    call.read[path] = image
                    reading = call if tick else None
            case EncodeImage(file_id=file_id):
                event = ImageEncoded(op, image)
                call = self.calls.get(file_id.removeprefix(f"{PAGE}-").rpartition("-")[0])
                if call is not None and not stale:
                    call.encoded[file_id] = image
            case SwitchMode(task=task, mode=mode):
                event, image = ModeSwitched(op, ok=ok), None
                if ok and not stale:
                    self.mode[task] = mode
                self.switching.pop(op, None)
        if image is not None:
            self.images.add(image.id)
        over = reading is not None and (
            self.bytes_held(reading.panel) > LIMITS.image_bytes_per_panel
        )
        effects = self.feed(event, tick=False)
        self.finished.append(event)
        if reading is not None:
            # the call is over for its bytes exactly where they pass what a panel may hold.
            busy = [one.code for one in effects if isinstance(one, Reply)]
            assert (AgentCode.PANEL_BUSY in busy) is over
        if stale and not isinstance(effect, Persist):
            assert effects == ([] if image is None else [Release((image,))])
        return effects
