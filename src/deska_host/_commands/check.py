"""``deska check``: everything that is wrong with panels' folders or panel.json files (P-7)."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attrs import evolve, frozen

from deska_host._commands.arguments import Arguments
from deska_host._commands.formats import Checked, write_github, write_json, write_text
from deska_host._commands.ledger import LedgerUnusable, read_ledger, recording, write_ledger
from deska_host.package import PackageFolder
from deska_sdk.document import parse_document
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.check import check_panel
from deska_sdk.panels.findings import as_object
from deska_sdk.panels.ledger import Ledger
from deska_sdk.problems import Problem, quote
from deska_sdk.text import escape_invisible

if TYPE_CHECKING:
    from collections.abc import Sequence

CLEAN, PROBLEMS, UNREADABLE = 0, 1, 2

_NAME: Final = "panel.json"
_FORMATS: Final = ("text", "json", "github")


@frozen
class _Unreadable:
    """Why there is nothing to check."""

    file: str
    sentence: str


@frozen
class _Publisher:
    """Where a publisher's ledger is, and what is to be done with it."""

    path: Path | None
    records: bool
    begins: bool

    def held(self) -> contextlib.AbstractContextManager[None]:
        """What keeps everybody else from recording meanwhile, where it is to be recorded."""
        if self.path is None or not self.records:
            return contextlib.nullcontext()
        return recording(self.path)


@frozen
class _Done:
    status: int
    checked: list[Checked]
    #: The ids that the ledger holds since now.
    noted: tuple[str, ...]
    #: Why the ledger cannot be used; empty where it can, or where there is none.
    unusable: str


def run(argv: list[str]) -> int:
    """Check what ``argv`` names.

    0 without a problem, 1 with one, 2 when something cannot be read or recorded; of several the
    worst.
    """
    parser = _parser()
    given = parser.read(argv)
    publisher = _Publisher(given.publisher, given.record or given.new_ledger, given.new_ledger)
    if publisher.records and publisher.path is None:
        parser.error("--record and --new-ledger need --publisher LEDGER")
    done = _run(given.paths, publisher)
    _write(given.format, done.checked, several=len(given.paths) > 1)
    if given.format == "text" and done.noted:
        noted = ", ".join(done.noted)
        sys.stdout.write(f"{escape_invisible(str(publisher.path))}: noted {noted}\n")
    if done.unusable:
        _complain(str(publisher.path), done.unusable)
        return UNREADABLE
    return done.status


def _parser() -> Arguments:
    parser = Arguments(
        prog="deska check",
        description="Check panels' folders, or panel.json files alone, and tell all problems.",
        epilog="The exit status is 0 without a problem, 1 with one, 2 if anything cannot be read "
        "or recorded; of several the worst.",
    )
    parser.add_argument("paths", metavar="FOLDER|FILE", type=Path, nargs="+")
    parser.add_argument("--format", choices=_FORMATS, default="text", help="default: text")
    parser.add_argument(
        "--publisher",
        metavar="LEDGER",
        type=Path,
        help="also refuse what earlier versions forbid, by this publisher's ledger",
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="note the panels that work with agents in the ledger, if there is no problem at all",
    )
    parser.add_argument(
        "--new-ledger", action="store_true", help="--record into a ledger that is not there yet"
    )
    return parser


# --- reading and checking


def _run(paths: Sequence[Path], publisher: _Publisher) -> _Done:
    """Check all, and record it where that was asked for and nothing is wrong."""
    status = CLEAN
    checked: list[Checked] = []
    noted: tuple[str, ...] = ()
    unusable = ""
    try:
        with publisher.held():
            ledger = _ledger(publisher)
            status = _check_all(paths, ledger, checked)
            if publisher.path is not None and publisher.records and status == CLEAN:
                noted = _record(publisher.path, ledger, checked)
    except LedgerUnusable as error:
        unusable = error.reason
    return _Done(status, checked, noted, unusable)


def _check_all(paths: Sequence[Path], ledger: Ledger, checked: list[Checked]) -> int:
    """Add each to ``checked``; what cannot be read is told at once, to standard error."""
    files: dict[str, tuple[str, str]] = {}
    status = CLEAN
    for path in paths:
        one = _check(path, ledger)
        if isinstance(one, _Unreadable):
            _complain(one.file, one.sentence)
            status = UNREADABLE
            continue
        one = _with_twins(one, files)
        checked.append(one)
        if one.report.problems:
            status = max(status, PROBLEMS)
    return status


def _check(path: Path, ledger: Ledger) -> Checked | _Unreadable:
    # Of a file alone nobody can say what stands beside it in the package.
    folder = PackageFolder(path) if path.is_dir() else None
    file = path / _NAME if folder else path
    source = _read(file, folder)
    if isinstance(source, _Unreadable):
        return source
    report = check_panel(source, files=folder, ledger=ledger)
    return Checked(str(file), parse_document(source), report)


def _read(file: Path, folder: PackageFolder | None) -> bytes | _Unreadable:
    """The file's bytes; of one that is too large no more than shows it."""
    limit = DEFAULT_LIMITS.manifest_bytes
    try:
        if not file.exists():
            return _Unreadable(str(file), "there is no such file")
        if not file.is_file():
            return _Unreadable(str(file), "this is no file")
        if folder is not None:
            if _NAME not in folder:
                return _Unreadable(str(file), "this leads out of the panel's folder")
            return folder.manifest(limit)
        with file.open("rb") as opened:
            return opened.read(limit + 1)
    except OSError as error:
        return _Unreadable(str(file), error.strerror or "this cannot be read")


def _with_twins(checked: Checked, files: dict[str, tuple[str, str]]) -> Checked:
    """``checked``, with a problem where another file of this run has the same id (K-11).

    ``files`` holds, for each id so far, the first file with it: its real path and its name.
    """
    value = as_object(checked.document.value) or {}
    panel = value.get("id")
    if type(panel) is not str:
        return checked
    real = os.path.realpath(checked.file)
    first, named = files.setdefault(panel, (real, checked.file))
    if first == real:
        return checked
    line, column = checked.document.place("/id") or (1, 1)
    twin = Problem(
        code="duplicate",
        where="/id",
        sentence=f"another panel here has this id: {escape_invisible(named)}",
        quoted=quote(panel),
        line=line,
        column=column,
    )
    problems = sorted(
        (*checked.report.problems, twin), key=lambda one: (one.line or 0, one.column or 0)
    )
    report = evolve(checked.report, problems=tuple(problems), manifest=None, reviewer_texts=())
    return evolve(checked, report=report)


# --- the publisher's ledger


def _ledger(publisher: _Publisher) -> Ledger:
    if publisher.path is None:
        return Ledger()
    if not publisher.begins:
        return read_ledger(publisher.path)
    if os.path.lexists(publisher.path):
        raise LedgerUnusable("this is there already; --record adds to it")
    return Ledger()


def _record(path: Path, before: Ledger, checked: Sequence[Checked]) -> tuple[str, ...]:
    """Keep what these versions add to the ledger; the ids that are new in it."""
    after = before
    for one in checked:
        assert one.report.manifest is not None, "only what has no problem is recorded"
        after = after.accept(one.report.manifest)
    if after != before or not path.exists():
        write_ledger(path, after)
    return tuple(sorted(after.panels - before.panels))


# --- telling


def _write(how: str, checked: Sequence[Checked], *, several: bool) -> None:
    if how == "json":
        if checked or several:
            write_json(sys.stdout, checked, several=several)
    elif how == "github":
        write_github(sys.stdout, checked)
    else:
        write_text(sys.stdout, checked)


def _complain(file: str, sentence: str) -> None:
    sys.stderr.write(f"deska check: {escape_invisible(file)}: {sentence}\n")
