"""Deflating the rows of a PNG: by ISA-L where its package is there, else by the standard library.

Both write streams that decode to the same bytes, so which one wrote a PNG cannot be seen in its
pixels. The package is looked up when a picture is first written, never by an import of ours.
"""

from __future__ import annotations

import zlib
from importlib import import_module
from typing import Any, Literal, Protocol

from attrs import field, frozen

Deflate = Literal["auto", "zlib", "isal"]
"""``isal`` is ISA-L, ``zlib`` the standard library's; ``auto`` is the first of them that is there.
"""

# The two bytes that start a zlib stream: a window of 32 KB, written by a fast method.
STREAM_HEAD = b"\x78\x01"
_RAW = -15
_MODULO = 65_521


class Deflater(Protocol):
    """One way to deflate. ``ways`` are its settings, the one for most pictures first."""

    @property
    def ways(self) -> tuple[int, ...]:
        """The strategies to choose from."""
        ...

    def deflate(self, data: bytes, way: int, *, last: bool) -> bytes:
        """One part of a raw stream, which starts anew there. Parts can be put one after another."""
        ...

    def adler32(self, data: bytes) -> int:
        """The checksum of zlib's streams."""
        ...


@frozen
class _Zlib:
    # Of a photograph a general search for repetitions finds nothing but noise; looking only for
    # runs of one byte is faster there, and smaller. Of a screenshot it misses nearly everything.
    ways: tuple[int, ...] = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_RLE)

    def deflate(self, data: bytes, way: int, *, last: bool) -> bytes:
        stream = zlib.compressobj(1, zlib.DEFLATED, _RAW, 9, way)
        return stream.compress(data) + stream.flush(zlib.Z_FINISH if last else zlib.Z_FULL_FLUSH)

    def adler32(self, data: bytes) -> int:
        return zlib.adler32(data)


@frozen
class _Isal:
    # isal.isal_zlib: typed as Any, as the package is there or not.
    _isal: Any = field(repr=False)
    ways: tuple[int, ...] = (0,)

    def deflate(self, data: bytes, way: int, *, last: bool) -> bytes:  # noqa: ARG002 - has one way
        stream = self._isal.compressobj(2, zlib.DEFLATED, _RAW)
        flush = self._isal.Z_FINISH if last else self._isal.Z_FULL_FLUSH
        compressed: bytes = stream.compress(data) + stream.flush(flush)
        return compressed

    def adler32(self, data: bytes) -> int:
        checksum: int = self._isal.adler32(data)
        return checksum


def deflater(deflate: Deflate) -> Deflater:
    """The way to deflate that was asked for.

    :raises ImportError: ``isal`` was asked for, and its package is not there.
    :raises ValueError: it is none of :data:`Deflate`.
    """
    if deflate == "zlib":
        return _Zlib()
    if deflate not in ("auto", "isal"):
        raise ValueError("deflate is auto, zlib or isal")
    try:
        found: Any = import_module("isal.isal_zlib")
    except ImportError:
        found = None
    if found is not None:
        return _Isal(found)
    if deflate == "isal":
        raise ImportError("deflate='isal' needs the package isal: install deska-sdk[speed]")
    return _Zlib()


def adler32_of_both(first: int, second: int, length: int) -> int:
    """The checksum of two parts put together: theirs, and how many bytes the second has.

    The low half is one more than the sum of the bytes, the high half the sum of the low halves
    after each byte, both modulo 65,521 (RFC 1950, 9).
    """
    low = (first & 0xFFFF) + (second & 0xFFFF) - 1
    high = (first >> 16) + (second >> 16) + length * ((first & 0xFFFF) - 1)
    return low % _MODULO | high % _MODULO << 16
