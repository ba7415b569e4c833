"""A second process swaps files, folders and links while two readers read (I-1).


``python -m tests.byhand.race --seconds 10`` prints what each reader got. The naive one resolves
the path, looks whether the result is inside, then opens it: it is there to show that the
swapping is fast enough to be caught by a reader that can be caught.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define

from deska_host.folder import TaskFolder
from deska_sdk.errors import AgentCode, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INSIDE = b"a picture of the garden"
OUTSIDE = b"the key of the house"

#: Each path goes through something that the other process swaps.
PATHS = (
    "file.png",
    "dir/pic.png",
    "dir/sub/../pic.png",
    "hop/pic.png",
    "moved/away/../pic.png",
)

# Runs in the other process until it is killed. A swap is three renames, so there are moments
# when nothing has the name.
SWAPPER = """
import os, sys
inside, outside = sys.argv[1:]
os.chdir(inside)
def swap(a, b):
    os.rename(a, "spare"); os.rename(b, a); os.rename("spare", b)
print("swapping", flush=True)
away = os.path.join(outside, "away")
while True:
    swap("file.png", "file.link")
    swap("dir", "dir.link")
    os.symlink(outside, "hop.new"); os.rename("hop.new", "hop")
    os.symlink("real", "hop.new"); os.rename("hop.new", "hop")
    os.rename("moved/away", away); os.rename(away, "moved/away")
"""


@define
class Figures:
    """What one reader got."""

    inside: int = 0
    refused: int = 0
    leaked: int = 0

    def count(self, read: Callable[[], bytes | None]) -> None:
        data = read()
        if data is None:
            self.refused += 1
        elif data == INSIDE:
            self.inside += 1
        else:
            self.leaked += 1


@define
class Race:
    """The readers' figures so far."""

    ours: Figures
    naive: Figures
    #: The codes our reader refused with.
    codes: set[AgentCode]


def build(base: Path) -> tuple[Path, Path]:
    """A task's folder and, next to it, a folder with secrets under the same names."""
    inside, outside = base / "inside", base / "outside"
    for folder in (inside / "dir" / "sub", inside / "real", inside / "moved" / "away"):
        folder.mkdir(parents=True)
    (outside / "sub").mkdir(parents=True)
    for place in ("file.png", "dir/pic.png", "real/pic.png", "moved/pic.png"):
        (inside / place).write_bytes(INSIDE)
    (outside / "pic.png").write_bytes(OUTSIDE)
    (inside / "file.link").symlink_to(outside / "pic.png")
    (inside / "dir.link").symlink_to(outside)
    (inside / "hop").symlink_to("real")
    return inside, outside


@contextmanager
def swapping(inside: Path, outside: Path) -> Iterator[subprocess.Popen[str]]:
    """The other process, from its first swap on."""
    with subprocess.Popen(
        [sys.executable, "-I", "-c", SWAPPER, os.fspath(inside), os.fspath(outside)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "swapping\n"
            yield process
        finally:
            process.kill()


def naive(root: str, path: str) -> bytes | None:
    """What many a program does: resolve, look, open."""
    try:
        real = os.path.realpath(f"{root}/{path}")
        if not real.startswith(root + os.sep):
            return None
        with Path(real).open("rb") as file:
            return file.read()
    except OSError:
        return None


def race(base: Path, over: Callable[[Race, int], bool]) -> Race:
    """Read by turns with both readers until ``over(figures, rounds)``."""
    inside, outside = build(base)
    figures = Race(Figures(), Figures(), set())
    root = os.path.realpath(inside)

    with TaskFolder(inside) as folder, swapping(inside, outside) as process:

        def ours() -> bytes | None:
            try:
                return folder.read(path)
            except Refused as refusal:
                figures.codes.add(AgentCode(refusal.code))
                return None

        for rounds, path in enumerate(itertools.cycle(PATHS)):
            if over(figures, rounds):
                break
            figures.ours.count(ours)
            figures.naive.count(lambda: naive(root, path))  # noqa: B023 - called at once
        assert process.poll() is None, "the swapping process ended before the readers did"
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as base:
        start = time.monotonic()
        figures = race(Path(base), lambda _race, _rounds: time.monotonic() - start > seconds)
    print(f"naive: {figures.naive}")
    print(f"ours:  {figures.ours}, codes {sorted(figures.codes)}")
    if figures.ours.leaked:
        raise SystemExit("the reader of a task's folder LEAKED")


if __name__ == "__main__":
    main()
