"""What a run says: tables as Markdown, and the claims beside their targets."""

from __future__ import annotations

import re
import sys
import textwrap
from typing import TYPE_CHECKING, Final

from benchmarks import peers, svg
from benchmarks.bench import Table, table, times
from benchmarks.groups import GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.bench import Outcome
    from benchmarks.claims import Claim

#: The page that shows a run, and the places in it that a run fills, each by its group's name.
PAGE: Final = "performance.md"
_PLACE: Final = re.compile(r"(?<=<!-- run: )(\w+)( -->\n).*?(?=<!-- end of run -->)", re.DOTALL)


def markdown(made: Table) -> str:
    """A table as Markdown, its columns aligned so that it reads well as plain text too."""
    widths = [max(map(len, cells)) for cells in zip(made.columns, *made.rows, strict=True)]
    lines = [_line(made.columns, widths), _line([_rule(width) for width in widths], widths)]
    lines += [_line(row, widths) for row in made.rows]
    note = f"\n{made.note}\n" if made.note else ""
    return f"**{made.title}**\n\n" + "\n".join(lines) + f"\n{note}"


def _rule(width: int) -> str:
    return "-" * (width - 1) + ":"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    left = (first[0].replace("-:", "--") if set(first[0]) == {"-", ":"} else first[0]).ljust(
        first[1]
    )
    return "| " + " | ".join([left, *(cell.rjust(width) for cell, width in rest)]) + " |"


def claims_table(claims: Iterable[Claim]) -> Table:
    """All claims of a run, those that do not hold marked."""
    rows = [
        (
            one.id,
            "[speed]" if one.speed else "",
            times(one.ratio),
            f"{'≥' if one.at == 'least' else '≤'} {one.target:g}",
            "" if one.holds else "missed",
        )
        for one in claims
    ]
    return table("Claims", ("claim", "with", "measured", "target", ""), rows)


def used(seed: int) -> str:
    """What a run was made with."""
    found = ", ".join(f"{name} {number}" for name, number in sorted(peers.versions().items()))
    told = f"Python {sys.version.split()[0]}, seed {seed}; {found}."
    return textwrap.fill(told, 99, break_on_hyphens=False)


def renew(folder: Path, outcomes: Mapping[str, Outcome], seed: int) -> None:
    """Put a run's tables into the page and draw its pictures; groups that did not run stay.

    The list of claims is of one run, so only a run of all groups renews it.

    :raises ValueError: the page has no place for something that was measured.
    """
    page = folder / PAGE
    parts = {name: "\n".join(map(markdown, outcome.tables)) for name, outcome in outcomes.items()}
    if outcomes.keys() == GROUPS.keys():
        claims = [one for outcome in outcomes.values() for one in outcome.claims]
        parts["claims"] = markdown(claims_table(claims))
        parts["versions"] = used(seed) + "\n"
    text = page.read_text(encoding="utf-8")
    lacking = parts.keys() - {found[1] for found in _PLACE.finditer(text)}
    if lacking:
        raise ValueError(f"{PAGE} has no place for {', '.join(sorted(lacking))}")

    def filled(found: re.Match[str]) -> str:
        name = found[1]
        return f"{name}{found[2]}\n{parts[name]}\n" if name in parts else found[0]

    page.write_text(_PLACE.sub(filled, text), encoding="utf-8")
    pictures = folder / page.stem
    pictures.mkdir(exist_ok=True)
    for outcome in outcomes.values():
        for chart in outcome.charts:
            (pictures / chart.file).write_text(svg.draw(chart), encoding="utf-8")
