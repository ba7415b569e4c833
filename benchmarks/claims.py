"""The claims: what each ratio must be at least, or at most, with and without ``[speed]``.

A claim's id says what was measured, against whom, and on which case; where the other side got a
strip of its own the id names it. A ratio is other / ours unless its target is an upper bound.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Literal

from attrs import asdict, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

At = Literal["least", "most"]


@frozen
class Target:
    """A bound for the ratio with ``[speed]`` and without; ``None`` where nothing is claimed."""

    speed: float | None
    stdlib: float | None
    at: At = "least"


@frozen
class Claim:
    """A measured ratio beside its target."""

    id: str
    speed: bool
    ratio: float
    target: float
    at: At

    @property
    def holds(self) -> bool:
        """Whether the ratio is on the right side of the target."""
        return self.ratio >= self.target if self.at == "least" else self.ratio <= self.target


def _targets() -> Iterator[tuple[str, Target]]:
    for case, speed in zip("abcde", (3.6, 5.8, 3.3, 5.5, 3.3), strict=True):
        yield f"json.jsonschema-rs.guard.{case}", Target(speed, 1.3)
        yield f"json.orjson-loads-alone.{case}", Target(1.4, 4.0, "most")
        yield f"objects.fastjsonschema.guard.{case}", Target(4.5, 3.0 if case == "a" else 1.5)
        yield f"objects.jsonschema.guard.{case}", Target(50.0, 40.0)
        yield f"objects.jsonschema-rs.guard.{case}", Target(1.5, None)
    yield "unseen.jsonschema-rs.guard.mean", Target(3.0, 1.2)
    yield "unseen.jsonschema-rs.guard.worst", Target(1.2, 0.6)
    yield "unseen.jsonschema-rs.tuned.mean", Target(2.0, None)
    yield "unseen.jsonschema-rs.tuned.worst", Target(1.0, None)
    for case, speed in zip("bcde", (9.0, 4.0, 7.5, 6.0), strict=True):
        yield f"answers.jsonschema-rs.tuned.{case}", Target(speed, 0.7)
    for tool in ("write", "read"):
        yield f"calls.mcp.no-strip.{tool}", Target(5.0, 4.0)
    for kind in ("jpeg", "png", "webp"):
        yield f"images.pillow.{kind}", Target(2.5, 1.4)
        yield f"images.pyvips.{kind}", Target(0.9, None)
    for photograph in ("jpeg", "webp"):
        yield f"images.pillow.bytes.{photograph}", Target(1.12, None, "most")
    yield "images.pillow.mean", Target(3.0, None)
    # The growth claims are the same with and without [speed].
    for name, bound in (
        # Time a byte at 240 KB beside time a byte at 15 KB.
        ("payload", 1.25),
        # Dispatch of a call at 16 actions beside 1, and at 10,000 connections beside 10.
        ("actions", 1.2),
        ("connections", 1.2),
        # KiB of one idle connection.
        ("idle-connection-kib", 4.0),
        # Memory of one open call at 10,000 beside one at 2,500, and MiB kept when all have ended.
        ("open-calls.each", 1.1),
        ("open-calls.kept-mib", 5.0),
    ):
        yield f"growth.{name}", Target(bound, bound, "most")


TARGETS: Final[dict[str, Target]] = dict(_targets())


def claim(name: str, *, speed: bool, ratio: float) -> Iterator[Claim]:
    """The claim of that id, or nothing where none is made.

    :raises KeyError: there is no claim of that id at all.
    """
    target = TARGETS[name]
    bound = target.speed if speed else target.stdlib
    if bound is not None:
        yield Claim(name, speed, round(ratio, 3), bound, target.at)


def write_json(claims: Iterable[Claim], path: Path) -> None:
    """Write ``{"claims": [{"id", "speed", "ratio", "target", "at"}, …]}``."""
    told = {"claims": [asdict(one) for one in claims]}
    path.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
