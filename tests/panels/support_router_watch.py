"""One step of the router under the eyes of its model: every effect is held against it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

from deska_sdk.errors import AgentCode, PersonCode
from deska_sdk.panels.consent import fingerprint
from deska_sdk.panels.tables import MAY_HAVE_HAPPENED_CODES
from deska_sdk.records import (
    ConnectionRecord,
    PauseRecord,
    Record,
    UninstallRecord,
)
from deska_sdk.router import (
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
    ImageHandle,
    Init,
    InstallAsked,
    Notify,
    Persist,
    ReadImage,
    Release,
    Reply,
    Responded,
    Router,
    SettleRespond,
    ShowRow,
    ShowSheet,
    SwitchAsked,
    Switches,
    SwitchMode,
    TaskAttached,
    TaskKind,
    Tick,
    UninstallAsked,
)
from tests.panels.support_router import (
    inside_the_fence,
    refusal,
)
from tests.panels.support_router_world import (
    AGENT,
    LIMITS,
    MODES,
    PAGE,
    PANELS,
    TASKS,
    Call,
    Durable,
)


class WatchedRouter(RuleBasedStateMachine):
    """A router whose every step is checked, and what the model says beforehand."""

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
        #: The mode each task's agent is in, and when the switch that is under way must be over.
        self.mode: dict[str, str] = {}
        self.switching: dict[int, float] = {}
        #: The switches of tasks that were paused when they were last here (S-6).
        self.recovering: dict[int, str] = {}
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
                if isinstance(effect, SwitchMode):
                    self.switching[op] = self.now + LIMITS.switching_seconds
                    if isinstance(self.event, TaskAttached):
                        self.recovering[op] = effect.task
            case CancelOp(op=op):
                self.switching.pop(op, None)
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
            case ShowRow(text=text):
                assert AGENT not in text
                assert PAGE not in text
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
            happened = handed and not call.is_read and reply.code in MAY_HAVE_HAPPENED_CODES
            assert reply.text == refusal(reply.code, LIMITS, happened=happened)
            assert reply.images == ()
        elif call.is_read:
            self.check_read(call, reply)
        else:
            self.check_write(call, reply)

    def check_read(self, call: Call, reply: Reply) -> None:
        # S-1: content is handed over only in its own turn, while the task is in Supervised, on no
        # way out of it, and durably known to be paused.
        assert self.turns.get(call.task) == call.turn
        assert self.mode[call.task] == MODES[0]
        for op in self.switching:
            under_way = self.work[op]
            assert isinstance(under_way, SwitchMode)
            assert under_way.task != call.task
        pauses = [one for one in self.log if isinstance(one, PauseRecord)]
        assert [one.paused for one in pauses if one.task == call.task][-1]
        assert reply.panel == call.panel
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
        assert reply.panel == ""
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
        limits = [*(call.deadline for call in self.calls.values()), *self.switching.values()]
        if limits:
            assert due is not None
            assert self.now < due <= min(limits)
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
            assert self.bytes_held(panel) <= LIMITS.image_bytes_per_panel
            assert len(held) <= LIMITS.open_calls_per_panel

    # --- what the model says beforehand

    def bytes_held(self, panel: str) -> int:
        calls = [call for call in self.calls.values() if call.panel == panel]
        return sum(image.size for call in calls for image in call.read.values())

    def here(self, task: str) -> bool:
        attached = self.tasks.get(task)
        return attached is not None and attached.kind is TaskKind.LOCAL and attached.supervised

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
        if call.is_read and self.tasks[call.task].switches is Switches.NEVER:
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
        return [one for one in self.calls.values() if one.panel == panel and one.phase == "waiting"]
