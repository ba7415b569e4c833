"""``deska serve``: panels for an agent's own program, over MCP (K-3, K-4)."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from deska_host._commands.arguments import Arguments
from deska_host._commands.configs import Snippet, http_snippets, stdio_snippets
from deska_host._commands.consent import consent_of
from deska_host._commands.desk import connect, install, open_host, start_pages
from deska_host._commands.place import Place, Stop, find_place, is_inside
from deska_host._commands.streams import Pipe, no_pipe, own_pipe
from deska_host._commands.terminal import Terminal
from deska_host._commands.told import ForMachines, ForPeople, Told
from deska_host._commands.words import (
    AGREE_FIRST,
    PANEL_INSIDE,
    READS_REFUSED,
    UNPAUSED_NOTE,
    UNPAUSED_WARNING,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deska_host._commands.consent import Consent
    from deska_host.host import Host
    from deska_host.mcp import McpDoor

ENDED, NOT_TRIED, INTERRUPTED = 0, 2, 130

HOW = (
    "agree first, in a terminal, with deska try or with deska serve without --stdio; or give --yes"
)
#: The token to ask clients for; an argument could be read by every program on the computer.
TOKEN = "DESKA_TOKEN"  # noqa: S105 - the name of a variable


def run(argv: list[str]) -> int:
    """Serve until the client leaves or the process is asked to end: 0; 2 when it cannot start."""
    parser = _parser()
    given = parser.read(argv)
    if given.stdio and given.http is not None:
        parser.error("--stdio and --http exclude each other")
    try:
        if given.print_config:
            _print_config(given)
            return ENDED
        return _serve(given)
    except Stop as stop:
        Terminal(sys.stderr).line(("deska serve: ", "bad"), stop.sentence)
        return NOT_TRIED
    except KeyboardInterrupt:  # before the signals were ours
        return INTERRUPTED


def _parser() -> Arguments:
    parser = Arguments(
        prog="deska serve",
        description="Serve the two tools of one task to a program that speaks MCP.",
        epilog=f"The token clients have to send is in the variable {TOKEN}, or made anew.",
    )
    parser.add_argument(
        "panels", metavar="PANEL", type=Path, nargs="+", help="the folder of a panel"
    )
    parser.add_argument(
        "--task", metavar="FOLDER", type=Path, required=True, help="the folder of the task"
    )
    parser.add_argument(
        "--stdio", action="store_true", help="speak on standard input and output, with one client"
    )
    parser.add_argument(
        "--http",
        metavar="PORT",
        type=_port,
        help="speak HTTP on this computer; 0 is any free port (default: --http 0)",
    )
    parser.add_argument("--yes", action="store_true", help="agree to the panels' sheets")
    parser.add_argument(
        "--trust-unpaused",
        action="store_true",
        help="let reads be answered although nothing is paused for them",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="say what happens as lines of JSON; with --print-config, print the JSON alone",
    )
    parser.add_argument("--desk", metavar="FILE", type=Path, help="keep the desk in this file")
    parser.add_argument(
        "--print-config", action="store_true", help="print what to paste into clients, and end"
    )
    return parser


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 65_536):
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)


# --- serving


def _serve(given: argparse.Namespace) -> int:
    _need_mcp()
    place = find_place(given.task, given.desk)
    with own_pipe() if given.stdio else no_pipe() as own:
        # With --json the machine's stream holds nothing else: a person is spoken to on the other.
        pipe, stream = (own, sys.stderr) if isinstance(own, Pipe) else (None, own)
        people = sys.stderr if given.json else stream
        out = Terminal(people)
        told: Told = ForMachines(stream) if given.json else ForPeople(out, stream)
        told.warn(UNPAUSED_WARNING if given.trust_unpaused else READS_REFUSED)
        for warning in _warnings(given, place):
            told.warn(warning)
        consent = consent_of(
            yes=given.yes,
            out=out,
            shown=people,
            stdin=sys.stdin if pipe is None else None,
            how=HOW,
            note=UNPAUSED_NOTE if given.trust_unpaused else "",
        )
        anyio.run(_run, given, place, consent, out, told, pipe)
        told.ended()
    return ENDED


def _need_mcp() -> None:
    if find_spec("mcp") is None:
        raise Stop("serving needs the extra mcp: pip install 'deska-sdk[mcp]'")


async def _run(
    given: argparse.Namespace,
    place: Place,
    consent: Consent,
    out: Terminal,
    told: Told,
    pipe: Pipe | None,
) -> None:
    from deska_host.mcp import McpDoor

    async with open_host(place, told.page_raised) as host:
        installed = await install(host, given.panels, out)
        door = McpDoor(
            host,
            place.task,
            place.folder,
            trust_unpaused=given.trust_unpaused,
            on_call=told.heard,
        )
        async with door:
            panels = await connect(host, place.task, installed, consent)
            await start_pages(host, panels)
            if pipe is None:
                await _by_http(host, door, given.http or 0, tuple(panels), told)
            else:
                await _by_pipe(host, door, pipe, tuple(panels), told)


async def _by_pipe(
    host: Host, door: McpDoor, pipe: Pipe, panels: tuple[str, ...], told: Told
) -> None:
    async with anyio.create_task_group() as group:

        async def until_asked() -> None:
            await host.serve()
            group.cancel_scope.cancel()

        group.start_soon(until_asked)
        told.serving(panels, None)
        await door.serve_stdio(pipe.stdin, pipe.stdout)
        group.cancel_scope.cancel()


async def _by_http(
    host: Host, door: McpDoor, port: int, panels: tuple[str, ...], told: Told
) -> None:
    problem, address = "", None
    async with AsyncExitStack() as stack:
        try:
            address = await stack.enter_async_context(
                door.http(port=port, token=os.environ.get(TOKEN))
            )
        except OSError as error:
            problem = f"the port {port} cannot be used: {error.strerror or 'it is not free'}"
        except ValueError as error:
            problem = f"{TOKEN}: {error}"
        if address is None:
            raise Stop(problem)
        told.serving(panels, address)
        await host.serve()


# --- what to paste


def _print_config(given: argparse.Namespace) -> None:
    place = find_place(given.task, given.desk)
    for folder in given.panels:
        if not folder.is_dir():
            raise Stop(f"{folder}: there is no such folder of a panel")
    snippets = _snippets(given, place)
    if given.json:
        sys.stdout.write(f"{snippets[0].text}\n")
    else:
        out = Terminal(sys.stdout)
        for snippet in snippets:
            out.line((f"{snippet.where}:", "strong"))
            out.text(snippet.text)
            out.line()
    beside = Terminal(sys.stderr)
    for warning in _warnings(given, place):
        beside.line(warning, style="warn")
    if given.http is None:
        words = ["deska", "try", *map(str, given.panels), "--task", str(given.task)]
        words += [] if given.desk is None else ["--desk", str(given.desk)]
        beside.line(AGREE_FIRST.format(command=shlex.join(words)), style="dim")


def _warnings(given: argparse.Namespace, place: Place) -> Iterator[str]:
    for folder in given.panels:
        if is_inside(Path(os.path.realpath(folder)), place.folder):
            yield PANEL_INSIDE.format(panel=folder)


def _snippets(given: argparse.Namespace, place: Place) -> tuple[Snippet, ...]:
    if given.http is not None:
        token = os.environ.get(TOKEN)
        if given.http == 0 or not token:
            raise Stop(
                "what to paste has to stay true: choose a port with --http PORT, and a token with "
                f"the variable {TOKEN}"
            )
        from deska_host.mcp import PATH

        return http_snippets(f"http://127.0.0.1:{given.http}{PATH}", token)
    # By this very Python: a client with windows of its own knows no virtual environment. With -P,
    # for many clients start it in the task's folder, and modules that stand there are the agent's.
    command = [sys.executable, "-P", "-m", "deska_host", "serve"]
    command += [str(folder.resolve()) for folder in given.panels]
    command += ["--task", str(place.folder), "--stdio"]
    # Most clients hand on few variables: where one decided, its place is said.
    if given.desk is not None or os.environ.get("XDG_STATE_HOME"):
        command += ["--desk", str(place.desk)]
    if given.trust_unpaused:
        command.append("--trust-unpaused")
    # Never --yes: a panel's next version would be agreed to by nobody.
    return stdio_snippets(command)
