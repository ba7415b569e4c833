"""The host for programs without an event loop.

::

    with BlockingHost("desk.db") as host:
        host.install("panels/nook")
        task = host.attach_task("task-1", "work/garden")
        with task.turn() as agent:
            print(agent.list_panels().text)

The loop, the pages and the engine run in one thread of their own. Every method may be called from
any other thread, and several threads may call at once: each call waits only for its own end. Not
from that thread itself: code that runs in it (a page, a notice's listener, ``on_page_error``,
a handler) gets a :class:`RuntimeError` instead of waiting for itself for ever.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from deska_host.host import Host
from deska_sdk.router import Notice, TaskKind

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator
    from concurrent.futures import Future
    from pathlib import Path
    from types import TracebackType

    import anyio.abc

    from deska_host.activity import Activity
    from deska_host.agents import Agent, AgentReply
    from deska_host.pages import PageMain, RunningPage
    from deska_host.person import Person
    from deska_host.tasks import Task
    from deska_sdk.panels.consent import Sheet
    from deska_sdk.panels.manifest import Manifest

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

    def start_turn(self) -> BlockingAgent:
        """Begin a turn.

        :raises RuntimeError: a turn of this task is open.
        """
        return BlockingAgent(self._portal, self._portal.call(self._task.start_turn))

    def end_turn(self) -> None:
        """End the turn; its open calls end with ``stopped``."""
        self._portal.call(self._task.end_turn)

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


class BlockingHost:
    """:class:`~deska_host.host.Host`, waited for; every method raises what that one's raises.

    :param path: the file that keeps everything, or ``None``.
    :param backend: ``"asyncio"`` or ``"trio"``.
    :param options: what :class:`~deska_host.host.Host` takes by keyword.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        backend: Literal["asyncio", "trio"] = "asyncio",
        **options: Any,
    ) -> None:
        self._host = Host(path, **options)
        self._backend = backend
        self._stack = ExitStack()
        self._portal: BlockingPortal
        #: What only the person does.
        self.person: BlockingPerson

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal(self._backend))
            opened: AbstractContextManager[Host] = self._portal.wrap_async_context_manager(
                self._host
            )
            stack.enter_context(opened)
            self.person = BlockingPerson(self._portal, self._host.person)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(exc_type, exc, traceback)

    def call(self, function: Callable[..., T], *args: object) -> T:
        """Run a function in the loop's thread, such as ``clock.advance``, and give its result."""
        return self._portal.call(function, *args)

    def installed(self) -> dict[str, Manifest]:
        """The installed panels by id."""
        return self._portal.call(self._host.installed)

    def install(
        self, source: str | os.PathLike[str] | dict[str, Any], *, page: PageMain | None = None
    ) -> Manifest:
        """Install a panel, or let it take the place of the version that is installed."""
        return self._portal.call(lambda: self._host.install(source, page=page))

    def update(
        self, source: str | os.PathLike[str] | dict[str, Any], *, page: PageMain | None = None
    ) -> Manifest:
        """Install a version of a panel that is installed already."""
        return self._portal.call(lambda: self._host.update(source, page=page))

    def reload(self, panel: str) -> Manifest:
        """Install the panel again from its folder as it is now."""
        return self._portal.call(self._host.reload, panel)

    def uninstall(self, panel: str) -> None:
        """Remove the panel, and what it kept on this computer."""
        self._portal.call(self._host.uninstall, panel)

    def start_page(
        self, panel: str, *, page: PageMain | None = None, kind: Literal["desk", "extras"] = "desk"
    ) -> RunningPage:
        """Start a page of the panel."""
        return self._portal.call(lambda: self._host.start_page(panel, page=page, kind=kind))

    def close_page(self, page: RunningPage) -> None:
        """Stop a page."""
        self._portal.call(self._host.close_page, page)

    def attach_task(
        self,
        task: str,
        folder: str | os.PathLike[str] | None = None,
        *,
        kind: TaskKind | str = TaskKind.LOCAL,
        supervised: bool = True,
    ) -> BlockingTask:
        """Say that a task is here."""
        attached = self._portal.call(
            lambda: self._host.attach_task(task, folder, kind=kind, supervised=supervised)
        )
        return BlockingTask(self._portal, attached)

    def detach_task(self, task: str) -> None:
        """Say that a task left."""
        self._portal.call(self._host.detach_task, task)

    def subscribe(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Call ``listener``, in the loop's thread, with every notice (B-2)."""
        unsubscribe = self._portal.call(self._host.subscribe, listener)
        return lambda: self._portal.call(unsubscribe)

    @property
    def pending(self) -> int:
        """Everything open; zero on a quiet host (A-8)."""
        return self._portal.call(lambda: self._host.pending)
