"""Running pages: each an async function with its listeners, in the host's process (G-4)."""

# A page and who runs it are one thing in two classes; only the handle is for users.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
from attrs import define, field

from deska_host.cancelling import forgive, is_theirs
from deska_host.page import Deska, Listener, PageSide
from deska_host.runners import Runners
from deska_sdk.errors import PageCode, PageError
from deska_sdk.panels.pagecore import PageCore
from deska_sdk.panels.port import Direction, Message, check_message
from deska_sdk.router import (
    ClosePage,
    Connected,
    Deliver,
    Init,
    Offered,
    PageClosed,
    PageReady,
    PageStarted,
    Responded,
    SettleOffer,
    SettleRespond,
)

if TYPE_CHECKING:
    from deska_host.blobs import Shelf
    from deska_host.engine import Engine
    from deska_host.port import PagePort
    from deska_sdk.limits import Limits
    from deska_sdk.panels.events import PageKind

PageMain = Callable[[Deska], Awaitable[object]]
PageErrorHook = Callable[[str, BaseException], None]


@define(eq=False)
class RunningPage:
    """A page that runs, or ran."""

    instance: str
    panel: str
    kind: PageKind
    #: The page's end of the port.
    side: PageSide = field(init=False, repr=False)
    #: What runs its handlers.
    runners: Runners = field(init=False, repr=False)
    _tasks: anyio.abc.TaskGroup | None = field(default=None, init=False, repr=False)
    _closed: anyio.Event = field(factory=anyio.Event, init=False, repr=False)

    @property
    def closed(self) -> bool:
        """Whether nothing of the page runs any more."""
        return self._closed.is_set()

    async def wait_closed(self) -> None:
        """Return when nothing of the page runs any more."""
        await self._closed.wait()


class Pages:
    """All running pages of one host."""

    def __init__(
        self,
        engine: Engine,
        port: PagePort,
        shelf: Shelf,
        limits: Limits,
        new_instance: Callable[[], str],
        on_error: PageErrorHook | None,
    ) -> None:
        self._engine = engine
        self._port = port
        self._shelf = shelf
        self._limits = limits
        self._new_instance = new_instance
        self._on_error = on_error
        self._running: dict[str, RunningPage] = {}
        engine.perform(Deliver, self._deliver)
        engine.perform(SettleRespond, self._settle_respond)
        engine.perform(SettleOffer, self._settle_offer)
        engine.perform(Init, self._init)
        engine.perform(Connected, self._connected)
        engine.perform(ClosePage, self._close_page)

    def all(self) -> tuple[RunningPage, ...]:
        """Every running page."""
        return tuple(self._running.values())

    def of(self, panel: str) -> tuple[RunningPage, ...]:
        """The running pages of the panel."""
        return tuple(page for page in self._running.values() if page.panel == panel)

    async def run(
        self,
        panel: str,
        main: PageMain,
        kind: PageKind,
        *,
        task_status: anyio.abc.TaskStatus[RunningPage],
    ) -> None:
        """Run a page until it is closed or raises; started as soon as it may hear calls."""
        page = RunningPage(self._new_instance(), panel, kind)
        core = PageCore(self._limits)
        page.side = PageSide(
            core,
            lambda message: self._from_page(page, message),
            lambda listener, payload: self._start(page, listener, payload),
        )
        try:
            async with anyio.create_task_group() as tasks:
                page._tasks, page.runners = tasks, Runners(tasks)
                self._running[page.instance] = page
                try:
                    self._engine.feed(PageStarted(page.instance, panel, kind))
                    task_status.started(page)
                    await self._run_main(page, main)
                finally:
                    # Before the group closes: a page that can start no handler hears nothing.
                    self._forget(page)
        except BaseExceptionGroup as errors:
            left_open = page.runners.left_open
            others = errors if left_open is None else errors.split(RuntimeError)[1]
            if others is not None:
                raise others from None
            # A handler left a cancel scope open, which breaks the page's tasks but nobody else's.
            assert left_open is not None, "without it all errors are others"
            self._report(panel, left_open)
        finally:
            page._closed.set()

    async def _run_main(self, page: RunningPage, main: PageMain) -> None:
        try:
            await main(Deska(page.side))
            # G-4: returning leaves the page up.
            await anyio.sleep_forever()
        except BaseException as error:
            if not is_theirs(error):
                raise
            forgive()
            # G-4: raising closes it. First of all: its calls end now, not when its last
            # handler has tidied up.
            self.close(page)
            self._report(page.panel, error)

    def close(self, page: RunningPage) -> None:
        """Stop a page; its waiting calls end at once (A-7)."""
        if page._tasks is not None:
            page._tasks.cancel_scope.cancel()
        self._forget(page)

    def _forget(self, page: RunningPage) -> None:
        if self._running.pop(page.instance, None) is not None:
            page.side.end()
            self._engine.feed(PageClosed(page.instance))

    # --- to the page

    def _deliver(self, effect: Deliver) -> None:
        for container, key in effect.images:
            container[key] = self._shelf.take(container[key])
        self._to_page(
            effect.instance,
            {
                "type": "agent.action",
                "callId": effect.call_id,
                "action": effect.action,
                "input": effect.input,
            },
        )

    def _settle_respond(self, effect: SettleRespond) -> None:
        self._settle(effect.instance, effect.respond_id, value=True, code=effect.code)

    def _settle_offer(self, effect: SettleOffer) -> None:
        self._settle(effect.instance, effect.offer_id, value=True, code=effect.code)

    def _settle(self, instance: str, ticket: int, value: object, code: str | None) -> None:
        if code is None:
            self._to_page(instance, {"type": "settled", "id": ticket, "value": value})
        else:
            self._to_page(instance, {"type": "refused", "id": ticket, "code": str(code)})

    def _init(self, effect: Init) -> None:
        self._to_page(effect.instance, {"type": "init", "agent": {"tasks": effect.tasks}})

    def _connected(self, effect: Connected) -> None:
        self._to_page(effect.instance, {"type": "agent.connected", "tasks": effect.tasks})

    def _close_page(self, effect: ClosePage) -> None:
        page = self._running.get(effect.instance)
        if page is not None:
            self.close(page)

    def _to_page(self, instance: str, message: Message) -> None:
        page = self._running.get(instance)
        if page is not None:
            page.side.receive(message)

    # --- from the page

    def _from_page(self, page: RunningPage, message: Message) -> None:
        checked = check_message(message, Direction.TO_HOST)
        if page.instance not in self._running:
            return
        match checked["type"]:
            case "ready":
                self._engine.feed(PageReady(page.instance))
            case "agent.respond":
                call_id = checked["callId"]
                self._engine.feed(
                    Responded(
                        page.instance,
                        checked["id"],
                        # Whatever is no text is no call's id.
                        call_id if type(call_id) is str else "",
                        checked["answer"],
                    )
                )
            case "agent.offer":
                self._engine.feed(
                    Offered(page.instance, checked["id"], checked["text"], checked["files"])
                )
            case _:
                page.runners.start(self._answer, page, checked)

    async def _answer(self, page: RunningPage, message: Message) -> None:
        value, code = None, None
        try:
            value = await self._port.answer(page.panel, message)
        except PageError as refused:
            code = refused.code
        except BaseException as error:
            # The store failed, or an embedder's handler did.
            if not is_theirs(error):
                raise
            # G-1: every refusal to a page has one of the page's codes.
            self._report(page.panel, error)
            code = PageCode.UNSUPPORTED
        self._settle(page.instance, message["id"], value, code)

    # --- listeners

    def _start(self, page: RunningPage, listener: Listener, payload: dict[str, Any]) -> None:
        page.runners.start(self._run_listener, page, listener, payload)

    async def _run_listener(
        self,
        page: RunningPage,
        listener: Listener,
        payload: dict[str, Any],
    ) -> None:
        try:
            result = listener(payload)
            # Nearly all of them are async functions, and that is seen at once.
            if type(result) is CoroutineType or inspect.isawaitable(result):
                await result
        except BaseException as error:
            if not is_theirs(error):
                raise
            # A failing handler is its page's own matter.
            self._report(page.panel, error)

    def _report(self, panel: str, error: BaseException) -> None:
        # B-2: an exception of a page can hold anything; only who asked for it sees it.
        if self._on_error is not None:
            self._on_error(panel, error)
