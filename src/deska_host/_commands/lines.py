"""Where the lines of ``deska try`` come from: a terminal with history and completion, or a pipe.

With prompt_toolkit (the extra ``cli``) the terminal has a menu of what can come next; without it
Python's own readline completes on Tab; without that, or when the input is no terminal, lines are
read as they come (K-7).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TextIO

from deska_sdk.text import escape_invisible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from deska_host._commands.complete import Choice

#: The choices at the end of what stands before the cursor.
Completing = Callable[[str], "tuple[Choice, ...]"]

#: How many lines readline keeps; prompt_toolkit keeps all.
_KEPT = 1_000


class Lines(Protocol):
    """Gives one line after the other."""

    def read(self, prompt: str) -> str | None:
        """The next line without its end; ``None`` when there are no more.

        :raises KeyboardInterrupt: the line was given up with Ctrl-C.
        """
        ...


def lines_from(
    stdin: TextIO, stdout: TextIO, history: Path | None, completing: Completing
) -> Lines:
    """The best there is for these streams.

    :param history: the folder where the history is kept; ``None`` keeps none.
    """
    if not (stdin.isatty() and stdout.isatty()):
        return PipedLines(stdin)
    for make in (_prompted, _readline):
        try:
            return make(stdout, history, completing)
        except ImportError:  # the extra is not installed, or this Python has no readline
            continue
    return PlainLines(stdin, stdout)


class PipedLines:
    """Lines of a script: no prompt, and nothing is repeated."""

    def __init__(self, stdin: TextIO) -> None:
        self._stdin = stdin

    def read(self, prompt: str) -> str | None:  # noqa: ARG002 - nobody sees it
        """The next line of the stream; Ctrl-C ends it, since nobody types the next one."""
        try:
            line = self._stdin.readline()
        except KeyboardInterrupt:
            return None
        return line.removesuffix("\n") if line else None


class PlainLines:
    """A terminal without any help."""

    def __init__(self, stdin: TextIO, stdout: TextIO) -> None:
        self._stdin, self._stdout = stdin, stdout

    def read(self, prompt: str) -> str | None:
        """Ask, and take the answer."""
        self._stdout.write(prompt)
        self._stdout.flush()
        try:
            line = self._stdin.readline()
        except KeyboardInterrupt:
            self._stdout.write("\n")
            raise
        return line.removesuffix("\n") if line else None


def _history(folder: Path | None, name: str) -> Path | None:
    """The file of the history, for its owner alone; ``None`` where there can be none."""
    if folder is None:
        return None
    file = folder / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        with file.open("ab"):
            return file
    except OSError:
        return None


# --- prompt_toolkit


def _prompted(stdout: TextIO, history: Path | None, completing: Completing) -> Lines:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    from prompt_toolkit.output import create_output

    if TYPE_CHECKING:
        from prompt_toolkit.completion import CompleteEvent
        from prompt_toolkit.document import Document

    class Choices(Completer):
        def get_completions(
            self,
            document: Document,
            complete_event: CompleteEvent,  # noqa: ARG002 - a menu for Tab is as good as any
        ) -> Iterator[Completion]:
            for choice in completing(document.text_before_cursor):
                yield Completion(
                    choice.text,
                    start_position=-choice.back,
                    display=choice.text.strip(),
                    display_meta=escape_invisible(choice.about),
                )

    file = _history(history, "try-history")
    session: PromptSession[str] = PromptSession(
        history=InMemoryHistory() if file is None else FileHistory(str(file)),
        completer=Choices(),
        complete_while_typing=False,
        output=create_output(stdout),
    )

    class Prompted:
        def read(self, prompt: str) -> str | None:
            try:
                return session.prompt(prompt)
            except EOFError:
                return None

    return Prompted()


# --- readline


def _readline(stdout: TextIO, history: Path | None, completing: Completing) -> Lines:
    import readline

    file = _history(history, "try-history-readline")
    readline.set_history_length(_KEPT)
    if file is not None:
        with contextlib.suppress(OSError):
            readline.read_history_file(file)

    def candidate(_: str, state: int) -> str | None:
        before = readline.get_line_buffer()[: readline.get_endidx()]
        texts = replacing(before, readline.get_begidx(), completing(before))
        return texts[state] if state < len(texts) else None

    # Only a space begins a new word: the choices say themselves how far back they go.
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
    readline.set_completer(candidate)

    class WithReadline:
        def read(self, prompt: str) -> str | None:
            before = sys.stdout
            # ``input`` uses readline only where it writes to the process's own output.
            sys.stdout = stdout
            try:
                line = input(prompt)
            except EOFError:
                return None
            except KeyboardInterrupt:
                stdout.write("\n")  # what was given up stays, and the next prompt has its own line
                raise
            finally:
                sys.stdout = before
            if file is not None:
                with contextlib.suppress(OSError):
                    readline.write_history_file(file)
            return line

    return WithReadline()


def replacing(line: str, begin: int, choices: Iterable[Choice]) -> list[str]:
    """What can stand in the place of the word that begins at ``begin`` and ends the line."""
    starts = ((len(line) - choice.back, choice.text) for choice in choices)
    return [line[begin:start] + text for start, text in starts if start >= begin]
