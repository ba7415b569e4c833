r"""How the command line writes to a person: one way with rich, the same words without.

::

    out = Terminal(sys.stdout)
    out.line("notes/panel.json: ", ("2 problems", "bad"))
    out.sheet(sheet.text, title="Notes")
    out.table([["add_note", "3"]], heads=["action", "called"])

Colours, boxes and tables come from rich (the extra ``cli``), and only on a terminal: what goes into
a file or a pipe is plain text, whether rich is installed or not. ``NO_COLOR`` leaves the boxes and
takes the colours. Nothing is left out or cut in either way.

Text may come from a file, an agent or a page. What is invisible in it, each control of a terminal
too, is shown as ``\u{1B}``, and nothing in it is read as markup.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, Literal, TextIO
from unicodedata import east_asian_width

from deska_sdk.text import escape_invisible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console
    from rich.text import Text

#: What a piece of text is, never how it looks.
Style = Literal["good", "bad", "warn", "place", "strong", "dim"]
#: A text, or one with its style.
Piece = str | tuple[str, Style]

_LOOKS: Final[dict[Style, str]] = {
    "good": "green",
    "bad": "bold red",
    "warn": "yellow",
    "place": "cyan",
    "strong": "bold",
    "dim": "dim",
}
#: As wide as a plain rule is drawn; a terminal's own width is rich's to find out.
_WIDTH: Final = 72


class Terminal:
    """Writes to one stream.

    :param stream: where to; ``sys.stdout``, ``sys.stderr`` or any other text stream.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._console = _console(stream)

    @property
    def rich(self) -> bool:
        """Whether it draws; else all of it is plain text."""
        return self._console is not None

    def line(self, *pieces: Piece, style: Style | None = None) -> None:
        """Write one line of these pieces; ``style`` holds for those that have none of their own.

        A line feed inside is shown as what it is: no text can make a second line. Nothing is
        wrapped here, so a line can be copied as it was written.
        """
        if self._console is None:
            self._plain(*(_escaped(piece) for piece in pieces))
        else:
            self._console.print(_drawn(pieces, style), soft_wrap=True)

    def text(self, text: str, *, style: Style | None = None, indent: int = 0) -> None:
        """Write a text of several lines as it is, each ``indent`` spaces in."""
        for line in _lines(text):
            self.line(" " * indent + line, style=style)

    def rule(self, title: str) -> None:
        """Write a heading with a line beside it."""
        if self._console is None:
            self._plain(f"-- {escape_invisible(title)} ".ljust(_WIDTH, "-"))
            return
        heading = _heading(title, self._console)
        if heading is not None:
            self._console.rule(heading, align="left", style="dim")

    def sheet(self, text: str, *, title: str = "") -> None:
        """Write a text that a person has to read as a whole, set apart from all around it."""
        lines = [escape_invisible(line) for line in _lines(text)]
        if self._console is None:
            if title:
                self._plain(f"+-- {escape_invisible(title)}")
            # A bar before each: no line of the text can end it and go on as the host. Broken here,
            # since a terminal breaks what is too long for it without any bar.
            room = (_columns(self._stream) or sys.maxsize) - len("| ")
            for line in lines:
                for part in _broken(line, room):
                    self._plain(f"| {part}".rstrip())
            return
        from rich.panel import Panel
        from rich.text import Text

        inner = Text("\n".join(lines), overflow="fold")
        heading = _heading(title, self._console) if title else None
        self._console.print(Panel(inner, title=heading, title_align="left", expand=False))

    def ask(self, question: str) -> None:
        """Write a question, with the cursor behind it."""
        self._stream.write(f"{escape_invisible(question)} ")
        self._stream.flush()

    def table(self, rows: Sequence[Sequence[Piece]], *, heads: Sequence[str] = ()) -> None:
        """Write rows of cells in columns; rows may differ in length."""
        count = max([len(heads), *map(len, rows)], default=0)
        if self._console is None:
            shown: list[Sequence[Piece]] = [heads, *rows] if heads else [*rows]
            plain = [[_escaped(cell) for cell in row] for row in shown]
            widths = [
                max((len(row[number]) for row in plain if number < len(row)), default=0)
                for number in range(count)
            ]
            for texts in plain:
                cells = (cell.ljust(width) for cell, width in zip(texts, widths, strict=False))
                self._plain("  ".join(cells).rstrip())
            return
        from rich.table import Table

        drawn = Table(box=None, show_header=bool(heads), pad_edge=False, header_style="bold")
        for number in range(count):
            head = _drawn([heads[number]], None) if number < len(heads) else ""
            drawn.add_column(head, overflow="fold")
        for row in rows:
            drawn.add_row(*(_drawn([cell], None) for cell in row))
        self._console.print(drawn)

    def flush(self) -> None:
        """Hand what was written to whoever reads the stream, such as a log that is followed."""
        self._stream.flush()

    def _plain(self, *texts: str) -> None:
        self._stream.write("".join(texts) + "\n")


def _console(stream: TextIO) -> Console | None:
    """What draws on this stream; ``None`` where all is plain."""
    if not stream.isatty() or os.environ.get("TERM") in (None, "", "dumb", "unknown"):
        return None
    try:
        from rich.console import Console
    except ImportError:  # the extra is not installed
        return None
    # No markup, no emoji names and no highlighting: words are shown as they are.
    return Console(
        file=stream,
        markup=False,
        emoji=False,
        highlight=False,
        # Of this stream: rich looks at standard input first, which may be none.
        width=_columns(stream),
        no_color=bool(os.environ.get("NO_COLOR")),
    )


def _columns(stream: TextIO) -> int | None:
    """How wide the stream's terminal is; ``None`` where it is none, or does not say."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


def _heading(title: str, console: Console) -> Text | None:
    """A title for a line or a box; one with too little room, which rich would cut, stands above."""
    heading = _drawn([title], "strong")
    if heading.cell_len <= console.width - 8:
        return heading
    console.print(heading)
    return None


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").expandtabs(4).split("\n")


def _broken(line: str, room: int) -> Iterator[str]:
    """The line in parts that a terminal with this many columns shows in one row each."""
    start = used = 0
    for at, character in enumerate(line):
        # What some terminals show over two columns counts as two; what joins the one before it
        # counts as if it did not: a part may be shorter than it had to be, and never longer.
        columns = 2 if east_asian_width(character) in "WFA" else 1
        if used + columns > room and at > start:
            yield line[start:at]
            start, used = at, 0
        used += columns
    yield line[start:]


def _escaped(piece: Piece) -> str:
    return escape_invisible(piece if isinstance(piece, str) else piece[0])


def _drawn(pieces: Sequence[Piece], style: Style | None) -> Text:
    from rich.text import Text

    drawn = Text(overflow="fold")
    for piece in pieces:
        own = style if isinstance(piece, str) else piece[1]
        drawn.append(_escaped(piece), _LOOKS[own] if own else None)
    return drawn
