"""The tasks that are here: their turns, their queues, and what may start the next turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, evolve, field

from deska_sdk.errors import PersonCode
from deska_sdk.steps import Done
from deska_sdk.tasks import rows
from deska_sdk.tasks.approvals import Approvals
from deska_sdk.tasks.effects import Decided, RowKind, ShowRow, StartTurn, Steer
from deska_sdk.tasks.events import TurnEnd
from deska_sdk.tasks.pause import Pause
from deska_sdk.tasks.queue import Message, Queue, Sender

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.records import PauseRecord
    from deska_sdk.steps import Steps
    from deska_sdk.tasks.events import (
        MessageEdited,
        MessageQueued,
        MessageRemoved,
        MessageSteered,
        TaskAttached,
        TurnStarted,
    )


@define(eq=False)
class Task:
    """A task that is here."""

    attached: TaskAttached
    pause: Pause
    queue: Queue = field(factory=Queue)
    approvals: Approvals = field(factory=Approvals)
    turn: str | None = None
    #: The message whose turn the host was told to start, until it has.
    starting: Message | None = None
    #: Whether it was dropped since, and must not wait again where the host has not begun with it.
    unwanted: bool = False
    #: A panel's message that waits for Supervised before its turn.
    entering: Entering | None = None
    #: Whether that failed, so that it is not tried again just because the mode is at rest.
    held_back: bool = False


@define(eq=False)
class Entering:
    """A panel's message on its way into a turn of its own (O-4)."""

    tasks: Tasks
    task: Task
    message: Message

    @property
    def panel_name(self) -> str:
        return self.message.panel_name

    def granted(self, now: float) -> None:  # noqa: ARG002 - as every content
        self.task.entering = None
        self.task.queue.take(self.message.id)
        self.tasks.start(self.task, self.message)

    def refused(self, now: float) -> None:  # noqa: ARG002
        self.task.entering = None
        self.task.held_back = True
        text = rows.not_sent(self.panel_name)
        self.tasks.steps.emit(ShowRow(self.task.attached.task, RowKind.NOT_SENT, text))


class Tasks:
    """All tasks of one host.

    :param turn_ended: hears of each turn's end before anything else is done about it.
    :param message_started: hears that a panel's message is in its turn.
    :param pause_over: hears that a task has no pause any more, or has none after all.
    :param message_gone: hears of each waiting message that nobody will send.
    """

    def __init__(
        self,
        steps: Steps,
        *,
        turn_ended: Callable[[str, str, TurnEnd, float], None],
        message_started: Callable[[Message], None],
        message_gone: Callable[[Message], None],
        pause_over: Callable[[str], None],
    ) -> None:
        self.steps = steps
        self._pause_over = pause_over
        self._turn_ended = turn_ended
        self._message_started = message_started
        self._message_gone = message_gone
        self._tasks: dict[str, Task] = {}
        #: The tasks that the store says are paused.
        self._paused: set[str] = set()
        #: The tasks of which a waiting message went away in this step.
        self._look_again: set[str] = set()

    def __contains__(self, task: object) -> bool:
        return task in self._tasks

    def get(self, task: str) -> Task | None:
        """The task with this id, if it is here."""
        return self._tasks.get(task)

    @property
    def pending(self) -> int:
        """How many approvals wait for the person; queued messages do not count."""
        return sum(len(task.approvals) for task in self._tasks.values())

    def with_request(self, request: str) -> Task | None:
        """The task of which this request for an approval is open."""
        every = self._tasks.values()
        return next((task for task in every if task.approvals.is_open(request)), None)

    def apply(self, record: PauseRecord) -> None:
        """Take over a durable record."""
        if record.paused:
            self._paused.add(record.task)
        else:
            self._paused.discard(record.task)

    # --- coming and going

    def attach(self, event: TaskAttached, now: float) -> None:
        """A task is here."""
        self.detach(event.task, now)

        def settled(later: float) -> None:
            if not task.pause.stands:
                self._pause_over(event.task)
            if not task.held_back:
                self._start_next(task, later)

        pause = Pause(event.task, event.modes, event.mode, self.steps, settled, self.apply)
        task = self._tasks[event.task] = Task(event, pause)
        if event.task in self._paused:
            pause.recover(now)

    def detach(self, name: str, now: float) -> None:
        """A task left; what waits for it is dropped (S-6)."""
        task = self._tasks.get(name)
        if task is None:
            return
        task.attached = _silent(task.attached)
        # Nobody is left to put a mode back: what stays of a pause is its record (S-6).
        task.pause.close()
        if task.turn is not None:
            self.end_turn(name, task.turn, TurnEnd.STOPPED, now)
        del self._tasks[name]
        gone = task.queue.clear()
        if task.starting is not None:
            gone = (*gone, task.starting)
        for message in gone:
            self._message_gone(message)

    # --- turns

    def turn_over(self, name: str, turn: str) -> bool:
        """Whether a task that is here is no longer in this turn."""
        task = self._tasks.get(name)
        return task is not None and task.turn != turn

    def must_defer(self, name: str) -> bool | None:
        """Whether a read of this task's agent is deferred now; ``None``: it cannot read (S-7)."""
        task = self._tasks[name]
        if task.attached.switches == "never":
            return None
        if task.attached.switches == "mid_turn":
            return False
        return not task.pause.supervised_start

    def start_turn(self, event: TurnStarted, now: float) -> None:
        """A turn began."""
        task = self._tasks.get(event.task)
        if task is None:
            return
        if task.turn is not None:
            self._end_turn(task, task.turn, TurnEnd.COMPLETED, now)
        if task.entering is not None:
            entering, task.entering = task.entering, None
            task.pause.leave(entering, now)
        task.turn = event.turn
        task.pause.turn_started()
        if task.starting is not None:
            message, task.starting = task.starting, None
            unwanted, task.unwanted = task.unwanted, False
            if message.id == event.message:
                if message.sender is Sender.PANEL:
                    self._message_started(message)
            elif unwanted:
                self._message_gone(message)
            else:
                # The host began another turn instead; this one is still to come.
                task.queue.push_front(message)

    def end_turn(self, name: str, turn: str, how: TurnEnd, now: float) -> None:
        """The turn is over, whatever way (S-6)."""
        task = self._tasks.get(name)
        if task is None or task.turn != turn:
            return
        self._end_turn(task, turn, how, now)
        self._start_next(task, now)

    def _end_turn(self, task: Task, turn: str, how: TurnEnd, now: float) -> None:
        task.turn = None
        self._turn_ended(task.attached.task, turn, how, now)
        for request in task.approvals.end_turn(turn):
            self.steps.emit(Decided(request, allowed=False))
        task.pause.end_turn(now)
        task.held_back = False

    def start(self, task: Task, message: Message) -> None:
        """Have the host start a turn with a message that is out of the queue."""
        task.starting = message
        self.steps.emit(StartTurn(task.attached.task, message))

    def send(self, name: str, message: Message, now: float, *, first: bool = False) -> None:
        """Let a panel's message wait for its turn: as the last, or as the ``first``."""
        task = self._tasks[name]
        if first:
            task.queue.push_front(message)
        else:
            task.queue.append(message)
        task.held_back = False
        self._start_next(task, now)

    def drop(self, name: str, message_id: str, now: float) -> None:
        """Take a panel's waiting message out."""
        task = self._tasks.get(name)
        if task is None:
            return
        message = self._take(task, message_id, now)
        if message is not None:
            self._message_gone(message)
        elif task.starting is not None and task.starting.id == message_id:
            task.unwanted = True

    def _take(self, task: Task, message_id: str, now: float) -> Message | None:
        message = task.queue.take(message_id)
        entering = task.entering
        if entering is not None and entering.message is message:
            task.entering = None
            task.pause.leave(entering, now)
        if message is not None:
            task.held_back = False
            self._look_again.add(task.attached.task)
        return message

    def go_on(self, now: float) -> None:
        """At the end of a step: start what waited behind a message that went away in it."""
        if not self._look_again:
            return
        look_again, self._look_again = self._look_again, set()
        for name in look_again:
            task = self._tasks.get(name)
            if task is not None:
                self._start_next(task, now)

    def _start_next(self, task: Task, now: float) -> None:
        if (
            not task.attached.runs_messages
            or task.turn is not None
            or task.starting is not None
            or task.entering is not None
            or not task.pause.at_rest
        ):
            return
        message = task.queue.front
        if message is None:
            return
        if message.sender is Sender.PANEL:
            # S-1, O-4: its turn is paused from the start.
            task.entering = Entering(self, task, message)
            task.pause.content(task.entering, now)
        else:
            task.queue.take(message.id)
            self.start(task, message)

    # --- messages of the person and others

    def queue(self, event: MessageQueued, now: float) -> None:
        """A message waits behind the others.

        :raises ValueError: it says that it is a panel's; only the engine makes those.
        """
        if event.message.sender is Sender.PANEL:
            raise ValueError("a panel's message comes from its page")
        task = self._tasks.get(event.task)
        if task is None:
            self.steps.emit(Done(event.ask, PersonCode.UNKNOWN_TASK))
            return
        task.queue.append(event.message)
        self.steps.emit(Done(event.ask))
        task.held_back = False
        self._start_next(task, now)

    def steer(self, event: MessageSteered) -> None:
        """Put a waiting message into the turn that runs; never a panel's (O-4)."""
        task = self._tasks.get(event.task)
        refused: PersonCode | None = PersonCode.UNKNOWN_TASK
        if task is not None:
            refused = task.queue.may_change(event.message)
            if refused is None and task.turn is None:
                refused = PersonCode.NO_TURN
            message = None if refused else task.queue.take(event.message)
            if message is not None and task.turn is not None:
                self.steps.emit(Steer(event.task, task.turn, message))
        self.steps.emit(Done(event.ask, refused))

    def edit(self, event: MessageEdited) -> None:
        """Change a waiting message; never a panel's (O-4)."""
        task = self._tasks.get(event.task)
        refused = (
            PersonCode.UNKNOWN_TASK if task is None else task.queue.edit(event.message, event.text)
        )
        self.steps.emit(Done(event.ask, refused))

    def remove(self, event: MessageRemoved, now: float) -> None:
        """Take a waiting message away, also a panel's (O-4)."""
        task = self._tasks.get(event.task)
        message = None if task is None else self._take(task, event.message, now)
        if message is not None:
            self._message_gone(message)
        refused = PersonCode.UNKNOWN_TASK if task is None else PersonCode.UNKNOWN_MESSAGE
        self.steps.emit(Done(event.ask, None if message is not None else refused))


def _silent(attached: TaskAttached) -> TaskAttached:
    """The same task, for which no further turn is started."""
    return evolve(attached, runs_messages=False)
