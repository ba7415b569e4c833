"""What ``deska serve`` says while it runs: to a person, or as JSON to a machine (K-3).

No word of an agent's input or of a page's answer is in any of it. What a page *raises* is told to
its author as a traceback, here as in the other commands.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from deska_host._commands.configs import http_snippets
from deska_host._commands.errors import traceback_lines
from deska_host._commands.streams import to_nowhere
from deska_host._commands.words import UNPAUSED_READ

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from deska_host._commands.terminal import Terminal
    from deska_host.mcp import Heard, HttpAddress


class Told(Protocol):
    """Hears what happens. Nothing is raised for an output that nobody reads any more."""

    def warn(self, sentence: str) -> None:
        """Something the person should know."""
        ...

    def serving(self, panels: Sequence[str], address: HttpAddress | None) -> None:
        """Clients may come from now on; without an address on standard input and output."""
        ...

    def heard(self, heard: Heard) -> None:
        """A call or a list ended."""
        ...

    def page_raised(self, panel: str, error: BaseException) -> None:
        """A page raised."""
        ...

    def ended(self) -> None:
        """The command ends."""
        ...


class ForPeople:
    """One line for each call, readable."""

    def __init__(self, out: Terminal, stream: TextIO) -> None:
        self._out, self._stream = out, stream

    def warn(self, sentence: str) -> None:
        """Say it."""
        with _whoever_reads(self._stream):
            self._out.line(sentence, style="warn")
            self._out.flush()

    def serving(self, panels: Sequence[str], address: HttpAddress | None) -> None:
        """Say where, and what to paste into a client."""
        with _whoever_reads(self._stream):
            names = ", ".join(panels)
            if address is None:
                self._out.line(f"Serving {names} on standard input and output.")
            else:
                self._out.line(f"Serving {names} on this computer. Ctrl-C ends it.")
                self._out.line("  URL    ", (address.url, "strong"))
                self._out.line("  token  ", (address.token, "strong"))
                for snippet in http_snippets(address.url, address.token):
                    self._out.line(f"  for {snippet.where}:", style="dim")
                    self._out.line(f"    {snippet.line}")
            self._out.flush()

    def heard(self, heard: Heard) -> None:
        """Say when, what, and how it ended."""
        with _whoever_reads(self._stream):
            what = " ".join(part for part in (heard.tool, heard.panel, heard.action) if part)
            images = f", images: {heard.images}" if heard.images else ""
            self._out.line(
                (time.strftime("%H:%M:%S"), "dim"),
                f"  {what}  ",
                (heard.code, "bad") if heard.code else ("ok", "good"),
                images,
            )
            if heard.unpaused:
                self._out.line(UNPAUSED_READ.format(panel=heard.panel), style="warn")
            self._out.flush()

    def page_raised(self, panel: str, error: BaseException) -> None:
        """Show the traceback."""
        with _whoever_reads(self._stream):
            self._out.line(f"The page of {panel} raised:", style="bad")
            for line in traceback_lines(error):
                self._out.line(f"  {line}")
            self._out.flush()

    def ended(self) -> None:
        """Say so."""
        with _whoever_reads(self._stream):
            self._out.line("Ended.")
            self._out.flush()


class ForMachines:
    """One JSON object a line, each with ``time`` and ``event``."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def warn(self, sentence: str) -> None:
        """``warning``: ``sentence``."""
        self._write("warning", sentence=sentence)

    def serving(self, panels: Sequence[str], address: HttpAddress | None) -> None:
        """``serving``: ``panels``, ``transport``, and ``url`` and ``token`` where there are any."""
        if address is None:
            self._write("serving", panels=list(panels), transport="stdio")
        else:
            self._write(
                "serving",
                panels=list(panels),
                transport="http",
                url=address.url,
                token=address.token,
            )

    def heard(self, heard: Heard) -> None:
        """``call``: ``tool``, ``panel``, ``action``, ``code``, ``images``, ``unpaused``."""
        self._write(
            "call",
            tool=heard.tool,
            panel=heard.panel,
            action=heard.action,
            code=heard.code,
            images=heard.images,
            unpaused=heard.unpaused,
        )

    def page_raised(self, panel: str, error: BaseException) -> None:
        """``page_raised``: ``panel``, and ``traceback``, a list of lines."""
        self._write("page_raised", panel=panel, traceback=traceback_lines(error))

    def ended(self) -> None:
        """``ended``."""
        self._write("ended")

    def _write(self, event: str, **told: Any) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        with _whoever_reads(self._stream):
            self._stream.write(json.dumps({"time": now, "event": event} | told) + "\n")
            self._stream.flush()


@contextmanager
def _whoever_reads(stream: TextIO) -> Generator[None]:
    """Whoever watched may have left; the agent's calls go on without being watched."""
    try:
        yield
    except (OSError, ValueError):
        to_nowhere(stream)
