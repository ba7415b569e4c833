"""A page's tasks: each runs one handler after another, so that a call need not start one."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, TypeVarTuple

import anyio
import anyio.abc
import anyio.lowlevel

from deska_host.cancelling import forgive, is_ending, on_asyncio
from deska_host.waiter import Waiter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Ts = TypeVarTuple("Ts")

#: What no variable has been set to.
_MISSING: Final = object()

#: How many tasks stay when they have nothing to do. Starting one costs as much as a whole call.
_KEPT = 4


class Runners:
    """Runs functions in the tasks of a group, begun in the order in which they were asked for.

    A function finds nothing of an earlier one in its task: where one leaves something behind, its
    task is over.

    :param group: the group of the tasks. What is given to run raises nothing but cancellation.
        Where it leaves a cancel scope open, its task is good for nothing any more: the group gets
        one or more :class:`RuntimeError`, and :attr:`left_open` is the first.
    """

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group
        self._to_run: deque[tuple[Callable[..., Awaitable[None]], tuple[Any, ...]]] = deque()
        self._idle: list[Waiter[None]] = []
        # Handlers begin with what whoever started the page has set. What an agent's task has set
        # is not for them.
        self._context = copy_context()
        self._values = tuple(self._context.items())
        #: What the loop says of a cancel scope that was left open, if one was.
        self.left_open: RuntimeError | None = None

    def start(self, run: Callable[[*Ts], Awaitable[None]], *args: *Ts) -> None:
        """Run it soon."""
        self._to_run.append((run, args))
        if self._idle:
            self._idle.pop().set(None)
        else:
            self._begin()

    def _begin(self) -> None:
        self._context.run(self._group.start_soon, self._serve)

    async def _serve(self) -> None:
        thrown: BaseException | None = None
        try:
            # A scope cannot be left while one inside it is open, and so it tells of that one.
            with anyio.CancelScope():
                try:
                    await self._run_all()
                    await self._leave()
                except BaseException as error:
                    thrown = error
                    raise
        except RuntimeError as error:
            if error is not thrown and self.left_open is None:
                self.left_open = error
            raise
        finally:
            del thrown

    async def _run_all(self) -> None:
        """Run one after another, until one leaves something in this task, or enough others idle."""
        left = _left_behind()
        while True:
            # handlers start in arrival order. Whichever task is awake first takes the oldest,
            # since trio wakes and starts tasks in any order.
            while self._to_run:
                run, args = self._to_run.popleft()
                try:
                    await run(*args)
                except anyio.get_cancelled_exc_class():
                    if is_ending():
                        raise
                    # It cancelled its own task by hand: it is over, and nothing else is.
                    return
                if left() or not self._is_as_before():
                    return
            if len(self._idle) >= _KEPT:
                return
            waiter: Waiter[None] = Waiter()
            self._idle.append(waiter)
            try:
                await waiter.wait()
            except anyio.get_cancelled_exc_class():
                if is_ending():
                    raise
                # Somebody cancels whatever runs on the loop. Nobody is to wake this one now.
                if not waiter.done:
                    self._idle.remove(waiter)
                return

    def _is_as_before(self) -> bool:
        """Whether the context has the very values with which a handler begins.

        An equal one may still be changed, and values need not know what equal is.
        """
        if len(copy_context()) != len(self._values):
            return False
        # A loop, since a generator costs every call as much again.
        for variable, value in self._values:  # noqa: SIM110
            if variable.get(_MISSING) is not value:
                return False
        return True

    async def _leave(self) -> None:
        """End this task; another takes its place where something is to be run."""
        if self._to_run:
            self._begin()
        try:
            # It may be cancelled by hand and not know it yet. To the group that would be an error.
            await anyio.lowlevel.checkpoint()
        except anyio.get_cancelled_exc_class():
            if is_ending():
                raise
        forgive()


def _left_behind() -> Callable[[], bool]:
    """Tells whether something that can still cancel the current task was left in it, or by it."""
    if on_asyncio():
        task = asyncio.current_task()
        assert task is not None, "a coroutine of the loop runs in a task"
        # Whoever can cancel the task later has kept it: a timeout, a scope, a handler that is to
        # be ended by the next one. PyPy counts no references.
        count: Callable[[object], int] = getattr(sys, "getrefcount", id)
        known = count(task)
        return lambda: task.cancelling() > 0 or count(task) > known
    here: Any = sys.modules["trio"].lowlevel.current_task()
    # Not trio's public surface; the same question asked by a scope of our own costs a tenth of a
    # call. Without it a scope left open is seen when the task ends.
    status = getattr(here, "_cancel_status", None)
    return lambda: getattr(here, "_cancel_status", None) is not status
