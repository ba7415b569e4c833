"""``deska serve`` in a process of its own, for the scripts that bring clients to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from tests.host.support_host import NOOK, picture
from tests.support_installed import python_path

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

ROOT = Path(__file__).parents[2]
#: How long a server may take to begin, to say something, or to end, in seconds.
PATIENCE = 60
#: What stands after all that a server said.
_OVER = "over"
TRUST = ("--yes", "--trust-unpaused")


@frozen
class Place:
    """A task's folder with a picture in it, and a home of its own beside it."""

    folder: Path

    @property
    def task(self) -> Path:
        """The task's folder."""
        return self.folder / "garden"

    @property
    def env(self) -> dict[str, str]:
        """What a command needs; the desks of whoever runs this are left alone."""
        home = str(self.folder / "home")
        return {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "XDG_STATE_HOME": home,
            "LANG": "C.UTF-8",
            "PYTHONPATH": python_path(),
        }


@contextmanager
def a_place() -> Generator[Place]:
    """A fresh place, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="deska-byhand-") as folder:
        place = Place(Path(folder))
        place.task.mkdir()
        (place.task / "fern.png").write_bytes(picture())
        (place.folder / "home").mkdir()
        yield place


def command(place: Place, *argv: object, panels: Iterable[Path] = (NOOK,)) -> list[str]:
    """``deska serve`` for this place."""
    named = map(str, (*panels, "--task", place.task, *argv))
    return [sys.executable, "-m", "deska_host", "serve", *named]


@define
class Server:
    """A server by HTTP that runs, and what it says."""

    process: subprocess.Popen[str]
    url: str
    token: str
    _told: SimpleQueue[dict[str, Any]]
    #: What standard error had, once it has ended.
    errors: str = field(default="", init=False)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rsplit(":", 1)[1].partition("/")[0])

    @property
    def headers(self) -> dict[str, str]:
        """What opens the door."""
        return {"Authorization": f"Bearer {self.token}"}

    def next(self, event: str = "call") -> dict[str, Any]:
        """The next thing of this kind that it says.

        :raises queue.Empty: it says nothing for too long.
        """
        while True:
            told = self._told.get(timeout=PATIENCE)
            if told["event"] == event:
                return told
            if told["event"] == _OVER:
                raise SystemExit("the server has ended")

    def all(self, event: str = "call") -> list[dict[str, Any]]:
        """What it said of this kind that was not asked for yet."""
        found = []
        while True:
            try:
                found.append(self._told.get_nowait())
            except Empty:
                return [told for told in found if told["event"] == event]


@contextmanager
def serving(
    place: Place, *argv: object, panels: Iterable[Path] = (NOOK,), token: str = ""
) -> Generator[Server]:
    """A server by HTTP on a free port. It is asked to end afterwards, and has to end with 0."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            command(place, "--json", *argv, panels=panels),
            env=place.env | ({"DESKA_TOKEN": token} if token else {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
        )
        assert process.stdout is not None
        told: SimpleQueue[dict[str, Any]] = SimpleQueue()
        reader = threading.Thread(target=_read, args=(process.stdout, told), daemon=True)
        reader.start()
        server = Server(process, "", "", told)
        try:
            begun = server.next("serving")
            server.url, server.token = begun["url"], begun["token"]
            yield server
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stdout.close()
            errors.seek(0)
            server.errors = errors.read()
    if process.returncode:
        sys.stderr.write(server.errors)
        raise SystemExit(f"the server ended with {process.returncode}")


def _read(lines: Iterable[str], told: SimpleQueue[dict[str, Any]]) -> None:
    for line in lines:
        told.put(json.loads(line))
    told.put({"event": _OVER})


def table(rows: Iterable[tuple[object, ...]]) -> None:
    """Print rows in columns."""
    texts = [[str(cell) for cell in row] for row in rows]
    if not texts:
        return
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
