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
from deska_host.agents import Replies
from deska_host.blobs import Shelf
from deska_host.clock import Clock, SystemClock
from deska_host.engine import Engine
from deska_host.folder import TaskFolder
from deska_host.imaging import ImageExecutor, ImageWorker
from deska_host.keeper import Keeper
from deska_host.package import PackageFolder, PageNotLoaded
from deska_host.pages import PageErrorHook, PageMain, Pages, RunningPage
from deska_host.person import Asking, Person
from deska_host.port import PageHandlers, PagePort
from deska_host.store import Store, open_store
from deska_host.tasks import Task
from deska_host.work import Work
from deska_sdk.errors import PackageError, PersonCode, Refused
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.panels.check import check_panel
from deska_sdk.router import (
    InstallAsked,
    Notice,
    Notify,
    Router,
    TaskAttached,
    TaskDetached,
    TaskKind,
    UninstallAsked,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from types import TracebackType

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
    :param handlers: what the program does for ``deska.save``, ``copy`` and ``notify`` (G-1).
    :param on_page_error: called with a panel's id and what its page raised; a page's text may be
        in it. Off by default (B-2).
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
        handlers: PageHandlers | None = None,
        on_page_error: PageErrorHook | None = None,
    ) -> None:
        self._path = path
        self._limits = limits
        self._clock: Clock = SystemClock() if clock is None else clock
        self._images = images
        self._background = background
        self._checker: CheckerKind = checker
        self._handlers = PageHandlers() if handlers is None else handlers
        self._on_page_error = on_page_error
        self._subscribers: list[Callable[[Notice], None]] = []
        self._tasks: dict[str, Task] = {}
        #: Page code given as a value, by panel: it cannot be read again from a folder.
        self._mains: dict[str, PageMain] = {}
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
        #: What only the person does.
        self.person: Person

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
        router = Router(store.load(), limits=self._limits, checker=self._checker)
        engine = self._engine = Engine(router, self._clock)
        shelf = self._shelf = Shelf()
        self._executor = ImageWorker(self._limits) if self._images is None else self._images
        self._work = Work(
            engine, keeper, shelf, self._executor, self._limits, group, self._background
        )
        self._counts = Counts(engine, keeper, self._clock.wall)
        self._replies = Replies(engine, shelf, lambda: secrets.token_urlsafe(18))
        self._asking = Asking(engine)
        self.person = Person(engine, self._asking, self._counts)
        port = PagePort(
            keeper,
            self._handlers,
            self._limits,
            lambda: str(uuid.uuid4()),
            self._manifest,
        )
        self._pages = Pages(
            engine,
            port,
            shelf,
            self._limits,
            lambda: secrets.token_urlsafe(12),
            self._on_page_error,
        )
        engine.perform(Notify, self._publish)
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
            for task in tuple(self._tasks):
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
        return {name: manifest for name, (manifest, _) in self._engine.router.installed().items()}

    async def install(
        self, source: str | os.PathLike[str] | dict[str, Any], *, page: PageMain | None = None
    ) -> Manifest:
        """Install a panel, or let it take the place of the version that is installed (P-6).

        It is durable when this returns. Pages of the earlier version that ran are started again.

        :param source: a folder with a panel.json, or the manifest itself as a dict.
        :param page: the page's code, where the folder holds none or there is no folder.
        :raises PackageError: the manifest has problems; ``problems`` holds all of them.
        :raises Refused: ``ledger_refused``.
        :raises OSError: the folder or its panel.json cannot be read.
        """
        folder = None if isinstance(source, dict) else PackageFolder(source)
        manifest = await self._check(source if folder is None else folder, with_page=page is None)
        before = self._pages.of(manifest.id)
        place = None if folder is None else str(folder.path)
        await self._asking.ask(lambda ask: InstallAsked(ask, manifest, place))
        if page is None:
            self._mains.pop(manifest.id, None)
        else:
            self._mains[manifest.id] = page
        for old in before:
            await old.wait_closed()
            await self.start_page(manifest.id, kind=old.kind)
        return manifest

    async def update(
        self, source: str | os.PathLike[str] | dict[str, Any], *, page: PageMain | None = None
    ) -> Manifest:
        """As :meth:`install`, for a panel that is installed already.

        :raises Refused: ``unknown_panel``, or ``ledger_refused``.
        """
        manifest = await self._check(
            source if isinstance(source, dict) else PackageFolder(source), with_page=page is None
        )
        self._installed(manifest.id)
        return await self.install(source, page=page)

    async def reload(self, panel: str) -> Manifest:
        """Install the panel again from its folder as it is now, and restart its pages.

        :raises Refused: ``unknown_panel``, or ``ledger_refused``.
        :raises PackageError: as :meth:`install`; also when it was not installed from a folder.
        """
        _, folder = self._installed(panel)
        if folder is None:
            raise PageNotLoaded("the panel was not installed from a folder")
        return await self.install(folder, page=self._mains.get(panel))

    async def uninstall(self, panel: str) -> None:
        """Remove the panel, and what it kept on this computer (G-3).

        Storage, files, consent, connections and counts go. The ledger and the numbers its
        counters used stay.

        :raises Refused: ``unknown_panel``.
        """
        self._installed(panel)
        for page in self._pages.of(panel):
            # Before the store is asked, so that nothing of the page is written after it.
            self._pages.close(page)
            await page.wait_closed()
        self._counts.flush()
        await self._asking.ask(lambda ask: UninstallAsked(ask, panel))
        self._mains.pop(panel, None)

    async def _check(
        self, source: PackageFolder | str | os.PathLike[str] | dict[str, Any], *, with_page: bool
    ) -> Manifest:
        if isinstance(source, PackageFolder):
            text = await anyio.to_thread.run_sync(source.manifest, self._limits.manifest_bytes)
            files = source if with_page else None
            report = check_panel(text, limits=self._limits, files=files)
        else:
            assert isinstance(source, dict), "every other source was made a folder"
            report = check_panel(source, limits=self._limits)
        if report.manifest is None:
            raise PackageError(report.problems)
        return report.manifest

    def _installed(self, panel: str) -> tuple[Manifest, str | None]:
        installed = self._engine.router.installed().get(panel)
        if installed is None:
            raise Refused(PersonCode.UNKNOWN_PANEL)
        return installed

    def _manifest(self, panel: str) -> Manifest | None:
        installed = self._engine.router.installed().get(panel)
        return None if installed is None else installed[0]

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
        manifest, folder = self._installed(panel)
        if page is not None:
            self._mains[panel] = page
        main = self._mains.get(panel) or self._load(manifest, folder)
        group = self._group
        assert group is not None, "an open host has a task group"
        started: RunningPage = await group.start(self._pages.run, panel, main, kind)
        return started

    async def close_page(self, page: RunningPage) -> None:
        """Stop a page; its waiting calls end with ``panel_closed`` (A-7)."""
        self._pages.close(page)
        await page.wait_closed()

    def _load(self, manifest: Manifest, folder: str | None) -> PageMain:
        if folder is None:
            raise PageNotLoaded("the panel was installed without a folder: pass its page")
        try:
            return PackageFolder(folder).main(manifest.entry)
        except PageNotLoaded:
            raise
        except Exception as error:  # noqa: BLE001 - a page's module may raise anything
            if self._on_page_error is not None:
                self._on_page_error(manifest.id, error)
        raise PageNotLoaded("the page's module raised an error while it was loaded")

    # --- tasks

    def attach_task(
        self,
        task: str,
        folder: str | os.PathLike[str] | None = None,
        *,
        kind: TaskKind | str = TaskKind.LOCAL,
        supervised: bool = True,
    ) -> Task:
        """Say that a task is here; its connections of earlier runs are there again.

        :param task: an id of the program's own, the same after a restart.
        :param folder: where the agent's image paths start; without one it can hand over none.
        :param kind: what runs the task; only ``"local"`` ones can be connected (C-3).
        :param supervised: whether this program sees what the task's agent does (C-3).
        :raises ValueError: the folder is none, or one under ``/proc`` or ``/dev``; ``task`` is
            attached; or there is no such kind.
        """
        if task in self._tasks:
            raise ValueError("a task with this id is attached")
        event = TaskAttached(task, TaskKind(kind), supervised)
        if folder is not None:
            self._work.folders[task] = TaskFolder(folder, limits=self._limits)
        attached = self._tasks[task] = Task(
            self._engine,
            self._replies,
            task,
            None if folder is None else Path(folder),
            lambda: str(next(self._turns)),
        )
        self._engine.feed(event)
        return attached

    def detach_task(self, task: str) -> None:
        """Say that a task left; its open calls end with ``stopped``, its connections stay.

        :raises Refused: ``unknown_task``.
        """
        attached = self._tasks.pop(task, None)
        if attached is None:
            raise Refused(PersonCode.UNKNOWN_TASK)
        try:
            attached.end_turn()
        finally:
            self._engine.feed(TaskDetached(task))
            folder = self._work.folders.pop(task, None)
            if folder is not None:
                folder.close()

    # --- notices

    def subscribe(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Call ``listener`` with every notice (B-2); the returned function ends that.

        It must not raise. What it raises comes out where the notice came up, or ends the host;
        replies and other listeners do not suffer from it.
        """
        self._subscribers.append(listener)

        def unsubscribe() -> None:
            if listener in self._subscribers:
                self._subscribers.remove(listener)

        return unsubscribe

    def _publish(self, effect: Notify) -> None:
        failed: Exception | None = None
        for listener in tuple(self._subscribers):
            try:
                listener(effect.notice)
            except Exception as error:  # noqa: BLE001 - raised below, when all were told
                failed = failed or error
        if failed is not None:
            raise failed

    @property
    def pending(self) -> int:
        """Everything open: calls, asks, work under way, images kept. Zero on a quiet host (A-8)."""
        return self._engine.router.pending + len(self._work) + len(self._shelf) + len(self._replies)


def _alone(error: BaseException) -> BaseException:
    """The one error inside groups of one, or the group that holds several."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return _alone(group.exceptions[0]) if len(group.exceptions) == 1 else group
