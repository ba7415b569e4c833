"""The command ``deska``.

::

    deska check my-panel
    deska schema > panel.schema.json
    deska demo

A command is a module with ``run(argv) -> int``, imported only when it is asked for: checking a
file neither starts a loop nor decodes an image. Here nothing is imported that takes time, so that
Ctrl-C finds ``main`` ready for it.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import NamedTuple, Protocol, cast


class _Command(NamedTuple):
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


NOT_TRIED, INTERRUPTED = 2, 130


def main(argv: list[str] | None = None) -> int:
    """Run one command and give the exit status: 0 good, 1 not, 2 could not be tried, 130 Ctrl-C.

    ``argv`` is what follows ``deska`` on the command line; ``None`` takes the process's own.
    Nothing is raised but what a command did not foresee.
    """
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return INTERRUPTED


def _main(argv: list[str]) -> int:
    from deska_host._commands.streams import open_streams, to_nowhere

    open_streams()
    output: object = sys.stdout
    if output is None:  # closed by who started us
        sys.stderr.write("deska: standard output is closed, so nothing was done\n")
        return NOT_TRIED
    if isinstance(output, TextIOWrapper):
        # A terminal that cannot show a character shows its number instead of failing.
        cast("TextIOWrapper", output).reconfigure(errors="backslashreplace")
    try:
        status = _run(argv)
        sys.stdout.flush()
    except SystemExit as stop:  # argparse has said why
        return stop.code if isinstance(stop.code, int) else NOT_TRIED
    except BrokenPipeError:  # whoever read the output has read enough
        to_nowhere(sys.stdout)
        return NOT_TRIED
    except OSError as error:
        # The disk is full, or the output is gone: what was asked for was not told.
        with suppress(OSError):  # it may be standard error itself
            sys.stderr.write(f"deska: {error.strerror or 'the output cannot be written'}\n")
        to_nowhere(sys.stdout)
        to_nowhere(sys.stderr)
        return NOT_TRIED
    return status


def _run(argv: list[str]) -> int:
    """Run the command that ``argv`` begins with.

    :raises SystemExit: there is no such command, or only help was asked for; it was told.
    """
    import argparse
    from difflib import get_close_matches

    from deska_host._commands.arguments import Arguments

    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items()]
    parser = Arguments(
        prog="deska",
        usage="deska COMMAND ...",
        description="Panels that agents can use, and the boundary between the two.",
        epilog="\n".join(["commands:", *lines, "", "deska COMMAND --help tells more."]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.version:
        from importlib.metadata import version

        sys.stdout.write(f"deska {version('deska-sdk')}\n")
        return 0
    if given.command is None:
        parser.print_help(sys.stderr)
        return NOT_TRIED
    command = COMMANDS.get(given.command)
    if command is None:
        near = get_close_matches(str(given.command), list(COMMANDS), 1)
        meant = f"; did you mean {near[0]}?" if near else "; deska --help tells all"
        parser.error(f"{given.command}: there is no such command{meant}")
    module = cast("_Module", import_module(command.module))
    return module.run(given.rest)
