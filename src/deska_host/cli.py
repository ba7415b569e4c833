"""The command ``deska``.

::

    deska check my-panel
    deska schema > panel.schema.json
    deska demo

A command is a module with ``run(argv) -> int``, imported only when it is asked for: checking a
file neither starts a loop nor decodes an image.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from importlib.metadata import version
from io import TextIOWrapper
from typing import Protocol, cast

from attrs import frozen


@frozen
class _Command:
    module: str
    summary: str


class _Module(Protocol):
    def run(self, argv: list[str]) -> int: ...


#: A new command is one line here and one module.
COMMANDS: dict[str, _Command] = {
    "new": _Command("deska_host._commands.new", "make a new panel that works, to start from"),
    "check": _Command("deska_host._commands.check", "check a panel's folder or its panel.json"),
    "schema": _Command(
        "deska_host._commands.schema", "print the JSON Schema of panel.json for editors"
    ),
    "manifest": _Command("deska_host._commands.manifest", "make the panel.json of a typed panel"),
    "try": _Command("deska_host._commands.try_", "be the agent of panels, in this terminal"),
    "call": _Command("deska_host._commands.call", "call one action of a panel, for scripts"),
    "serve": _Command("deska_host._commands.serve", "let an agent's program use panels, over MCP"),
    "demo": _Command("deska_host.demo", "show a panel and an agent at work, in this terminal"),
}


def main(argv: list[str] | None = None) -> int:
    """Run one command and give the exit status: 0 good, 1 not, 2 could not be tried.

    ``argv`` is what follows ``deska`` on the command line; ``None`` takes the process's own.
    Nothing is raised but what a command did not foresee.
    """
    output: object = sys.stdout
    if output is None:  # closed by who started us
        return 2
    if isinstance(output, TextIOWrapper):
        # A terminal that cannot show a character shows its number instead of failing.
        cast("TextIOWrapper", output).reconfigure(errors="backslashreplace")
    try:
        given = _parser().parse_args(argv)
        command = COMMANDS[given.command]
        module = cast("_Module", import_module(command.module))
        status = module.run(given.rest)
        sys.stdout.flush()
    except SystemExit as stop:  # argparse has said why
        return stop.code if isinstance(stop.code, int) else 2
    except BrokenPipeError:
        # Whoever read the output has read enough. What is still buffered goes nowhere, or Python
        # would complain when it writes it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except OSError as error:
        # The disk is full, or the output is gone: what was asked for was not told.
        sys.stderr.write(f"deska: {error.strerror or 'the output cannot be written'}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items()]
    parser = argparse.ArgumentParser(
        prog="deska",
        description="Panels that agents can use, and the boundary between the two.",
        epilog="\n".join(["commands:", *lines, "", "deska COMMAND --help tells more."]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...")
    return parser


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: a source tree alone has none."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        sys.stdout.write(f"deska {version('deska-sdk')}\n")
        parser.exit()
