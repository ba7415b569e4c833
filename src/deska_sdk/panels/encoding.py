"""Images of a panel on their way out: one after another, within their time and size (I-4, A-3).

Reads, deferred reads and what the person sends all get their images here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from deska_sdk.panels.effects import EncodeImage
from deska_sdk.steps import Release

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.handles import ImageHandle
    from deska_sdk.panels.events import ImageEncoded
    from deska_sdk.steps import Steps


@define(eq=False, repr=False)
class Encoding:
    """The images of one answer or offer."""

    panel: str
    #: Each id once, in document order.
    file_ids: tuple[str, ...]
    #: Told once, with whether the time was up before all were done.
    done: Callable[[float, bool], None]
    #: Those that are PNGs now, in order: ``image:N`` is the N-th.
    images: list[ImageHandle] = field(factory=list["ImageHandle"])
    #: The id of each image that is sent and its ``image:N``.
    numbers: dict[str, str] = field(factory=dict[str, str])
    tried: int = 0
    op: int | None = None
    timer: int | None = None

    def take(self) -> tuple[ImageHandle, ...]:
        """The images, which are the caller's now."""
        images = tuple(self.images)
        self.images.clear()
        return images


class Encoder:
    """Has the host encode images."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def start(self, encoding: Encoding, now: float) -> None:
        """Encode; ``encoding.done`` is told in this step where there are no images."""
        limit = self._steps.limits.finishing_images_seconds
        self._steps.deadlines.set(
            encoding, now + limit, lambda when: self._end(encoding, when, late=True)
        )
        self._next(encoding, now)

    def stop(self, encoding: Encoding) -> None:
        """Nobody wants these images any more."""
        self._steps.deadlines.clear(encoding)
        self._steps.cancel(encoding.op)
        images = encoding.take()
        if images:
            self._steps.emit(Release(images))

    def _next(self, encoding: Encoding, now: float) -> None:
        if encoding.tried == len(encoding.file_ids):
            self._end(encoding, now, late=False)
            return
        encoding.op = self._steps.start(lambda event, when: self._encoded(encoding, event, when))
        file_id = encoding.file_ids[encoding.tried]
        self._steps.emit(EncodeImage(encoding.op, encoding.panel, file_id))

    def _encoded(self, encoding: Encoding, event: ImageEncoded, now: float) -> None:
        image = event.image
        encoding.op = None
        if image is None:
            encoding.tried += 1
        elif sum(one.size for one in encoding.images) + image.size > self._steps.limits.png_bytes:
            # I-4: this one and the later ones are unavailable.
            self._steps.emit(Release((image,)))
            encoding.tried = len(encoding.file_ids)
        else:
            encoding.images.append(image)
            encoding.numbers[encoding.file_ids[encoding.tried]] = f"image:{len(encoding.images)}"
            encoding.tried += 1
        self._next(encoding, now)

    def _end(self, encoding: Encoding, now: float, *, late: bool) -> None:
        # what is late is unavailable.
        self._steps.deadlines.clear(encoding)
        self._steps.cancel(encoding.op)
        encoding.op = None
        encoding.done(now, late)
