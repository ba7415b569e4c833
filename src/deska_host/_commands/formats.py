"""How ``deska check`` tells what it found: to a person, to a program, to GitHub (P-7)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TextIO

from attrs import asdict, field, frozen

from deska_host._commands.terminal import Terminal
from deska_sdk.text import escape_invisible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deska_host._commands.terminal import Style
    from deska_sdk.document import Document
    from deska_sdk.panels.check import Report
    from deska_sdk.problems import Problem

#: How much of a line is shown around what is wrong in it.
_BEFORE, _SHOWN = 32, 76


@frozen
class Checked:
    """One panel.json that could be read."""

    #: As a person would name it.
    file: str
    document: Document = field(repr=False)
    report: Report = field(repr=False)


# --- for a person


def write_text(stream: TextIO, all_checked: Sequence[Checked]) -> None:
    """Every problem at its place, with the line it is in; then a summary for each file."""
    out = Terminal(stream)
    for checked in all_checked:
        _text_of(out, checked)
    if len(all_checked) > 1:
        wrong = sum(1 for checked in all_checked if checked.report.problems)
        style: Style = "bad" if wrong else "good"
        out.line((f"{len(all_checked)} panels, {wrong or 'none'} with problems", style))


def _text_of(out: Terminal, checked: Checked) -> None:
    report = checked.report
    found: list[tuple[Problem, bool]] = [(problem, False) for problem in report.problems]
    found += [(warning, True) for warning in report.warnings]
    for problem, warns in sorted(found, key=lambda one: (one[0].line or 0, one[0].column or 0)):
        line, column = problem.line or 1, problem.column or 1
        out.line(
            (f"{checked.file}:{line}:{column}: ", "place"),
            ("warning: " if warns else "", "warn"),
            problem.sentence,
            (f" [{problem.code}]", "dim"),
        )
        _excerpt(out, checked.document.line(line), line, column, "warn" if warns else "bad")
    problems, warnings = len(report.problems), len(report.warnings)
    out.line(
        (f"{checked.file}: ", "place"),
        (_counted(problems, "problem"), "bad" if problems else "good"),
        ", ",
        (_counted(warnings, "warning"), "warn" if warnings else "good"),
    )
    if report.requires_review:
        out.line(
            "This version declares actions for agents, so it is reviewed before it is published."
        )
    if report.reviewer_texts:
        count = _counted(len(report.reviewer_texts), "text")
        out.line(f"Agents will read {count} of it; --format json lists them as written and folded.")


def _excerpt(out: Terminal, text: str, line: int, column: int, style: Style) -> None:
    """The part of a line that is wrong, with a mark under the place."""
    start = max(0, column - 1 - _BEFORE)
    before = escape_invisible(text[start : column - 1])
    rest = escape_invisible(text[column - 1 : start + _SHOWN])
    if not before + rest:
        return
    out.line((f"{line:6} | ", "dim"), f"{before}{rest}")
    out.line((f"{'':6} | ", "dim"), " " * len(before), ("^", style))


def _counted(count: int, word: str) -> str:
    return f"{count or 'no'} {word}{'' if count == 1 else 's'}"


# --- for a program


def write_json(stream: TextIO, all_checked: Sequence[Checked], *, several: bool) -> None:
    """One object for one path; an array of them where several paths were given."""
    values = [_value_of(checked) for checked in all_checked]
    stream.write(json.dumps(values if several else values[0], indent=2) + "\n")


def _value_of(checked: Checked) -> dict[str, Any]:
    report = checked.report
    return {
        "file": checked.file,
        "problems": [asdict(problem) for problem in report.problems],
        "warnings": [asdict(warning) for warning in report.warnings],
        "requires_review": report.requires_review,
        "reviewer_texts": [asdict(text) for text in report.reviewer_texts],
    }


# --- for a workflow


def write_github(stream: TextIO, all_checked: Sequence[Checked]) -> None:
    """Workflow commands, which GitHub shows at the line of the file."""
    for checked in all_checked:
        for line in _commands(checked):
            stream.write(f"{line}\n")


def _commands(checked: Checked) -> Iterator[str]:
    report = checked.report
    for problem in report.problems:
        yield _command("error", checked.file, problem)
    for warning in report.warnings:
        yield _command("warning", checked.file, warning)
    if report.requires_review:
        file = _property(checked.file)
        yield f"::notice file={file}::this version is reviewed before it is published"


def _command(kind: str, file: str, problem: Problem) -> str:
    place = f"line={problem.line or 1},col={problem.column or 1},title={problem.code}"
    quoted = f" ({problem.quoted})" if problem.quoted else ""
    return f"::{kind} file={_property(file)},{place}::{_data(problem.sentence + quoted)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(escape_invisible(text)).replace(":", "%3A").replace(",", "%2C")
