"""The protocol's own conformance suite, against a door by HTTP.

    python -m tests.byhand.conformance
    python -m tests.byhand.conformance --modules FOLDER    # keep what npm installs there

Its scenarios that fit a server with two tools have to pass. The others ask for things that this
door does not have, and have to be told so: by an error of the protocol, with the right code. The
exit status is 1 when one of them does anything else, and also when the suite has a scenario that
is not known here. Needs npm's registry, PyPI's where the machine's Node is old, and ``[::1]``.

The suite sends no headers of one's own, so something has to add the token. It listens on ``[::1]``
at the very port that the door has on 127.0.0.1, and passes on every other byte as it came: the
door sees the Host and Origin that the suite sent, and knows ``[::1]`` as a name of this computer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
from anyio.from_thread import start_blocking_portal
from attrs import frozen

from tests.byhand.npm import a_node
from tests.byhand.serving import TRUST, Server, a_place, serving, table

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

PACKAGE, VERSION = "@modelcontextprotocol/conformance", "0.1.16"

#: What fits, and how many of its checks succeed.
FITS = {
    "server-initialize": 1,
    "ping": 1,
    "tools-list": 1,
    "server-sse-multiple-streams": 1,
    "dns-rebinding-protection": 2,
}

NO_TOOL = "-32602: There is no tool with this name."
NO_METHOD = "-32601: Method not found"


@frozen
class Other:
    """A scenario that does not fit: why, and what the suite has to be told (part of it)."""

    why: str
    told: str


_ITS_TOOL = "calls a tool of the suite's own example server"
_PROMPTS = Other("the door has no prompts", NO_METHOD)
_RESOURCES = Other("the door has no resources", NO_METHOD)
OTHERS = {
    "logging-set-level": Other("the door sends no log messages to clients", NO_METHOD),
    "completion-complete": Other("the door has no arguments to complete", NO_METHOD),
    **dict.fromkeys(
        (
            "tools-call-simple-text",
            "tools-call-image",
            "tools-call-audio",
            "tools-call-embedded-resource",
            "tools-call-mixed-content",
            "tools-call-error",
            "tools-call-with-progress",
            "tools-call-sampling",
            "tools-call-elicitation",
            "elicitation-sep1034-defaults",
            "elicitation-sep1330-enums",
        ),
        Other(_ITS_TOOL, NO_TOOL),
    ),
    "tools-call-with-logging": Other(f"sets a log level, then {_ITS_TOOL}", NO_METHOD),
    "json-schema-2020-12": Other(
        "looks for a tool of the suite's own example server",
        "Available tools: list_panels, call_action",
    ),
    "server-sse-polling": Other(f"{_ITS_TOOL}; answers here are JSON and no streams", ""),
    **dict.fromkeys(
        (
            "prompts-list",
            "prompts-get-simple",
            "prompts-get-with-args",
            "prompts-get-embedded-resource",
            "prompts-get-with-image",
        ),
        _PROMPTS,
    ),
    **dict.fromkeys(
        (
            "resources-list",
            "resources-read-text",
            "resources-read-binary",
            "resources-templates-read",
            "resources-subscribe",
            "resources-unsubscribe",
        ),
        _RESOURCES,
    ),
}

# ---------------------------------------------------------------- what adds the token


@contextmanager
def with_token(server: Server) -> Generator[str]:
    """The URL of what adds the token, while it listens."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(_adding(server)):
        yield f"http://[::1]:{server.port}/mcp"


@asynccontextmanager
async def _adding(server: Server) -> AsyncGenerator[None]:
    # One request for each connection: what follows a request's head is then only its body.
    added = f"Authorization: Bearer {server.token}\r\nConnection: close\r\n\r\n".encode()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError):
            head = await reader.readuntil(b"\r\n\r\n")
            theirs, ours = await asyncio.open_connection("127.0.0.1", server.port)
            ours.write(_without_connection(head) + added)
            ways = _pump(reader, ours), _pump(theirs, writer)
            # The door's end is the end of the request.
            done, rest = await asyncio.wait(
                [asyncio.ensure_future(way) for way in ways], return_when=asyncio.FIRST_COMPLETED
            )
            for way in rest:
                way.cancel()
            await asyncio.gather(*done, *rest, return_exceptions=True)
            ours.close()
        writer.close()

    async with await asyncio.start_server(one, "::1", server.port):
        yield


def _without_connection(head: bytes) -> bytes:
    """The lines of a head that go on, each with its end."""
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    return b"".join(line + b"\r\n" for line in kept)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()


# ---------------------------------------------------------------- the suite


def run(program: list[str], url: str, results: Path) -> dict[str, list[dict[str, Any]]]:
    """Run every scenario; the checks of each."""
    asked = ["server", "--url", url, "--suite", "all", "--output-dir", str(results)]
    done = subprocess.run(
        [*program, *asked], capture_output=True, text=True, timeout=300, cwd=results
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(results.glob("server-*/checks.json")):
        # server-NAME-2026-11-30T20-18-38-682Z
        name = file.parent.name.removeprefix("server-")[: -len("-2026-11-30T20-18-38-682Z")]
        found[name] = json.loads(file.read_text(encoding="utf-8"))
    if not found:
        sys.stderr.write(done.stdout + done.stderr)
        raise SystemExit("the suite said nothing")
    return found


def judge(name: str, checks: list[dict[str, Any]]) -> tuple[str, str]:
    """What became of a scenario, and a note; the first is ``WRONG`` when it is."""
    counts = Counter(check["status"] for check in checks)
    passed, failed = counts["SUCCESS"], counts["FAILURE"] + counts["WARNING"]
    if name in FITS:
        good = (passed, failed) == (FITS[name], 0)
        return ("passes" if good else "WRONG"), f"{passed} of {passed + failed} checks"
    other = OTHERS.get(name)
    if other is None:
        return "WRONG", "this scenario is not known here"
    errors = [check.get("errorMessage", "") for check in checks if check["status"] == "FAILURE"]
    right = bool(errors) == bool(other.told) and all(other.told in error for error in errors)
    if not right or passed:
        return "WRONG", f"{passed} passed; {'; '.join(errors)}"
    told = f"; it is told {other.told}" if other.told.startswith("-") else ""
    return "does not fit", f"{other.why}{told}"


def a_wrong_name(server: Server, url: str) -> str:
    """What a call of a tool that does not exist is told, in both eras."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    params = {"name": "list_panel", "arguments": {}, "_meta": meta}
    modern = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "list_panel",
    }
    asked = httpx2.post(url, json=call | {"params": params}, headers=server.headers | modern)
    error = asked.json()["error"]
    return f"{error['code']}: {error['message']}"


def main() -> int:
    """Run all; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--modules", type=Path, help="a folder to install into, and keep")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder: Path = given.modules or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        program = a_node(folder).program(folder, PACKAGE, VERSION, "conformance")
        place = stack.enter_context(a_place())
        server = stack.enter_context(serving(place, *TRUST))
        url = stack.enter_context(with_token(server))
        results = place.folder / "results"
        results.mkdir()
        found = run(program, url, results)
        told = a_wrong_name(server, server.url)
    rows = [(name, *judge(name, checks)) for name, checks in found.items()]
    rows += [(name, "WRONG", "it was not run") for name in {*FITS, *OTHERS} - set(found)]
    order = {"passes": 1, "does not fit": 2}
    print(f"{PACKAGE} {VERSION}, {len(found)} scenarios")
    table(sorted(rows, key=lambda row: (order.get(row[1], 0), row[2], row[0])))
    print(f"a tool that does not exist, in the era without a handshake: {told}")
    wrong = [row for row in rows if row[1] == "WRONG"]
    fits = sum(row[1] == "passes" for row in rows)
    checks = sum(FITS[row[0]] for row in rows if row[1] == "passes")
    print(f"{fits} pass with {checks} checks, {len(rows) - fits - len(wrong)} do not fit, ", end="")
    print(f"{len(wrong)} wrong")
    return 1 if wrong or not told.startswith(NO_TOOL) else 0


if __name__ == "__main__":
    sys.exit(main())
