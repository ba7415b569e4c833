"""A desk that watches every step for what supervision promises, whatever order things come in.

It knows what the host really did: which mode each agent is in, what became durable, who holds an
image. What the router says about itself is believed nowhere but where it is asked to say it.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from attrs import define, evolve

from deska_sdk.errors import AgentCode
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.records import PauseRecord
from deska_sdk.router import (
    Answer,
    ApprovalRequested,
    Approved,
    CallRequested,
    Confirmed,
    Decided,
    DisconnectAsked,
    Done,
    Effect,
    Event,
    ImageEncoded,
    ImageHandle,
    KeepAsking,
    Message,
    MessageRemoved,
    ModeAsked,
    ModeSwitched,
    Persist,
    Release,
    Reply,
    RowKind,
    Sender,
    ShowRow,
    StartTurn,
    SwitchAsked,
    SwitchMode,
    TaskAttached,
    TaskDetached,
    TaskStopped,
    ToolAnswered,
    ToolRequested,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Who,
)
from deska_sdk.tasks import rows
from tests.panels.support_router import inside_the_fence
from tests.tasks.support_tasks import TaskDesk

#: What only an agent says, and what only a page says.
AGENT, PAGE = "AGENTMARK", "PAGEMARK"
SUPERVISED = "supervised"
MODES = (SUPERVISED, "accept_edits", "automatic")

LIMITS = evolve(DEFAULT_LIMITS, answer=300, png_bytes=150, counter_block=3)


@define
class Switch:
    """A change of mode that the host was told to make."""

    op: int
    mode: str
    #: Whether the agent is in the mode, and whether the router was told how it went.
    made: bool = False
    told: bool = False


class WatchedDesk(TaskDesk):
    """One run of the host."""

    def __init__(self, log: list[Any] | None = None) -> None:
        super().__init__(log, LIMITS)
        self.facts: dict[str, TaskAttached] = {}
        #: The newest switch of each task: it takes the place of any before it.
        self.switches: dict[str, Switch] = {}
        #: The mode each task is to be in when no pause stands.
        self.due_mode: dict[str, str] = {}
        #: The tasks with an open turn, and those with content of a panel in it that the person
        #: has not taken out of Supervised themselves.
        self.open: set[str] = set()
        self.content: set[str] = set()
        #: Whether the turn was in Supervised from its start and the agent was never let out of it.
        self.kept_in: dict[str, bool] = {}
        #: What was always allowed outside of any pause, and the open requests.
        self.always: dict[str, set[str]] = {}
        self.keys: dict[str, tuple[str, str]] = {}
        #: Where each call went; the newest deferred read of each task and panel; messages that
        #: must not be started any more; those the host was told to start and has not.
        self.asked: dict[str, tuple[str, str]] = {}
        self.newest: dict[tuple[str, str], str] = {}
        self.over: set[str] = set()
        self.sent: dict[str, Message] = {}
        #: Images that the router was given and has neither handed on nor given back.
        self.images: set[str] = set()
        #: The asks that are under way.
        self.wishes: dict[str, Any] = {}

    # --- one step

    def step(self, event: Event) -> list[Effect]:
        made: list[Effect] = []
        coming = deque([event])
        while coming:
            event = coming.popleft()
            self.before(event)
            effects = list(self.router.step(event, self.now))
            for shown in (event, *effects):
                text = repr(shown)
                assert AGENT not in text, text
                assert PAGE not in text, text
            for effect in effects:
                self.check(event, effect)
                coming += self._perform(effect)
            made += effects
            self.effects += effects
            for task in self.facts:
                self.after(task)
        return made

    def before(self, event: Event) -> None:
        """What the host knows when it feeds an event."""
        match event:
            case TaskAttached(task=task):
                self.leave(task)
                self.facts[task] = event
                self.real[task] = self.due_mode[task] = event.mode
                self.always[task] = set()
            case TaskDetached(task=task):
                self.leave(task)
            case TurnStarted(task=task, message=message) if task in self.facts:
                self.turn_over(task, TurnEnd.COMPLETED)
                self.open.add(task)
                self.kept_in[task] = self.surely_supervised(task)
                self.began(task, message)
            case TurnEnded(task=task, turn=turn, how=how) if turn == self.turns.get(task):
                self.turn_over(task, how)
            case ModeSwitched(op=op):
                for switch in self.switches.values():
                    switch.told |= switch.op == op and op not in self.cancelled
            case TaskStopped(task=task):
                self.drop(task)
            case SwitchAsked(on=False):
                self.drop()
            case DisconnectAsked(task=task, panel=panel):
                self.drop(task, panel)
            case CallRequested(request=request, task=task, panel=panel):
                self.asked[request] = (task, panel)
            case ApprovalRequested(request=request, task=task, key=key):
                self.keys[request] = (task, key)
            case ModeAsked() | KeepAsking() | MessageRemoved() | Approved():
                self.wishes[event.ask] = event
            case _:
                pass

    def leave(self, task: str) -> None:
        self.turn_over(task, TurnEnd.STOPPED)
        for known in (self.facts, self.switches, self.sent):
            known.pop(task, None)

    def turn_over(self, task: str, how: TurnEnd) -> None:
        self.content.discard(task)
        self.open.discard(task)
        if how in (TurnEnd.STOPPED, TurnEnd.INTERRUPTED):
            self.drop(task)

    def drop(self, task: str | None = None, panel: str | None = None) -> None:
        """The deferred reads of this task and panel, or of all, are over."""
        for (owner, of), call in self.newest.items():
            if task in (None, owner) and panel in (None, of):
                self.over.add(call)

    def began(self, task: str, message: str | None) -> None:
        """A turn began; the message that began it is the agent's now, with its images."""
        sent = self.sent.pop(task, None)
        if sent is not None and sent.id == message:
            self.part_with(sent.images)
            self.over.add(sent.id)
            if sent.sender is Sender.PANEL:
                self.content.add(task)

    # --- each effect

    def check(self, event: Event, effect: Effect) -> None:
        match effect:
            case SwitchMode():
                self.check_switch(event, effect)
            case Release(images=images):
                self.part_with(images)
            case Reply():
                self.check_reply(effect)
            case StartTurn(task=task, message=message):
                self.check_start(task, message)
            case ShowRow():
                self.check_row(effect)
            case Decided():
                self.check_decided(event, effect)
            case ToolAnswered(code=code):
                assert isinstance(event, ToolRequested)
                assert code is not None or event.task not in self.content, "S-4"
            case Done():
                self.check_done(event, effect)
            case _:
                pass

    def check_switch(self, event: Event, switch: SwitchMode) -> None:
        task = switch.task
        if switch.mode != SUPERVISED:
            self.kept_in[task] = False
            if task in self.content:
                # S-5: only the person's own word ends a pause early.
                assert (isinstance(event, ModeAsked) and event.by is Who.PERSON) or (
                    isinstance(event, Confirmed) and event.yes
                ), event
        self.switches[task] = Switch(switch.op, switch.mode)

    def check_reply(self, reply: Reply) -> None:
        if reply.code is AgentCode.READ_DEFERRED:
            where = self.asked[reply.request]
            self.over.add(self.newest.get(where, ""))
            self.newest[where] = f"call-of-{reply.request}"
        if not reply.panel:
            assert PAGE not in reply.text
            assert reply.images == ()
            return
        task, panel = self.asked[reply.request]
        assert (reply.code, reply.panel) == (None, panel)
        assert task in self.open, "content enters only a turn that is open"
        assert self.facts[task].switches != "never"
        if self.facts[task].switches == "next_turn":
            assert self.kept_in[task], "S-7: this agent is only as strict as its turn began"
        self.may_enter(task, reply.text)
        self.content.add(task)
        self.part_with(reply.images)

    def check_start(self, task: str, message: Message) -> None:
        assert task not in self.open, "O-4: in a turn of its own"
        assert task not in self.sent
        assert self.facts[task].runs_messages
        assert message.id not in self.over, "sent once, and not after it was dropped or removed"
        self.sent[task] = message
        if message.sender is not Sender.PANEL:
            assert PAGE not in message.text
            return
        if message.id.startswith("call-"):
            assert self.newest[task, message.panel] == message.id
        self.may_enter(task, message.text)

    def may_enter(self, task: str, text: str) -> None:
        """S-1: the agent is in Supervised, on no way out of it, and the store knows why."""
        assert self.surely_supervised(task)
        pauses = [one for one in self.log if isinstance(one, PauseRecord) and one.task == task]
        assert pauses[-1].paused
        assert self.router.paused(task)
        assert self.router.mode(task) == SUPERVISED
        assert PAGE in str(inside_the_fence(text))

    def surely_supervised(self, task: str) -> bool:
        switch = self.switches.get(task)
        on_its_way = switch is not None and not switch.told and switch.mode != SUPERVISED
        return self.real[task] == SUPERVISED and not on_its_way

    def check_row(self, row: ShowRow) -> None:
        assert PAGE not in row.text
        assert row.keep_asking is (row.kind is RowKind.BACK)
        if row.kind is RowKind.BACK:
            assert self.router.mode(row.task) == self.due_mode[row.task]
        elif row.kind in (RowKind.RESTARTED, RowKind.STAYS) and row.text != rows.not_recovered():
            self.due_mode[row.task] = SUPERVISED

    def check_decided(self, event: Event, decided: Decided) -> None:
        task, key = self.keys[decided.request]
        if not decided.allowed:
            return
        if isinstance(event, ApprovalRequested):
            assert task not in self.content, "S-4: what was always allowed asks again"
            assert key in self.always[task]
            return
        assert isinstance(event, (Approved, Confirmed))
        answered: Approved = self.wishes[event.ask]
        if task in self.content:
            assert isinstance(event, Confirmed) or event.by is Who.PERSON, "S-5"
        elif answered.answer is Answer.ALWAYS:
            self.always[task].add(key)

    def check_done(self, event: Event, done: Done) -> None:
        if done.code is not None:
            return
        match self.wishes.pop(done.ask, None):
            case MessageRemoved(message=message):
                self.over.add(message)
            # A wish that ends in its own step changed nothing (S-5).
            case ModeAsked(task=task, mode=mode) if isinstance(event, ModeSwitched):
                self.changed(task, mode)
            case KeepAsking(task=task):
                self.changed(task, SUPERVISED)
            case _:
                pass

    def changed(self, task: str, mode: str) -> None:
        """The person's own change was made: it ends a pause, and its mode is what stays."""
        self.due_mode[task] = mode
        self.content.discard(task)

    def part_with(self, images: tuple[ImageHandle, ...]) -> None:
        for image in images:
            assert image.id in self.images, "an image is parted with once"
            self.images.remove(image.id)

    # --- the host's work

    def _perform(self, effect: Effect) -> list[Event]:
        if isinstance(effect, SwitchMode) and "switch" not in self.holding:
            return [self.end_switch(effect)]
        return super()._perform(effect)

    def completion(self, effect: Effect) -> Event:
        if isinstance(effect, SwitchMode):
            return self.end_switch(effect)
        event = super().completion(effect)
        if isinstance(event, ImageEncoded) and event.image is not None:
            # The host hands in a new image each time.
            image = evolve(event.image, id=self.fresh("image"))
            self.images.add(image.id)
            return ImageEncoded(event.op, image)
        return event

    def end_switch(self, effect: SwitchMode) -> ModeSwitched:
        switch = self.switches.get(effect.task)
        if switch is None or switch.op != effect.op:
            # Another one took its place: what this one says is of no use.
            return ModeSwitched(effect.op, ok=True)
        ok = switch.made or "switch" not in self.failing
        if ok:
            self.make(effect)
        return ModeSwitched(effect.op, ok=ok)

    def make(self, effect: SwitchMode) -> None:
        """The agent is in the mode from now on, whether or not the router has been told."""
        switch = self.switches.get(effect.task)
        if switch is not None and switch.op == effect.op and not switch.told:
            switch.made = True
            self.real[effect.task] = effect.mode

    # --- what holds after every step

    def after(self, task: str) -> None:
        switch, paused = self.switches.get(task), self.router.paused(task)
        assert paused or task not in self.content, "S-1: for the rest of that turn"
        quiet = switch is None or switch.told or switch.op in self.cancelled
        storing = any(isinstance(one, Persist) for one in self.held)
        if quiet and not paused and not storing:
            # S-1, S-6: the mode from before, unless the person or a row says otherwise.
            assert self.router.mode(task) == self.due_mode[task]
            if switch is not None and switch.told and switch.made:
                assert self.router.mode(task) == self.real[task]
        deferred = [one for one in self.router.waiting(task) if one.id.startswith("call-")]
        assert len({one.panel for one in deferred}) == len(deferred), "S-7: one per panel"
        for one in deferred:
            assert one.id not in self.over
            assert self.newest[task, one.panel] == one.id
