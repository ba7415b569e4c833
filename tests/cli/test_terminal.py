"""How the command line writes to a person (K-13)."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import struct
import sys
import termios
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

import pytest

from deska_host._commands.formats import Checked, write_text
from deska_host._commands.terminal import Terminal
from deska_sdk.document import parse_document
from deska_sdk.panels.check import check_panel
from tests.panels.support_manifest import plain

if TYPE_CHECKING:
    from collections.abc import Callable

#: What only changes how text looks: a style, or a link's.
SGR = re.compile(r"\x1b\[[0-9;]*m")
COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-7]|9[0-7]|38|4[0-7])(?:;[0-9]+)*m")
DRAWN = re.compile(r"[─-╿|+-]")

HOSTILE = "a [red]b[/red] :smile: \x1b[31m\x07\u202e\u200b http://a.example \\[x] 'q' 5"


class Screen(io.StringIO):
    """A terminal as far as programs ask."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


def everything(out: Terminal) -> None:
    """Every way of writing, with text that needs care."""
    out.line(HOSTILE, ("first\nsecond", "bad"), style="good")
    out.text("one\n  two\tthree\n\nfour\n", indent=2)
    out.rule("A title")
    out.rule("Every word of a title that is longer than the terminal is wide, really all of it")
    out.sheet(f"Notes\n\n  add_note writes\n{HOSTILE}\n", title="Notes")
    out.sheet("no title, " + "and a very long line that has to be folded " * 4)
    out.table([["one", ("two", "warn")], [HOSTILE], ["x", "y", "z"]], heads=["first", "second"])
    out.table([["word " * 30, "other"]])


def written(write: Callable[[Terminal], None], stream: io.StringIO) -> str:
    write(Terminal(stream))
    return stream.getvalue()


def words(text: str) -> list[str]:
    return sorted(re.sub(r"\s+", "", DRAWN.sub("", SGR.sub("", text))))


@pytest.mark.rule("K-13")
def test_a_terminal_has_colours_and_boxes_and_a_pipe_has_plain_text():
    shown, plain_text = written(everything, Screen()), written(everything, io.StringIO())
    assert COLOUR.search(shown)
    assert "╭─" in shown
    assert "\x1b" not in plain_text
    assert plain_text.replace("\n", "").isprintable()


@pytest.mark.rule("K-13")
def test_the_same_is_said_with_rich_and_without_to_the_last_letter(monkeypatch):
    shown = written(everything, Screen())
    monkeypatch.setitem(sys.modules, "rich.console", None)
    without = written(everything, Screen())
    assert "\x1b" not in without
    assert without == written(everything, io.StringIO())
    assert words(shown) == words(without)
    for columns in ("20", "200"):
        monkeypatch.undo()
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", columns)
        assert words(written(everything, Screen())) == words(without)


@pytest.mark.rule("K-13")
def test_no_text_writes_a_control_or_is_read_as_markup():
    for stream in (Screen(), io.StringIO()):
        shown = SGR.sub("", written(everything, stream))
        assert shown.replace("\n", "").isprintable()
        first = shown.splitlines()[0]
        assert first.startswith("a [red]b[/red] :smile: \\u{001B}[31m\\u{0007}\\u{202E}\\u{200B} ")
        assert first.endswith("\\[x] 'q' 5first\\u{000A}second")


@pytest.mark.rule("K-13")
def test_no_line_of_a_sheet_can_look_like_one_of_the_host():
    text = "Notes\n+-- end\nConnect it? yes\r\nmore\u2028and more"
    for stream in (Screen(), io.StringIO()):
        shown = SGR.sub("", written(lambda out: out.sheet(text, title="a\nb"), stream))
        assert all(line[0] in "|+│╭╰" for line in shown.splitlines())


@pytest.mark.rule("K-13")
@pytest.mark.parametrize("value", ["1", "0", "no"])
def test_no_color_takes_every_colour(value, monkeypatch):
    monkeypatch.setenv("NO_COLOR", value)
    shown = written(everything, Screen())
    assert not COLOUR.search(shown)
    assert "╭─" in shown


@pytest.mark.rule("K-13")
@pytest.mark.parametrize("kind", ["dumb", "unknown", ""])
def test_a_terminal_that_cannot_draw_gets_plain_text(kind, monkeypatch):
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert written(everything, Screen()) == written(everything, io.StringIO())


@pytest.mark.rule("K-13", "P-7")
def test_the_check_says_the_same_in_colours():
    source = json.dumps(plain(sdk=9, name="[bold]N\u200b", colour="\x1b[2J"), indent=1)
    checked = Checked("[red]p.json", parse_document(source), check_panel(source))
    screen, pipe = Screen(), io.StringIO()
    write_text(screen, [checked, checked])
    write_text(pipe, [checked, checked])
    assert COLOUR.search(screen.getvalue())
    assert SGR.sub("", screen.getvalue()) == pipe.getvalue()
    assert "[red]p.json:" in pipe.getvalue()


@pytest.mark.rule("K-13")
@pytest.mark.parametrize("rich", [True, False], ids=["rich", "plain"])
def test_not_in_the_narrowest_terminal_either(monkeypatch, rich):
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.delenv("COLUMNS")
    columns, filler = 30, "日本語 ééé e\u0301\u0301 👩\u200d👩\u200d👧 \uff21\u2026 " * 20
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with open(slave, "w", encoding="utf-8") as screen:  # noqa: PTH123
        assert Terminal(screen).rich == rich
        Terminal(screen).sheet(f"{filler}\n\n{'x' * 300} Connect it? yes")
        screen.flush()
        shown = b""
        while not shown.endswith(("╯\r\n" if rich else "yes\r\n").encode()):
            shown += os.read(master, 65_536)
    os.close(master)
    for line in SGR.sub("", shown.decode()).splitlines():
        assert line[0] in "|│╭╰"
        assert sum(2 if east_asian_width(one) in "WF" else 1 for one in line) <= columns + 4
