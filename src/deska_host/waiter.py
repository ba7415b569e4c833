"""One result that tasks of the loop wait for."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

import anyio

from deska_host.cancelling import on_asyncio

T = TypeVar("T")


class Waiter(Generic[T]):
    """Set once; all in the loop's thread.

    Whoever's wait was cancelled reads :attr:`done`, never the exception: the result may have come
    at the same moment.
    """

    __slots__ = ("_event", "_futures", "_result")

    def __init__(self) -> None:
        # A wait is on the way of every call, and asyncio's own future costs a tenth of an event
        # that works on any loop. Each wait has its own: cancelling one must not end another.
        self._futures: list[asyncio.Future[None]] | None = None
        self._event: anyio.Event | None = None
        self._result: tuple[T] | None = None

    @property
    def done(self) -> bool:
        """Whether the result is there."""
        return self._result is not None

    def set(self, result: T) -> None:
        """Give the result; a second one is ignored."""
        if self._result is not None:
            return
        self._result = (result,)
        if self._futures is not None:
            for future in self._futures:
                if not future.done():
                    future.set_result(None)
        if self._event is not None:
            self._event.set()

    async def wait(self) -> T:
        """The result, as soon as it is there."""
        if self._result is None:
            if on_asyncio():
                future = asyncio.get_running_loop().create_future()
                if self._futures is None:
                    self._futures = [future]
                else:
                    self._futures.append(future)
                await future
            else:
                if self._event is None:
                    self._event = anyio.Event()
                await self._event.wait()
            assert self._result is not None, "who waits is woken with the result"
        return self._result[0]
