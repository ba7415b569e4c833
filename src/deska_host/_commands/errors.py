"""What pages raise, for their author at the terminal (K-8)."""

from __future__ import annotations

import traceback
from collections import deque
from typing import TYPE_CHECKING

from deska_sdk.text import escape_invisible

if TYPE_CHECKING:
    from deska_host._commands.terminal import Terminal


def traceback_lines(error: BaseException) -> list[str]:
    """The traceback, with all that is invisible in it escaped: a page chose some of the words."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return [escape_invisible(line) for line in lines]


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
