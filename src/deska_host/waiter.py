"""One result that one task of the loop waits for."""

from __future__ import annotations

from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Waiter(Generic[T]):
    """Set once; all in the loop's thread.

    Whoever's wait was cancelled reads :attr:`done`, never the exception: the result may have come
    at the same moment.
    """

    __slots__ = ("_event", "_result")

    def __init__(self) -> None:
        self._event: anyio.Event | None = None
        self._result: tuple[T] | None = None

    @property
    def done(self) -> bool:
        """Whether the result is there."""
        return self._result is not None

    def set(self, result: T) -> None:
        """Give the result; a second one is ignored."""
        if self._result is None:
            self._result = (result,)
            if self._event is not None:
                self._event.set()

    async def wait(self) -> T:
        """The result, as soon as it is there."""
        if self._result is None:
            if self._event is None:
                self._event = anyio.Event()
            await self._event.wait()
            assert self._result is not None, "the event is set with the result"
        return self._result[0]
