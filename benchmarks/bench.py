"""What a group of benchmarks is given, and what it gives back."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Literal

from attrs import define, field, frozen

from benchmarks.claims import Claim, claim
from benchmarks.generator import SEED

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The seconds that a sample of a quick function takes.
SAMPLE = 0.0015


@frozen(kw_only=True)
class Options:
    """How thorough a run is."""

    seed: int = SEED
    #: Multiplies the rounds of every group; groups have their own number of them.
    effort: float = 1.0
    #: The seconds of a sample.
    sample: float = SAMPLE
    #: Whether the memory and the larger sizes are measured too.
    full: bool = False

    def rounds(self, usual: int) -> int:
        """The number of rounds of a group that usually takes so many; at least 2."""
        return max(2, round(usual * self.effort))

    def rng(self, group: str) -> Random:
        """The random order of one group."""
        return Random(f"{self.seed}/{group}")


@frozen
class Table:
    """Rows of cells, the first of which is the row's name."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@frozen
class Curve:
    """Measured points of what grows, and what of; as a picture it is one line."""

    name: str
    points: tuple[tuple[float, float], ...]


@frozen
class Chart:
    """A growth curve: both axes are logarithmic."""

    file: str
    title: str
    across: str
    up: str
    curves: tuple[Curve, ...]


@define
class Outcome:
    """What one group found."""

    tables: list[Table] = field(factory=list)
    claims: list[Claim] = field(factory=list)
    charts: list[Chart] = field(factory=list)

    def claim(self, name: str, codec: Literal["speed", "stdlib"], ratio: float) -> None:
        """Note the ratio of a claim, if one is made with this codec."""
        self.claims.extend(claim(name, speed=codec == "speed", ratio=ratio))


def table(
    title: str, columns: Iterable[str], rows: Iterable[Iterable[str]], note: str = ""
) -> Table:
    """A table from any iterables."""
    return Table(title, tuple(columns), tuple(tuple(row) for row in rows), note)


def duration(seconds: float) -> str:
    """A time with three digits and its unit."""
    for unit, size in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def times(ratio: float) -> str:
    """A ratio with three digits."""
    return f"{ratio:.3g}" if ratio < 99.5 else f"{ratio:.0f}"
