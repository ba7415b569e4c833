"""Writing a PNG that holds pixels and nothing else, and checking one for that (I-5).

Pillow's own writer keeps ICC profiles and tries every filter on every row. One filter for the
whole image is faster by a wide margin and costs little size: each row is stored as the difference
to the row above it ("Up"), which one call over the whole image yields.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from deska_sdk.images._headers import PNG, PNG_SIGNATURE, ImageInfo

if TYPE_CHECKING:
    from PIL.Image import Image

_UP = b"\x02"
_COLOUR_TYPES = {"L": 0, "RGB": 2}
_NOT_PLAIN = "this is not a PNG of IHDR, PLTE, tRNS, IDAT and IEND alone"


def png_chunk(kind: bytes, payload: bytes) -> bytes:
    """One PNG chunk: length, kind, payload, CRC."""
    crc = zlib.crc32(payload, zlib.crc32(kind))
    return b"".join((len(payload).to_bytes(4, "big"), kind, payload, crc.to_bytes(4, "big")))


def write_png(image: Image) -> bytes:
    """The PNG of an image of mode ``L`` or ``RGB``: IHDR, one IDAT, IEND."""
    import PIL.Image
    import PIL.ImageChops

    above = PIL.Image.new(image.mode, image.size)
    above.paste(image, (0, 1))
    differences = PIL.ImageChops.subtract_modulo(image, above).tobytes()
    stride = len(image.getbands()) * image.width
    rows: list[bytes] = []
    for start in range(0, len(differences), stride):
        rows += (_UP, differences[start : start + stride])
    header = (
        image.width.to_bytes(4, "big")
        + image.height.to_bytes(4, "big")
        + bytes((8, _COLOUR_TYPES[image.mode], 0, 0, 0))
    )
    return b"".join(
        (
            PNG_SIGNATURE,
            png_chunk(b"IHDR", header),
            png_chunk(b"IDAT", zlib.compress(b"".join(rows), 1)),
            png_chunk(b"IEND", b""),
        )
    )


def check_png(data: bytes) -> ImageInfo:
    """Checks that a PNG holds IHDR, PLTE, tRNS, IDAT and IEND alone, and gives its size (I-5).

    Every length and every CRC is checked, the order, and that nothing follows IEND. Nothing is
    inflated.

    :raises ValueError: with one fixed sentence, where that is not so.
    """
    kinds: list[bytes] = []
    view = memoryview(data)
    position = len(PNG_SIGNATURE)
    sound = data.startswith(PNG_SIGNATURE + b"\x00\x00\x00\x0dIHDR")
    while sound and position < len(data):
        length = int.from_bytes(view[position : position + 4], "big")
        stop = position + 12 + length
        kind = data[position + 4 : position + 8]
        sound = (
            stop <= len(data)
            and zlib.crc32(view[position + 4 : stop - 4])
            == int.from_bytes(view[stop - 4 : stop], "big")
            and (kind == b"IDAT" or kind not in kinds)
            and not (kind == b"IEND" and length)
        )
        if not (kind == b"IDAT" and kinds[-1:] == [b"IDAT"]):
            kinds.append(kind)
        position = stop
    optional = [kind for kind in kinds if kind in (b"PLTE", b"tRNS")]
    wanted = [b"IHDR", *sorted(optional), b"IDAT", b"IEND"]
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if not sound or kinds != wanted or min(width, height) < 1:
        raise ValueError(_NOT_PLAIN)
    return ImageInfo(PNG, width, height)
