"""The reference host: one object that embeds Deska in a program under anyio.

::

    async with Host() as host:
        await host.install("panels/nook")
        task = host.attach_task("task-1", "work/garden")
        await host.start_page("nook")
        await host.person.connect("task-1", "nook", consent=host.person.sheet("nook").fingerprint)
        async with task.turn() as agent:
            reply = await agent.list_panels()
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
import signal
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import anyio
import anyio.abc
import anyio.to_thread

from deska_host.activity import Counts
from deska_host.agents import Replies, Wishes
from deska_host.assistant import Assistant
from deska_host.blobs import Shelf
from deska_host.clock import Clock, SystemClock
from deska_host.engine import Engine
from deska_host.folder import TaskFolder
from deska_host.ids import CallIds
from deska_host.imaging import ImageExecutor, ImageWorker
from deska_host.installs import Installs
from deska_host.keeper import Keeper
from deska_host.notices import Notices
from deska_host.pages import PageErrorHook, PageMain, Pages, RunningPage
from deska_host.person import Asking, Person
from deska_host.port import PageHandlers, PagePort, is_utf8
from deska_host.store import Store, open_store
from deska_host.supervision import Screen
from deska_host.switching import Switcher, SwitchErrorHook, SwitchHandler, log_switch_error
from deska_host.tasks import Task, Tasks, TurnHandler
from deska_host.work import Work
from deska_sdk.errors import PersonCode, Refused
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.router import (
    DEFAULT_MODES,
    Modes,
    Notice,
    Router,
    Switches,
    TaskAttached,
    TaskDetached,
    TaskKind,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from types import TracebackType

    from deska_sdk.codec import Codec
    from deska_sdk.panels.manifest import Manifest
    from deska_sdk.schema import Kind as CheckerKind

#: How long counts may stay in memory before the store gets them, in seconds.
_FLUSH_SECONDS = 1.0


class Host:
    """A desk with panels, tasks and their agents, in one process.

    All methods are for the thread of the loop; other threads use
    :class:`deska_host.blocking.BlockingHost`.

    :param path: the file that keeps everything; ``None`` keeps it in memory, for this run only.
    :param limits: the numbers of the contract.
    :param clock: where time comes from; a test passes a :class:`~deska_host.clock.ManualClock`.
    :param images: who decodes images; by default a worker process (I-6).
    :param background: what transparent images are flattened on (I-5).
    :param checker: ``"interpreted"`` for programs that forbid ``exec`` (D-10).
    :param codec: ``"speed"`` or ``"stdlib"`` for JSON; by default what is installed.
    :param handlers: what the program does for ``deska.save``, ``copy`` and ``notify`` (G-1).
    :param on_page_error: called with a panel's id and what its page raised; a page's text may be
        in it. Off by default (B-2).
    :param on_switch_error: called with a task's id and what its ``on_switch`` raised. By default
        the type of the error, and where it was raised, go to the logger ``deska_host``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        clock: Clock | None = None,
        images: ImageExecutor | None = None,
        background: str = "white",
        checker: CheckerKind = "compiled",
        codec: Codec = "auto",
        handlers: PageHandlers | None = None,
        on_page_error: PageErrorHook | None = None,
        on_switch_error: SwitchErrorHook = log_switch_error,
    ) -> None:
        self._path = path
        self._limits = limits
        self._clock: Clock = SystemClock() if clock is None else clock
        self._images = images
        self._background = background
        self._checker: CheckerKind = checker
        self._codec: Codec = codec
        self._handlers = PageHandlers() if handlers is None else handlers
        self._on_page_error = on_page_error
        self._on_switch_error = on_switch_error
        self._notices = Notices()
        self._turns = itertools.count(1)
        self._group: anyio.abc.TaskGroup | None = None
        self._engine: Engine
        self._keeper: Keeper
        self._pages: Pages
        self._asking: Asking
        self._work: Work
        self._counts: Counts
        self._executor: ImageExecutor
        self._replies: Replies
        self._wishes: Wishes
        self._screen: Screen
        self._installs: Installs
        self._tasks: Tasks
        #: What only the person does.
        self.person: Person
        #: What the desk's own assistant does.
        self.assistant: Assistant

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # What is made when the host opens is missing before that.
            if name in ("person", "assistant") or (name[:1] == "_" != name[1:2]):
                raise RuntimeError("the host is not open: use it inside `async with`")
            raise AttributeError(name)

    # --- opening and closing

    async def __aenter__(self) -> Self:
        """Open the store and start.

        :raises StoreInUse: another host has the file open.
        :raises StoreTooNew: a newer version of Deska wrote the file.
        :raises NotAStore: the file is something else.
        :raises RuntimeError: this host is open, or was.
        """
        if self._group is not None:
            raise RuntimeError("a host is opened once")
        store = await anyio.to_thread.run_sync(lambda: open_store(self._path, limits=self._limits))
        group = self._group = anyio.create_task_group()
        await group.__aenter__()
        try:
            await self._compose(store, group)
        except BaseException:
            group.cancel_scope.cancel()
            await group.__aexit__(None, None, None)
            store.close()
            raise
        return self

    async def _compose(self, store: Store, group: anyio.abc.TaskGroup) -> None:
        keeper = self._keeper = Keeper(store, in_thread=self._path is not None)
        router = Router(store.load(), limits=self._limits, checker=self._checker, codec=self._codec)
        engine = self._engine = Engine(router, self._clock)
        shelf = self._shelf = Shelf()
        self._executor = ImageWorker(self._limits) if self._images is None else self._images
        self._work = Work(
            engine, keeper, shelf, self._executor, self._limits, group, self._background
        )
        self._counts = Counts(engine, keeper, self._clock.wall)
        self._replies = Replies(engine, shelf, CallIds())
        wishes = self._wishes = Wishes(engine, self._notices.publish)
        screen = self._screen = Screen(engine, self._notices.publish)
        asking = self._asking = Asking(engine, screen.over)
        self._tasks = Tasks(
            engine,
            self._replies,
            wishes,
            asking,
            shelf,
            group,
            lambda: str(next(self._turns)),
            _message_id,
            self._work.settled,
            screen.turn_over,
        )
        self.person = Person(engine, asking, self._counts, screen, wishes.open, _message_id)
        self.assistant = Assistant(asking)
        port = PagePort(
            keeper,
            self._handlers,
            self._limits,
            lambda: str(uuid.uuid4()),
            lambda panel: self._installs.manifest(panel),
        )
        self._pages = Pages(
            engine,
            port,
            shelf,
            self._limits,
            lambda: secrets.token_urlsafe(12),
            self._on_page_error,
        )
        self._installs = Installs(
            engine,
            asking,
            self._pages,
            self._counts,
            group,
            self._limits,
            self._on_page_error,
        )
        self._notices.connect(engine)
        group.start_soon(keeper.serve)
        group.start_soon(self._clock.run, engine)
        group.start_soon(self._flush_counts)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close pages, write what is left, and let go of the file and the worker process.

        What was raised inside the ``async with`` comes out of it as it is, and an error that ended
        the host comes out by itself, in no group.
        """
        group = self._group
        assert group is not None, "a host that closes was opened"
        failed: BaseException | None = None
        try:
            with anyio.CancelScope(shield=True):
                await self._end()
        except Exception as error:  # noqa: BLE001 - raised below, when everything is let go of
            failed = error
        group.cancel_scope.cancel()
        try:
            await group.__aexit__(None, None, None)
        except BaseExceptionGroup as errors:
            failed = errors
        finally:
            await self._keeper.close()
        if failed is not None:
            raise _alone(failed)

    async def _end(self) -> None:
        # Last in, first out, and each of them whatever the others raise.
        async with contextlib.AsyncExitStack() as steps:
            steps.push_async_callback(self._executor.aclose)
            steps.callback(self._counts.flush)
            for page in self._pages.all():
                steps.push_async_callback(self.close_page, page)
            for task in self._tasks.all():
                steps.callback(self.detach_task, task)

    async def serve(self) -> None:
        """Return when the process is asked to end (SIGTERM, SIGINT); then leave the ``with``.

        Call it in the main thread. What was acknowledged is durable at every moment, so this is
        for ending tidily, not for keeping data.
        """
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                return

    async def _flush_counts(self) -> None:
        while True:
            await anyio.sleep(_FLUSH_SECONDS)
            self._counts.flush()

    # --- panels

    def installed(self) -> dict[str, Manifest]:
        """The installed panels by id."""
        return self._installs.all()

    async def install(
        self, source: str | os.PathLike[str] | dict[str, Any], *, page: PageMain | None = None
    ) -> Manifest:
        """Install a panel, or let it take the place of the version that is installed (P-6).

        It is durable when this returns. Pages of the earlier version that ran are started again.

        :param source: a folder with a panel.json, or the manifest itself as a dict.
        :param page: the page's code, where the folder holds none or there is no folder.
        :raises PackageError: the manifest has problems; ``problems`` holds all of them.
        :raises Refused: ``ledger_refused``.
        :raises PageNotLoaded: a page of the earlier version runs, and the new one's code cannot be
            loaded; nothing was changed.
        :raises OSError: the folder or its panel.json cannot be read.
        """
        return await self._installs.install(source, page)

    async def update(
        self, source: str | os.PathLike[str] | dict[str, Any], *, page: PageMain | None = None
    ) -> Manifest:
        """As :meth:`install`, for a panel that is installed already.

        :raises Refused: ``unknown_panel``, or ``ledger_refused``.
        """
        return await self._installs.update(source, page)

    async def reload(self, panel: str) -> Manifest:
        """Install the panel again from its folder as it is now, and restart its pages.

        :raises Refused: ``unknown_panel``, or ``ledger_refused``.
        :raises PackageError: as :meth:`install`; also when it was not installed from a folder.
        """
        return await self._installs.reload(panel)

    async def uninstall(self, panel: str) -> None:
        """Remove the panel, and what it kept on this computer (G-3).

        Storage, files, consent, connections and counts go. The ledger and the numbers its
        counters used stay.

        :raises Refused: ``unknown_panel``.
        """
        await self._installs.uninstall(panel)

    # --- pages

    async def start_page(
        self, panel: str, *, page: PageMain | None = None, kind: Literal["desk", "extras"] = "desk"
    ) -> RunningPage:
        """Start a page of the panel; it may hear calls from when this returns.

        A panel has one page on the desk: starting it again is a reload (A-7).

        :param page: the page's code, where it is not in the panel's folder. It is kept for later
            starts.
        :param kind: ``"extras"`` for the panel's Extras page, which gets no calls (C-4).
        :raises Refused: ``unknown_panel``.
        :raises PageNotLoaded: its code cannot be loaded.
        """
        return await self._installs.start_page(panel, page, kind)

    async def close_page(self, page: RunningPage) -> None:
        """Stop a page; its waiting calls end with ``panel_closed`` (A-7)."""
        await self._installs.close_page(page)

    # --- tasks

    def attach_task(
        self,
        task: str,
        folder: str | os.PathLike[str] | None = None,
        *,
        kind: TaskKind | str = TaskKind.LOCAL,
        supervised: bool = True,
        modes: Modes = DEFAULT_MODES,
        mode: str | None = None,
        switches: Switches | str = Switches.MID_TURN,
        on_switch: SwitchHandler | None = None,
        on_turn: TurnHandler | None = None,
    ) -> Task:
        """Say that a task is here; its connections of earlier runs are there again.

        :param task: an id of the program's own, the same after a restart.
        :param folder: where the agent's image paths start; without one it can hand over none.
        :param kind: what runs the task; only ``"local"`` ones can be connected (C-3).
        :param supervised: whether this program sees what the task's agent does (C-3).
        :param modes: the modes the agent has, strictest first; the first is Supervised.
        :param mode: the one it is in now; Supervised by default.
        :param switches: when it can be put into Supervised: ``"mid_turn"``, ``"next_turn"``
            (its reads are deferred, S-7) or ``"never"`` (its reads are refused).
        :param on_switch: puts the agent into a mode; true, and nothing else, when it is in it. A
            pause relies on it (S-1). What it raises means that it is not, and goes to
            ``on_switch_error``. One call is over before the next begins. A task without one is in
            Supervised and stays there.
        :param on_turn: runs the agent for a turn that a message starts (O-4); the turn ends when
            it returns. Without one, messages wait.
        :raises ValueError: the folder is none, or one under ``/proc`` or ``/dev``; ``task`` is
            attached; there is no such kind or mode; or ``mode`` is not Supervised and there is
            no ``on_switch``.
        """
        if type(task) is not str or not task or not is_utf8(task):
            raise ValueError("the id of a task is a text")
        if task in self._tasks:
            raise ValueError("a task with this id is attached")
        event = TaskAttached(
            task,
            TaskKind(kind),
            supervised,
            Switches(switches),
            modes,
            modes.supervised if mode is None else mode,
            on_turn is not None,
        )
        if event.mode not in modes:
            raise ValueError("the task has no such mode")
        if on_switch is None and event.mode != modes.supervised:
            raise ValueError("a task in another mode than Supervised needs on_switch")
        if folder is not None:
            self._work.folders[task] = TaskFolder(folder, limits=self._limits)
        if on_switch is None:
            self._work.only[task] = event.mode
        else:
            self._work.switchers[task] = Switcher(
                task, on_switch, self._on_switch_error, self._work.switch_lock(task)
            )
        attached = Task(self._tasks, task, None if folder is None else Path(folder))
        self._tasks.add(attached, on_turn)
        self._engine.feed(event)
        return attached

    def detach_task(self, task: str) -> None:
        """Say that a task left; its open calls end with ``stopped``, its connections stay.

        :raises Refused: ``unknown_task``.
        """
        if task not in self._tasks:
            raise Refused(PersonCode.UNKNOWN_TASK)
        try:
            # First of all: the end of its turn must not start the next one.
            self._engine.feed(TaskDetached(task))
        finally:
            self._tasks.pop(task)
            self._screen.forget(task)
            self._work.forget(task)

    # --- notices

    def subscribe(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Call ``listener`` with every notice (B-2); the returned function ends that.

        It must not raise: what it raises comes out where the notice came up, which may be an
        agent's call, or ends the host. All other listeners are told all the same.
        """
        return self._notices.subscribe(listener)

    @property
    def pending(self) -> int:
        """Everything open: calls, asks, work under way, images kept. Zero on a quiet host (A-8)."""
        parts = (self._work, self._shelf, self._replies, self._wishes)
        return self._engine.router.pending + sum(len(part) for part in parts)


def _alone(error: BaseException) -> BaseException:
    """The one error inside groups of one, or the group that holds several."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return _alone(group.exceptions[0]) if len(group.exceptions) == 1 else group


def _message_id() -> str:
    return secrets.token_urlsafe(12)
