"""A task as the host sees it: a folder, a mode, and turns in which its agent calls."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

import anyio
import anyio.abc
import anyio.lowlevel
from attrs import define, field, frozen

from deska_host.agents import Agent, Replies, Wishes
from deska_host.blobs import Image, Shelf
from deska_sdk.errors import PersonCode, Refused
from deska_sdk.router import (
    Message,
    MessageQueued,
    Sender,
    StartTurn,
    Steer,
    TaskStopped,
    TurnEnd,
    TurnEnded,
    TurnStarted,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from deska_host.engine import Engine
    from deska_host.person import Asking


@frozen
class TurnMessage:
    """What a turn starts with, or what the person put into it. A panel's text is fenced."""

    id: str
    text: str = field(repr=False)
    sender: Sender
    images: tuple[Image, ...] = ()
    #: The panel whose message it is, so that a program can mark it (S-5); else empty.
    panel: str = ""


@define(eq=False)
class Turn:
    """A turn that a message started: what the agent reads first, and its tools."""

    message: TurnMessage
    agent: Agent
    _steered: list[TurnMessage] = field(repr=False)

    def take_steered(self) -> list[TurnMessage]:
        """What the person put into this turn since this was last asked (*Steer now*).

        What is left when the turn ends waits for a turn again, behind the other messages.
        """
        return _taken(self._steered)


#: Runs the agent for one turn that a message started; the turn ends when it returns.
TurnHandler: TypeAlias = "Callable[[Turn], Awaitable[None]]"


class Task:
    """One agent's work in one folder. Made by :meth:`deska_host.Host.attach_task`."""

    def __init__(self, tasks: Tasks, task: str, folder: Path | None) -> None:
        self._tasks = tasks
        self._open: str | None = None
        #: The embedder's id: attach it again after a restart and its connections are there.
        self.id = task
        #: The folder that the agent's image paths are relative to.
        self.folder = folder
        self.running: Turn | None = None
        #: What runs turns that messages started; one may outlive its turn.
        self.scopes: set[anyio.CancelScope] = set()
        #: What the person put into the open turn.
        self.steered: list[TurnMessage] = []
        #: How the person ended the turn that runs, until what runs it has ended.
        self.stopped: TurnEnd | None = None

    def __repr__(self) -> str:
        return f"Task({self.id!r})"

    @property
    def mode(self) -> str | None:
        """The id of the mode the task is in; ``None`` once it is detached."""
        return self._tasks.engine.router.mode(self.id)

    @property
    def paused(self) -> bool:
        """Whether a panel's content is in the turn and the task in Supervised for it (S-1)."""
        return self._tasks.engine.router.paused(self.id)

    @property
    def in_turn(self) -> bool:
        """Whether a turn of this task is open."""
        return self._open is not None

    def is_in(self, turn: str) -> bool:
        """Whether this turn is the open one."""
        return self._open == turn

    def take_steered(self) -> list[TurnMessage]:
        """What the person put into the open turn since this was last asked (*Steer now*).

        What is left when the turn ends waits for a turn again, behind the other messages.
        """
        return _taken(self.steered)

    def start_turn(self, message: str | None = None) -> Agent:
        """Begin a turn; the agent's two tools are good until :meth:`end_turn`.

        :raises RuntimeError: a turn of this task is open, or the task is detached.
        """
        if not self._tasks.has(self):
            raise RuntimeError("this task is detached")
        if self._open is not None:
            raise RuntimeError("a turn of this task is open")
        self._open = turn = self._tasks.new_turn()
        self._tasks.engine.feed(TurnStarted(self.id, turn, message))
        return Agent(self._tasks.replies, self._tasks.wishes, self.id, turn)

    def end_turn(self, how: TurnEnd | str = TurnEnd.COMPLETED) -> None:
        """End the turn; its open calls end with ``stopped``. Without an open turn: nothing.

        :param how: ``"completed"``, ``"failed"``, ``"stopped"`` or ``"interrupted"``; the last
            two drop the task's deferred reads (S-7).
        """
        ended = TurnEnd(how)
        turn, self._open = self._open, None
        self.running = None
        if turn is not None:
            # The person's words are not lost because the agent did not come to read them.
            for message in self.take_steered():
                self._tasks.queue_again(self.id, message)
            self._tasks.turn_over(self.id)
            self._tasks.engine.feed(TurnEnded(self.id, turn, ended))

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[Agent]:
        """One turn of the task's agent::

            async with task.turn() as agent:
                reply = await agent.list_panels()

        It ends as ``failed`` when something is raised inside, as ``stopped`` when cancelled.

        :raises RuntimeError: a turn of this task is open.
        """
        agent = self.start_turn()
        how = TurnEnd.STOPPED
        try:
            yield agent
            how = TurnEnd.COMPLETED
        except Exception:
            how = TurnEnd.FAILED
            raise
        finally:
            self.end_turn(how)

    def stop(self, how: TurnEnd | str = TurnEnd.STOPPED) -> None:
        """The person stops the turn, or interrupts it: its deferred reads are dropped (S-7).

        What runs the turn is cancelled, and the turn is over when it has ended: an agent that goes
        on for a while goes on in the mode it is in (S-1). A turn that the program began itself is
        over at once.
        """
        ended = TurnEnd(how)
        if not self._tasks.has(self):
            return
        for scope in self.scopes:
            scope.cancel()
        if self.running is not None:
            self.stopped = ended
        if self.running is not None or self._open is None:
            self._tasks.engine.feed(TaskStopped(self.id))
        else:
            self.end_turn(ended)

    def left(self) -> None:
        """The task is detached: what runs its turns is cancelled, and nothing more is told."""
        for scope in self.scopes:
            scope.cancel()
        self._open = self.running = None
        self.steered.clear()

    async def send(self, text: str, *, sender: Sender | str = Sender.PERSON) -> str:
        """Queue a message for the task; its id, for the person's side.

        It starts a turn when its time comes, where the task was attached with ``on_turn``.

        :raises Refused: ``unknown_task``: the task is detached.
        """
        if not self._tasks.has(self):
            raise Refused(PersonCode.UNKNOWN_TASK)
        message = Message(self._tasks.new_message(), text, Sender(sender))
        await self._tasks.asking.ask(lambda ask: MessageQueued(ask, self.id, message))
        return message.id


class Tasks:
    """All tasks that are here, and the turns that their messages start (O-4)."""

    def __init__(
        self,
        engine: Engine,
        replies: Replies,
        wishes: Wishes,
        asking: Asking,
        shelf: Shelf,
        group: anyio.abc.TaskGroup,
        new_turn: Callable[[], str],
        new_message: Callable[[], str],
        settled: Callable[[str], Awaitable[None]],
        turn_over: Callable[[str], None],
    ) -> None:
        self.engine = engine
        self.replies = replies
        self.wishes = wishes
        self.asking = asking
        self.new_turn = new_turn
        self.new_message = new_message
        self.turn_over = turn_over
        self._settled = settled
        self._shelf = shelf
        self._group = group
        self._tasks: dict[str, Task] = {}
        self._handlers: dict[str, TurnHandler] = {}
        engine.perform(StartTurn, self._start)
        engine.perform(Steer, self._steer)

    def __contains__(self, task: object) -> bool:
        return task in self._tasks

    def has(self, task: Task) -> bool:
        """Whether this very task is here, and not another under its id."""
        return self._tasks.get(task.id) is task

    def all(self) -> tuple[str, ...]:
        """The ids of the tasks that are here."""
        return tuple(self._tasks)

    def add(self, task: Task, on_turn: TurnHandler | None) -> None:
        """A task is here."""
        self._tasks[task.id] = task
        if on_turn is not None:
            self._handlers[task.id] = on_turn

    def pop(self, task: str) -> Task | None:
        """A task left; what runs its turn is cancelled."""
        attached = self._tasks.pop(task, None)
        self._handlers.pop(task, None)
        if attached is not None:
            attached.left()
        return attached

    def queue_again(self, task: str, message: TurnMessage) -> None:
        """Let a message that was steered into a turn, and not read there, wait for its own."""
        again = Message(message.id, message.text, message.sender)
        # Nobody asked for it, so nobody is told.
        self.engine.feed(MessageQueued("", task, again))

    def _start(self, effect: StartTurn) -> None:
        task = self._tasks.get(effect.task)
        if task is None or task.in_turn:
            # The program detached the task, or began a turn of its own, while this step was being
            # done: the engine is about to hear of it, and lets the message go or wait.
            return
        agent = task.start_turn(effect.message.id)
        turn = task.running = Turn(self._shown(effect.message), agent, task.steered)
        scope = anyio.CancelScope()
        task.scopes.add(scope)
        self._group.start_soon(self._run, task, turn, self._handlers[task.id], scope)

    async def _run(
        self, task: Task, turn: Turn, run: TurnHandler, scope: anyio.CancelScope
    ) -> None:
        how = TurnEnd.STOPPED
        try:
            with scope:
                # A turn that was stopped before it began does nothing.
                await anyio.lowlevel.checkpoint_if_cancelled()
                await run(turn)
                how = TurnEnd.COMPLETED
        except Exception:
            # The program's own error: the turn failed, and the program hears of it. That ends the
            # host, so the mode from before comes back first (S-6).
            how = TurnEnd.FAILED
            if task.running is turn:
                task.end_turn(how)
            await self._settled(task.id)
            raise
        finally:
            task.scopes.discard(scope)
            if task.running is turn:
                stopped, task.stopped = task.stopped, None
                task.end_turn(how if stopped is None else stopped)

    def _steer(self, effect: Steer) -> None:
        task = self._tasks.get(effect.task)
        if task is not None and task.is_in(effect.turn):
            task.steered.append(self._shown(effect.message))
        else:
            # The turn ended while this step was being done.
            self.queue_again(effect.task, self._shown(effect.message))

    def _shown(self, message: Message) -> TurnMessage:
        images = tuple(Image(self._shelf.take(handle).data) for handle in message.images)
        return TurnMessage(message.id, message.text, message.sender, images, message.panel)


def _taken(steered: list[TurnMessage]) -> list[TurnMessage]:
    """What was put there, which is then there no more."""
    taken = list(steered)
    steered.clear()
    return taken
