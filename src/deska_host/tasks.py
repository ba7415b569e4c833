"""A task as the host sees it: a folder, and turns in which its agent calls."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from deska_host.agents import Agent, Replies
from deska_sdk.router import TurnEnded, TurnStarted

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from deska_host.engine import Engine


class Task:
    """One agent's work in one folder. Made by :meth:`deska_host.Host.attach_task`."""

    def __init__(
        self,
        engine: Engine,
        replies: Replies,
        task: str,
        folder: Path | None,
        new_turn: Callable[[], str],
    ) -> None:
        self._engine = engine
        self._replies = replies
        self._new_turn = new_turn
        self._open: str | None = None
        #: The embedder's id: attach it again after a restart and its connections are there.
        self.id = task
        #: The folder that the agent's image paths are relative to.
        self.folder = folder

    def __repr__(self) -> str:
        return f"Task({self.id!r})"

    def start_turn(self) -> Agent:
        """Begin a turn; the agent's two tools are good until :meth:`end_turn`.

        :raises RuntimeError: a turn of this task is open.
        """
        if self._open is not None:
            raise RuntimeError("a turn of this task is open")
        self._open = self._new_turn()
        self._engine.feed(TurnStarted(self.id, self._open))
        return Agent(self._replies, self.id, self._open)

    def end_turn(self) -> None:
        """End the turn; its open calls end with ``stopped``. Without an open turn: nothing."""
        turn, self._open = self._open, None
        if turn is not None:
            self._engine.feed(TurnEnded(self.id, turn))

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[Agent]:
        """One turn of the task's agent::

            async with task.turn() as agent:
                reply = await agent.list_panels()

        :raises RuntimeError: a turn of this task is open.
        """
        agent = self.start_turn()
        try:
            yield agent
        finally:
            self.end_turn()
