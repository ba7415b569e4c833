"""``deska try``: a person takes the agent's place, in a small shell (K-6, K-7)."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from deska_host._commands.agent import agent_at
from deska_host._commands.arguments import Arguments
from deska_host._commands.complete import complete
from deska_host._commands.consent import consent_of
from deska_host._commands.desk import open_desk
from deska_host._commands.errors import PageErrors
from deska_host._commands.images import ImageFolder
from deska_host._commands.lines import lines_from
from deska_host._commands.place import Stop, find_place
from deska_host._commands.shell import Shell
from deska_host._commands.streams import no_pipe
from deska_host._commands.terminal import Terminal

if TYPE_CHECKING:
    import argparse
    from typing import TextIO

DONE, NOT_TRIED, INTERRUPTED = 0, 2, 130

HOW = "run this in a terminal, or give --yes"
HELLO = (
    "You are the agent here, so nothing is paused: what a panel says goes to you.",
    "Type help for what can be typed.",
)


def run(argv: list[str]) -> int:
    """Let a person call: 0 at the end, 2 when it could not be started."""
    given = _parser().read(argv)
    errors = PageErrors()
    try:
        # What a page prints is elsewhere: what stands here is what an agent gets.
        with no_pipe() as stdout:
            return _try(given, stdout, errors)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Stop as stop:
        problem = Terminal(sys.stderr)
        errors.tell(problem)
        problem.line(("deska try: ", "bad"), stop.sentence)
        return NOT_TRIED


def _parser() -> Arguments:
    parser = Arguments(
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


def _try(given: argparse.Namespace, stdout: TextIO, errors: PageErrors) -> int:
    out, problems = Terminal(stdout), Terminal(sys.stderr)
    place = find_place(given.task, given.desk)
    consent = consent_of(yes=given.yes, out=out, shown=stdout, stdin=sys.stdin, how=HOW)
    opening = open_desk(place, given.panels, consent, out, errors.hear)
    with agent_at(opening) as (agent, panels):
        lines = lines_from(sys.stdin, stdout, place.state, lambda before: complete(before, panels))
        shell = Shell(agent, panels, ImageFolder(given.images), out)
        for sentence in HELLO:
            out.line(sentence, style="dim")
        going = True
        while going:
            with suppress(KeyboardInterrupt):  # the next line is read
                errors.tell(problems)
                out.flush()
                line = lines.read("deska> ")
                going = line is not None and shell.do(line)
        errors.tell(problems)
    return DONE
