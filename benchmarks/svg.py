"""Growth curves as plain SVG text: nothing to install, the same bytes for the same numbers.

Both axes are logarithmic, so what is linear is a straight line and what is flat is level.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bench import Chart

_WIDTH: Final = 640
_HEIGHT: Final = 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 20, 44, 80
# Distinguishable for people who see few colours, on white and on dark pages.
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_UNITS: Final = (
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
)


class _Axis:
    """One logarithmic axis: from values to pixels."""

    def __init__(self, values: list[float], first: float, last: float) -> None:
        low, high = min(values), max(values)
        # Half a decade at the least, so that a level line is drawn level and not as its noise.
        if math.log10(high / low) < 1.0:
            middle = math.sqrt(low * high)
            low, high = middle / math.sqrt(10), middle * math.sqrt(10)
        self.low, self.high = math.log10(low) - 0.05, math.log10(high) + 0.05
        self.first, self.last = first, last

    def at(self, value: float) -> float:
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.first + part * (self.last - self.first), 1)

    def ticks(self) -> Iterator[float]:
        for power in range(math.floor(self.low), math.ceil(self.high) + 1):
            for digit in (1, 2, 5):
                value = digit * 10.0**power
                if self.low <= math.log10(value) <= self.high:
                    yield value


def _number(value: float) -> str:
    for size, letter in _UNITS:
        if value >= size * 0.9999:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def draw(chart: Chart) -> str:
    """The picture of a chart, as a standalone SVG document."""
    points = [point for curve in chart.curves for point in curve.points]
    across = _Axis([x for x, _ in points], _LEFT, _WIDTH - _RIGHT)
    up = _Axis([y for _, y in points], _HEIGHT - _BOTTOM, _TOP)
    return "\n".join(_elements(chart, across, up)) + "\n"


def _elements(chart: Chart, across: _Axis, up: _Axis) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="12" role="img">'
    )
    yield f"<title>{escape(chart.title)}</title>"
    yield f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
    yield f'<text x="{_LEFT}" y="20" font-size="14" font-weight="bold">{escape(chart.title)}</text>'
    bottom = _HEIGHT - _BOTTOM
    for value in across.ticks():
        x = across.at(value)
        yield f'<path d="M{x} {_TOP}V{bottom}" stroke="#e5e5e5"/>'
        yield f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{_number(value)}</text>'
    for value in up.ticks():
        y = up.at(value)
        yield f'<path d="M{_LEFT} {y}H{_WIDTH - _RIGHT}" stroke="#e5e5e5"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{_number(value)}</text>'
    yield (
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{bottom + 36}" '
        f'text-anchor="middle">{escape(chart.across)}</text>'
    )
    middle = (_TOP + bottom) / 2
    yield (
        f'<text x="16" y="{middle}" text-anchor="middle" '
        f'transform="rotate(-90 16 {middle})">{escape(chart.up)}</text>'
    )
    for place, curve in enumerate(chart.curves):
        colour = _COLOURS[place % len(_COLOURS)]
        line = " ".join(f"{across.at(x)},{up.at(y)}" for x, y in curve.points)
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, y in curve.points:
            yield f'<circle cx="{across.at(x)}" cy="{up.at(y)}" r="3" fill="{colour}"/>'
        # Two names a line: longer ones would run into each other.
        left, line_at = _LEFT + place % 2 * 270, bottom + 56 + place // 2 * 16
        yield f'<path d="M{left} {line_at - 4}h18" stroke="{colour}" stroke-width="3"/>'
        yield f'<text x="{left + 24}" y="{line_at}">{escape(curve.name)}</text>'
    yield "</svg>"
