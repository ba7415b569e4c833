"""Taking the first frame out of its container, so that a decoder sees pixels and nothing else.

What is left out cannot do harm: compressed text that grows, a second image behind the first, an
ICC profile, a later frame, bytes after the end. What is handed on was rebuilt from what *this*
parser read, so the decoder cannot read another size or another orientation from the same file.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from attrs import field, frozen

from deska_sdk.images._headers import (
    JPEG,
    PNG,
    PNG_SIGNATURE,
    SOF_MARKERS,
    SOI,
    SOS,
    ImageInfo,
    jpeg_frame_size,
    jpeg_segments,
    unsupported,
    webp_frame_size,
)
from deska_sdk.images._orientation import orientation
from deska_sdk.images._png import png_chunk

if TYPE_CHECKING:
    from collections.abc import Iterator

_DQT, _DHT, _DRI, _APP0, _APP1, _APP14 = 0xDB, 0xC4, 0xDD, 0xE0, 0xE1, 0xEE


@frozen(kw_only=True)
class Still:
    """One still picture in the smallest file that holds it, and how it is to be shown."""

    #: The image's size as a whole, before any orientation.
    info: ImageInfo
    #: A file of ``info.media_type`` that holds this picture's pixels and nothing more.
    data: bytes = field(repr=False)
    #: The size of the picture in ``data``, and where it lies in the image: a WebP's first frame
    #: may be smaller than the image.
    size: tuple[int, int]
    offset: tuple[int, int] = (0, 0)
    #: EXIF's orientation, 1 to 8.
    orientation: int = 1
    #: The one colour that is transparent (PNG's tRNS for gray and RGB), as stored samples of
    #: ``depth`` bits.
    key: tuple[int, ...] | None = field(default=None, repr=False)
    depth: int = 8


def first_still(data: bytes, info: ImageInfo) -> Still:
    """The first frame of an image whose header :func:`~._headers.sniff` has accepted.

    :raises Refused: ``image_unsupported`` where the container is broken or cut short.
    """
    if info.media_type == PNG:
        return _png_still(data, info)
    if info.media_type == JPEG:
        return _jpeg_still(data, info)
    return _webp_still(data, info)


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Every chunk up to IEND; what follows IEND is not part of the image."""
    view = memoryview(data)
    position, end = len(PNG_SIGNATURE), len(data)
    while position + 12 <= end:
        length = int.from_bytes(view[position : position + 4], "big")
        stop = position + 12 + length
        if stop > end:
            break
        kind = data[position + 4 : position + 8]
        if zlib.crc32(view[position + 4 : stop - 4]) != int.from_bytes(
            view[stop - 4 : stop], "big"
        ):
            break
        yield kind, data[position + 8 : stop - 4]
        if kind == b"IEND":
            return
        position = stop
    raise unsupported()


def _png_still(data: bytes, info: ImageInfo) -> Still:
    pixels: list[bytes] = []
    palette = transparency = None
    turned = 0
    after_pixels = False
    for index, (kind, payload) in enumerate(_png_chunks(data)):
        if kind == b"IDAT":
            # PNG, 5.6: the IDAT chunks of an image follow each other.
            if after_pixels:
                raise unsupported()
            pixels.append(payload)
            continue
        after_pixels = bool(pixels)
        if kind == b"IHDR":
            if index or len(payload) != 13:
                raise unsupported()
        elif kind == b"PLTE":
            if (
                palette is not None
                or after_pixels
                or len(payload) % 3
                or not 3 <= len(payload) <= 768
            ):
                raise unsupported()
            palette = payload
        elif kind == b"tRNS" and not after_pixels:
            transparency = payload
        elif kind == b"eXIf" and not turned:
            turned = orientation(payload)
        elif not kind[0] & 0x20 and kind != b"IEND":
            # PNG, 5.4: a reader that meets a critical chunk it does not know has no picture.
            raise unsupported()
    depth, colour = data[24], data[25]
    if not pixels or (colour == 3 and palette is None):
        raise unsupported()
    kept = [PNG_SIGNATURE, data[8:33]]
    key = None
    if colour == 3 and palette is not None:
        kept.append(png_chunk(b"PLTE", palette))
        if transparency is not None:
            kept.append(png_chunk(b"tRNS", transparency[: len(palette) // 3]))
    elif transparency is not None and colour in (0, 2):
        key = _png_key(transparency, 1 if colour == 0 else 3, depth)
    kept += [png_chunk(b"IDAT", *pixels), png_chunk(b"IEND", b"")]
    return Still(
        info=info,
        data=b"".join(kept),
        size=(info.width, info.height),
        orientation=turned or 1,
        key=key,
        depth=depth,
    )


def _png_key(payload: bytes, samples: int, depth: int) -> tuple[int, ...] | None:
    if len(payload) != 2 * samples:
        return None
    # PNG, 11.3.2.1: of each two bytes, the low bits as many as the depth count.
    return tuple(
        int.from_bytes(payload[at : at + 2], "big") & ((1 << depth) - 1)
        for at in range(0, 2 * samples, 2)
    )


def _jpeg_still(data: bytes, info: ImageInfo) -> Still:
    kept = [bytes((0xFF, SOI))]
    frame = False
    turned = 0
    for segment in jpeg_segments(data):
        marker, payload = segment.marker, segment.payload
        if marker == _APP1 and payload.startswith(b"Exif\x00\x00"):
            turned = turned or orientation(payload)
        elif marker in SOF_MARKERS:
            # A second frame header would be a second opinion on the size.
            if frame or jpeg_frame_size(payload) != (info.width, info.height):
                raise unsupported()
            frame = True
            kept.append(_jpeg_segment(marker, payload))
        elif marker in (_DQT, _DHT, _DRI):
            kept.append(_jpeg_segment(marker, payload))
        elif (marker == _APP0 and payload.startswith(b"JFIF")) or (
            marker == _APP14 and payload.startswith(b"Adobe")
        ):
            # These two say which colours the components are: Adobe's also that CMYK is inverted.
            kept.append(_jpeg_segment(marker, payload))
        elif marker == SOS:
            if not frame:
                raise unsupported()
            kept.append(data[segment.start :])
    return Still(
        info=info,
        data=b"".join(kept),
        size=(info.width, info.height),
        orientation=turned or 1,
    )


def _jpeg_segment(marker: int, payload: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(payload) + 2).to_bytes(2, "big") + payload


def _riff_chunks(data: bytes, position: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    while position + 8 <= end:
        length = int.from_bytes(data[position + 4 : position + 8], "little")
        stop = position + 8 + length
        if stop > end:
            raise unsupported()
        yield data[position : position + 4], data[position + 8 : stop]
        position = stop + (length & 1)


def _riff_chunk(kind: bytes, payload: bytes) -> bytes:
    return kind + len(payload).to_bytes(4, "little") + payload + b"\x00" * (len(payload) & 1)


def _webp_still(data: bytes, info: ImageInfo) -> Still:
    end = 8 + int.from_bytes(data[4:8], "little")
    # A RIFF says how long it is: shorter than that it was cut, what is longer is no part of it.
    if end > len(data):
        raise unsupported()
    frame: dict[bytes, bytes] | None = None
    offset = (0, 0)
    size = (info.width, info.height)
    loose: dict[bytes, bytes] = {}
    animated = False
    turned = 0
    for index, (kind, payload) in enumerate(_riff_chunks(data, 12, end)):
        if kind == b"VP8X" and not index:
            if len(payload) < 10:
                raise unsupported()
            animated = bool(payload[0] & 0x02)
        elif not index:
            # WebP, "Simple file format": the first chunk is the picture, and there is no other.
            loose[kind] = payload
            break
        elif kind in (b"VP8 ", b"VP8L", b"ALPH"):
            loose.setdefault(kind, payload)
        elif kind == b"ANMF" and frame is None and len(payload) > 16:
            frame = dict(reversed(list(_riff_chunks(payload, 16, len(payload)))))
            fields = [int.from_bytes(payload[at : at + 3], "little") for at in (0, 3, 6, 9)]
            # WebP, "ANMF": the offset is stored halved, the sides less one.
            offset = (2 * fields[0], 2 * fields[1])
            placed = (fields[2] + 1, fields[3] + 1)
            size = placed
        elif kind == b"EXIF" and not turned:
            turned = orientation(payload)
    if not animated:
        frame, offset, size = loose, (0, 0), (info.width, info.height)
    if frame is None or offset[0] + size[0] > info.width or offset[1] + size[1] > info.height:
        raise unsupported()
    return Still(
        info=info,
        data=_webp_file(frame, size),
        size=size,
        offset=offset,
        orientation=turned or 1,
    )


def _webp_file(frame: dict[bytes, bytes], size: tuple[int, int]) -> bytes:
    kind = next((kind for kind in (b"VP8 ", b"VP8L") if kind in frame), b"")
    if not kind or webp_frame_size(kind, frame[kind][:10]) != size:
        raise unsupported()
    chunks = [_riff_chunk(kind, frame[kind])]
    if kind == b"VP8 " and b"ALPH" in frame:
        width, height = ((side - 1).to_bytes(3, "little") for side in size)
        chunks.insert(0, _riff_chunk(b"ALPH", frame[b"ALPH"]))
        chunks.insert(0, _riff_chunk(b"VP8X", b"\x10\x00\x00\x00" + width + height))
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + len(body).to_bytes(4, "little") + body
