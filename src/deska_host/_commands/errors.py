"""What pages raise, for their author at the terminal (K-8)."""

from __future__ import annotations

import os
import traceback
from collections import deque
from importlib.util import find_spec
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING

from deska_sdk.text import escape_invisible

if TYPE_CHECKING:
    from deska_host._commands.terminal import Terminal


#: Where the host and its engine stand: whoever writes a page looks for nothing there.
_OURS = tuple(
    f"{Path(str(spec.origin)).parent}{os.sep}"
    for spec in map(find_spec, ("deska_host", "deska_sdk"))
    if spec is not None
)


def traceback_lines(error: BaseException) -> list[str]:
    """The traceback, with all that is invisible in it escaped: a page chose some of the words.

    It begins where the author's own code does.
    """
    told = traceback.TracebackException.from_exception(error)
    _begin_at_theirs(told)
    lines = "".join(told.format()).splitlines()
    return [escape_invisible(line) for line in lines]


def _begin_at_theirs(told: traceback.TracebackException) -> None:
    """Leave out the frames of the host and of the import system that stand before all others."""
    theirs = list(dropwhile(_is_ours, told.stack))
    told.stack = traceback.StackSummary.from_list(theirs)
    inner = [told.__cause__, told.__context__, *(told.exceptions or ())]
    for one in inner:
        if one is not None:
            _begin_at_theirs(one)


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith((*_OURS, "<frozen importlib"))


class PageErrors:
    """Keeps what pages raise until it is told, so that it is not written into a line being typed.

    ``hear`` may be called in any thread.
    """

    def __init__(self) -> None:
        self._heard: deque[tuple[str, BaseException]] = deque()

    def hear(self, panel: str, error: BaseException) -> None:
        """A page raised; the hook that a host takes as ``on_page_error``."""
        self._heard.append((panel, error))

    def tell(self, out: Terminal) -> None:
        """Write what was heard since the last time."""
        while self._heard:
            panel, error = self._heard.popleft()
            out.line(f"The page of {panel} raised:", style="bad")
            for line in traceback_lines(error):
                out.line(f"  {line}")
