"""Telling what somebody's code raised from a cancellation, or an interruption, of our own."""

from __future__ import annotations

import asyncio
from typing import cast

import anyio


def on_asyncio() -> bool:
    """Whether the current task runs on asyncio; the other loop is trio."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def is_cancelled() -> bool:
    """Whether the current task was cancelled, and not only met with somebody's cancellation.

    On asyncio code that awaits a task which was cancelled raises the same error as code that is
    cancelled itself. trio's cannot be raised by hand.
    """
    if not on_asyncio():
        return True
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def is_theirs(error: BaseException) -> bool:
    """Whether an error is of the code that was called: it ends that code, and nothing else.

    ``sys.exit()`` in a page is that page's error. Ctrl-C is not, and our own cancellation is not,
    alone or in a group with others.
    """
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return all(map(is_theirs, group.exceptions))
    if isinstance(error, anyio.get_cancelled_exc_class()):
        return not is_cancelled()
    return not isinstance(error, KeyboardInterrupt)
