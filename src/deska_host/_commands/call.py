"""``deska call``: one call of a panel's action, for scripts (K-5)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deska_host._commands.agent import agent_at, called
from deska_host._commands.arguments import Arguments
from deska_host._commands.consent import consent_of
from deska_host._commands.desk import open_desk
from deska_host._commands.errors import PageErrors
from deska_host._commands.images import ImageFolder
from deska_host._commands.json_input import MOST_BYTES, read_file, read_input
from deska_host._commands.place import Stop, find_place
from deska_host._commands.streams import no_pipe
from deska_host._commands.terminal import Terminal
from deska_host._commands.words import (
    FOR_THE_AUTHOR,
    SILENT_PAGE,
    UNPAUSED_NOTE,
    UNPAUSED_READ,
    UNPAUSED_WARNING,
)
from deska_sdk.errors import AgentCode

if TYPE_CHECKING:
    import argparse
    from typing import TextIO

    from deska_host._commands.images import Saved
    from deska_host.agents import AgentReply

DONE, REFUSED, NOT_TRIED, INTERRUPTED = 0, 1, 2, 130

HOW = "agree with deska try or deska serve in a terminal first, or give --yes"


def run(argv: list[str]) -> int:
    """Make the call: 0 when it was answered, 1 when refused, 2 when it could not be tried."""
    given = _parser().read(argv)
    out = Terminal(sys.stderr)
    errors = PageErrors()
    try:
        # Standard output has the reply and nothing else.
        with no_pipe() as reply_to:
            return _call(given, reply_to, out, errors)
    except Stop as stop:
        errors.tell(out)
        out.line(("deska call: ", "bad"), stop.sentence)
        return NOT_TRIED
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> Arguments:
    parser = Arguments(
        prog="deska call",
        description="Call one action of a panel, and print the reply.",
        epilog="The exit status is 0 for a reply, 1 for a refusal, 2 if it could not be tried.",
    )
    parser.add_argument("panel", metavar="PANEL", type=Path, help="the panel's folder")
    parser.add_argument("action", metavar="ACTION", nargs="?", help="the action's name")
    parser.add_argument("--list", action="store_true", help="print what list_panels gives instead")
    parser.add_argument(
        "--task", metavar="FOLDER", type=Path, required=True, help="the folder of the task"
    )
    parser.add_argument(
        "--input",
        metavar="JSON",
        default="{}",
        help="the input; - reads it from standard input, @FILE from a file (default: {})",
    )
    parser.add_argument(
        "--images", metavar="DIR", type=Path, help="save the images of the reply into this folder"
    )
    parser.add_argument("--json", action="store_true", help="print the reply as one JSON object")
    parser.add_argument("--yes", action="store_true", help="agree to the panel's sheet")
    parser.add_argument(
        "--trust-unpaused",
        action="store_true",
        help="let reads be answered although nothing is paused for them",
    )
    parser.add_argument("--desk", metavar="FILE", type=Path, help="keep the desk in this file")
    return parser


def _call(given: argparse.Namespace, reply_to: TextIO, out: Terminal, errors: PageErrors) -> int:
    if given.list == (given.action is not None):
        raise Stop("name an action, or give --list")
    from_stdin = given.input == "-"
    payload = "{}" if given.list else _input(given.input)
    place = find_place(given.task, given.desk)
    if given.images is not None:
        ImageFolder(given.images).make()
    if given.trust_unpaused:
        out.line(UNPAUSED_WARNING, style="warn")
    consent = consent_of(
        yes=given.yes,
        out=out,
        shown=sys.stderr,
        stdin=None if from_stdin else sys.stdin,
        how=HOW,
        note=UNPAUSED_NOTE if given.trust_unpaused else "",
    )
    # A script may be run by an agent, whose mode nobody here can change (K-4).
    switches = "mid_turn" if given.trust_unpaused else "never"
    opening = open_desk(
        place, [given.panel], consent, out, errors.hear, switches=switches, pages=not given.list
    )
    with agent_at(opening) as (agent, panels):
        (panel,) = panels
        reply = agent.list_panels() if given.list else called(agent, panel, given.action, payload)
    errors.tell(out)
    if reply.panel and given.trust_unpaused:
        out.line(UNPAUSED_READ.format(panel=panel), style="warn")
    problem = _answer(given, reply, reply_to, out)
    if reply.code is None:
        if problem:
            raise Stop(problem)
        return DONE
    sys.stderr.write(f"{reply.code}\n")
    if reply.code is AgentCode.PAUSE_FAILED and not given.trust_unpaused:
        out.line(
            "Nothing can be paused for whoever runs this command, so reads are refused. "
            "--trust-unpaused hands them over all the same.",
            style="dim",
        )
    if reply.code is AgentCode.PANEL_TIMEOUT:
        for hint in (FOR_THE_AUTHOR, *SILENT_PAGE):
            out.line(hint, style="dim")
    return REFUSED


def _input(given: str) -> str:
    if given == "-":
        return read_input(sys.stdin.buffer.read(MOST_BYTES + 1)).text
    if given.startswith("@"):
        return read_file(Path(given[1:])).text
    return read_input(given).text


def _answer(given: argparse.Namespace, reply: AgentReply, reply_to: TextIO, out: Terminal) -> str:
    """Hand over the reply and its images; why an image was not saved, or nothing.

    The reply comes first, whatever becomes of its images: the panel was called, and may have
    changed.
    """
    saved: list[Saved] = []
    problem = ""
    if given.images is not None:
        try:
            ImageFolder(given.images).save(reply.images, saved.append)
        except Stop as stop:
            problem = stop.sentence
    elif reply.images:
        out.line(f"Images in the reply: {len(reply.images)}. --images DIR saves them.")
    _print(reply, saved, reply_to, as_json=given.json)
    return problem


def _print(reply: AgentReply, saved: list[Saved], reply_to: TextIO, *, as_json: bool) -> None:
    if as_json:
        told = {
            "text": reply.text,
            "code": reply.code,
            "panel": reply.panel,
            "images": [
                {
                    "path": str(one.path),
                    "width": one.width,
                    "height": one.height,
                    "bytes": one.bytes,
                }
                for one in saved
            ],
        }
        reply_to.write(json.dumps(told) + "\n")
        return
    reply_to.write(f"{reply.text}\n")
    for one in saved:
        sys.stderr.write(f"{one}\n")
