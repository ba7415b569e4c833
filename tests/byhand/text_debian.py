"""T-1's table against Debian's copy of the Unicode database (T-2).

``python -m tests.byhand.text_debian --file /usr/share/unicode/DerivedCoreProperties.txt`` prints
the characters on which the two do not agree, and fails when there are any. The file comes with
the package ``unicode-data``. The suite does the same with the database of another package; this
one was put together by other people from the same source.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from deska_sdk.text import strip_invisible

# What T-1 removes beyond Default_Ignorable_Code_Point.
OTHERS = {
    *range(0x09),
    *range(0x0E, 0x20),
    *range(0x7F, 0x85),
    *range(0x86, 0xA0),
    *range(0xFFF9, 0xFFFD),
    *range(0x13430, 0x13440),
    0x16FE4,
    0x1D159,
    *range(0xFDD0, 0xFDF0),
    *(plane + last for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF)),
}
LINE = re.compile(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*Default_Ignorable_Code_Point\b")


def ignorable(path: Path) -> set[int]:
    """The file's Default_Ignorable code points."""
    points: set[int] = set()
    for line in path.read_text("utf-8").splitlines():
        found = LINE.match(line)
        if found is not None:
            first = int(found[1], 16)
            points.update(range(first, int(found[2] or found[1], 16) + 1))
    return points


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--file", type=Path, default=Path("/usr/share/unicode/DerivedCoreProperties.txt")
    )
    points = ignorable(parser.parse_args().file)
    theirs = points | OTHERS
    ours = {point for point in range(0x110000) if not strip_invisible(chr(point))}
    for point in sorted(ours ^ theirs):
        print(f"U+{point:04X} is removed by {'us' if point in ours else 'them'} only")
    print(f"{len(points)} ignorable, {len(theirs)} removed by the file, {len(ours)} by the table")
    return int(ours != theirs or not points)


if __name__ == "__main__":
    sys.exit(main())
