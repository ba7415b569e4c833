"""Bytes with a media type: what a page is given, and what an agent receives."""

from __future__ import annotations

from attrs import field, frozen

from deska_sdk.router import ImageHandle


@frozen
class Blob:
    """Bytes as a page handles them, as in a browser: :attr:`data`, :attr:`type`, :attr:`size`."""

    data: bytes = field(repr=False)
    #: The media type, such as ``image/png``. A page may choose it, so no ``repr`` shows it (B-2).
    type: str = field(default="", repr=False)

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return len(self.data)


@frozen
class Image:
    """An image that comes with a reply: always a PNG (I-5)."""

    data: bytes = field(repr=False)
    media_type: str = "image/png"


class Shelf:
    """The bytes behind the engine's image handles, until they are taken or released."""

    def __init__(self) -> None:
        self._blobs: dict[str, Blob] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._blobs)

    def put(self, data: bytes, media_type: str) -> ImageHandle:
        """Keep ``data``; the handle is good for one :meth:`take`."""
        self._last += 1
        handle = ImageHandle(str(self._last), media_type, len(data))
        self._blobs[handle.id] = Blob(data, media_type)
        return handle

    def take(self, handle: ImageHandle) -> Blob:
        """The bytes of ``handle``, which is then no more."""
        return self._blobs.pop(handle.id)

    def release(self, handles: tuple[ImageHandle, ...]) -> None:
        """Nothing uses these any more."""
        for handle in handles:
            self._blobs.pop(handle.id, None)
