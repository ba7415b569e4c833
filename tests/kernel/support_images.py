"""Images made in code: containers by hand, so that a test knows every byte, pixels by Pillow."""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING, TypeVar

from PIL import Image

from deska_sdk.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.errors import Code

T = TypeVar("T")

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
RED, GREEN, BLUE, GRAY = (255, 0, 0), (0, 255, 0), (0, 0, 255), (128, 128, 128)
FORMATS = ("PNG", "JPEG", "WEBP")
MEDIA = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    """An image as Pillow writes it."""
    target = io.BytesIO()
    image.save(target, kind, **options)
    return target.getvalue()


def decoded(png: bytes) -> Image.Image:
    """An image as Pillow reads it, loaded."""
    image = Image.open(io.BytesIO(png))
    image.load()
    return image


def verdict(work: Callable[[], T]) -> tuple[set[Code], T | None]:
    """The code of a refusal, or what came out. Any other exception fails the test."""
    try:
        return set(), work()
    except Refused as refusal:
        if refusal.__context__ is not None or refusal.__cause__ is not None:
            raise
        return {refusal.code}, None


def corners(image: Image.Image) -> tuple[tuple[int, ...], ...]:
    """The colours just inside the four corners: top left, top right, bottom left, bottom right."""
    image = image.convert("RGB")
    right, bottom = image.width - 4, image.height - 4
    return tuple(image.getpixel(at) for at in ((3, 3), (right, 3), (3, bottom), (right, bottom)))


def close(left: tuple[int, ...], right: tuple[int, ...], within: int = 12) -> bool:
    """Whether two colours differ by no more than a lossy format may make them."""
    return len(left) == len(right) and all(
        abs(one - other) <= within for one, other in zip(left, right, strict=True)
    )


def quarters(width: int = 48, height: int = 32) -> Image.Image:
    """Four plain quarters: red, green over blue, gray."""
    image = Image.new("RGB", (width, height))
    boxes = ((0, 0), (width // 2, 0), (0, height // 2), (width // 2, height // 2))
    for (left, top), colour in zip(boxes, (RED, GREEN, BLUE, GRAY), strict=True):
        image.paste(colour, (left, top, left + width // 2, top + height // 2))
    return image


def png_chunk(kind: bytes, payload: bytes = b"", *, crc: int | None = None) -> bytes:
    """One chunk, with the right CRC unless another is given."""
    crc = zlib.crc32(kind + payload) if crc is None else crc
    return len(payload).to_bytes(4, "big") + kind + payload + crc.to_bytes(4, "big")


def ihdr(width: int, height: int, depth: int, colour: int, interlace: int = 0) -> bytes:
    """The header chunk."""
    sides = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return png_chunk(b"IHDR", sides + bytes((depth, colour, 0, 0, interlace)))


def png(
    width: int,
    height: int,
    depth: int,
    colour: int,
    rows: list[bytes],
    *,
    before: tuple[bytes, ...] = (),
    after: tuple[bytes, ...] = (),
) -> bytes:
    """A PNG of unfiltered rows, with whole chunks before and after its pixels."""
    pixels = zlib.compress(b"".join(b"\x00" + row for row in rows))
    return b"".join(
        (
            PNG_SIGNATURE,
            ihdr(width, height, depth, colour),
            *before,
            png_chunk(b"IDAT", pixels),
            *after,
            png_chunk(b"IEND"),
        )
    )


def png_chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """Kind and payload of every chunk; fails where a byte belongs to none."""
    assert data.startswith(PNG_SIGNATURE)
    found, position = [], 8
    while position < len(data):
        length = int.from_bytes(data[position : position + 4], "big")
        kind = data[position + 4 : position + 8]
        payload = data[position + 8 : position + 8 + length]
        crc = data[position + 8 + length : position + 12 + length]
        assert zlib.crc32(kind + payload) == int.from_bytes(crc, "big")
        found.append((kind, payload))
        position += 12 + length
    assert position == len(data)
    return found


def with_chunks(data: bytes, *chunks: bytes, before: bytes = b"IDAT") -> bytes:
    """A PNG with whole chunks put before the first chunk of a kind."""
    at = data.index(before) - 4
    return data[:at] + b"".join(chunks) + data[at:]


def words(values: tuple[int, ...] | list[int]) -> bytes:
    """16-bit samples."""
    return b"".join(value.to_bytes(2, "big") for value in values)


def exif(orientation: int, order: str = "big", *, kind: int = 3) -> bytes:
    """A TIFF block with a few tags, of which one is the orientation."""

    def number(value: int, size: int) -> bytes:
        return value.to_bytes(size, order)

    value = number(orientation, 2) + b"\x00\x00" if kind == 3 else number(orientation, 4)
    tags = (
        number(0x0100, 2) + number(3, 2) + number(1, 4) + number(7, 2) + b"\x00\x00",
        number(0x0112, 2) + number(kind, 2) + number(1, 4) + value,
        number(0x0128, 2) + number(3, 2) + number(1, 4) + number(2, 2) + b"\x00\x00",
    )
    head = (b"MM\x00*" if order == "big" else b"II*\x00") + number(8, 4)
    return head + number(len(tags), 2) + b"".join(tags) + number(0, 4)


def segment(marker: int, payload: bytes) -> bytes:
    """One JPEG segment."""
    return bytes((0xFF, marker)) + (len(payload) + 2).to_bytes(2, "big") + payload


def with_segments(data: bytes, *segments: bytes) -> bytes:
    """A JPEG with whole segments put right after its start."""
    return data[:2] + b"".join(segments) + data[2:]


def riff_chunk(kind: bytes, payload: bytes) -> bytes:
    """One RIFF chunk, padded."""
    return kind + len(payload).to_bytes(4, "little") + payload + b"\x00" * (len(payload) & 1)


def webp(*chunks: bytes) -> bytes:
    """A WebP file of whole chunks."""
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + len(body).to_bytes(4, "little") + body


def vp8x(width: int, height: int, flags: int = 0) -> bytes:
    """The header chunk of an extended WebP."""
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return riff_chunk(b"VP8X", bytes((flags, 0, 0, 0)) + sides)


def frame_chunks(data: bytes) -> bytes:
    """The chunks of a simple WebP: its one frame."""
    return data[12:]


def anmf(x: int, y: int, width: int, height: int, chunks: bytes) -> bytes:
    """One frame of an animated WebP."""
    numbers = (x // 2, y // 2, width - 1, height - 1, 100)
    head = b"".join(value.to_bytes(3, "little") for value in numbers)
    return riff_chunk(b"ANMF", head + b"\x00" + chunks)


def oriented(kind: str, orientation: int, order: str = "big") -> bytes:
    """:func:`quarters` in one of the three formats, with an orientation."""
    block = exif(orientation, order)
    if kind == "PNG":
        return with_chunks(encoded(quarters(), "PNG"), png_chunk(b"eXIf", block))
    if kind == "JPEG":
        plain = encoded(quarters(), "JPEG", quality=95, subsampling=0)
        return with_segments(plain, segment(0xE1, b"Exif\x00\x00" + block))
    plain = encoded(quarters(), "WEBP", lossless=True)
    return webp(vp8x(48, 32, 0x08), frame_chunks(plain), riff_chunk(b"EXIF", block))
