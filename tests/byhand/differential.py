"""The differential test at length: ``python -m tests.byhand.differential --pairs 1000000``.

Draws pairs of a schema and a value, has the compiler, the interpreter, the teller, the rules read
off once more, and fastjsonschema judge each, and prints what the run has covered. It ends with 1
where the run covered too little; a disagreement is an exception that shows the pair.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

from tests.kernel.support_differential import run
from tests.kernel.support_schema_maker import KINDS, RULES, Figures

CHUNK = 10_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1, help="of the first chunk; each adds one")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    chunks = -(-options.pairs // CHUNK)
    seeds = range(options.seed, options.seed + chunks)
    started = time.monotonic()
    total = Figures()
    with ProcessPoolExecutor(options.processes) as pool:
        for figures in pool.map(run, seeds, repeat(CHUNK)):
            total.add(figures)
    seconds = time.monotonic() - started
    print(f"{total.pairs:,} pairs, no disagreement, {seconds:.0f} s, seeds {seeds[0]}-{seeds[-1]}")
    return report(total)


def report(total: Figures) -> int:
    missing: list[str] = []

    def line(name: str, count: int, least: float = 1) -> None:
        share = f"{100 * count / total.pairs:6.2f} %"
        print(f"  {name:<34}{count:>12,} {share}")
        if count < least:
            missing.append(name)

    line("valid", total.valid, 0.4 * total.pairs)
    print("one fault alone:")
    for rule in [*RULES, "not_json"]:
        line(rule, total.alone[rule], 0.01 * total.pairs)
    print("a limit, and one below and above:")
    for name in ("maxLength", "maxItems", "minimum", "maximum"):
        for step in (-1, 0, 1):
            line(f"{name} {step:+d}", total.limits[name, step])
    print("nodes by level:")
    for kind in KINDS:
        for level in (1, 2, 3, 4):
            # The root is an object, and an array's items need a level below it (D-1).
            if (level > 1 or kind == "object") and not (kind == "array" and level == 4):
                line(f"{kind} in level {level}", total.nodes[kind, level])
    print("decided otherwise by fastjsonschema, and why:")
    for reason, count in total.explained.most_common():
        line(reason, count)
    if missing:
        print(f"too rare: {', '.join(missing)}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
