"""The sides of the blocking host: agents, tasks, the person and the assistant, waited for."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from concurrent.futures import Future
    from pathlib import Path

    import anyio.abc
    from anyio.from_thread import BlockingPortal

    from deska_host.activity import Activity
    from deska_host.agents import Agent, AgentReply
    from deska_host.assistant import Assistant
    from deska_host.person import Person
    from deska_host.tasks import Task
    from deska_sdk.errors import AgentCode
    from deska_sdk.panels.consent import Sheet
    from deska_sdk.router import (
        Answer,
        AskApproval,
        ConfirmNeeded,
        Message,
        Sender,
        ShowRow,
        TurnEnd,
    )
    from deska_sdk.tasks.view import Entry

T = TypeVar("T")


class BlockingAgent:
    """:class:`~deska_host.agents.Agent`, waited for."""

    def __init__(self, portal: BlockingPortal, agent: Agent) -> None:
        self._portal = portal
        self._agent = agent

    def list_panels(self) -> AgentReply:
        """The panels connected to this task and their actions (L-2)."""
        return self._portal.call(self._agent.list_panels)

    def call_action(self, panel: str, action: str, input: object) -> AgentReply:  # noqa: A002
        """Call an action of a connected panel and wait for its reply."""
        return self._portal.call(self._agent.call_action, panel, action, input)

    def start_call(self, panel: str, action: str, input: object) -> Future[AgentReply]:  # noqa: A002
        """Call an action and go on; the call is checked, and under way, when this returns.

        Cancelling the future ends the call.
        """
        future, _ = self._portal.start_task(self._call, panel, action, input)
        return future

    def ask_approval(self, key: str) -> Future[bool]:
        """Ask whether the agent may do something, and go on; the person may answer later (S-4)."""
        future, _ = self._portal.start_task(self._ask, key)
        return future

    def may_preview(self) -> AgentCode | None:
        """``None`` when the host's preview tools may run now; else why not (S-4)."""
        return self._portal.call(self._agent.may_preview)

    def may_launch_subagent(self) -> AgentCode | None:
        """``None`` when a subagent may be launched now; else why not (S-4)."""
        return self._portal.call(self._agent.may_launch_subagent)

    async def _ask(self, key: str, *, task_status: anyio.abc.TaskStatus[None]) -> bool:
        task_status.started()
        return await self._agent.ask_approval(key)

    async def _call(
        self,
        panel: str,
        action: str,
        payload: object,
        *,
        task_status: anyio.abc.TaskStatus[None],
    ) -> AgentReply:
        # What follows runs without a pause until the call waits for its page.
        task_status.started()
        return await self._agent.call_action(panel, action, payload)


class BlockingTask:
    """:class:`~deska_host.tasks.Task`, waited for."""

    def __init__(self, portal: BlockingPortal, task: Task) -> None:
        self._portal = portal
        self._task = task

    @property
    def id(self) -> str:
        """The embedder's id."""
        return self._task.id

    @property
    def folder(self) -> Path | None:
        """The folder that the agent's image paths are relative to."""
        return self._task.folder

    @property
    def mode(self) -> str | None:
        """The id of the mode the task is in."""
        return self._portal.call(lambda: self._task.mode)

    @property
    def paused(self) -> bool:
        """Whether a panel's content is in the turn and the task in Supervised for it (S-1)."""
        return self._portal.call(lambda: self._task.paused)

    def send(self, text: str, *, sender: Sender | str = "person") -> str:
        """Queue a message for the task; its id."""
        return self._portal.call(lambda: self._task.send(text, sender=sender))

    def stop(self, how: TurnEnd | str = "stopped") -> None:
        """The person stops the turn, or interrupts it."""
        self._portal.call(self._task.stop, how)

    def start_turn(self) -> BlockingAgent:
        """Begin a turn.

        :raises RuntimeError: a turn of this task is open.
        """
        return BlockingAgent(self._portal, self._portal.call(self._task.start_turn))

    def end_turn(self, how: TurnEnd | str = "completed") -> None:
        """End the turn; its open calls end with ``stopped``."""
        self._portal.call(self._task.end_turn, how)

    @contextmanager
    def turn(self) -> Generator[BlockingAgent]:
        """One turn of the task's agent."""
        agent = self.start_turn()
        try:
            yield agent
        finally:
            self.end_turn()


class BlockingPerson:
    """:class:`~deska_host.person.Person`, waited for; it raises what that raises."""

    def __init__(self, portal: BlockingPortal, person: Person) -> None:
        self._portal = portal
        self._person = person

    def sheet(self, panel: str) -> Sheet:
        """What the person is asked before the panel is connected for the first time (C-1)."""
        return self._portal.call(self._person.sheet, panel)

    def connect(self, task: str, panel: str, *, consent: str | None = None) -> None:
        """Connect the panel to the task."""
        person = self._person
        self._portal.call(lambda: person.connect(task, panel, consent=consent))

    def disconnect(self, task: str, panel: str) -> None:
        """Disconnect the panel from the task."""
        self._portal.call(self._person.disconnect, task, panel)

    def turn_actions_off(self) -> None:
        """Turn panel actions off for every task."""
        self._portal.call(self._person.turn_actions_off)

    def turn_actions_on(self) -> None:
        """Turn panel actions on again."""
        self._portal.call(self._person.turn_actions_on)

    def connected(self, task: str) -> tuple[str, ...]:
        """The ids of the panels connected to the task."""
        return self._portal.call(self._person.connected, task)

    def held(self, panel: str) -> bool:
        """Whether the panel's connections wait for the person (C-2)."""
        return self._portal.call(self._person.held, panel)

    def activity(self, panel: str) -> Activity:
        """What the panel did on this computer (B-1)."""
        return self._portal.call(self._person.activity, panel)

    def rows(self, task: str) -> tuple[ShowRow, ...]:
        """The rows of the task, the oldest first (S-2)."""
        return self._portal.call(self._person.rows, task)

    def set_mode(self, task: str, mode: str) -> None:
        """Put the task into a mode; it ends a pause (S-5)."""
        self._portal.call(self._person.set_mode, task, mode)

    def keep_asking(self, task: str) -> None:
        """Press *Keep asking* (S-2)."""
        self._portal.call(self._person.keep_asking, task)

    def confirmations(self) -> dict[str, ConfirmNeeded]:
        """What the assistant asked for and waits for the person's word, by ask (S-5)."""
        return self._portal.call(self._person.confirmations)

    def confirm(self, ask: str, *, yes: bool) -> None:
        """Answer one of :meth:`confirmations`."""
        self._portal.call(lambda: self._person.confirm(ask, yes=yes))

    def approvals(self) -> tuple[AskApproval, ...]:
        """What agents ask for now."""
        return self._portal.call(self._person.approvals)

    def approve(self, request: str, answer: Answer | str) -> None:
        """Answer an approval: ``"once"``, ``"always"`` or ``"deny"`` (S-4)."""
        self._portal.call(self._person.approve, request, answer)

    def waiting(self, task: str) -> tuple[Message, ...]:
        """The messages that wait for the task, the next first (O-4)."""
        return self._portal.call(self._person.waiting, task)

    def remove(self, task: str, message: str) -> None:
        """Take a waiting message away."""
        self._portal.call(self._person.remove, task, message)

    def edit(self, task: str, message: str, text: str) -> None:
        """Change a waiting message; never a panel's."""
        self._portal.call(self._person.edit, task, message, text)

    def steer(self, task: str, message: str) -> None:
        """Put a waiting message into the turn that runs; never a panel's."""
        self._portal.call(self._person.steer, task, message)

    def offers(self) -> dict[str, int]:
        """The panels whose *Send to task* button is on, and its version (O-2)."""
        return self._portal.call(self._person.offers)

    def send_to_task(
        self, panel: str, *, version: int | None = None, task: str | None = None
    ) -> str:
        """Press the button of a panel; the message's id (O-3)."""
        person = self._person
        return self._portal.call(lambda: person.send_to_task(panel, version=version, task=task))


class BlockingAssistant:
    """:class:`~deska_host.assistant.Assistant`, waited for; it raises what that raises."""

    def __init__(self, portal: BlockingPortal, assistant: Assistant) -> None:
        self._portal = portal
        self._assistant = assistant

    def set_mode(self, task: str, mode: str) -> None:
        """Put a task into a mode. It never ends a pause (S-5)."""
        self._portal.call(self._assistant.set_mode, task, mode)

    def approve(self, request: str, answer: Answer | str) -> None:
        """Answer what an agent asked for."""
        self._portal.call(self._assistant.approve, request, answer)

    def view(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        """A task's conversation without what came from a panel (S-5)."""
        return self._assistant.view(entries)
