"""A desk for tests: a router, a clock that only the test moves, and a host made of a few dicts.

The host does the effects at once, unless a test lets one kind of work wait (``hold``) or fail::

    desk = Desk().with_notes()
    call = desk.call("add_note", {"text": "Make the header blue"})
    desk.answer(call, {"ok": True, "revision": "board-7f3a"})
    assert desk.reply(call).text == '{"ok":true,"revision":"r1"}'
"""

from __future__ import annotations

import json
from collections import Counter, deque
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from attrs import evolve

from deska_sdk.errors import MAY_HAVE_HAPPENED, AgentCode, PageCode, sentence
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.panels.check import check_panel
from deska_sdk.panels.consent import sheet_of
from deska_sdk.router import (
    CallCancelled,
    CallRequested,
    CancelOp,
    ClosePage,
    Committed,
    ConnectAsked,
    Connected,
    Count,
    Deliver,
    DisconnectAsked,
    Done,
    Effect,
    EncodeImage,
    Event,
    FilesFound,
    FindFiles,
    ImageEncoded,
    ImageHandle,
    ImageRead,
    Init,
    InstallAsked,
    ListRequested,
    ModeSwitched,
    Notify,
    PageClosed,
    PageReady,
    PageStarted,
    Persist,
    ReadImage,
    Release,
    Reply,
    Responded,
    Router,
    SettleRespond,
    ShowSheet,
    SwitchAsked,
    SwitchMode,
    TaskAttached,
    Tick,
    TurnEnded,
    TurnStarted,
    UninstallAsked,
)

if TYPE_CHECKING:
    from deska_sdk.panels.manifest import Manifest
    from deska_sdk.records import Record

LIST_NOTES: dict[str, Any] = {
    "name": "list_notes",
    "description": "Lists the notes on the board.",
    "kind": "read",
    "input": {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "like": {"type": "string", "maxLength": 200, "format": "deska-image"},
        },
    },
    "output": {
        "type": "object",
        "properties": {
            "notes": {
                "type": "array",
                "maxItems": 100,
                "items": {"type": "string", "maxLength": 200_000},
            },
            "images": {
                "type": "array",
                "maxItems": 100,
                "items": {"type": "string", "maxLength": 36, "format": "deska-file"},
            },
        },
        "required": ["notes"],
    },
}

ADD_NOTE: dict[str, Any] = {
    "name": "add_note",
    "description": "Adds a note to the board.",
    "kind": "write",
    "input": {
        "type": "object",
        "properties": {
            "text": {"type": "string", "maxLength": 300},
            "after": {"type": "string", "maxLength": 8},
            "tags": {
                "type": "array",
                "maxItems": 8,
                "items": {"type": "string", "maxLength": 20},
            },
            "place": {"type": "string", "enum": ["top", "r1", "r2"]},
            "pictures": {
                "type": "array",
                "maxItems": 20,
                "items": {"type": "string", "maxLength": 200, "format": "deska-image"},
            },
        },
        "required": ["text"],
    },
}


def notes_json(panel: str = "notes", **changes: Any) -> dict[str, Any]:
    """The manifest of the example panel as a value; ``changes`` take the place of its keys."""
    made: dict[str, Any] = {
        "id": panel,
        "name": f"The {panel} panel",
        "version": "1.0.0",
        "sdk": 4,
        "permissions": ["agent"],
        "agent": {"actions": [deepcopy(LIST_NOTES), deepcopy(ADD_NOTE)]},
    }
    made.update(changes)
    return made


def manifest(panel: str = "notes", **changes: Any) -> Manifest:
    """The example panel, checked."""
    report = check_panel(notes_json(panel, **changes))
    assert report.manifest is not None, report.problems
    return report.manifest


def other_actions(description: str = "Adds one more note.") -> dict[str, Any]:
    """An ``agent`` object that asks the person again: one description is another one."""
    return {"actions": [deepcopy(LIST_NOTES), deepcopy(ADD_NOTE) | {"description": description}]}


def refusal(code: AgentCode, limits: Limits = DEFAULT_LIMITS, *, happened: bool = False) -> str:
    """The whole text an agent gets for a refusal that tells no faults (A-9)."""
    text = f"{code.value}: {sentence(code, limits)}"
    return f"{text} {MAY_HAVE_HAPPENED}" if happened else text


def inside_the_fence(text: str) -> Any:
    """The value that an agent reads between the two tags."""
    first, line, last = text.split("\n")
    assert first.startswith("<panel_content ")
    assert last == "</panel_content>"
    return json.loads(line)


class Desk:
    """A router with its host.

    Work is one of ``store``, ``read``, ``encode``, ``find`` and ``switch``.
    """

    def __init__(
        self, records: list[Record] | None = None, limits: Limits | None = None, **changes: Any
    ) -> None:
        self.limits = limits or evolve(DEFAULT_LIMITS, **changes)
        #: What is durable, in the order in which it was committed.
        self.log: list[Record] = list(records or [])
        self.router = Router(self.log, limits=self.limits)
        self.now = 1_000.0
        self.effects: list[Effect] = []
        #: Work that waits for the test, oldest first.
        self.held: deque[Effect] = deque()
        self.holding: set[str] = set()
        self.failing: set[str] = set()
        #: What stands at a path of the task's folder, and what the panel keeps under an id.
        self.folder: dict[str, ImageHandle | AgentCode] = {}
        self.kept: dict[str, ImageHandle | None] = {}
        self.turns: dict[str, str] = {}
        self.cancelled: set[int] = set()
        self.released: list[ImageHandle] = []
        self._count = Counter[str]()

    # --- the machine

    def step(self, event: Event) -> list[Effect]:
        """Feed an event and do what it asks for, and all that follows; the effects of it all."""
        made: list[Effect] = []
        coming = deque([event])
        while coming:
            effects = self.router.step(coming.popleft(), self.now)
            made += effects
            for effect in effects:
                coming += self._perform(effect)
        self.effects += made
        return made

    def _perform(self, effect: Effect) -> list[Event]:
        match effect:
            case CancelOp(op=op):
                self.cancelled.add(op)
            case Release(images=images):
                self.released += images
            case Persist() | ReadImage() | EncodeImage() | FindFiles() | SwitchMode():
                if self.work_of(effect) in self.holding:
                    self.held.append(effect)
                else:
                    return [self.completion(effect)]
            case _:
                pass
        return []

    @staticmethod
    def work_of(effect: Effect) -> str:
        names = {
            Persist: "store",
            ReadImage: "read",
            EncodeImage: "encode",
            FindFiles: "find",
            SwitchMode: "switch",
        }
        return names[type(effect)]

    def completion(self, effect: Effect) -> Event:
        """How the host's work ends now."""
        failed = self.work_of(effect) in self.failing
        match effect:
            case Persist(op=op, records=records):
                if not failed:
                    self.log += records
                return Committed(op, ok=not failed)
            case ReadImage(op=op, path=path):
                return ImageRead(op, self.folder.get(path, AgentCode.IMAGE_NOT_FOUND))
            case EncodeImage(op=op, file_id=file_id):
                return ImageEncoded(op, None if failed else self.kept.get(file_id))
            case FindFiles(op=op, file_ids=ids):
                return FilesFound(op, ok=not failed and self.kept.keys() >= set(ids))
            case SwitchMode(op=op):
                return ModeSwitched(op, ok=not failed)
        raise AssertionError("no work of a host")

    def finish(self, effect: Effect | None = None) -> list[Effect]:
        """End held work: the oldest, or this one."""
        if effect is None:
            effect = self.held.popleft()
        else:
            self.held.remove(effect)
        return self.step(self.completion(effect))

    def release_held(self, work: str) -> None:
        """Hold this kind of work no more, and end what waits of it."""
        self.holding.discard(work)
        for effect in [one for one in self.held if self.work_of(one) == work]:
            self.finish(effect)

    def wait(self, seconds: float) -> list[Effect]:
        self.now += seconds
        return self.step(Tick())

    def again(self, **changes: Any) -> Desk:
        """A later run on the same store: whatever was not durable is lost."""
        return Desk(self.log, self.limits, **changes)

    def fresh(self, word: str) -> str:
        self._count[word] += 1
        return f"{word}-{self._count[word]}"

    # --- what a test says

    def with_notes(self, task: str = "task-1", **page: Any) -> Desk:
        """The example panel installed, connected to a task in a turn, its page running."""
        self.install(manifest())
        self.attach(task)
        self.connect(task, "notes")
        self.start_page("notes")
        return self

    def attach(self, task: str, turn: str | None = None, **facts: Any) -> None:
        self.step(TaskAttached(task, **facts))
        self.start_turn(task, turn)

    def start_turn(self, task: str, turn: str | None = None) -> str:
        self.turns[task] = turn or self.fresh("turn")
        self.step(TurnStarted(task, self.turns[task]))
        return self.turns[task]

    def end_turn(self, task: str = "task-1") -> list[Effect]:
        return self.step(TurnEnded(task, self.turns[task]))

    def install(self, what: Manifest) -> list[Effect]:
        return self.step(InstallAsked(self.fresh("ask"), what))

    def uninstall(self, panel: str = "notes") -> list[Effect]:
        return self.step(UninstallAsked(self.fresh("ask"), panel))

    def connect(self, task: str = "task-1", panel: str = "notes") -> list[Effect]:
        """Connect, with the person's yes to what the sheet says now."""
        installed, _ = self.router.installed()[panel]
        consent = sheet_of(installed).fingerprint
        return self.step(ConnectAsked(self.fresh("ask"), task, panel, consent))

    def disconnect(self, task: str = "task-1", panel: str = "notes") -> list[Effect]:
        return self.step(DisconnectAsked(self.fresh("ask"), task, panel))

    def turn_off(self) -> list[Effect]:
        return self.step(SwitchAsked(self.fresh("ask"), on=False))

    def turn_on(self) -> list[Effect]:
        return self.step(SwitchAsked(self.fresh("ask"), on=True))

    def start_page(self, panel: str = "notes", instance: str | None = None, **kind: Any) -> str:
        instance = instance or self.fresh("page")
        self.step(PageStarted(instance, panel, **kind))
        self.step(PageReady(instance))
        return instance

    def close_page(self, instance: str = "page-1") -> list[Effect]:
        return self.step(PageClosed(instance))

    def call(
        self,
        action: str = "add_note",
        payload: object = None,
        *,
        task: str = "task-1",
        panel: str = "notes",
        turn: str | None = None,
    ) -> str:
        """Call an action; the request's id. Its call id is the same with ``call`` in front."""
        request = self.fresh("request")
        if payload is None:
            payload = {"text": "a note"} if action == "add_note" else {}
        turn = turn or self.turns.get(task, "no-turn")
        self.step(CallRequested(request, f"call-of-{request}", task, turn, panel, action, payload))
        return request

    def cancel(self, request: str) -> list[Effect]:
        return self.step(CallCancelled(request))

    def answer(
        self, request: str, payload: object, *, instance: str | None = None
    ) -> PageCode | None:
        """The page answers; what its ``respond`` fails with, ``None`` where it is true."""
        if instance is None:
            instance = self.delivered(request).instance
        ticket = len(self.effects)
        made = self.step(Responded(instance, ticket, f"call-of-{request}", payload))
        (settled,) = [one for one in made if isinstance(one, SettleRespond)]
        assert (settled.instance, settled.respond_id) == (instance, ticket)
        return settled.code

    def listed(self, task: str = "task-1") -> Any:
        request = self.fresh("request")
        self.step(ListRequested(request, task, self.turns[task]))
        reply = self.reply(request)
        return json.loads(reply.text) if reply.code is None else reply.code

    # --- what a test looks at

    def all(self, kind: type[Any]) -> list[Any]:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def replies(self, request: str) -> list[Reply]:
        return [reply for reply in self.all(Reply) if reply.request == request]

    def reply(self, request: str) -> Reply:
        """The one reply to this request."""
        (reply,) = self.replies(request)
        return reply

    def code(self, request: str) -> AgentCode | None:
        return self.reply(request).code

    def is_open(self, request: str) -> bool:
        return not self.replies(request)

    def deliveries(self, request: str) -> list[Deliver]:
        return [one for one in self.all(Deliver) if one.call_id == f"call-of-{request}"]

    def delivered(self, request: str) -> Deliver:
        """The one hand-over of this call to a page."""
        (delivered,) = self.deliveries(request)
        return delivered

    def was_delivered(self, request: str) -> bool:
        return bool(self.deliveries(request))

    def told(self, instance: str) -> list[int]:
        """The numbers of tasks that ``agent.connected`` told this page."""
        return [one.tasks for one in self.all(Connected) if one.instance == instance]

    def inits(self, instance: str) -> list[int]:
        return [one.tasks for one in self.all(Init) if one.instance == instance]

    def closed(self) -> list[str]:
        return [one.instance for one in self.all(ClosePage)]

    def done(self) -> Done:
        """How the last ask ended."""
        return self.all(Done)[-1]

    def sheets(self) -> list[ShowSheet]:
        return self.all(ShowSheet)

    def counts(self) -> list[Count]:
        return self.all(Count)

    def notices(self) -> list[Notify]:
        return self.all(Notify)

    def at_rest(self) -> bool:
        """Nothing is open, no deadline runs, and no work is waited for (A-8)."""
        return self.router.pending == 0 and self.router.next_deadline() is None
