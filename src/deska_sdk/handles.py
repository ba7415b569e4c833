"""Names for bytes that the host keeps: the engine never holds an image, only its handle."""

from __future__ import annotations

from attrs import frozen


@frozen
class ImageHandle:
    """An image whose bytes the host keeps. ``size`` is in bytes."""

    id: str
    media_type: str
    size: int
