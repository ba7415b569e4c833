"""Work that falls into independent parts, and who carries the parts out.

This package starts no thread. Shrinking and writing a picture are cut into bands that do not need
each other, and whoever has threads to lend passes a :class:`Together` that uses them. The picture
that comes out is the same, byte for byte.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


class Together(Protocol):
    """Carries out jobs that do not depend on each other, in any order, maybe at the same time."""

    def __call__(self, jobs: Sequence[Callable[[], T]], /) -> list[T]:
        """What the jobs return, in the order of ``jobs``; raises what one of them raised."""
        ...


def in_turn(jobs: Sequence[Callable[[], T]], /) -> list[T]:
    """The :class:`Together` of one thread: one job after the other."""
    return [job() for job in jobs]


def bands(height: int, row_bytes: int, band_bytes: int) -> list[tuple[int, int]]:
    """Cuts ``height`` rows into bands of about ``band_bytes``: the first row and the one after.

    Every band has a row at least, and together they are the whole height.
    """
    count = max(1, min(height, height * row_bytes // band_bytes))
    edges = [height * index // count for index in range(count + 1)]
    return list(pairwise(edges))
