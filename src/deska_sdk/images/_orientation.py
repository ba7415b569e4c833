"""The orientation in EXIF data, read without a decoder (I-5: "orientation applied")."""

from __future__ import annotations

from typing import Literal

_ORDERS: dict[bytes, Literal["little", "big"]] = {b"II*\x00": "little", b"MM\x00*": "big"}
_ORIENTATION = 0x0112
_SHORT, _LONG = 3, 4


def orientation(exif: bytes) -> int:
    """The orientation, 1 to 8, of a block of EXIF data; 1 where it says none or cannot be read.

    :param exif: a TIFF header and what follows it, with or without ``Exif\\0\\0`` before it.
    """
    if exif.startswith(b"Exif\x00\x00"):
        exif = exif[6:]
    order = _ORDERS.get(exif[:4])
    if order is None:
        return 1
    directory = int.from_bytes(exif[4:8], order)
    count = int.from_bytes(exif[directory : directory + 2], order)
    first = directory + 2
    for start in range(first, min(first + 12 * count, len(exif) - 11), 12):
        if int.from_bytes(exif[start : start + 2], order) != _ORIENTATION:
            continue
        kind = int.from_bytes(exif[start + 2 : start + 4], order)
        size = {_SHORT: 2, _LONG: 4}.get(kind, 0)
        value = int.from_bytes(exif[start + 8 : start + 8 + size], order)
        return value if 1 <= value <= 8 else 1
    return 1
