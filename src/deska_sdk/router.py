"""The router: the strings of panels, tasks and agents in one place, without I/O.

Feed it events with the time they happened; do what the effects say; feed back what came of it::

    from deska_sdk.router import Router, TaskAttached, TurnStarted, ListRequested

    router = Router()
    router.step(TaskAttached("task-1"), now=0.0)
    router.step(TurnStarted("task-1", "turn-1"), now=0.0)
    (reply,) = router.step(ListRequested("request-1", "task-1", "turn-1"), now=0.0)
    assert reply.text == '{"panels":[]}'

The contract between the router and its host:

* ``now`` is the host's monotonic clock in seconds. Call :meth:`Router.step` with :class:`Tick`
  no later than :meth:`Router.next_deadline`.
* Do the effects of one step in order and without yielding; start those that say *starts* and
  feed their completion, with the same ``op``, as an event of its own.
* An event that comes while effects are done waits for them: ``step`` is never re-entered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.panels.asks import Asks
from deska_sdk.panels.calls import Calls
from deska_sdk.panels.desk import Desk, Task
from deska_sdk.panels.effects import (
    CancelOp,
    ClosePage,
    Connected,
    Count,
    Deliver,
    Done,
    Effect,
    EncodeImage,
    ImageHandle,
    Init,
    Notice,
    NoticeKind,
    Notify,
    Persist,
    ReadImage,
    Release,
    Reply,
    SettleRespond,
    ShowSheet,
    SwitchMode,
)
from deska_sdk.panels.events import (
    CallCancelled,
    CallRequested,
    Committed,
    ConnectAsked,
    DisconnectAsked,
    Event,
    ImageEncoded,
    ImageRead,
    InstallAsked,
    ListRequested,
    ModeSwitched,
    PageClosed,
    PageReady,
    PageStarted,
    Responded,
    SwitchAsked,
    TaskAttached,
    TaskDetached,
    TaskKind,
    Tick,
    TurnEnded,
    TurnStarted,
    UninstallAsked,
)
from deska_sdk.panels.finishing import Finishing
from deska_sdk.panels.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deska_sdk.panels.ledger import Ledger
    from deska_sdk.panels.manifest import Manifest
    from deska_sdk.records import Record
    from deska_sdk.schema import Kind as CheckerKind

__all__ = [
    "CallCancelled",
    "CallRequested",
    "CancelOp",
    "ClosePage",
    "Committed",
    "ConnectAsked",
    "Connected",
    "Count",
    "Deliver",
    "DisconnectAsked",
    "Done",
    "Effect",
    "EncodeImage",
    "Event",
    "ImageEncoded",
    "ImageHandle",
    "ImageRead",
    "Init",
    "InstallAsked",
    "ListRequested",
    "ModeSwitched",
    "Notice",
    "NoticeKind",
    "Notify",
    "PageClosed",
    "PageReady",
    "PageStarted",
    "Persist",
    "ReadImage",
    "Release",
    "Reply",
    "Responded",
    "Router",
    "SettleRespond",
    "ShowSheet",
    "SwitchAsked",
    "SwitchMode",
    "TaskAttached",
    "TaskDetached",
    "TaskKind",
    "Tick",
    "TurnEnded",
    "TurnStarted",
    "UninstallAsked",
]


class Router:
    """Routes the calls of agents to the panels connected to their tasks.

    :param records: what the host kept from earlier runs, in the order in which it was committed.
    :param limits: the numbers of the contract.
    :param checker: ``"compiled"``, or ``"interpreted"`` for programs that forbid ``exec`` (D-10).
    """

    def __init__(
        self,
        records: Iterable[Record] = (),
        *,
        limits: Limits = DEFAULT_LIMITS,
        checker: CheckerKind = "compiled",
    ) -> None:
        self._effects: list[Effect] = []
        self._now = float("-inf")
        self._desk = Desk(limits, checker)
        self._desk.restore(records)
        self._requests = Requests(self._desk, limits, self._emit)
        self._calls = Calls(self._requests)
        self._finishing = Finishing(self._requests)
        self._asks = Asks(self._requests, self._calls)
        self._handlers: dict[type, Callable[[Any, float], None]] = {
            CallRequested: self._calls.request,
            Responded: self._finishing.respond,
            ImageRead: self._calls.image_read,
            ImageEncoded: self._finishing.image_encoded,
            ModeSwitched: lambda event, _: self._finishing.mode_switched(event),
            Committed: self._committed,
            ListRequested: lambda event, _: self._calls.list(event),
            CallCancelled: lambda event, _: self._calls.cancel(event.request),
            TurnStarted: lambda event, _: self._start_turn(event.task, event.turn),
            TurnEnded: lambda event, _: self._end_turn(event.task, event.turn),
            TaskAttached: lambda event, _: self._attach(event),
            TaskDetached: lambda event, _: self._detach(event.task),
            PageStarted: lambda event, _: self._start_page(event),
            PageReady: lambda event, _: self._page_ready(event.instance),
            PageClosed: lambda event, _: self._close_page(event.instance),
            InstallAsked: lambda event, _: self._asks.ask(event),
            UninstallAsked: lambda event, _: self._asks.ask(event),
            ConnectAsked: lambda event, _: self._asks.ask(event),
            DisconnectAsked: lambda event, _: self._asks.ask(event),
            SwitchAsked: lambda event, _: self._asks.ask(event),
            Tick: lambda _event, _now: None,
        }

    def step(self, event: Event, now: float) -> tuple[Effect, ...]:
        """Take one event and return what must be done, in order.

        Deadlines at or before ``now`` fall first, so an answer that comes late is late even when
        no :class:`Tick` came in between (A-3). Time never runs backwards: an earlier ``now`` is
        taken as the latest one seen.

        :raises TypeError: ``event`` is no event of this router.
        """
        handler = self._handlers.get(type(event))
        if handler is None:
            raise TypeError("step takes an event of deska_sdk.router")
        self._now = now = max(now, self._now)
        self._finishing.expire(now)
        handler(event, now)
        effects = tuple(self._effects)
        self._effects.clear()
        return effects

    def next_deadline(self) -> float | None:
        """When the next deadline falls; ``None`` where nothing is waited for."""
        return self._requests.deadlines.next()

    @property
    def pending(self) -> int:
        """How many calls and asks have not ended (A-8)."""
        return len(self._requests) + len(self._asks)

    @property
    def ledger(self) -> Ledger:
        """Which panel ids ever declared ``agent`` on this computer (P-6)."""
        return self._desk.ledger

    def installed(self) -> dict[str, tuple[Manifest, str | None]]:
        """The installed panels by id: manifest, and the folder they came from."""
        return {
            panel_id: (panel.manifest, panel.folder)
            for panel_id, panel in self._desk.panels.items()
        }

    def connected(self, task: str) -> tuple[str, ...]:
        """The panels connected to the task, in connection order, held ones too."""
        return tuple(c.panel.manifest.id for c in self._desk.connections(task))

    def held(self, panel: str) -> bool:
        """Whether the person has not agreed to what the panel's sheet says now (C-2)."""
        installed = self._desk.panels.get(panel)
        return installed is not None and not self._desk.agreed(installed)

    # ---

    def _emit(self, effect: Effect) -> None:
        self._effects.append(effect)

    def _committed(self, event: Committed, now: float) -> None:
        if not self._finishing.committed(event, now):
            self._asks.committed(event)

    def _attach(self, event: TaskAttached) -> None:
        before = self._desk.tasks.get(event.task)
        if before is not None and before.turn is not None:
            self._end_turn(event.task, before.turn)
        self._desk.tasks[event.task] = Task(event)
        self._tell(event.task)

    def _detach(self, task: str) -> None:
        here = self._desk.tasks.get(task)
        if here is None:
            return
        if here.turn is not None:
            self._end_turn(task, here.turn)
        del self._desk.tasks[task]
        self._tell(task)

    def _tell(self, task: str) -> None:
        for connection in self._desk.connections(task):
            self._asks.tell_pages(connection.panel)

    def _start_turn(self, task: str, turn: str) -> None:
        here = self._desk.tasks.get(task)
        if here is None:
            return
        if here.turn is not None:
            self._end_turn(task, here.turn)
        here.turn = turn

    def _end_turn(self, task: str, turn: str) -> None:
        here = self._desk.tasks.get(task)
        if here is not None and here.turn == turn:
            here.turn = None
            self._calls.end_turn(task, turn)

    def _start_page(self, event: PageStarted) -> None:
        installed = self._desk.panels.get(event.panel)
        if installed is None:
            self._emit(ClosePage(event.instance))
            return
        before = installed.desk_page
        if event.kind == "desk" and before is not None:
            # One page of a panel is on the desk: the new one takes its place.
            self._close_page(before.instance)
            self._emit(ClosePage(before.instance))
        self._desk.start_page(event.instance, event.panel, event.kind)
        self._emit(Notify(Notice(NoticeKind.PAGE_STARTED, event.panel)))

    def _page_ready(self, instance: str) -> None:
        page = self._desk.pages.get(instance)
        if page is not None and page.told is None:
            tasks = page.told = self._desk.tasks_for(page)
            self._emit(Init(instance, tasks))
            self._emit(Connected(instance, tasks))

    def _close_page(self, instance: str) -> None:
        page = self._desk.pages.get(instance)
        if page is not None:
            self._calls.close_page(page)
            self._desk.close_page(instance)
            self._emit(Notify(Notice(NoticeKind.PAGE_CLOSED, page.panel.manifest.id)))
