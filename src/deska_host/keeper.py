"""The one user of the store: its calls run in the order in which they were asked for."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from attrs import frozen

from deska_sdk.errors import DeskaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_host.store import Store

T = TypeVar("T")


@frozen
class _Job:
    call: Callable[[], Any]
    #: Called in the loop's thread with the result, or with the error.
    done: Callable[[Any, Exception | None], None]


class Keeper:
    """Runs the store's calls one after another, in a worker thread where there is a file.

    :param in_thread: false for a store in memory, whose calls are too short to leave the loop.
    """

    def __init__(self, store: Store, *, in_thread: bool) -> None:
        self._store = store
        self._in_thread = in_thread
        self._jobs: deque[_Job] = deque()
        self._wake = anyio.Event()

    @property
    def store(self) -> Store:
        """The store; call it only through :meth:`post` and :meth:`run`."""
        return self._store

    def post(
        self, call: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Have ``call`` run after all that was asked for before; then ``done`` is told."""
        job = _Job(call, done)
        if self._in_thread:
            self._jobs.append(job)
            self._wake.set()
        else:
            done(*_outcome(call))

    async def run(self, call: Callable[[], T]) -> T:
        """The result of ``call``. It runs to its end also when the wait for it is cancelled.

        :raises DeskaError: what the store raised.
        """
        if not self._in_thread:
            return call()
        finished = anyio.Event()
        outcome: list[tuple[T | None, Exception | None]] = []

        def done(result: T | None, error: Exception | None) -> None:
            outcome.append((result, error))
            finished.set()

        self.post(call, done)
        await finished.wait()
        result, error = outcome[0]
        if error is not None:
            raise error
        return result  # type: ignore[return-value]  # no error: it is what ``call`` returned

    async def serve(self) -> None:
        """Run jobs until cancelled."""
        if not self._in_thread:
            return
        while True:
            while self._jobs:
                await self._run_next()
            self._wake = anyio.Event()
            await self._wake.wait()

    async def _run_next(self) -> None:
        job = self._jobs.popleft()
        # A commit is never left half-way: whoever asked may be told, or not, but the store and
        # what was told stay in step.
        with anyio.CancelScope(shield=True):
            job.done(*await anyio.to_thread.run_sync(_outcome, job.call))

    async def close(self) -> None:
        """Run what was asked for and is left, then close the store; nobody waits for ever.

        Call it when :meth:`serve` runs no more. What is asked for later fails with
        :class:`~deska_host.store.StoreClosed`.

        :raises Exception: what one of those who asked raised when they were told.
        """
        failed: Exception | None = None
        with anyio.CancelScope(shield=True):
            while self._jobs:
                try:
                    await self._run_next()
                except Exception as error:  # noqa: BLE001 - raised below
                    failed = failed or error
            self._in_thread = False
            await anyio.to_thread.run_sync(self._store.close)
        if failed is not None:
            raise failed


def _outcome(call: Callable[[], T]) -> tuple[T | None, Exception | None]:
    try:
        return call(), None
    except DeskaError as error:
        return None, error
