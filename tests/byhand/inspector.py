"""The MCP Inspector's command line, which is not ours, lists and calls the nook board.

    python -m tests.byhand.inspector
    python -m tests.byhand.inspector --modules FOLDER    # keep what npm installs there

It asks ``deska serve`` on standard input and output and by HTTP, in both eras of the protocol: the
tools, a write, a counter, a conflict, a read with an image, and the refusals that an agent can
cause. What it asked and got is printed; the exit status is 1 if something of it is not as it
should be. Needs npm's registry, and PyPI's where the machine's Node is old.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field

from tests.byhand.npm import a_node
from tests.byhand.serving import TRUST, Place, Server, a_place, command, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE, VERSION = "@modelcontextprotocol/inspector", "2.12.0"
ERAS = ("legacy", "modern")
#: The Inspector's exit status for a result with ``isError``.
IS_ERROR = 5

#: Each refusal that needs nothing but the agent, and how it is caused.
REFUSALS: dict[str, tuple[str, str, object]] = {
    "not_connected": ("atlas", "add_note", {"text": "Hello"}),
    "unknown_action": ("nook", "burn", {}),
    "invalid_input": ("nook", "add_note", {"text": 7}),
    "image_not_found": ("nook", "add_image", {"image": "gone.png"}),
    "image_outside_folder": ("nook", "add_image", {"image": "../secret.png"}),
    "image_unsupported": ("nook", "add_image", {"image": "notes.txt"}),
}


@define
class Inspector:
    """Asks one server, and shows what it asks and gets."""

    program: list[str]
    #: How the server is named, for the Inspector and for whoever reads.
    target: list[str]
    shown: str
    place: Place
    #: Whether one server answers all calls, or each has one of its own.
    lasts: bool
    wrong: list[str] = field(factory=list)

    def ask(self, method: str, *argv: str) -> tuple[int, Any, str]:
        """The Inspector's exit status, and what it says on both streams."""
        fixed = ["--format", "json", "--quiet"]
        done = subprocess.run(
            [*self.program, "--cli", "--method", method, *fixed, *argv, *self.target],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            env=self.place.env,
            cwd=self.place.folder,
        )
        said = json.loads(done.stdout)["result"] if done.stdout.strip() else None
        return done.returncode, said, done.stderr

    def call(self, tool: str, arguments: object, *, status: int = 0) -> list[dict[str, Any]]:
        """What a call gives."""
        text = json.dumps(arguments)
        named = ("--tool-name", tool, "--tool-args-json", text)
        got, said, errors = self.ask("tools/call", *named)
        print(f"> {tool} {text}")
        content: list[dict[str, Any]] = [] if said is None else said["content"]
        for block in content:
            if block["type"] == "text":
                lines = block["text"].split("\n")
                print("\n".join(f"  {line[:120]}" for line in lines))
            else:
                size = len(base64.b64decode(block["data"]))
                print(f"  ({block['type']}, {block['mimeType']}, {size} bytes)")
        self.expect(got == status, f"{tool} {text}: exit status {got}, not {status}: {errors}")
        if said is not None:
            extra = set(said) - {"content", "isError", "_meta", "resultType"}
            self.expect(not extra, f"{tool}: the result has {sorted(extra)} too")
            self.expect(said["isError"] is (status == IS_ERROR), f"{tool}: isError is wrong")
        return content

    def action(self, action: str, given: object, *, panel: str = "nook", status: int = 0) -> Any:
        """What calling an action gives."""
        arguments = {"panel": panel, "action": action, "input": given}
        return self.call("call_action", arguments, status=status)

    def expect(self, holds: bool, sentence: str) -> None:
        """Remember and show what does not hold."""
        if not holds:
            self.wrong.append(sentence)
            print(f"  WRONG: {sentence}")

    def story(self, *, reads: bool) -> None:
        """All of it, from the list to the refusals."""
        print(f"\n=== {self.shown}")
        status, said, errors = self.ask("tools/list", "--strict")
        names = [tool["name"] for tool in said["tools"]] if said else []
        print(f"> tools/list\n  {', '.join(names)}")
        self.expect(names == ["list_panels", "call_action"], f"the tools are {names}")
        self.expect(status == 0, f"the tools' schemas are not portable: {errors}")
        (listed,) = self.call("list_panels", {})
        (panel,) = json.loads(listed["text"])["panels"]
        self.expect(panel["panel"] == "nook" and len(panel["actions"]) == 4, "the list is wrong")

        (added,) = self.action("add_note", {"text": "Water the fern"})
        revision = json.loads(added["text"])["revision"]
        self.expect(re.fullmatch(r"r\d+", revision) is not None, "no counter")
        edit = {"note": 1, "text": "Water the ferns", "revision": revision}
        if self.lasts:
            (edited,) = self.action("edit_note", edit)
            self.expect('"ok":true' in edited["text"], "the edit failed")
        # On standard input and output each call is a new server's, which knows no old counters.
        (conflict,) = self.action("edit_note", edit)
        self.expect('"error":"conflict"' in conflict["text"], "there was no conflict")
        self.action("add_image", {"image": "fern.png", "caption": "The fern"})
        if reads:
            self.read()
        else:
            self.refused("pause_failed", "read_board", {})
        for code, (where, action, given) in REFUSALS.items():
            self.refused(code, action, given, panel=where)
        (misfit,) = self.call("call_action", {"panel": "nook"}, status=IS_ERROR)
        self.expect(misfit["text"].startswith("invalid_input: "), "arguments were not checked")
        burn = ("--tool-name", "burn", "--tool-args-json", "{}")
        status, said, errors = self.ask("tools/call", *burn)
        print(f"> burn {{}}\n  (exit status {status}) {errors.strip()}")
        self.expect(status != 0 and said is None, "a tool that does not exist is no error")

    def read(self) -> None:
        """A read with its fence and its image."""
        text, *images = self.action("read_board", {})
        lines = text["text"].split("\n")
        fence = '<panel_content package="nook" panel="Nook" trust="untrusted">'
        self.expect(lines[0] == fence and lines[-1] == "</panel_content>", "no fence")
        notes = ["Water the ferns" if self.lasts else "Water the fern"]
        self.expect(json.loads(lines[1])["notes"] == notes, "the note is wrong")
        self.expect([image["mimeType"] for image in images] == ["image/png"], "no image")
        for image in images:
            data = base64.b64decode(image["data"], validate=True)
            self.expect(data.startswith(b"\x89PNG\r\n\x1a\n"), "the image is no PNG")

    def refused(self, code: str, action: str, given: object, *, panel: str = "nook") -> None:
        """A call that is refused with this code."""
        (told,) = self.action(action, given, panel=panel, status=IS_ERROR)
        self.expect(told["text"].startswith(f"{code}: "), f"not {code}: {told['text']}")

    def load(self, calls: int) -> None:
        """The Inspector's own load test."""
        named = ("--tool-name", "list_panels", "--tool-args-json", "{}", "--load")
        status, said, errors = self.ask(
            "tools/call", *named, "--load-requests", str(calls), "--load-concurrency", "20"
        )
        print(f"> list_panels {{}} --load-requests {calls} --load-concurrency 20")
        print(f"  {json.dumps(said)[:400]}")
        self.expect(status == 0, f"the load test failed: {errors}")


def main() -> int:
    """Run all; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--modules", type=Path, help="a folder to install into, and keep")
    given = parser.parse_args()
    wrong: list[str] = []
    with ExitStack() as stack:
        folder: Path = given.modules or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        program = a_node(folder).program(folder, PACKAGE, VERSION, "mcp-inspector")
        print(f"{PACKAGE} {VERSION}")
        for inspector, reads in _inspectors(program):
            inspector.story(reads=reads)
            wrong += inspector.wrong
    print(f"\n{len(wrong)} wrong")
    return 1 if wrong else 0


def _inspectors(program: list[str]) -> Iterator[tuple[Inspector, bool]]:
    for era in ERAS:
        for reads in (True, False):
            with a_place() as place:
                (place.task / "notes.txt").write_text("no image", encoding="utf-8")
                flags = TRUST if reads else ("--yes",)
                env = [f"{name}={place.env[name]}" for name in ("PYTHONPATH", "XDG_STATE_HOME")]
                told = [part for setting in env for part in ("-e", setting)]
                started = command(place, "--stdio", *flags)
                target = [*told, "--protocol-era", era, "--", *started]
                shown = f"deska serve nook --task garden --stdio {' '.join(flags)} ({era})"
                yield Inspector(program, target, shown, place, lasts=False), reads
        with a_place() as place, serving(place, *TRUST) as server:
            (place.task / "notes.txt").write_text("no image", encoding="utf-8")
            target = ["--server-url", server.url, "--transport", "http", "--protocol-era", era]
            key = ["--header", f"Authorization: Bearer {server.token}"]
            shown = f"deska serve nook --task garden --http 0 {' '.join(TRUST)} ({era})"
            inspector = Inspector(program, [*target, *key], shown, place, lasts=True)
            yield inspector, True
            inspector.load(300)
            _strangers(program, target, place, inspector, server)


def _strangers(
    program: list[str], target: list[str], place: Place, known: Inspector, server: Server
) -> None:
    """Without the token, or with another, the Inspector gets nowhere."""
    for key in ([], ["--header", f"Authorization: Bearer {server.token[::-1]}"]):
        stranger = Inspector(program, [*target, "--stored-auth-only", *key], "", place, lasts=True)
        status, said, errors = stranger.ask("tools/list")
        what = "another token" if key else "no token"
        print(f"> tools/list, with {what}\n  (exit status {status}) {errors.strip()[:200]}")
        known.expect(status != 0 and said is None, f"it was let in with {what}")


if __name__ == "__main__":
    sys.exit(main())
