"""Writing a PNG that holds pixels and nothing else, and checking one for that (I-5).

Pillow's own writer keeps ICC profiles and tries every filter on every row. Here a band of rows is
filtered as a whole, by a call or two of Pillow's over all of it, and deflated by itself: what is
lost is a few bytes between bands, what is won is that bands do not wait for each other.
"""

from __future__ import annotations

import zlib
from functools import partial
from typing import TYPE_CHECKING

from attrs import field, frozen

from deska_sdk.images._deflate import (
    STREAM_HEAD,
    Deflate,
    Deflater,
    adler32_of_both,
    deflater,
)
from deska_sdk.images._headers import PNG, PNG_SIGNATURE, ImageInfo
from deska_sdk.images._together import Together, bands, in_turn

if TYPE_CHECKING:
    from PIL.Image import Image

# PNG, 9.2: a row as the difference to the row above, or to the mean of that and the pixel before.
_UP, _AVERAGE = 2, 3
_COLOUR_TYPES = {"L": 0, "RGB": 2}
_NOT_PLAIN = "this is not a PNG of IHDR, PLTE, tRNS, IDAT and IEND alone"

# Small enough for the processor's cache, large enough that starting anew costs no size.
_BAND = 1 << 20
# So many rows of a band are deflated in each way to see which is the smallest. Fewer say too
# little: text repeats itself over several rows.
_SAMPLED = 16
# What looks at more is taken where it saves one part in so many.
_WORTH = 50


@frozen
class _Deflated:
    """One band: its part of the stream, and the length and checksum of what went in."""

    data: bytes = field(repr=False)
    length: int
    checksum: int


def png_chunk(kind: bytes, *payload: bytes) -> bytes:
    """One PNG chunk: length, kind, payload (in one part or more), CRC."""
    crc = zlib.crc32(kind)
    for part in payload:
        crc = zlib.crc32(part, crc)
    length = sum(map(len, payload))
    return b"".join((length.to_bytes(4, "big"), kind, *payload, crc.to_bytes(4, "big")))


def write_png(image: Image, deflate: Deflate = "auto", together: Together = in_turn) -> bytes:
    """The PNG of a loaded image of mode ``L`` or ``RGB``: IHDR, an IDAT for each band, IEND.

    :raises ImportError: ``deflate`` is ``isal``, and that package is not there.
    """
    by = deflater(deflate)
    cuts = bands(image.height, len(image.getbands()) * image.width, _BAND)
    parts = together([partial(_deflated, image, top, bottom, by) for top, bottom in cuts])
    checksum = 1
    for part in parts:
        checksum = adler32_of_both(checksum, part.checksum, part.length)
    # The stream's first and last bytes belong to the first and the last band.
    payloads = [[part.data] for part in parts]
    payloads[0].insert(0, STREAM_HEAD)
    payloads[-1].append(checksum.to_bytes(4, "big"))
    header = (
        image.width.to_bytes(4, "big")
        + image.height.to_bytes(4, "big")
        + bytes((8, _COLOUR_TYPES[image.mode], 0, 0, 0))
    )
    return b"".join(
        (
            PNG_SIGNATURE,
            png_chunk(b"IHDR", header),
            *(png_chunk(b"IDAT", *payload) for payload in payloads),
            png_chunk(b"IEND", b""),
        )
    )


def _deflated(image: Image, top: int, bottom: int, by: Deflater) -> _Deflated:
    """The rows from ``top`` to before ``bottom``, filtered and deflated."""
    kind, way = _smallest(image, top, bottom, by)
    rows = _filtered(image, top, bottom, kind)
    data = by.deflate(rows, way, last=bottom == image.height)
    return _Deflated(data, len(rows), by.adler32(rows))


def _smallest(image: Image, top: int, bottom: int, by: Deflater) -> tuple[int, int]:
    """The filter and the way of deflating that make the middle of a band the smallest.

    Photographs become smaller by the mean, drawings and text by the row above. And only where the
    mean is the better one is it noise that is deflated, so that other ways may be better too.
    """
    sampled = min(bottom - top, _SAMPLED)
    first = (top + bottom - sampled) // 2

    def size(rows: bytes, way: int) -> int:
        return len(by.deflate(rows, way, last=True))

    usual, *others = by.ways
    above = size(_filtered(image, first, first + sampled, _UP), usual)
    rows = _filtered(image, first, first + sampled, _AVERAGE)
    mean = size(rows, usual)
    if mean >= above - above // _WORTH:
        return _UP, usual
    _, way = min([(mean, usual), *((size(rows, way), way) for way in others)])
    return _AVERAGE, way


def _filtered(image: Image, top: int, bottom: int, kind: int) -> bytes:
    """Rows as PNG stores them: the filter's number, then the differences, for each row."""
    import PIL.Image
    import PIL.ImageChops

    # Pillow fills with zeros what a box takes from outside of the image, as PNG, 9.2 asks: "for
    # the first scanline … assume zero", and the same left of the first pixel.
    width = image.width
    guess = image.crop((0, top - 1, width, bottom - 1))
    if kind == _AVERAGE:
        # Half way from one to the other, rounded down: PNG, 9.4's "(a + b) / 2".
        guess = PIL.Image.blend(image.crop((-1, top, width - 1, bottom)), guess, 0.5)
    rows = image.crop((0, top, width, bottom))
    differences = PIL.ImageChops.subtract_modulo(rows, guess).tobytes()
    stride = len(image.getbands()) * width
    mark = bytes((kind,))
    pieces: list[bytes] = []
    for start in range(0, len(differences), stride):
        pieces += (mark, differences[start : start + stride])
    return b"".join(pieces)


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
