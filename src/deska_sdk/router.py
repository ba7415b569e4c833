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

from deska_sdk.codec import Codec, find
from deska_sdk.handles import ImageHandle
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.notices import Notice, NoticeKind, Notify
from deska_sdk.panels.asks import Asks
from deska_sdk.panels.calls import Calls
from deska_sdk.panels.deferred import Deferrals
from deska_sdk.panels.desk import Desk
from deska_sdk.panels.effects import (
    ClosePage,
    Connected,
    Count,
    Deliver,
    Effect,
    EncodeImage,
    FindFiles,
    Init,
    OfferButton,
    ReadImage,
    Reply,
    SettleOffer,
    SettleRespond,
    ShowSheet,
)
from deska_sdk.panels.encoding import Encoder
from deska_sdk.panels.events import (
    CallCancelled,
    CallRequested,
    ConnectAsked,
    DisconnectAsked,
    Event,
    FilesFound,
    ImageEncoded,
    ImageRead,
    InstallAsked,
    ListRequested,
    Offered,
    PageClosed,
    PageReady,
    PageStarted,
    Responded,
    SendPressed,
    SwitchAsked,
    Tick,
    UninstallAsked,
)
from deska_sdk.panels.finishing import Finishing
from deska_sdk.panels.offers import Offers
from deska_sdk.panels.requests import Requests
from deska_sdk.panels.tables import DeferredCause
from deska_sdk.steps import CancelOp, Committed, Done, Persist, Release, Steps
from deska_sdk.tasks.effects import (
    AskApproval,
    ConfirmNeeded,
    Decided,
    RowKind,
    ShowRow,
    StartTurn,
    Steer,
    SwitchMode,
    ToolAnswered,
)
from deska_sdk.tasks.events import (
    Answer,
    ApprovalRequested,
    Approved,
    Confirmed,
    HostTool,
    KeepAsking,
    MessageEdited,
    MessageQueued,
    MessageRemoved,
    MessageSteered,
    ModeAsked,
    ModeSwitched,
    Switches,
    TaskAttached,
    TaskDetached,
    TaskKind,
    TaskStopped,
    ToolRequested,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Who,
)
from deska_sdk.tasks.modes import DEFAULT_MODES, Mode, Modes
from deska_sdk.tasks.queue import Message, Sender
from deska_sdk.tasks.supervision import Supervision
from deska_sdk.tasks.tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deska_sdk.panels.ledger import Ledger
    from deska_sdk.panels.manifest import Manifest
    from deska_sdk.records import Record
    from deska_sdk.schema import Kind as CheckerKind

__all__ = [
    "DEFAULT_MODES",
    "Answer",
    "ApprovalRequested",
    "Approved",
    "AskApproval",
    "CallCancelled",
    "CallRequested",
    "CancelOp",
    "ClosePage",
    "Committed",
    "ConfirmNeeded",
    "Confirmed",
    "ConnectAsked",
    "Connected",
    "Count",
    "Decided",
    "Deliver",
    "DisconnectAsked",
    "Done",
    "Effect",
    "EncodeImage",
    "Event",
    "FilesFound",
    "FindFiles",
    "HostTool",
    "ImageEncoded",
    "ImageHandle",
    "ImageRead",
    "Init",
    "InstallAsked",
    "KeepAsking",
    "ListRequested",
    "Message",
    "MessageEdited",
    "MessageQueued",
    "MessageRemoved",
    "MessageSteered",
    "Mode",
    "ModeAsked",
    "ModeSwitched",
    "Modes",
    "Notice",
    "NoticeKind",
    "Notify",
    "OfferButton",
    "Offered",
    "PageClosed",
    "PageReady",
    "PageStarted",
    "Persist",
    "ReadImage",
    "Release",
    "Reply",
    "Responded",
    "Router",
    "RowKind",
    "SendPressed",
    "Sender",
    "SettleOffer",
    "SettleRespond",
    "ShowRow",
    "ShowSheet",
    "StartTurn",
    "Steer",
    "SwitchAsked",
    "SwitchMode",
    "Switches",
    "TaskAttached",
    "TaskDetached",
    "TaskKind",
    "TaskStopped",
    "Tick",
    "ToolAnswered",
    "ToolRequested",
    "TurnEnd",
    "TurnEnded",
    "TurnStarted",
    "UninstallAsked",
    "Who",
]


class Router:
    """Routes the calls of agents to the panels connected to their tasks.

    :param records: what the host kept from earlier runs, in the order in which it was committed.
    :param limits: the numbers of the contract.
    :param checker: ``"compiled"``, or ``"interpreted"`` for programs that forbid ``exec`` (D-10).
    :param codec: ``"speed"`` or ``"stdlib"``; by default what is installed.
    :raises ImportError: ``codec`` is ``"speed"`` and its libraries are not installed.
    """

    def __init__(
        self,
        records: Iterable[Record] = (),
        *,
        limits: Limits = DEFAULT_LIMITS,
        checker: CheckerKind = "compiled",
        codec: Codec = "auto",
    ) -> None:
        find(codec)  # Now, and not at the first call.
        self._effects: list[Effect] = []
        steps = self._steps = Steps(limits, self._effects.append)
        tasks = self._tasks = Tasks(
            steps,
            turn_ended=self._turn_ended,
            message_started=self._message_started,
            message_gone=self._message_gone,
            pause_over=lambda task: self._supervision.pause_over(task),
        )
        supervision = self._supervision = Supervision(tasks, steps)
        desk = self._desk = Desk(tasks, limits, checker, codec)
        desk.restore(records)
        encoder = Encoder(steps)
        self._deferrals = Deferrals(tasks, steps, encoder)
        self._offers = Offers(desk, tasks, steps, encoder)
        self._requests = Requests(desk, tasks, steps, encoder)
        self._calls = Calls(self._requests, self._deferrals)
        self._finishing = Finishing(self._requests, self._deferrals)
        self._asks = Asks(self._requests, self._calls, self._deferrals, self._offers)
        self._handlers: dict[type, Callable[[Any, float], None]] = {
            CallRequested: self._calls.request,
            Responded: self._finishing.respond,
            ListRequested: lambda event, _: self._calls.list(event),
            CallCancelled: lambda event, _: self._calls.cancel(event.request),
            Offered: lambda event, _: self._offers.offer(event),
            SendPressed: self._offers.press,
            PageStarted: lambda event, _: self._start_page(event),
            PageReady: lambda event, _: self._page_ready(event.instance),
            PageClosed: lambda event, _: self._close_page(event.instance),
            TaskAttached: self._attach,
            TaskDetached: lambda event, now: self._detach(event.task, now),
            TaskStopped: lambda event, _: self._stop(event.task),
            TurnStarted: tasks.start_turn,
            TurnEnded: lambda event, now: tasks.end_turn(event.task, event.turn, event.how, now),
            ModeAsked: supervision.ask_mode,
            KeepAsking: supervision.keep_asking,
            Confirmed: supervision.confirmed,
            ApprovalRequested: lambda event, _: supervision.request_approval(event),
            Approved: lambda event, _: supervision.approve(event),
            ToolRequested: lambda event, _: supervision.request_tool(event),
            MessageQueued: tasks.queue,
            MessageSteered: lambda event, _: tasks.steer(event),
            MessageEdited: lambda event, _: tasks.edit(event),
            MessageRemoved: tasks.remove,
            Tick: lambda _event, _now: None,
        }
        for ask in (InstallAsked, UninstallAsked, ConnectAsked, DisconnectAsked, SwitchAsked):
            self._handlers[ask] = lambda event, _: self._asks.ask(event)
        for completion in (ImageRead, ImageEncoded, FilesFound, ModeSwitched, Committed):
            self._handlers[completion] = self._complete

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
        now = self._steps.begin(now)
        handler(event, now)
        self._tasks.go_on(now)
        effects = tuple(self._effects)
        self._effects.clear()
        return effects

    def next_deadline(self) -> float | None:
        """When the next deadline falls; ``None`` where nothing is waited for."""
        return self._steps.deadlines.next()

    @property
    def notifying(self) -> bool:
        """Whether ``Notify`` is among the effects. It is, until a host that has nobody to tell
        says no: each call brings two."""
        return self._steps.notifying

    @notifying.setter
    def notifying(self, wanted: bool) -> None:
        self._steps.notifying = wanted

    @property
    def pending(self) -> int:
        """How many calls, asks, deferred reads, approvals and confirmations are open (A-8)."""
        return (
            len(self._requests)
            + len(self._asks)
            + len(self._deferrals)
            + len(self._offers)
            + self._tasks.pending
            + len(self._supervision)
        )

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

    def mode(self, task: str) -> str | None:
        """The mode of a task that is here."""
        here = self._tasks.get(task)
        return None if here is None else here.pause.mode

    def paused(self, task: str) -> bool:
        """Whether content of a panel is in the task's turn, and the task in Supervised (S-4)."""
        here = self._tasks.get(task)
        return here is not None and here.pause.holds

    def waiting(self, task: str) -> tuple[Message, ...]:
        """The messages that wait for the task, the next first (O-4)."""
        here = self._tasks.get(task)
        return () if here is None else here.queue.messages()

    # ---

    def _complete(self, event: Any, now: float) -> None:
        if self._steps.complete(event.op, event, now):
            return
        # A stale completion changes nothing; an image that came with it is let go.
        image = getattr(event, "image", None)
        if isinstance(image, ImageHandle):
            self._effects.append(Release((image,)))

    def _turn_ended(self, task: str, turn: str, how: TurnEnd, _now: float) -> None:
        self._calls.end_turn(task, turn)
        if how in (TurnEnd.STOPPED, TurnEnd.INTERRUPTED):
            self._stop(task)

    def _stop(self, task: str) -> None:
        # S-7: stopping or interrupting the task drops its deferred reads.
        self._deferrals.drop_task(task, DeferredCause.STOPPED)

    def _message_started(self, message: Message) -> None:
        self._deferrals.started(message)

    def _message_gone(self, message: Message) -> None:
        if message.images:
            self._effects.append(Release(message.images))
        self._deferrals.removed(message)

    def _attach(self, event: TaskAttached, now: float) -> None:
        self._detach(event.task, now)
        self._tasks.attach(event, now)
        self._tell(event.task)

    def _detach(self, task: str, now: float) -> None:
        if task not in self._tasks:
            return
        self._tasks.detach(task, now)
        self._supervision.left(task)
        self._stop(task)
        self._offers.drop_task(task)
        self._tell(task)

    def _tell(self, task: str) -> None:
        for connection in self._desk.connections(task):
            self._asks.tell_pages(connection.panel)

    def _start_page(self, event: PageStarted) -> None:
        installed = self._desk.panels.get(event.panel)
        if installed is None:
            self._effects.append(ClosePage(event.instance))
            return
        before = installed.desk_page
        if event.kind == "desk" and before is not None:
            # One page of a panel is on the desk: the new one takes its place.
            self._close_page(before.instance)
            self._effects.append(ClosePage(before.instance))
        self._desk.start_page(event.instance, event.panel, event.kind)
        self._steps.notify(NoticeKind.PAGE_STARTED, event.panel)

    def _page_ready(self, instance: str) -> None:
        page = self._desk.pages.get(instance)
        if page is not None and page.told is None:
            tasks = page.told = self._desk.tasks_for(page)
            self._effects.append(Init(instance, tasks))
            self._effects.append(Connected(instance, tasks))

    def _close_page(self, instance: str) -> None:
        page = self._desk.pages.get(instance)
        if page is not None:
            self._calls.close_page(page)
            self._desk.close_page(instance)
            self._offers.close_page(page)
            self._steps.notify(NoticeKind.PAGE_CLOSED, page.panel.manifest.id)
