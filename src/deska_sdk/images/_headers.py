"""What an image says about itself before anything is decoded (I-2, I-6)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attrs import field, frozen

from deska_sdk.errors import AgentCode, Refused
from deska_sdk.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

PNG = "image/png"
JPEG = "image/jpeg"
WEBP = "image/webp"

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"

# Every segment is at most 64 KB, so a JPEG of 10 MB whose segments are full has 160 of them before
# its pixels. A file with thousands was made to keep a reader busy.
_MOST_SEGMENTS = 4_096

# What stands between two segments (fill bytes, rubbish that decoders skip), in all.
_MOST_PADDING = 65_536

_JPEG_MARKER = re.compile(rb"\xff([^\x00\xff])")
SOF_MARKERS = frozenset({0xC0, 0xC1, 0xC2})
# Lossless, hierarchical and arithmetic JPEGs are JPEGs in name only: no browser shows them.
_OTHER_FRAMES = frozenset(set(range(0xC0, 0xD0)) - SOF_MARKERS - {0xC4, 0xC8, 0xCC})
_NO_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
SOI, EOI, SOS = 0xD8, 0xD9, 0xDA

# PNG, table 11.1: the bit depths each colour type allows.
_PNG_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}


@frozen
class ImageInfo:
    """What an image's header says: its media type and its sides in pixels, as stored.

    An orientation is not applied to them.
    """

    media_type: str
    width: int
    height: int


@frozen
class Segment:
    """One JPEG segment: its marker, where it starts, and its payload."""

    marker: int
    start: int
    payload: bytes = field(repr=False)


def unsupported() -> Refused:
    """The refusal of what is no PNG, JPEG or WebP that can be read."""
    return Refused(AgentCode.IMAGE_UNSUPPORTED)


def sniff(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> ImageInfo:
    """The kind and size of an image, from its content alone (I-2) and without a decode (I-6).

    :param data: the whole file. A name or an extension counts for nothing, so none is taken.
    :raises Refused: ``image_too_large`` over ``limits.image_bytes`` bytes or
        ``limits.image_pixels`` pixels; ``image_unsupported`` for everything that is not a PNG,
        a baseline or progressive JPEG, or a WebP with sides of at least 1.
    """
    # I-1: "over 10 MB or over I-6's pixels: image_too_large".
    if len(data) > limits.image_bytes:
        raise Refused(AgentCode.IMAGE_TOO_LARGE)
    if data.startswith(PNG_SIGNATURE):
        media_type, (width, height) = PNG, _png_size(data)
    elif data.startswith(b"\xff\xd8\xff"):
        media_type, (width, height) = JPEG, _jpeg_size(data)
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        media_type, (width, height) = WEBP, _webp_size(data)
    else:
        raise unsupported()
    # I-6: "sides ≥ 1, at most 50,000,000 px".
    if width < 1 or height < 1:
        raise unsupported()
    if width * height > limits.image_pixels:
        raise Refused(AgentCode.IMAGE_TOO_LARGE)
    return ImageInfo(media_type, width, height)


def _png_size(data: bytes) -> tuple[int, int]:
    header = data[8:33]
    if len(header) < 25 or header[:8] != b"\x00\x00\x00\x0dIHDR":
        raise unsupported()
    depth, colour, compression, filtering, interlace = header[16:21]
    if depth not in _PNG_DEPTHS.get(colour, ()) or compression or filtering or interlace > 1:
        raise unsupported()
    width, height = int.from_bytes(header[8:12], "big"), int.from_bytes(header[12:16], "big")
    # PNG, 7.1: a four-byte number is at most 2^31 - 1.
    if max(width, height) > 0x7FFFFFFF:
        raise unsupported()
    return width, height


def jpeg_segments(data: bytes) -> Iterator[Segment]:
    """The segments of a JPEG up to and with its first SOS, in one pass over the bytes.

    :raises Refused: ``image_unsupported`` where the segments end early or are too many.
    """
    position = 2
    padding = _MOST_PADDING
    for _ in range(_MOST_SEGMENTS):
        # Decoders skip what stands between two segments, so it is skipped here as well, and never
        # handed on: they then see the same segments as this reader did.
        found = _JPEG_MARKER.search(data, position, position + padding + 2)
        if found is None:
            raise unsupported()
        start, marker = found.start(), found[1][0]
        padding -= start - position
        position = found.end()
        if marker in _NO_LENGTH:
            continue
        length = int.from_bytes(data[position : position + 2], "big")
        if length < 2 or position + length > len(data) or marker in (SOI, EOI):
            raise unsupported()
        yield Segment(marker, start, data[position + 2 : position + length])
        if marker == SOS:
            return
        position += length
    raise unsupported()


def jpeg_frame_size(payload: bytes) -> tuple[int, int]:
    """Width and height as a JPEG's frame header says them."""
    if len(payload) < 6:
        raise unsupported()
    return int.from_bytes(payload[3:5], "big"), int.from_bytes(payload[1:3], "big")


def _jpeg_size(data: bytes) -> tuple[int, int]:
    for segment in jpeg_segments(data):
        if segment.marker in SOF_MARKERS:
            return jpeg_frame_size(segment.payload)
        if segment.marker in _OTHER_FRAMES:
            break
    raise unsupported()


def _webp_size(data: bytes) -> tuple[int, int]:
    kind, payload = data[12:16], data[20:30]
    if kind == b"VP8X":
        if len(payload) < 10:
            raise unsupported()
        # WebP, "Extended file format": both are stored less one, in three bytes.
        return (
            int.from_bytes(payload[4:7], "little") + 1,
            int.from_bytes(payload[7:10], "little") + 1,
        )
    return webp_frame_size(kind, payload)


def webp_frame_size(kind: bytes, payload: bytes) -> tuple[int, int]:
    """Width and height as the bit stream of one WebP frame says them (``VP8 `` or ``VP8L``)."""
    if kind == b"VP8 " and len(payload) >= 10:
        # RFC 6386, 9.1: a key frame has bit 0 clear; two bits over each side are a scale.
        if payload[0] & 1 or payload[3:6] != b"\x9d\x01\x2a":
            raise unsupported()
        return (
            int.from_bytes(payload[6:8], "little") & 0x3FFF,
            int.from_bytes(payload[8:10], "little") & 0x3FFF,
        )
    if kind == b"VP8L" and len(payload) >= 5 and payload[0] == 0x2F:
        bits = int.from_bytes(payload[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    raise unsupported()
