"""Running ``deska try``, ``call`` and ``serve``: in this process, and at a real terminal."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from deska_host.cli import main
from tests.host.support_host import an_object, picture
from tests.support_installed import python_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

NOOK = Path(__file__).parents[2] / "examples" / "nook"

#: A terminal's own words: moves, colours, titles.
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[()=>][B0]?|[\r\x07]")
#: How long a terminal's answer may take before the test has failed, in seconds.
PATIENCE = 30

ECHO = """\
import sys


async def main(deska):
    async def hear(call):
        word = call["input"].get("word", "")
        if word == "boom":
            raise ValueError("boom\\u200b\\x1b[2J")
        if word == "print":
            print("printed by the page")
        if word == "silence":
            return
        if call["action"] == "say":
            answer = {"ok": True}
        else:
            kept = await deska.storage.get("word")
            answer = {"word": kept or "nothing yet"}
        if word:
            await deska.storage.set("word", word)
        await deska.agent.respond(call["callId"], answer)

    deska.on("agent.action", hear)
    await deska.ready()
"""

WORD = {"type": "string", "maxLength": 20, "description": "Any word."}
MOOD = {"type": "string", "enum": ["sunny", "rainy"]}


def a_manifest(panel: str = "echo", **changes: Any) -> dict[str, Any]:
    """The panel.json of a panel with a write and a read."""
    say = an_object(word=WORD, mood=MOOD, loud={"type": "boolean"}, times={"type": "integer"})
    actions = [
        {"name": "say", "kind": "write", "description": "Says a word.", "input": say},
        {
            "name": "hear",
            "kind": "read",
            "description": "Hears the word.",
            "input": an_object(word=WORD),
            "output": an_object(word=WORD),
        },
    ]
    return {
        "id": panel,
        "name": panel.title(),
        "version": "1.0.0",
        "sdk": 4,
        "entry": "page.py",
        "permissions": ["agent"],
        "agent": {"actions": actions},
        **changes,
    }


def write_panel(folder: Path, page: str = ECHO, panel: str | None = None, **changes: Any) -> Path:
    """A panel's folder with this page; its id is the folder's name, if not said."""
    folder.mkdir(exist_ok=True)
    manifest = a_manifest(panel or folder.name, **changes)
    (folder / "panel.json").write_text(json.dumps(manifest))
    (folder / "page.py").write_text(page)
    return folder


@frozen
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str


@define
class Commands:
    """Runs commands in this process, for one task, in a home of its own."""

    tmp_path: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    task: Path = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.task = self.tmp_path / "garden"
        self.task.mkdir()
        (self.task / "fern.png").write_bytes(picture())
        self.monkeypatch.setenv("XDG_STATE_HOME", str(self.state))

    @property
    def state(self) -> Path:
        """The user's state folder."""
        return self.tmp_path / "state"

    @property
    def desks(self) -> list[Path]:
        """The files of all desks that stand in the state folder."""
        return sorted(self.state.glob("deska/desks/*.db"))

    def __call__(self, *argv: object, task: Path | None = None, stdin: str | bytes = "") -> Done:
        """Run ``deska`` with these arguments and ``--task``."""
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        where = self.task if task is None else task
        self.capsys.readouterr()
        status = main([*map(str, argv), "--task", str(where)])
        return Done(status, *self.capsys.readouterr())


def environment(state: Path, **changes: str) -> dict[str, str]:
    """What a command needs in a process of its own."""
    kept = {"PATH": os.environ["PATH"], "HOME": str(state), "LANG": "C.UTF-8"}
    return kept | {"PYTHONPATH": python_path(), "XDG_STATE_HOME": str(state)} | changes


def command_line(*argv: object) -> list[str]:
    """``deska`` with these arguments, run by this Python."""
    return [sys.executable, "-m", "deska_host", *map(str, argv)]


class AtTerminal:
    """A command at a terminal, with a person who types and reads."""

    def __init__(self, argv: Sequence[str], env: dict[str, str], cwd: Path) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, b"\x28\x00\x78\x00\x00\x00\x00\x00")
        self.process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **env},
            cwd=cwd,
            start_new_session=True,
        )
        os.close(slave)
        self._seen = ""
        self._from = 0

    def __enter__(self) -> AtTerminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def type(self, text: str) -> None:
        """Type this; a line ends with a carriage return."""
        os.write(self._master, text.encode())

    def until(self, text: str) -> str:
        """Read until this was shown, after what was read before; all that was shown since."""
        for _ in self._pieces():
            shown = ANSI.sub("", self._seen)
            at = shown.find(text, self._from)
            if at >= 0:
                before, self._from = self._from, at + len(text)
                return shown[before : self._from]
        raise AssertionError(
            f"{text!r} was not shown in {ANSI.sub('', self._seen)[self._from :]!r}"
        )

    def status(self) -> int:
        """Read to the end; the exit status."""
        for _ in self._pieces():
            pass
        return self.process.wait(PATIENCE)

    @property
    def shown(self) -> str:
        """All that was shown."""
        return ANSI.sub("", self._seen)

    def _pieces(self) -> Iterator[None]:
        yield
        while select.select([self._master], [], [], PATIENCE)[0]:
            try:
                data = os.read(self._master, 65_536)
            except OSError:  # the other end was closed
                return
            if not data:
                return
            self._seen += data.decode(errors="replace")
            yield
