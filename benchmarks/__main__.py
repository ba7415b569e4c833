"""``python -m benchmarks``: everything in under 90 seconds on two cores.

Ratios are the product here; times depend on the computer.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks import peers, report
from benchmarks.bench import SAMPLE, Options
from benchmarks.claims import write_json
from benchmarks.generator import SEED
from benchmarks.groups import GROUPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.bench import Outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for and print it; 0, also where a claim is missed."""
    given = _parser().parse_args(arguments)
    options = Options(
        seed=given.seed,
        effort=given.effort * (4 if given.full else 1),
        sample=given.sample,
        full=given.full,
    )
    outcomes: dict[str, Outcome] = {}
    start = perf_counter()
    for name in given.only or GROUPS:
        begun = perf_counter()
        outcome = outcomes[name] = import_module(GROUPS[name]).run(options)
        print(f"## {name}\n")
        for made in outcome.tables:
            print(report.markdown(made))
        print(f"({perf_counter() - begun:.1f} s)\n", flush=True)
    claims = [one for outcome in outcomes.values() for one in outcome.claims]
    print(report.markdown(report.claims_table(claims)))
    print(report.used(options.seed))
    for package in peers.missing():
        print(f"Left out: {package} is not installed, so nothing is compared with it.")
    missed = sum(not one.holds for one in claims)
    print(f"{len(claims)} claims, {missed} missed; {perf_counter() - start:.0f} s")
    if given.json:
        write_json(claims, given.json)
    if given.docs:
        report.renew(given.docs, outcomes, options.seed)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--full", action="store_true", help="four times the rounds, and more sizes")
    parser.add_argument("--only", action="append", choices=GROUPS, help="this group; may repeat")
    parser.add_argument("--seed", type=int, default=SEED, help="of unseen payloads and of orders")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the claims there")
    parser.add_argument(
        "--docs", type=Path, metavar="FOLDER", help="renew the tables and pictures of its page"
    )
    parser.add_argument("--effort", type=float, default=1.0, help="multiplies the rounds")
    parser.add_argument("--sample", type=float, default=SAMPLE, help="seconds of one sample")
    return parser


if __name__ == "__main__":
    sys.exit(main())
