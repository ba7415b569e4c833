"""What the person asks of the desk, one at a time, each durable before it is told (C-1, P-6).

An ask is looked at when its turn comes, becomes records, and changes the desk when those are
committed. What takes something away (disconnecting, turning off) also acts at once.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from deska_sdk.errors import PersonCode
from deska_sdk.notices import NoticeKind
from deska_sdk.panels.consent import sheet_of
from deska_sdk.panels.effects import (
    ClosePage,
    Connected,
    ShowSheet,
)
from deska_sdk.panels.events import (
    ConnectAsked,
    DisconnectAsked,
    InstallAsked,
    SwitchAsked,
    UninstallAsked,
)
from deska_sdk.panels.tables import Cause, DeferredCause
from deska_sdk.records import (
    ConnectionRecord,
    ConsentRecord,
    CounterBlockRecord,
    DisconnectionRecord,
    InstallRecord,
    LedgerRecord,
    Record,
    SwitchRecord,
    UninstallRecord,
)
from deska_sdk.steps import Done

if TYPE_CHECKING:
    from deska_sdk.panels.calls import Calls
    from deska_sdk.panels.deferred import Deferrals
    from deska_sdk.panels.desk import Connection, Panel
    from deska_sdk.panels.offers import Offers
    from deska_sdk.panels.requests import Requests
    from deska_sdk.steps import Committed

Ask = InstallAsked | UninstallAsked | ConnectAsked | DisconnectAsked | SwitchAsked


class Asks:
    """The person's asks in the order in which they came."""

    def __init__(
        self, requests: Requests, calls: Calls, deferrals: Deferrals, offers: Offers
    ) -> None:
        self._desk = requests.desk
        self._steps = requests.steps
        self._emit = requests.steps.emit
        self._calls = calls
        self._deferrals = deferrals
        self._offers = offers
        self._waiting: deque[Ask] = deque()
        #: Whether the records of an ask are being written.
        self._writing = False

    def __len__(self) -> int:
        return len(self._waiting) + self._writing

    def ask(self, event: Ask) -> None:
        """Take an ask; its end is told as ``Done`` or ``ShowSheet``."""
        self._at_once(event)
        self._waiting.append(event)
        self._next()

    def tell_pages(self, panel: Panel) -> None:
        """Tell the panel's pages their number of tasks where it changed (C-5)."""
        for page in panel.pages.values():
            tasks = self._desk.tasks_for(page)
            if page.told is not None and page.told != tasks:
                page.told = tasks
                self._emit(Connected(page.instance, tasks))
        self._offers.refresh(panel)

    # ---

    def _at_once(self, event: Ask) -> None:
        match event:
            case DisconnectAsked(task=task, panel=panel):
                connection = self._desk.connection(task, panel)
                if connection is not None:
                    self._end(connection, Cause.DISCONNECTED, DeferredCause.DISCONNECTED)
                    self._desk.drop_connection(task, panel)
                    self.tell_pages(connection.panel)
                    self._steps.notify(NoticeKind.DISCONNECTED, panel, task)
            case SwitchAsked(on=False) if self._desk.on:
                self._desk.on = False
                for installed in self._desk.panels.values():
                    for connection in installed.connections.values():
                        self._end(connection, Cause.TURNED_OFF, DeferredCause.TURNED_OFF)
                    self.tell_pages(installed)
                self._steps.notify(NoticeKind.TURNED_OFF)
            case _:
                pass

    def _next(self) -> None:
        while self._waiting and not self._writing:
            event = self._waiting.popleft()
            self._at_once(event)
            plan = self._plan(event)
            if isinstance(plan, PersonCode):
                self._emit(Done(event.ask, plan))
            elif isinstance(plan, ShowSheet):
                self._emit(plan)
            elif not plan:
                self._emit(Done(event.ask))
            else:
                self._write(event, plan)

    def _write(self, ask: Ask, records: tuple[Record, ...]) -> None:
        def written(event: Committed, _now: float) -> None:
            self._writing = False
            if event.ok:
                self._become(ask, records)
            self._emit(Done(ask.ask, failed=not event.ok))
            self._next()

        self._writing = True
        self._steps.persist(records, written)

    def _plan(self, event: Ask) -> PersonCode | ShowSheet | tuple[Record, ...]:
        match event:
            case InstallAsked():
                return self._plan_install(event)
            case UninstallAsked(panel=panel):
                if panel not in self._desk.panels:
                    return PersonCode.UNKNOWN_PANEL
                return (UninstallRecord(panel),)
            case ConnectAsked():
                return self._plan_connect(event)
            case DisconnectAsked(task=task, panel=panel):
                return (DisconnectionRecord(task, panel),)
            case SwitchAsked(on=on):
                return (SwitchRecord(on),)

    def _plan_install(self, event: InstallAsked) -> PersonCode | tuple[Record, ...]:
        manifest, ledger = event.manifest, self._desk.ledger
        if ledger.refuses(manifest):
            return PersonCode.LEDGER_REFUSED
        install = InstallRecord(manifest.id, manifest.version, manifest.text, event.folder)
        if manifest.declares_agent and not ledger.ever(manifest.id):
            return (LedgerRecord(manifest.id), install)
        return (install,)

    def _plan_connect(self, event: ConnectAsked) -> PersonCode | ShowSheet | tuple[Record, ...]:
        task, panel = event.task, event.panel
        refused = self._desk.may_connect(task, panel)
        if refused is not None:
            return refused
        installed = self._desk.panels[panel]
        records: list[Record] = []
        if not self._desk.agreed(installed):
            if event.consent != installed.fingerprint:
                return ShowSheet(event.ask, sheet_of(installed.manifest))
            records.append(ConsentRecord(panel, installed.fingerprint))
        if self._desk.connection(task, panel) is None:
            counter = self._desk.counter(task, panel)
            records.append(ConnectionRecord(task, panel))
            if counter.reserved == counter.given:
                # A first block now, so that the first write's reply need not wait for the store.
                block = counter.given + self._steps.limits.counter_block
                records.append(CounterBlockRecord(task, panel, block))
        return tuple(records)

    def _become(self, ask: Ask, records: tuple[Record, ...]) -> None:
        match ask:
            case InstallAsked(manifest=manifest):
                self._close_pages(manifest.id)
                self._desk.apply(records)
                self._steps.notify(NoticeKind.INSTALLED, manifest.id)
            case UninstallAsked(panel=panel):
                installed = self._desk.panels[panel]
                for connection in tuple(installed.connections.values()):
                    self._end(connection, Cause.DISCONNECTED, DeferredCause.DISCONNECTED)
                self._close_pages(panel)
                self._desk.apply(records)
                self._steps.notify(NoticeKind.UNINSTALLED, panel)
            case ConnectAsked(task=task, panel=panel):
                self._desk.apply(records)
                self.tell_pages(self._desk.panels[panel])
                self._steps.notify(NoticeKind.CONNECTED, panel, task)
            case DisconnectAsked():
                self._desk.apply(records)
            case SwitchAsked(on=on):
                self._desk.apply(records)
                if on:
                    for installed in self._desk.panels.values():
                        self.tell_pages(installed)
                    self._steps.notify(NoticeKind.TURNED_ON)
        # What was taken away while the store was writing stays away.
        for later in self._waiting:
            self._at_once(later)

    def _end(self, connection: Connection, cause: Cause, deferred: DeferredCause) -> None:
        self._calls.end_all(connection, cause)
        self._deferrals.drop_connection(connection, deferred)
        self._offers.drop_connection(connection)

    def _close_pages(self, panel: str) -> None:
        installed = self._desk.panels.get(panel)
        if installed is None:
            return
        for page in tuple(installed.pages.values()):
            self._calls.close_page(page)
            self._desk.close_page(page.instance)
            self._offers.close_page(page)
            self._emit(ClosePage(page.instance))
            self._steps.notify(NoticeKind.PAGE_CLOSED, panel)
