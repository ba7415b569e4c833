"""Changing the mode of a task's agent, through the program that runs it (S-1)."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable

import anyio

from deska_host.cancelling import forgive, is_ending

#: Puts a task's agent into the mode with this id; true, and nothing else, when it is in it now.
SwitchHandler = Callable[[str], Awaitable[bool]]

#: Hears what an ``on_switch`` raised, with the task's id.
SwitchErrorHook = Callable[[str, Exception], None]


class Switcher:
    """Changes the mode of one task, one change after another.

    :param lock: the task's, the same when it is attached again: a change from before may still be
        on its way then.
    :param on_error: what an ``on_switch`` raises is an error of the program, which has to see it;
        the task is then in no mode that it was not in before (S-1), and the host goes on.
    """

    def __init__(
        self, task: str, on_switch: SwitchHandler, on_error: SwitchErrorHook, lock: anyio.Lock
    ) -> None:
        self._task = task
        self._on_switch = on_switch
        self._on_error = on_error
        # A change that was given up may still be on its way to the agent. If the next one did not
        # wait for it, the agent could end in the mode that nobody wants any more.
        self._one_at_a_time = lock

    async def switch(self, mode: str) -> bool:
        """Whether the agent is in ``mode`` now."""
        failed: Exception | None = None
        async with self._one_at_a_time:
            try:
                return await self._on_switch(mode) is True
            except anyio.get_cancelled_exc_class():
                if is_ending():
                    raise
                # It met somebody's cancellation, or cancelled its own task: it did not switch.
                forgive()
            except Exception as error:  # noqa: BLE001 - reported below
                failed = error
        if failed is not None:
            self._on_error(self._task, failed)
        return False


def log_switch_error(task: str, error: Exception) -> None:
    """Log that an ``on_switch`` raised, and where, without the words of the error.

    The words are whatever the agent's program said, so they are in no log of ours (B-2).
    """
    logging.getLogger("deska_host").error(
        "on_switch of the task %s raised %s%s",
        task,
        type(error).__qualname__,
        "".join(
            f"\n  {frame.filename}:{frame.lineno} in {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
        ),
    )
