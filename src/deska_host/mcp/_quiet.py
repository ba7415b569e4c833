"""Nothing of an agent in the SDK's log lines (M-9)."""

from __future__ import annotations

import logging
import traceback
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

#: Our own logger, for errors of the program that embeds us.
LOG = logging.getLogger("deska_host")

#: The logger that uvicorn's protocol is given instead of its own, which other servers in the
#: process may use. It is off: it would tell of every bad request, and strangers send many.
WIRE_LOG = logging.getLogger("deska_host.mcp.wire")
WIRE_LOG.setLevel(logging.CRITICAL)

#: The SDK's server side, and what it stands on. Its client side is no part of a door.
_ROOTS = ("mcp.server", "mcp.shared", "sse_starlette", WIRE_LOG.name)

_lock = Lock()
_open = 0


class _PlaceAndKind(logging.Filter):
    """Leaves of a record its level, where it was made, and what kind of error was raised there.

    The SDK logs whole messages, headers and tracebacks whose errors quote what was sent.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        told = f"{record.module}:{record.lineno}, without its words"
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            told = f"{told}; {where(error)}"
        record.msg, record.args = told, ()
        record.exc_info = record.exc_text = record.stack_info = None
        return True


_filter = _PlaceAndKind()


@contextmanager
def quiet() -> Generator[None]:
    """While this is open, what the SDK's server side logs is without the words of anybody.

    It holds for the process: a log line does not say which server it is about. It takes the
    loggers that exist when it is entered, so what makes them is imported before.
    """
    global _open
    with _lock:
        _open += 1
        for logger in _loggers():
            logger.addFilter(_filter)
    try:
        yield
    finally:
        with _lock:
            _open -= 1
            if _open == 0:
                for logger in _loggers():
                    logger.removeFilter(_filter)


def _loggers() -> list[logging.Logger]:
    # A filter on a logger does not hold for the loggers below it: each has to get it.
    names = list(logging.root.manager.loggerDict)
    return [logging.getLogger(name) for name in names if _is_ours(name)]


def _is_ours(name: str) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in _ROOTS)


def where(error: BaseException) -> str:
    """The kind of an error and where it was raised, without its words."""
    frames = traceback.extract_tb(error.__traceback__)
    places = (f"\n  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)
    return "".join((type(error).__qualname__, *places))
