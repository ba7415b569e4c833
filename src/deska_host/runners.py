"""A page's tasks: each runs one handler after another, so that a call need not start one."""

from __future__ import annotations

from collections import deque
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVarTuple

from deska_host.waiter import Waiter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import anyio.abc

Ts = TypeVarTuple("Ts")

#: How many tasks stay when they have nothing to do. Starting one costs as much as a whole call.
_KEPT = 4


class Runners:
    """Runs functions in the tasks of a group, begun in the order in which they were asked for.

    :param group: the group of the tasks. What is given to run raises nothing but the group's own
        cancellation.
    """

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group
        self._to_run: deque[tuple[Callable[..., Awaitable[None]], tuple[Any, ...]]] = deque()
        self._idle: list[Waiter[None]] = []
        # Handlers begin with what the page has set. What an agent's task has set is not for them.
        self._context = copy_context()

    def start(self, run: Callable[[*Ts], Awaitable[None]], *args: *Ts) -> None:
        """Run it soon."""
        self._to_run.append((run, args))
        if self._idle:
            self._idle.pop().set(None)
        else:
            self._context.run(self._group.start_soon, self._serve)

    async def _serve(self) -> None:
        while True:
            # handlers start in arrival order. Whichever task is awake first takes the oldest,
            # since trio wakes and starts tasks in any order.
            while self._to_run:
                run, args = self._to_run.popleft()
                await run(*args)
                if copy_context() != self._context:
                    # It left something set, which is not for the next one to find.
                    if self._to_run:
                        self._context.run(self._group.start_soon, self._serve)
                    return
            if len(self._idle) >= _KEPT:
                return
            waiter: Waiter[None] = Waiter()
            self._idle.append(waiter)
            await waiter.wait()
