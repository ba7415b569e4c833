"""The process's own streams, where a command needs them for something else (K-3, K-8)."""

from __future__ import annotations

import contextlib
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping


@frozen
class Pipe:
    """The two descriptors that a protocol has for itself."""

    stdin: int
    stdout: int


def open_streams() -> None:
    """Open on nothing what whoever started us has closed, but for standard output.

    Otherwise the next file that is opened, which may be a desk, would get the number of a stream,
    and what is written to that would go into it. ``sys.stdout`` stays ``None`` if it is: a command
    has nothing to say it to.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is given, and that is this one.
            os.open(os.devnull, os.O_RDWR)
    # Where Python found a stream closed it has none; nobody said so to those who check its types.
    streams: Mapping[str, object] = vars(sys)
    if streams["stdin"] is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if streams["stderr"] is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


@contextmanager
def no_pipe() -> Generator[TextIO]:
    """The stream that was standard output; what pages print goes to standard error meanwhile.

    So does what they write below Python, and the programs that they start: standard output is the
    command's, or a machine's. A terminal is left as it is, since both are the same to a person.
    """
    own = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        if not _is_ours(own):
            yield own
            return
        own.flush()
        kept = os.dup(1)
        os.dup2(2, 1)
        try:
            with open(kept, "w", encoding=own.encoding, errors=own.errors, closefd=False) as stream:
                yield stream
        finally:
            _put(kept, 1)


def _is_ours(stream: TextIO) -> bool:
    """Whether this is the process's standard output, and no terminal."""
    try:
        return stream.fileno() == 1 and not stream.isatty()
    except (OSError, ValueError):  # a stream in memory has no number
        return False


@contextmanager
def own_pipe() -> Generator[Pipe]:
    """Keep standard input and output for a protocol alone.

    Whatever prints, in Python or below it, writes to standard error from now on, and whatever
    reads finds the end: a page is loaded before the protocol begins, and may do both.
    """
    sys.stdout.flush()
    pipe = Pipe(os.dup(0), os.dup(1))
    _put(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    try:
        yield pipe
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            # What a page printed must not come out behind the protocol's last word.
            to_nowhere(sys.stdout)
        _put(pipe.stdin, 0)
        _put(pipe.stdout, 1)


def to_nowhere(stream: TextIO) -> None:
    """Let what is written to a stream that nobody reads any more go nowhere.

    What is still buffered goes the same way, or Python would complain of it when it ends.
    """
    with contextlib.suppress(OSError, ValueError):  # a stream that is no file has nothing to point
        _put(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        stream.flush()


def _put(descriptor: int, there: int) -> None:
    os.dup2(descriptor, there)
    os.close(descriptor)
