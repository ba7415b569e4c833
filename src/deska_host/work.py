"""The effects that take time: reading and encoding images, switching modes, committing (A-3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread

from deska_sdk.errors import AgentCode, DeskaError, Refused
from deska_sdk.router import (
    CancelOp,
    Committed,
    EncodeImage,
    FilesFound,
    FindFiles,
    ImageEncoded,
    ImageHandle,
    ImageRead,
    ModeSwitched,
    Persist,
    ReadImage,
    Release,
    SwitchMode,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from deska_host.blobs import Shelf
    from deska_host.engine import Engine
    from deska_host.folder import TaskFolder
    from deska_host.imaging import ImageExecutor
    from deska_host.keeper import Keeper
    from deska_host.switching import Switcher
    from deska_sdk.limits import Limits

E = TypeVar("E")


class Work:
    """Starts what the router wants started and feeds back what came of it."""

    def __init__(
        self,
        engine: Engine,
        keeper: Keeper,
        shelf: Shelf,
        images: ImageExecutor,
        limits: Limits,
        tasks: anyio.abc.TaskGroup,
        background: str,
    ) -> None:
        self._engine = engine
        self._keeper = keeper
        self._shelf = shelf
        self._images = images
        self._limits = limits
        self._tasks = tasks
        self._background = background
        self._scopes: dict[int, anyio.CancelScope] = {}
        # Set when the op is over, and the newest switch of each task.
        self._over: dict[int, anyio.Event] = {}
        self._switches: dict[str, int] = {}
        #: The folders of the tasks that are here and have one.
        self.folders: dict[str, TaskFolder] = {}
        #: What puts a task's agent into a mode, for the tasks whose program has such a thing.
        self.switchers: dict[str, Switcher] = {}
        self._switching: dict[str, anyio.Lock] = {}
        #: The one mode of the tasks that have no such thing.
        self.only: dict[str, str] = {}
        engine.perform(ReadImage, lambda effect: self._start(effect.op, self._read, effect))
        engine.perform(EncodeImage, lambda effect: self._start(effect.op, self._encode, effect))
        engine.perform(SwitchMode, self._switch_mode)
        engine.perform(FindFiles, lambda effect: self._start(effect.op, self._find, effect))
        engine.perform(Persist, self._persist)
        engine.perform(CancelOp, self._cancel)
        engine.perform(Release, lambda effect: shelf.release(effect.images))

    def __len__(self) -> int:
        return len(self._scopes)

    def _start(self, op: int, run: Callable[[E], Awaitable[None]], effect: E) -> None:
        scope = self._scopes[op] = anyio.CancelScope()
        self._over[op] = anyio.Event()
        self._tasks.start_soon(self._run, op, scope, run, effect)

    async def _run(
        self, op: int, scope: anyio.CancelScope, run: Callable[[E], Awaitable[None]], effect: E
    ) -> None:
        try:
            with scope:
                # What was cancelled before it began does not begin.
                await anyio.lowlevel.checkpoint_if_cancelled()
                await run(effect)
        finally:
            self._scopes.pop(op, None)
            self._over.pop(op).set()

    def _cancel(self, effect: CancelOp) -> None:
        # A commit has no scope: it is never cancelled, its completion is only of no use.
        scope = self._scopes.get(effect.op)
        if scope is not None:
            scope.cancel()

    async def _read(self, effect: ReadImage) -> None:
        self._engine.feed(ImageRead(effect.op, await self._image(effect)))

    async def _image(self, effect: ReadImage) -> ImageHandle | AgentCode:
        folder = self.folders.get(effect.task)
        if folder is None:
            return AgentCode.IMAGE_NOT_FOUND
        try:
            # A thread cannot be stopped; one that hangs in a file system is left behind.
            data = await anyio.to_thread.run_sync(folder.read, effect.path, abandon_on_cancel=True)
            info = await self._images.verify(data)
        except Refused as refused:
            return AgentCode(refused.code)
        return self._shelf.put(data, info.media_type)

    async def _encode(self, effect: EncodeImage) -> None:
        self._engine.feed(ImageEncoded(effect.op, await self._png(effect)))

    async def _png(self, effect: EncodeImage) -> ImageHandle | None:
        store = self._keeper.store
        try:
            kept = await self._keeper.run(lambda: store.file_get(effect.panel, effect.file_id))
            if kept is None:
                return None
            png = await self._images.to_png(
                kept[1], max_side=self._limits.image_side, background=self._background
            )
        except DeskaError:
            return None
        return self._shelf.put(png, "image/png")

    async def _find(self, effect: FindFiles) -> None:
        store = self._keeper.store
        ok = False
        try:
            kept = await self._keeper.run(lambda: store.file_ids(effect.panel))
            ok = set(effect.file_ids) <= set(kept)
        except DeskaError:
            # What cannot be looked up is not there to be offered.
            ok = False
        self._engine.feed(FilesFound(effect.op, ok))

    def _switch_mode(self, effect: SwitchMode) -> None:
        switcher = self.switchers.get(effect.task)
        if switcher is None:
            # Nothing switches this task's agent: it is in the one mode in which it was attached.
            self._engine.feed(ModeSwitched(effect.op, ok=effect.mode == self.only.get(effect.task)))
            return

        async def switch(_: SwitchMode) -> None:
            ok = await switcher.switch(effect.mode)
            self._engine.feed(ModeSwitched(effect.op, ok))

        self._switches[effect.task] = effect.op
        self._start(effect.op, switch, effect)

    async def settled(self, task: str) -> None:
        """Return when no change of the task's mode is under way."""
        while (over := self._over.get(self._switches.get(task, 0))) is not None:
            await over.wait()

    def switch_lock(self, task: str) -> anyio.Lock:
        """Held while a change of the task's mode is under way, also one from before it left."""
        return self._switching.setdefault(task, anyio.Lock())

    def forget(self, task: str) -> None:
        """The task left."""
        lock = self._switching.get(task)
        if lock is not None and not lock.locked():
            del self._switching[task]
        for kept in (self.switchers, self.only, self._switches):
            kept.pop(task, None)
        folder = self.folders.pop(task, None)
        if folder is not None:
            folder.close()

    def _persist(self, effect: Persist) -> None:
        store = self._keeper.store
        self._keeper.post(
            lambda: store.apply(effect.records),
            lambda _, error: self._engine.feed(Committed(effect.op, error is None)),
        )
