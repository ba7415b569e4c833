"""``deska check``: everything that is wrong with a panel's folder or panel.json (P-7)."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import asdict, frozen

from deska_host.package import PackageFolder
from deska_sdk.document import parse_document
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.check import Report, check_panel
from deska_sdk.text import escape_invisible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deska_sdk.problems import Problem

CLEAN, PROBLEMS, UNREADABLE = 0, 1, 2

_NAME = "panel.json"
#: How much of a line is shown around what is wrong in it.
_BEFORE, _SHOWN = 32, 76


@frozen
class _Unreadable:
    """Why there is nothing to check."""

    sentence: str


def run(argv: list[str]) -> int:
    """Check what ``argv`` names: 0 without a problem, 1 with one, 2 when it cannot be read."""
    parser = argparse.ArgumentParser(
        prog="deska check",
        description="Check a panel's folder, or its panel.json alone, and tell all problems.",
        epilog="The exit status is 0 without a problem, 1 with one, 2 if it cannot be read.",
    )
    parser.add_argument("path", metavar="FOLDER|FILE", type=Path)
    parser.add_argument("--format", choices=_WRITERS, default="text", help="default: text")
    given = parser.parse_args(argv)
    path: Path = given.path
    # Of a file alone nobody can say what stands beside it in the package.
    folder = PackageFolder(path) if path.is_dir() else None
    file = path / _NAME if folder else path
    source = _read(file, folder)
    if isinstance(source, _Unreadable):
        sys.stderr.write(f"deska check: {escape_invisible(str(file))}: {source.sentence}\n")
        return UNREADABLE
    report = check_panel(source, files=folder)
    for line in _WRITERS[given.format](str(file), source, report):
        sys.stdout.write(f"{line}\n")
    return PROBLEMS if report.problems else CLEAN


def _read(file: Path, folder: PackageFolder | None) -> bytes | _Unreadable:
    """The file's bytes; of one that is too large no more than shows it."""
    limit = DEFAULT_LIMITS.manifest_bytes
    try:
        if not file.exists():
            return _Unreadable("there is no such file")
        if not file.is_file():
            return _Unreadable("this is no file")
        if folder is not None:
            if _NAME not in folder:
                return _Unreadable("this leads out of the panel's folder")
            return folder.manifest(limit)
        with file.open("rb") as opened:
            return opened.read(limit + 1)
    except OSError as error:
        return _Unreadable(error.strerror or "this cannot be read")


# -- the formats: lines for what was checked, its bytes, and what was found


def _as_text(file: str, source: bytes, report: Report) -> Iterator[str]:
    shown = escape_invisible(file)
    document = parse_document(source)
    found = [(problem, "") for problem in report.problems]
    found += [(warning, "warning: ") for warning in report.warnings]
    for problem, mark in sorted(found, key=lambda one: (one[0].line or 0, one[0].column or 0)):
        line, column = problem.line or 1, problem.column or 1
        yield f"{shown}:{line}:{column}: {mark}{problem.sentence} [{problem.code}]"
        yield from _excerpt(document.line(line), line, column)
    problems, warnings = len(report.problems), len(report.warnings)
    yield f"{shown}: {_counted(problems, 'problem')}, {_counted(warnings, 'warning')}"
    if report.requires_review:
        yield "This version declares actions for agents, so it is reviewed before it is published."
    if report.reviewer_texts:
        count = _counted(len(report.reviewer_texts), "text")
        yield f"Agents will read {count} of it; --format json lists them as written and folded."


def _excerpt(text: str, line: int, column: int) -> Iterator[str]:
    """The part of a line that is wrong, with a mark under the place."""
    start = max(0, column - 1 - _BEFORE)
    before = escape_invisible(text[start : column - 1])
    rest = escape_invisible(text[column - 1 : start + _SHOWN])
    if not before + rest:
        return
    yield f"{line:6} | {before}{rest}"
    yield f"{'':6} | {' ' * len(before)}^"


def _counted(count: int, word: str) -> str:
    return f"{count or 'no'} {word}{'' if count == 1 else 's'}"


def _as_json(file: str, _: bytes, report: Report) -> Iterator[str]:
    yield json.dumps(
        {
            "file": file,
            "problems": [asdict(problem) for problem in report.problems],
            "warnings": [asdict(warning) for warning in report.warnings],
            "requires_review": report.requires_review,
            "reviewer_texts": [asdict(text) for text in report.reviewer_texts],
        },
        indent=2,
    )


def _as_github(file: str, _: bytes, report: Report) -> Iterator[str]:
    """Workflow commands, which GitHub shows at the line of the file."""
    for problem in report.problems:
        yield _command("error", file, problem)
    for warning in report.warnings:
        yield _command("warning", file, warning)
    if report.requires_review:
        yield f"::notice file={_property(file)}::this version is reviewed before it is published"


def _command(kind: str, file: str, problem: Problem) -> str:
    place = f"line={problem.line or 1},col={problem.column or 1},title={problem.code}"
    quoted = f" ({problem.quoted})" if problem.quoted else ""
    return f"::{kind} file={_property(file)},{place}::{_data(problem.sentence + quoted)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(escape_invisible(text)).replace(":", "%3A").replace(",", "%2C")


_WRITERS = {"text": _as_text, "json": _as_json, "github": _as_github}
