"""The process's own streams, where a command needs them for something else (K-3, K-8)."""

from __future__ import annotations

import contextlib
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Generator


@frozen
class Pipe:
    """The two descriptors that a protocol has for itself."""

    stdin: int
    stdout: int


@contextmanager
def no_pipe() -> Generator[None]:
    """What pages print goes to standard error: standard output is the command's, or a machine's."""
    with contextlib.redirect_stdout(sys.stderr):
        yield None


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
