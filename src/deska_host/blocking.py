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

from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from deska_host.blocking_sides import BlockingAssistant, BlockingPerson, BlockingTask
from deska_host.host import Host
from deska_sdk.router import DEFAULT_MODES, TaskKind

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from deska_host.pages import PageMain, RunningPage
    from deska_host.switching import SwitchHandler
    from deska_host.tasks import TurnHandler
    from deska_sdk.panels.manifest import Manifest
    from deska_sdk.router import (
        Modes,
        Notice,
        Switches,
    )

T = TypeVar("T")


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
        #: What the desk's own assistant does.
        self.assistant: BlockingAssistant

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal(self._backend))
            opened: AbstractContextManager[Host] = self._portal.wrap_async_context_manager(
                self._host
            )
            stack.enter_context(opened)
            self.person = BlockingPerson(self._portal, self._host.person)
            self.assistant = BlockingAssistant(self._portal, self._host.assistant)
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

    def run(self, function: Callable[..., Awaitable[T]], *args: object) -> T:
        """Run an async function in the loop's thread and wait for its result."""
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
        modes: Modes = DEFAULT_MODES,
        mode: str | None = None,
        switches: Switches | str = "mid_turn",
        on_switch: SwitchHandler | None = None,
        on_turn: TurnHandler | None = None,
    ) -> BlockingTask:
        """Say that a task is here; ``on_switch`` and ``on_turn`` run in the loop's thread."""
        attached = self._portal.call(
            lambda: self._host.attach_task(
                task,
                folder,
                kind=kind,
                supervised=supervised,
                modes=modes,
                mode=mode,
                switches=switches,
                on_switch=on_switch,
                on_turn=on_turn,
            )
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
