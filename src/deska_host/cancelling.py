"""Telling what somebody's code raised from a cancellation, or an interruption, of our own."""

from __future__ import annotations

import asyncio
import math
from typing import cast

import anyio


def on_asyncio() -> bool:
    """Whether the current task is one of asyncio's; the other loop is trio.

    Where trio is a guest of asyncio's loop, that loop runs too, and the task is trio's.
    """
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def is_ending() -> bool:
    """Whether a scope around the current task was cancelled, as every end of ours is.

    On asyncio code can cancel its own task by hand, or await one that was cancelled: that is its
    own matter. trio's cancellation cannot be raised by hand.
    """
    return anyio.current_effective_deadline() == -math.inf


def forgive() -> None:
    """Let the current task go on, which was cancelled by hand and by no scope."""
    if on_asyncio() and (task := asyncio.current_task()) is not None:
        while task.cancelling():
            task.uncancel()


def is_theirs(error: BaseException) -> bool:
    """Whether an error is of the code that was called: it ends that code, and nothing else.

    ``sys.exit()`` in a page is that page's error, and so is that it cancels its own task by hand.
    Ctrl-C is not, and our own cancellation is not, alone or in a group with others.
    """
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return all(map(is_theirs, group.exceptions))
    if isinstance(error, anyio.get_cancelled_exc_class()):
        return not is_ending()
    return not isinstance(error, KeyboardInterrupt)
