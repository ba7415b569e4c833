"""``deska try``: a person takes the agent's place, in a small shell (K-6, K-7)."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path

from deska_host._commands.agent import agent_at
from deska_host._commands.complete import complete
from deska_host._commands.consent import consent_of
from deska_host._commands.desk import open_desk
from deska_host._commands.errors import PageErrors
from deska_host._commands.images import ImageFolder
from deska_host._commands.lines import lines_from
from deska_host._commands.place import Stop, find_place
from deska_host._commands.shell import Shell
from deska_host._commands.terminal import Terminal

DONE, NOT_TRIED, INTERRUPTED = 0, 2, 130

HOW = "run this in a terminal, or give --yes"
HELLO = (
    "You are the agent here, so nothing has to be paused: what a panel says goes to you. "
    "Type help for what can be typed."
)


def run(argv: list[str]) -> int:
    """Let a person call: 0 at the end, 2 when it could not be started."""
    given = _parser().parse_args(argv)
    out = Terminal(sys.stdout)
    errors = PageErrors()
    try:
        return _try(given, out, errors)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Stop as stop:
        problem = Terminal(sys.stderr)
        errors.tell(problem)
        problem.line(("deska try: ", "bad"), stop.sentence)
        return NOT_TRIED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="deska try",
        description="Be the agent of panels: list them, call their actions, see what comes back.",
        epilog="Commands may also come through a pipe, one in each line.",
    )
    parser.add_argument(
        "panels", metavar="PANEL", type=Path, nargs="+", help="the folder of a panel"
    )
    parser.add_argument(
        "--task", metavar="FOLDER", type=Path, required=True, help="the folder of the task"
    )
    parser.add_argument(
        "--images",
        metavar="DIR",
        type=Path,
        help="save images of replies into this folder (default: a new temporary one)",
    )
    parser.add_argument("--yes", action="store_true", help="agree to the panels' sheets")
    parser.add_argument("--desk", metavar="FILE", type=Path, help="keep the desk in this file")
    return parser


def _try(given: argparse.Namespace, out: Terminal, errors: PageErrors) -> int:
    stdout, problems = sys.stdout, Terminal(sys.stderr)
    place = find_place(given.task, given.desk)
    consent = consent_of(yes=given.yes, out=out, shown=stdout, stdin=sys.stdin, how=HOW)
    # What a page prints goes to standard error: what stands here is what an agent gets.
    opening = open_desk(place, given.panels, consent, out, errors.hear)
    with redirect_stdout(sys.stderr), agent_at(opening) as (agent, panels):
        lines = lines_from(sys.stdin, stdout, place.state, lambda before: complete(before, panels))
        shell = Shell(agent, panels, ImageFolder(given.images), out)
        out.line(HELLO, style="dim")
        going = True
        while going:
            errors.tell(problems)
            out.flush()
            try:
                line = lines.read("deska> ")
            except KeyboardInterrupt:
                continue
            going = line is not None and shell.do(line)
        errors.tell(problems)
    return DONE
