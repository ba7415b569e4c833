"""The desk: which panels are installed, which tasks are here, and what is connected to what.

It answers the first five questions about a call (A-1). Its durable part is the replay of records:
at the start those the host kept (:meth:`Desk.restore`), later those it has just committed
(:meth:`Desk.apply`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from deska_sdk.errors import AgentCode, PersonCode
from deska_sdk.panels.catalog import catalogue
from deska_sdk.panels.consent import fingerprint
from deska_sdk.panels.ledger import Ledger
from deska_sdk.panels.manifest import Action, Manifest, load_stored
from deska_sdk.records import (
    ConnectionRecord,
    ConsentRecord,
    CounterBlockRecord,
    DisconnectionRecord,
    InstallRecord,
    LedgerRecord,
    PauseRecord,
    Record,
    SwitchRecord,
    UninstallRecord,
)
from deska_sdk.revisions import RevisionCounter
from deska_sdk.schema import Checker, compile_schema
from deska_sdk.tasks.events import TaskKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deska_sdk.codec import Codec
    from deska_sdk.limits import Limits
    from deska_sdk.panels.deferred import Deferred
    from deska_sdk.panels.events import PageKind
    from deska_sdk.panels.requests import Request
    from deska_sdk.schema import Kind as CheckerKind
    from deska_sdk.schema import Side
    from deska_sdk.tasks.events import TaskAttached
    from deska_sdk.tasks.tasks import Tasks

    #: Whoever waits for a page's answer.
    Asked = Request | Deferred


@define(eq=False)
class Page:
    """A running page. ``told`` is the number of tasks it last heard of; ``None`` before init."""

    instance: str
    panel: Panel
    kind: PageKind
    told: int | None = None
    #: The asks it has not answered, by call id: a page answers only its own (A-2).
    asks: dict[str, Asked] = field(factory=dict[str, "Asked"])


@define(eq=False)
class Offered:
    """An action with its checkers, compiled when first used."""

    action: Action
    input: Checker
    output: Checker | None


@define(eq=False)
class Panel:
    """An installed panel, and what is open on it (A-8)."""

    manifest: Manifest
    folder: str | None
    fingerprint: str
    actions: dict[str, Action]
    offered: dict[str, Offered] = field(factory=dict[str, Offered])
    connections: dict[str, Connection] = field(factory=dict[str, "Connection"])
    pages: dict[str, Page] = field(factory=dict[str, Page])
    desk_page: Page | None = None
    open_calls: int = 0
    image_bytes: int = 0


@define(eq=False)
class Connection:
    """A panel connected to a task, and the task's open requests on it."""

    task: str
    panel: Panel
    open: dict[str, Request] = field(factory=dict[str, "Request"])


@define(eq=False)
class Route:
    """Where a call goes: the answer to A-1's first five questions."""

    connection: Connection
    offered: Offered
    page: Page


class Desk:
    """Everything the router knows but the calls."""

    def __init__(self, tasks: Tasks, limits: Limits, checker: CheckerKind, codec: Codec) -> None:
        self.limits = limits
        self._tasks = tasks
        self.on = True
        self.ledger = Ledger()
        self.panels: dict[str, Panel] = {}
        self.pages: dict[str, Page] = {}
        self._checker: CheckerKind = checker
        self._codec: Codec = codec
        self._consents: dict[str, str] = {}
        # Connections by task, in the order in which they were made (L-2).
        self._connections: dict[str, dict[str, Connection]] = {}
        self._counters: dict[tuple[str, str], RevisionCounter] = {}

    # --- durable state

    def restore(self, records: Iterable[Record]) -> None:
        """Take over what an earlier run made durable."""
        self.apply(records)
        # any number of any block may have been given in that run, so none is given again.
        for key, counter in self._counters.items():
            self._counters[key] = self._counter(counter.reserved or 0)

    def apply(self, records: Iterable[Record]) -> None:
        """Take over records that have become durable."""
        for record in records:
            match record:
                case InstallRecord():
                    self._install(record)
                case UninstallRecord(panel=panel):
                    self._uninstall(panel)
                case LedgerRecord(panel=panel):
                    self.ledger = self.ledger.mark(panel)
                case ConsentRecord(panel=panel, fingerprint=mark):
                    self._consents[panel] = mark
                case ConnectionRecord(task=task, panel=panel):
                    self._connect(task, panel)
                case DisconnectionRecord(task=task, panel=panel):
                    self.drop_connection(task, panel)
                case CounterBlockRecord(task=task, panel=panel, high=high):
                    self._reserve(task, panel, high)
                case SwitchRecord(on=on):
                    self.on = on
                case PauseRecord():
                    self._tasks.apply(record)

    def _install(self, record: InstallRecord) -> None:
        manifest = load_stored(record.manifest, limits=self.limits)
        before = self.panels.get(record.panel)
        panel = Panel(
            manifest=manifest,
            folder=record.folder,
            fingerprint=fingerprint(manifest),
            actions={action.name: action for action in manifest.actions},
        )
        if before is not None:
            # Connections, their open calls and what those hold belong to the panel's id.
            panel.connections = before.connections
            panel.open_calls, panel.image_bytes = before.open_calls, before.image_bytes
            for connection in panel.connections.values():
                connection.panel = panel
        self.panels[record.panel] = panel

    def _uninstall(self, panel: str) -> None:
        left = self.panels.pop(panel, None)
        self._consents.pop(panel, None)
        if left is None:
            return
        for task in tuple(left.connections):
            self.drop_connection(task, panel)
        # G-3: the high-water marks stay, the page's own revisions do not.
        for (task, owner), counter in self._counters.items():
            if owner == panel:
                high = counter.reserved or counter.given
                self._counters[task, owner] = self._counter(high)

    def _connect(self, task: str, panel: str) -> None:
        installed = self.panels.get(panel)
        mine = self._connections.setdefault(task, {})
        if installed is not None and panel not in mine:
            mine[panel] = installed.connections[task] = Connection(task, installed)

    def drop_connection(self, task: str, panel: str) -> Connection | None:
        """Forget a connection at once, before its end is durable (C-7)."""
        mine = self._connections.get(task, {})
        connection = mine.pop(panel, None)
        if connection is not None:
            connection.panel.connections.pop(task, None)
            if not mine:
                del self._connections[task]
        return connection

    def _counter(self, high: int) -> RevisionCounter:
        # what was reserved before may have been given, so none of it is given again.
        limits = self.limits
        return RevisionCounter(
            given=high, reserved=high, kept=limits.revisions_kept, longest=limits.revision
        )

    def _reserve(self, task: str, panel: str, high: int) -> None:
        counter = self._counters.get((task, panel))
        if counter is None:
            self._counters[task, panel] = self._counter(high)
        else:
            counter.reserved = max(high, counter.reserved or 0)

    # --- what calls ask

    def counter(self, task: str, panel: str) -> RevisionCounter:
        """The counters of the task and panel; a first one has no number reserved yet."""
        counter = self._counters.get((task, panel))
        if counter is None:
            counter = self._counters[task, panel] = self._counter(0)
        return counter

    def connection(self, task: str, panel: str) -> Connection | None:
        """The connection between the two, held or not."""
        mine = self._connections.get(task)
        return None if mine is None else mine.get(panel)

    def connections(self, task: str) -> Iterable[Connection]:
        """The task's connections in the order in which they were made."""
        return tuple(self._connections.get(task, {}).values())

    def takes_part(self, task: str) -> bool:
        """Whether the task is here, and one that may have connections at all (C-3)."""
        here = self._tasks.get(task)
        return here is not None and _refused(here.attached) is None

    def agreed(self, panel: Panel) -> bool:
        """Whether the person agreed to what the panel's sheet says now (C-2)."""
        return self._consents.get(panel.manifest.id) == panel.fingerprint

    def route(self, task: str, panel: str, action: str) -> Route | AgentCode:
        """A-1's first five: turned on, connected, consent current, action known, page running."""
        if not self.on:
            return AgentCode.TURNED_OFF
        mine = self._connections.get(task)
        connection = None if mine is None else mine.get(panel)
        if connection is None or not self.takes_part(task):
            return AgentCode.NOT_CONNECTED
        owner = connection.panel
        if self._consents.get(panel) != owner.fingerprint:
            return AgentCode.CONSENT_CHANGED
        offered = owner.offered.get(action) or self._offer(owner, action)
        if offered is None:
            return AgentCode.UNKNOWN_ACTION
        if owner.desk_page is None:
            return AgentCode.PANEL_NOT_RUNNING
        return Route(connection, offered, owner.desk_page)

    def _offer(self, panel: Panel, name: str) -> Offered | None:
        action = panel.actions.get(name)
        if action is None or not action.usable:
            # L-4: what the dialect no longer allows is never compiled.
            return None

        def compiled(schema: object, side: Side) -> Checker:
            return compile_schema(
                schema, side, limits=self.limits, checker=self._checker, codec=self._codec
            )

        output = action.output
        offered = Offered(
            action,
            compiled(action.input, "input"),
            None if output is None else compiled(output, "output"),
        )
        panel.offered[name] = offered
        return offered

    def list_text(self, task: str) -> str:
        """What the task's agent sees of its panels (L-2, C-2, C-6)."""
        manifests = (
            [c.panel.manifest for c in self.connections(task) if self.agreed(c.panel)]
            if self.on and self.takes_part(task)
            else []
        )
        return catalogue(manifests, limits=self.limits)

    # --- what the person asks

    def may_connect(self, task: str, panel: str) -> PersonCode | None:
        """Why this task and panel cannot be connected, if so (C-3)."""
        installed, here = self.panels.get(panel), self._tasks.get(task)
        if installed is None:
            return PersonCode.UNKNOWN_PANEL
        if here is None:
            return PersonCode.UNKNOWN_TASK
        refused = _refused(here.attached)
        if refused is not None:
            return refused
        if not installed.actions:
            return PersonCode.NO_ACTIONS
        return None

    # --- pages

    def start_page(self, instance: str, panel: str, kind: PageKind) -> Page | None:
        """A page runs; ``None`` where its panel is not installed."""
        owner = self.panels.get(panel)
        if owner is None:
            return None
        page = Page(instance, owner, kind)
        owner.pages[instance] = self.pages[instance] = page
        if kind == "desk":
            owner.desk_page = page
        return page

    def close_page(self, instance: str) -> Page | None:
        """Forget a page; ``None`` where it is not known."""
        page = self.pages.pop(instance, None)
        if page is not None:
            page.panel.pages.pop(instance, None)
            if page.panel.desk_page is page:
                page.panel.desk_page = None
        return page

    def tasks_for(self, page: Page) -> int:
        """To how many tasks the page's panel is connected, as this page is told (C-4 to C-6)."""
        if page.kind != "desk" or not self.on or not self.agreed(page.panel):
            return 0
        return sum(map(self.takes_part, page.panel.connections))


def _refused(attached: TaskAttached) -> PersonCode | None:
    """Why the task may have no connection, if so (C-3).

    A connection from before it became such a task stays and is not used.
    """
    if attached.kind is TaskKind.LOCAL:
        return None if attached.supervised else PersonCode.UNSUPERVISED_TASK
    return _REFUSED_KINDS[attached.kind]


_REFUSED_KINDS = {
    TaskKind.ASSISTANT: PersonCode.ASSISTANT_TASK,
    TaskKind.TERMINAL: PersonCode.TERMINAL_TASK,
    TaskKind.REMOTE: PersonCode.REMOTE_TASK,
}
