"""A model of the whole router, driven at random and held against every effect it gives.

The model knows the desk (what is installed, agreed to, connected, on), each request's phase and
deadline, each image's owner and what each counter ever meant. It says beforehand what a call is
answered with, and checks what comes.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from attrs import define, evolve, field
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from deska_sdk.errors import AgentCode, PageCode, PersonCode
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.check import check_panel
from deska_sdk.panels.consent import fingerprint
from deska_sdk.panels.manifest import Manifest
from deska_sdk.panels.tables import MAY_HAVE_HAPPENED_CODES
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
    TaskDetached,
    TaskKind,
    Tick,
    TurnEnded,
    TurnStarted,
    UninstallAsked,
)
from tests.panels.support_router import (
    ADD_NOTE,
    inside_the_fence,
    manifest,
    notes_json,
    other_actions,
    refusal,
)

LIMITS = evolve(
    DEFAULT_LIMITS,
    open_calls_per_connection=3,
    open_calls_per_panel=4,
    image_bytes_per_panel=100,
    images=2,
    png_bytes=100,
    answer=200,
    revisions_kept=3,
    counter_block=3,
)

#: What only an agent says, and what only a page says.
AGENT, PAGE = "AGENTMARK", "PAGEMARK"

PANELS = ("notes", "sketches")
TASKS = ("task-1", "task-2")
ACTIONS = ("list_notes", "add_note", f"{AGENT}_action")
READS = ("list_notes",)

pick = st.integers(0, 11)


def online(panel: str) -> Manifest:
    """A version that reaches the network and so cannot work with agents."""
    value = notes_json(panel, network=["example.org"])
    del value["agent"], value["permissions"]
    made = check_panel(value).manifest
    assert made is not None
    return made


def stricter() -> dict[str, Any]:
    """Only one of the two actions, and that one takes less."""
    action = deepcopy(ADD_NOTE)
    action["input"]["properties"]["text"]["maxLength"] = 200
    return {"actions": [action]}


VERSIONS: dict[str, list[Manifest]] = {
    panel: [
        manifest(panel),
        manifest(panel, version="1.0.1"),
        manifest(panel, agent=other_actions()),
        manifest(panel, agent=stricter()),
        online(panel),
    ]
    for panel in PANELS
}


@define
class Call:
    """What the model knows of one request."""

    id: str
    task: str
    turn: str
    panel: str
    action: str
    input: dict[str, Any]
    version: str
    made: float
    phase: str = "preparing"
    deadline: float = 0.0
    instance: str | None = None
    answer: Any = None
    read: dict[str, ImageHandle] = field(factory=dict)
    encoded: dict[str, ImageHandle | None] = field(factory=dict)

    @property
    def is_read(self) -> bool:
        return self.action in READS

    @property
    def paths(self) -> list[str]:
        like = [self.input["like"]] if "like" in self.input else []
        return [*self.input.get("pictures", ()), *like]


@define
class Durable:
    """What a replay of the records gives; written apart from the engine's own replay."""

    installed: dict[str, Manifest] = field(factory=dict)
    consent: dict[str, str] = field(factory=dict)
    connected: dict[str, list[str]] = field(factory=dict)
    ledger: set[str] = field(factory=set)
    on: bool = True

    def take(self, record: Record) -> None:
        match record:
            case InstallRecord(panel=panel, manifest=text):
                (self.installed[panel],) = [one for one in VERSIONS[panel] if one.text == text]
            case UninstallRecord(panel=panel):
                self.installed.pop(panel, None)
                self.consent.pop(panel, None)
                for panels in self.connected.values():
                    if panel in panels:
                        panels.remove(panel)
            case LedgerRecord(panel=panel):
                self.ledger.add(panel)
            case ConsentRecord(panel=panel, fingerprint=mark):
                self.consent[panel] = mark
            case ConnectionRecord(task=task, panel=panel):
                panels = self.connected.setdefault(task, [])
                if panel not in panels:
                    panels.append(panel)
            case DisconnectionRecord(task=task, panel=panel):
                self.take_away(task, panel)
            case SwitchRecord(on=on):
                self.on = on
            case CounterBlockRecord():
                pass

    def take_away(self, task: str, panel: str) -> None:
        if panel in self.connected.get(task, ()):
            self.connected[task].remove(panel)


class RouterMachine(RuleBasedStateMachine):
    """Everything that can happen to a router, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Record] = []
        self.now = 0.0
        self.names = 0
        #: What each counter of a task and panel ever meant, in all runs.
        self.meaning: dict[tuple[str, str], dict[str, str]] = {}
        self.begin()

    def begin(self) -> None:
        """A run of the host: the router from what is durable, and a model from the same."""
        self.router = Router(self.log, limits=LIMITS)
        self.desk = Durable()
        for record in self.log:
            self.desk.take(record)
        self.tasks: dict[str, TaskAttached] = {}
        self.turns: dict[str, str | None] = {}
        #: instance -> panel, kind, and the number it was last told.
        self.pages: dict[str, tuple[str, str]] = {}
        self.told: dict[str, int] = {}
        self.calls: dict[str, Call] = {}
        self.ended: dict[str, Call] = {}
        self.asks: list[Any] = []
        self.work: dict[int, Effect] = {}
        self.cancelled: set[int] = set()
        self.finished: list[Event] = []
        self.kept: dict[tuple[str, str], list[tuple[str, str]]] = {}
        #: Images the router was given and has neither handed on nor given back.
        self.images: set[str] = set()
        self.gone: set[str] = set()
        self.replied: set[str] = set()
        self.event: Event = Tick()

    def fresh(self, word: str) -> str:
        self.names += 1
        return f"{word}-{self.names}"

    # --- one step, and the check of each effect

    def feed(self, event: Event, *, tick: bool = True) -> list[Effect]:
        """Feed an event; with ``tick`` what is due falls before, in a step of its own."""
        if tick and type(event) is not Tick:
            self.feed(Tick())
        self.event = event
        effects = list(self.router.step(event, self.now))
        for seen in (event, *effects):
            text = repr(seen)
            assert AGENT not in text, text
            assert PAGE not in text, text
        for effect in effects:
            self.check(effect)
        self.after()
        return effects

    def check(self, effect: Effect) -> None:
        match effect:
            case Persist(op=op) | ReadImage(op=op) | EncodeImage(op=op) | SwitchMode(op=op):
                assert op not in self.work, "an op is given once"
                self.work[op] = effect
            case CancelOp(op=op):
                assert op in self.work
                assert op not in self.cancelled, "a cancel is said once"
                self.cancelled.add(op)
            case Release(images=images):
                self.part_with(images)
            case Deliver():
                self.check_delivery(effect)
            case Reply():
                self.check_reply(effect)
            case SettleRespond():
                assert isinstance(self.event, Responded)
                assert effect.respond_id == self.event.respond_id
                assert effect.instance == self.event.instance
            case Init(instance=instance, tasks=tasks):
                assert instance not in self.told
                assert tasks == self.tasks_of(instance)
            case Connected(instance=instance, tasks=tasks):
                self.told[instance] = tasks
            case ClosePage(instance=instance):
                self.pages.pop(instance, None)
                self.told.pop(instance, None)
            case Done() | ShowSheet():
                self.check_ask_end(effect)
            case Count(panel=panel, action=action):
                assert panel in PANELS
                assert action in ("", "list_notes", "add_note")
            case Notify(notice=notice):
                assert notice.action in ("", "list_notes", "add_note")

    def part_with(self, images: tuple[ImageHandle, ...]) -> None:
        for image in images:
            assert image.id in self.images, "an image is parted with once"
            self.images.remove(image.id)
            self.gone.add(image.id)

    def check_delivery(self, deliver: Deliver) -> None:
        call = self.calls[deliver.call_id.removeprefix("id-of-")]
        assert call.phase == "preparing", "nothing is delivered twice"
        assert self.first_five(call.task, call.panel, call.action) is None
        assert self.desk.installed[call.panel].version is not None
        assert self.pages[deliver.instance] == (call.panel, "desk")
        expected = self.put_back(call)
        assert deliver.input == expected
        assert [place[key] for place, key in deliver.images] == [
            call.read[path] for path in call.paths
        ]
        self.part_with(tuple(call.read[path] for path in call.paths))
        call.phase, call.instance = "waiting", deliver.instance
        call.deadline = self.now + LIMITS.waiting_seconds

    def put_back(self, call: Call) -> dict[str, Any]:
        """The input that the page must get: stripped, counters put back, images in place."""
        kept = {mark: one for one, mark in self.kept.get((call.task, call.panel), [])}

        def plain(text: str) -> str:
            text = text.replace("\u200b", "")
            return kept.get(text, text)

        made = dict(call.input)
        for key in ("text", "after"):
            if key in made:
                made[key] = plain(made[key])
        if "tags" in made:
            made["tags"] = [plain(tag) for tag in made["tags"]]
        if "pictures" in made:
            made["pictures"] = [call.read[path] for path in made["pictures"]]
        if "like" in made:
            made["like"] = call.read[made["like"]]
        return made

    def check_reply(self, reply: Reply) -> None:
        assert reply.request not in self.replied, "one reply per request, ever"
        self.replied.add(reply.request)
        assert AGENT not in reply.text
        call = self.calls.pop(reply.request, None)
        if call is None:
            # A list, or a call refused at its start: those are looked at where they are made.
            assert PAGE not in reply.text
            assert reply.images == ()
            return
        self.ended[call.id] = call
        handed = call.phase != "preparing"
        call.phase = "ended"
        if reply.code is not None:
            happened = (
                handed and not call.is_read and reply.code in MAY_HAVE_HAPPENED_CODES
            )
            assert reply.text == refusal(reply.code, LIMITS, happened=happened)
            assert reply.images == ()
        elif call.is_read:
            self.check_read(call, reply)
        else:
            self.check_write(call, reply)

    def check_read(self, call: Call, reply: Reply) -> None:
        # S-1: content is handed over only in the step of a switch that succeeded in its turn.
        switched = self.event
        assert isinstance(switched, ModeSwitched)
        assert switched.ok
        effect = self.work[switched.op]
        assert isinstance(effect, SwitchMode)
        assert (effect.task, effect.turn) == (call.task, call.turn)
        assert self.turns.get(call.task) == call.turn
        assert switched.op not in self.cancelled
        assert call.answer is not None
        value = inside_the_fence(reply.text)
        assert value["notes"] == [note.replace("\u200b", "") for note in call.answer["notes"]]
        first: list[str] = []
        for file_id, told in zip(call.answer["images"], value["images"], strict=True):
            if told == "image:unavailable":
                continue
            image = call.encoded[file_id]
            assert image is not None
            assert reply.images[int(told.removeprefix("image:")) - 1] == image
            if told not in first:
                first.append(told)
        assert first == [f"image:{number}" for number in range(1, len(reply.images) + 1)]
        assert sum(image.size for image in reply.images) <= LIMITS.png_bytes
        self.part_with(reply.images)

    def check_write(self, call: Call, reply: Reply) -> None:
        assert PAGE not in reply.text
        assert reply.images == ()
        told = json.loads(reply.text)
        answer = dict(call.answer)
        revision = answer.pop("revision", None)
        counter = told.pop("revision", None)
        assert told == answer
        if counter is None:
            if revision is not None:
                # Only where the store failed or was too slow.
                failed = isinstance(self.event, Committed) and not self.event.ok
                assert failed or self.now >= call.deadline
            return
        owner = (call.task, call.panel)
        # a number once given never means another revision, in any run.
        assert self.meaning.setdefault(owner, {}).setdefault(counter, revision) == revision
        kept = self.kept.setdefault(owner, [])
        known = dict(kept)
        if revision in known:
            assert counter == known[revision]
        else:
            numbers = [int(mark.removeprefix("r")) for mark in self.meaning[owner]]
            assert int(counter.removeprefix("r")) == max(numbers)
        self.kept[owner] = [
            *[one for one in kept if one[0] != revision],
            (revision, counter),
        ][-LIMITS.revisions_kept :]

    def check_ask_end(self, end: Done | ShowSheet) -> None:
        ask = self.asks.pop(0)
        assert ask.ask == end.ask, "asks end in the order in which they came"
        desk = self.desk
        if isinstance(end, ShowSheet):
            assert isinstance(ask, ConnectAsked)
            assert desk.consent.get(ask.panel) != fingerprint(desk.installed[ask.panel])
            return
        if end.code is not None or end.failed:
            if end.code is PersonCode.LEDGER_REFUSED:
                assert ask.manifest.id in desk.ledger
                assert not ask.manifest.declares_agent
            return
        match ask:
            case InstallAsked(manifest=new):
                assert not (new.id in desk.ledger and not new.declares_agent)
                desk.installed[new.id] = new
                if new.declares_agent:
                    desk.ledger.add(new.id)
            case UninstallAsked(panel=panel):
                desk.take(UninstallRecord(panel))
                for owner in [one for one in self.kept if one[1] == panel]:
                    del self.kept[owner]
            case ConnectAsked(task=task, panel=panel):
                desk.consent[panel] = fingerprint(desk.installed[panel])
                desk.take(ConnectionRecord(task, panel))
            case DisconnectAsked(task=task, panel=panel):
                desk.take_away(task, panel)
            case SwitchAsked(on=on):
                desk.on = on
        # What is asked to be taken away later is away already (C-6, C-7).
        for later in self.asks:
            self.at_once(later)

    def at_once(self, ask: Any) -> None:
        match ask:
            case DisconnectAsked(task=task, panel=panel):
                self.desk.take_away(task, panel)
            case SwitchAsked(on=False):
                self.desk.on = False
            case _:
                pass

    def after(self) -> None:
        """What holds after every step."""
        for call in self.calls.values():
            assert self.now < call.deadline, f"{call.phase} is over"
        assert self.router.pending == len(self.calls) + len(self.asks)
        due = self.router.next_deadline()
        if self.calls:
            assert due is not None
            assert self.now < due <= min(call.deadline for call in self.calls.values())
        else:
            assert due is None
        for task in TASKS:
            assert list(self.router.connected(task)) == self.desk.connected.get(task, [])
        assert {
            panel: one for panel, (one, _) in self.router.installed().items()
        } == self.desk.installed
        assert self.router.ledger.panels == self.desk.ledger
        for instance, tasks in self.told.items():
            assert tasks == self.tasks_of(instance)
        for panel in PANELS:
            held = [call for call in self.calls.values() if call.panel == panel]
            bytes_held = sum(image.size for call in held for image in call.read.values())
            assert bytes_held <= LIMITS.image_bytes_per_panel
            assert len(held) <= LIMITS.open_calls_per_panel

    # --- what the model says beforehand

    def here(self, task: str) -> bool:
        attached = self.tasks.get(task)
        return (
            attached is not None and attached.kind is TaskKind.LOCAL and attached.supervised
        )

    def tasks_of(self, instance: str) -> int:
        panel, kind = self.pages[instance]
        installed = self.desk.installed.get(panel)
        if kind != "desk" or not self.desk.on or installed is None:
            return 0
        if self.desk.consent.get(panel) != fingerprint(installed):
            return 0
        return sum(
            panel in panels and self.here(task) for task, panels in self.desk.connected.items()
        )

    def first_five(self, task: str, panel: str, action: str) -> AgentCode | None:
        if not self.desk.on:
            return AgentCode.TURNED_OFF
        if not self.here(task) or panel not in self.desk.connected.get(task, ()):
            return AgentCode.NOT_CONNECTED
        installed = self.desk.installed[panel]
        if self.desk.consent.get(panel) != fingerprint(installed):
            return AgentCode.CONSENT_CHANGED
        if action not in [one.name for one in installed.actions]:
            return AgentCode.UNKNOWN_ACTION
        if (panel, "desk") not in self.pages.values():
            return AgentCode.PANEL_NOT_RUNNING
        return None

    def refused(self, call: Call, *, valid: bool) -> AgentCode | None:
        """The code of A-1 for this call, ``None`` where it is prepared or delivered."""
        if call.task in self.tasks and self.turns.get(call.task) != call.turn:
            return AgentCode.STOPPED
        code = self.first_five(call.task, call.panel, call.action)
        if code is not None:
            return code
        open_here = [one for one in self.calls.values() if one.panel == call.panel]
        mine = [one for one in open_here if one.task == call.task]
        if (
            len(mine) >= LIMITS.open_calls_per_connection
            or len(open_here) >= LIMITS.open_calls_per_panel
        ):
            return AgentCode.PANEL_BUSY
        if not valid:
            return AgentCode.INVALID_INPUT
        if call.is_read and not self.tasks[call.task].can_switch:
            return AgentCode.PAUSE_FAILED
        return AgentCode.TOO_MANY_IMAGES if len(call.paths) > LIMITS.images else None

    def ends(self, event: Event, calls: list[Call], code: AgentCode) -> list[Effect]:
        """Feed an event that ends exactly these calls with this code; what is due fell before."""
        expected = {call.id for call in calls if call.id in self.calls}
        effects = self.feed(event, tick=False)
        replies = {one.request: one.code for one in effects if isinstance(one, Reply)}
        assert replies == dict.fromkeys(expected, code)
        return effects

    def waiting_on(self, panel: str) -> list[Call]:
        self.feed(Tick())
        return [
            one for one in self.calls.values() if one.panel == panel and one.phase == "waiting"
        ]

    # --- rules: the person

    @initialize(ready=st.booleans())
    def open_the_desk(self, ready: bool) -> None:
        for panel in PANELS if ready else PANELS[:1]:
            self.ask(InstallAsked(self.fresh("ask"), VERSIONS[panel][0]))
            self.finish_asks()
        for task in TASKS:
            self.attach(task)
            self.start_turn(task)
            for panel in PANELS if ready else ():
                self.connect(task, panel)
                self.finish_asks()
        for panel in PANELS if ready else ():
            self.start_page(panel, "desk", ready=True)

    def ask(self, ask: Any) -> list[Effect]:
        self.feed(Tick())
        self.at_once(ask)
        self.asks.append(ask)
        return self.feed(ask, tick=False)

    def finish_asks(self) -> None:
        while self.asks:
            op = min(
                op
                for op, work in self.work.items()
                if isinstance(work, Persist) and not self.is_done(op)
            )
            self.complete(op, ok=True)

    def is_done(self, op: int) -> bool:
        return any(getattr(event, "op", None) == op for event in self.finished)

    @rule(panel=st.sampled_from(PANELS), version=st.sampled_from([0, 0, 1, 1, 2, 3, 4]))
    def install(self, panel: str, version: int) -> None:
        self.ask(InstallAsked(self.fresh("ask"), VERSIONS[panel][version]))

    @rule(panel=st.sampled_from(PANELS))
    def uninstall(self, panel: str) -> None:
        self.ask(UninstallAsked(self.fresh("ask"), panel))

    @rule(
        task=st.sampled_from(TASKS),
        panel=st.sampled_from(PANELS),
        agrees=st.sampled_from([True, True, True, False]),
    )
    def connect(self, task: str, panel: str, agrees: bool = True) -> None:
        installed = self.desk.installed.get(panel)
        consent = fingerprint(installed) if installed is not None and agrees else "no"
        self.ask(ConnectAsked(self.fresh("ask"), task, panel, consent))

    @rule(task=st.sampled_from(TASKS), panel=st.sampled_from(PANELS))
    def disconnect(self, task: str, panel: str) -> None:
        self.feed(Tick())
        calls = [
            one for one in self.calls.values() if (one.task, one.panel) == (task, panel)
        ]
        ask = DisconnectAsked(self.fresh("ask"), task, panel)
        self.at_once(ask)
        self.asks.append(ask)
        self.ends(ask, calls, AgentCode.NOT_CONNECTED)

    @rule()
    def turn_off(self) -> None:
        self.feed(Tick())
        ask = SwitchAsked(self.fresh("ask"), on=False)
        calls = list(self.calls.values())
        self.at_once(ask)
        self.asks.append(ask)
        self.ends(ask, calls, AgentCode.TURNED_OFF)

    @rule()
    def turn_on(self) -> None:
        self.ask(SwitchAsked(self.fresh("ask"), on=True))

    # --- rules: tasks and turns

    @rule(
        task=st.sampled_from(TASKS),
        kind=st.sampled_from([TaskKind.LOCAL] * 5 + [TaskKind.REMOTE]),
        can_switch=st.sampled_from([True] * 5 + [False]),
    )
    def attach(
        self, task: str, kind: TaskKind = TaskKind.LOCAL, can_switch: bool = True
    ) -> None:
        event = TaskAttached(task, kind, can_switch=can_switch)
        calls = [one for one in self.calls.values() if one.task == task]
        self.feed(Tick())
        self.tasks[task], self.turns[task] = event, None
        self.ends(event, calls, AgentCode.STOPPED)

    @rule(task=st.sampled_from(TASKS))
    def detach(self, task: str) -> None:
        calls = [one for one in self.calls.values() if one.task == task]
        self.feed(Tick())
        self.tasks.pop(task, None)
        self.turns.pop(task, None)
        self.ends(TaskDetached(task), calls, AgentCode.STOPPED)

    @rule(task=st.sampled_from(TASKS))
    def start_turn(self, task: str) -> None:
        calls = [one for one in self.calls.values() if one.task == task]
        self.feed(Tick())
        turn = self.fresh("turn")
        if task in self.tasks:
            self.turns[task] = turn
        self.ends(TurnStarted(task, turn), calls, AgentCode.STOPPED)

    @rule(task=st.sampled_from(TASKS), old=st.sampled_from([False, False, True]))
    def end_turn(self, task: str, old: bool) -> None:
        self.feed(Tick())
        turn = self.turns.get(task)
        if old or turn is None:
            self.ends(TurnEnded(task, "another-turn"), [], AgentCode.STOPPED)
            return
        calls = [one for one in self.calls.values() if one.task == task]
        self.turns[task] = None
        self.ends(TurnEnded(task, turn), calls, AgentCode.STOPPED)

    # --- rules: pages

    @rule(
        panel=st.sampled_from(PANELS),
        kind=st.sampled_from(["desk", "desk", "desk", "extras"]),
        ready=st.booleans(),
    )
    def start_page(self, panel: str, kind: str, ready: bool) -> None:
        instance = self.fresh("page")
        calls = self.waiting_on(panel) if kind == "desk" else []
        if panel in self.desk.installed:
            self.pages[instance] = (panel, kind)
        effects = self.ends(PageStarted(instance, panel, kind), calls, AgentCode.PANEL_CLOSED)
        if panel not in self.desk.installed:
            assert effects == [ClosePage(instance)]
        if ready and instance in self.pages:
            self.feed(PageReady(instance))

    @rule(which=pick)
    @precondition(lambda self: self.pages)
    def page_ready(self, which: int) -> None:
        instance = list(self.pages)[which % len(self.pages)]
        had = instance in self.told
        effects = self.feed(PageReady(instance))
        assert [type(one) for one in effects] == ([] if had else [Init, Connected])

    @rule(which=pick)
    @precondition(lambda self: self.pages)
    def close_page(self, which: int) -> None:
        instance = list(self.pages)[which % len(self.pages)]
        panel, kind = self.pages[instance]
        calls = self.waiting_on(panel) if kind == "desk" else []
        del self.pages[instance]
        self.told.pop(instance, None)
        self.ends(PageClosed(instance), calls, AgentCode.PANEL_CLOSED)

    # --- rules: the agent

    @rule(task=st.sampled_from(TASKS))
    def list_panels(self, task: str) -> None:
        turn = self.turns.get(task) or "no-turn"
        effects = self.feed(ListRequested(self.fresh("list"), task, turn))
        (reply,) = effects
        assert isinstance(reply, Reply)
        if task in self.tasks and self.turns.get(task) is None:
            assert reply.code is AgentCode.STOPPED
            return
        listed = [one["panel"] for one in json.loads(reply.text)["panels"]]
        shown = self.desk.connected.get(task, []) if self.desk.on and self.here(task) else []
        assert listed == [
            panel
            for panel in shown
            if self.desk.consent.get(panel) == fingerprint(self.desk.installed[panel])
        ]

    @rule(
        task=st.sampled_from(TASKS),
        panel=st.sampled_from([*PANELS, *PANELS, *PANELS, f"{AGENT}-panel"]),
        action=st.sampled_from([*ACTIONS, "list_notes", "add_note", "add_note"]),
        text=st.sampled_from(["", "r1", "r2", "r3", "r4", "r\u200b2", "r12", AGENT, "x" * 250]),
        more=st.sampled_from(["", "", "tags", "place", "wrong", "broken"]),
        images=st.sampled_from([0, 0, 0, 1, 1, 2, 3]),
        as_text=st.booleans(),
        old_turn=st.sampled_from([False] * 9 + [True]),
    )
    def call(
        self,
        task: str,
        panel: str,
        action: str,
        text: str,
        more: str,
        images: int,
        as_text: bool,
        old_turn: bool,
    ) -> None:
        self.feed(Tick())
        request = self.fresh("request")
        paths = [f"{AGENT}/{request}/{number}.png" for number in range(images)]
        value: dict[str, Any] = {}
        if action == "list_notes":
            if paths:
                value["like"] = paths[0]
        else:
            value["text"] = text
            if paths:
                value["pictures"] = paths
        if more == "tags" and action != "list_notes":
            value["tags"] = ["r1", "a r1", text[:20]]
        if more == "place" and action != "list_notes":
            value["place"] = "r1"
        if more == "wrong":
            value[f"{AGENT} key"] = AGENT
        turn = self.turns.get(task) or "no-turn"
        installed = self.desk.installed.get(panel)
        call = Call(
            request,
            task,
            "old-turn" if old_turn else turn,
            panel,
            action,
            value,
            fingerprint(installed) if installed is not None else "",
            self.now,
            deadline=self.now + LIMITS.preparing_seconds,
        )
        strict = installed is not None and installed.text == VERSIONS[installed.id][3].text
        valid = more not in ("wrong", "broken") and not (strict and len(text) > 200)
        code = self.refused(call, valid=valid)
        payload: object = json.dumps(value) if as_text else deepcopy(value)
        if more == "broken":
            payload = '{"text": "' + AGENT
        event = CallRequested(
            request, f"id-of-{request}", task, call.turn, panel, action, payload
        )
        if code is None:
            self.calls[request] = call
        effects = self.feed(event, tick=False)
        replies = [one for one in effects if isinstance(one, Reply)]
        assert [one.code for one in replies] == ([] if code is None else [code])
        if code is None:
            assert call.phase == ("preparing" if call.paths else "waiting")
        elif code is not AgentCode.INVALID_INPUT:
            assert replies[0].text == refusal(code, LIMITS)

    @rule(which=pick)
    @precondition(lambda self: self.calls)
    def cancel(self, which: int) -> None:
        self.feed(Tick())
        calls = list(self.calls.values())
        if calls:
            call = calls[which % len(calls)]
            self.ends(CallCancelled(call.id), [call], AgentCode.STOPPED)

    @rule(which=pick)
    @precondition(lambda self: self.replied)
    def cancel_what_is_over(self, which: int) -> None:
        over = sorted(self.replied)
        assert self.feed(CallCancelled(over[which % len(over)])) == []

    # --- rules: the page's answers

    @rule(
        which=pick,
        kind=st.sampled_from(
            ["good", "good", "good", "good", "bad", "large", "escaped", "images"]
        ),
        revision=st.integers(0, 5),
        images=st.sampled_from([0, 0, 1, 2]),
        late=st.booleans(),
        foreign=st.sampled_from([False] * 7 + [True]),
        over=st.sampled_from([False] * 7 + [True]),
    )
    @precondition(lambda self: self.calls or self.ended)
    def answer(
        self,
        which: int,
        kind: str,
        revision: int,
        images: int,
        late: bool,
        foreign: bool,
        over: bool,
    ) -> None:
        if not late:
            self.feed(Tick())
        waiting = [one for one in self.calls.values() if one.phase == "waiting"]
        calls = list(self.ended.values()) if over or not waiting else waiting
        if not calls:
            return
        call = calls[which % len(calls)]
        instance = call.instance or "no-page"
        if foreign:
            instance = next((one for one in self.pages if one != instance), "no-page")
        answer, code, ends = self.an_answer(call, kind, revision, images)
        live = call.phase == "waiting" and not foreign and self.now < call.deadline
        if not live:
            code, ends = PageCode.UNKNOWN_CALL, None
        if live and code is None:
            call.phase, call.answer = "finishing", answer
            seconds = LIMITS.switching_seconds
            if call.is_read:
                seconds += LIMITS.finishing_images_seconds
            call.deadline = self.now + seconds
        event = Responded(instance, self.names, f"id-of-{call.id}", deepcopy(answer))
        effects = self.feed(event, tick=False)
        (settled,) = [one for one in effects if isinstance(one, SettleRespond)]
        assert settled.code is code
        if live:
            mine = [
                one for one in effects if isinstance(one, Reply) and one.request == call.id
            ]
            if ends is not None:
                assert [one.code for one in mine] == [ends]
            elif code is not None or call.is_read:
                assert mine == []

    def an_answer(
        self, call: Call, kind: str, revision: int, images: int
    ) -> tuple[Any, PageCode | None, AgentCode | None]:
        """An answer of this kind, what respond becomes, and how it ends the call at once."""
        if not call.is_read:
            if kind in ("bad", "large"):
                return {"ok": True, "error": PAGE}, PageCode.INVALID_ARGS, None
            if kind in ("escaped", "images"):
                return {"ok": False, "error": "conflict"}, None, None
            return {"ok": True, "revision": f"{PAGE}-{revision}"}, None, None
        # Every id is one answer's own, so that a completion tells whose image it is.
        ids = [f"{PAGE}-{call.id}-{number}" for number in range(images)]
        good = {"notes": [f"{PAGE} <one>\u200b"], "images": [*ids, *ids[:1]]}
        match kind:
            case "bad":
                return {"notes": PAGE}, PageCode.INVALID_ARGS, None
            case "large":
                return {"notes": [PAGE * 30]}, None, AgentCode.ANSWER_TOO_LARGE
            case "escaped":
                ends = None if images else AgentCode.ANSWER_TOO_LARGE
                return {"notes": ["<" * 60], "images": ids}, None, ends
            case "images":
                many = [f"{PAGE}-{number}" for number in range(3)]
                return {"notes": [], "images": many}, PageCode.INVALID_ARGS, None
        return good, None, None

    # --- rules: the host's work ends, or does not

    def open_work(self) -> list[int]:
        return [op for op in self.work if not self.is_done(op)]

    def an_image(self, size: int) -> ImageHandle:
        return ImageHandle(self.fresh("image"), "image/png", size)

    def complete(self, op: int, *, ok: bool, size: int = 10, tick: bool = True) -> list[Effect]:
        """End one piece of work; if it was cancelled, the engine may only give things back."""
        if tick or op in self.cancelled:
            self.feed(Tick())
        stale = op in self.cancelled
        effect = self.work[op]
        image = self.an_image(size) if ok else None
        event: Event
        match effect:
            case Persist(records=records):
                if ok:
                    self.log += records
                event, image = Committed(op, ok=ok), None
            case ReadImage(path=path):
                event = ImageRead(op, image or AgentCode.IMAGE_UNSUPPORTED)
                call = self.calls.get(path.split("/")[1])
                if call is not None and image is not None and not stale:
                    self.count_read(call, path, image)
            case EncodeImage(file_id=file_id):
                event = ImageEncoded(op, image)
                call = self.calls.get(file_id.removeprefix(f"{PAGE}-").rpartition("-")[0])
                if call is not None and not stale:
                    call.encoded[file_id] = image
            case SwitchMode():
                event, image = ModeSwitched(op, ok=ok), None
        if image is not None:
            self.images.add(image.id)
        effects = self.feed(event, tick=False)
        self.finished.append(event)
        if stale and not isinstance(effect, Persist):
            assert effects == ([] if image is None else [Release((image,))])
        return effects

    def count_read(self, call: Call, path: str, image: ImageHandle) -> None:
        call.read[path] = image

    @rule(
        which=pick,
        ok=st.sampled_from([True] * 5 + [False]),
        size=st.sampled_from([10, 40, 40, 70]),
        late=st.booleans(),
    )
    @precondition(lambda self: self.open_work())
    def work_ends(self, which: int, ok: bool, size: int, late: bool) -> None:
        ops = self.open_work()
        op = ops[which % len(ops)]
        if isinstance(self.work[op], Persist):
            # A store commits in the order in which it was asked.
            op = next(one for one in ops if isinstance(self.work[one], Persist))
        self.complete(op, ok=ok, size=size, tick=not late)

    @rule(which=pick)
    @precondition(lambda self: self.finished)
    def a_completion_comes_twice(self, which: int) -> None:
        event = self.finished[which % len(self.finished)]
        self.feed(Tick())
        image = getattr(event, "image", None)
        if isinstance(image, ImageHandle):
            # The host would hand in a new image: the old one is no longer its own.
            image = self.an_image(image.size)
            self.images.add(image.id)
            event = evolve(event, image=image)
        effects = self.feed(event, tick=False)
        given_back = [Release((image,))] if isinstance(image, ImageHandle) else []
        assert effects == given_back

    @rule(seconds=st.sampled_from([0.25, 1.0, 4.0, 5.0, 10.0, 15.0, 30.0]), tick=st.booleans())
    def time_passes(self, seconds: float, tick: bool) -> None:
        self.now += seconds
        if tick:
            self.feed(Tick())

    @rule()
    def time_passes_to_the_next_deadline(self) -> None:
        due = self.router.next_deadline()
        if due is not None:
            self.now = max(self.now, due)
            self.feed(Tick())

    # --- rules: the host ends and begins again

    @rule(durable=st.integers(0, 3))
    def host_is_killed(self, durable: int) -> None:
        """Of the store's work the first few became durable, and the router never heard."""
        waiting = [self.work[op] for op in self.open_work()]
        persists = [one for one in waiting if isinstance(one, Persist)]
        for persist in persists[:durable]:
            self.log += persist.records
        self.begin()
        assert self.router.pending == 0
        assert self.router.next_deadline() is None
        for task in TASKS:
            self.attach(task)
            self.start_turn(task)
        for panel in self.desk.installed:
            self.start_page(panel, "desk", ready=True)

    # --- always, and at the end

    @invariant()
    def no_object_of_the_router_shows_what_was_said(self) -> None:
        for held in vars(self.router).values():
            for inside in (held, *getattr(held, "__dict__", {}).values()):
                text = repr(inside)
                assert AGENT not in text, text
                assert PAGE not in text, text

    def teardown(self) -> None:
        self.now += (
            LIMITS.preparing_seconds
            + LIMITS.waiting_seconds
            + LIMITS.finishing_images_seconds
            + LIMITS.switching_seconds
        )
        self.feed(Tick())
        assert not self.calls
        while ops := self.open_work():
            self.complete(ops[0], ok=True)
        assert not self.asks
        assert self.router.pending == 0
        assert self.router.next_deadline() is None
        assert not self.images, "every image was handed on or given back"
