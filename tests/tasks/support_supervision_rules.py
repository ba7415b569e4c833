"""Everything that can happen to tasks under supervision, in any order."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from deska_sdk.errors import PageCode
from deska_sdk.router import (
    AskApproval,
    Confirmed,
    ConfirmNeeded,
    Deliver,
    HostTool,
    Persist,
    Sender,
    Switches,
    SwitchMode,
    TurnEnd,
    Who,
)
from tests.panels.support_router import manifest
from tests.tasks.support_supervision import AGENT, MODES, PAGE, SUPERVISED, WatchedDesk
from tests.tasks.support_tasks import PNG, TWO

TASKS = {"task-1": Switches.MID_TURN, "task-2": Switches.NEXT_TURN}
PANELS = ("notes", "sketches")
KINDS = ("switch", "store", "encode", "find")
#: Mostly the first task and panel: what happens to both at once is no more than twice the same.
tasks = st.sampled_from(["task-1", "task-1", "task-2", "task-2"])
panels = st.sampled_from([*PANELS[:1], *PANELS])
modes = st.sampled_from(MODES)
pick = st.integers(0, 7)


def rarely(chance: int = 5) -> st.SearchStrategy[bool]:
    return st.sampled_from([False] * chance + [True])


class SupervisionMachine(RuleBasedStateMachine):
    """A host with two tasks, two panels, a person, an assistant, a slow store and slow agents."""

    desk: WatchedDesk

    @initialize(mode=modes, other=modes)
    def open_the_desk(self, mode: str, other: str) -> None:
        self.desk = desk = WatchedDesk()
        self.tell_pages_files()
        for panel in PANELS:
            desk.install(manifest(panel))
        for (task, switches), now in zip(TASKS.items(), (mode, other), strict=True):
            desk.attach(task, mode=now, switches=switches, runs_messages=True)
            for panel in PANELS:
                desk.connect(task, panel)
        for panel in PANELS:
            desk.start_page(panel)

    def tell_pages_files(self) -> None:
        self.desk.kept = {"one": PNG, "two": TWO, "broken": None}

    def page(self, panel: str) -> str | None:
        """The panel's page on the desk, if one runs."""
        page: Any = self.desk.router._desk.panels[panel].desk_page
        return None if page is None else page.instance

    # --- the agent and its pages

    @rule(task=tasks, panel=panels, images=st.sampled_from([0, 0, 1, 2]), large=rarely(7))
    def a_whole_read(self, task: str, panel: str, images: int, large: bool) -> None:
        call = self.desk.call("list_notes", task=task, panel=panel)
        if self.desk.was_delivered(call):
            self.page_answers(call, images, large=large)

    @rule(
        task=tasks, panel=panels, action=st.sampled_from(["list_notes", "list_notes", "add_note"])
    )
    def a_call(self, task: str, panel: str, action: str) -> None:
        payload = {"text": AGENT} if action == "add_note" else {}
        self.desk.call(action, payload, task=task, panel=panel)

    @rule(which=pick, images=st.sampled_from([0, 0, 1, 2]), large=rarely())
    @precondition(lambda self: self.desk.all(Deliver))
    def an_answer(self, which: int, images: int, large: bool) -> None:
        delivered = self.desk.all(Deliver)[-8:]
        call = delivered[which % len(delivered)].call_id.removeprefix("call-of-")
        self.page_answers(call, images, large=large)

    def page_answers(self, call: str, images: int, *, large: bool) -> None:
        delivered = self.desk.delivered(call)
        ids = ["one", "two", "broken"][:images]
        read = {"notes": [f"{PAGE} <\u200b>" * (40 if large else 1)], "images": ids}
        answer = {"ok": True, "revision": PAGE} if delivered.action == "add_note" else read
        code = self.desk.answer(call, answer)
        assert code in (None, PageCode.UNKNOWN_CALL)

    @rule(which=pick)
    def the_agent_waits_no_longer(self, which: int) -> None:
        calls = list(self.desk.asked)[-8:]
        if calls:
            self.desk.cancel(calls[which % len(calls)])

    @rule(
        panel=panels,
        text=st.sampled_from([f"{PAGE} <\u200b>", f"{PAGE}", "", None, 5]),
        files=st.sampled_from([None, ["one"], ["one", "two", "one"], ["gone"]]),
    )
    def an_offer(self, panel: str, text: Any, files: Any) -> None:
        # Content of a panel is marked, so that the watcher knows it again.
        page = self.page(panel)
        if page is not None and (text not in ("", None) or files is None):
            self.desk.make_offer(text, files, page)

    @rule(panel=panels, act=st.sampled_from(["close", "start", "start", "start"]))
    def a_page_changes(self, panel: str, act: str) -> None:
        page = self.page(panel)
        if act == "start":
            self.desk.start_page(panel)
        elif page is not None:
            self.desk.close_page(page)

    # --- turns

    @rule(task=tasks, how=st.sampled_from([*TurnEnd, TurnEnd.COMPLETED, TurnEnd.COMPLETED]))
    def a_turn_ends(self, task: str, how: TurnEnd) -> None:
        if task in self.desk.open:
            self.desk.end(how, task)

    @rule(task=tasks)
    def a_turn_begins(self, task: str) -> None:
        self.desk.start_turn(task)

    @rule(task=tasks)
    def one_turn_after_the_other(self, task: str) -> None:
        if task in self.desk.open:
            self.desk.end("completed", task)
        if task not in self.desk.open:
            self.desk.start_turn(task)

    @rule(task=tasks)
    def the_person_stops_a_task_between_turns(self, task: str) -> None:
        if task not in self.desk.open:
            self.desk.stop_between_turns(task)

    # --- the person and the assistant

    @rule(task=tasks, mode=modes, by=st.sampled_from(Who))
    def a_mode_is_asked_for(self, task: str, mode: str, by: Who) -> None:
        self.desk.set_mode(mode, by, task)

    @rule(task=tasks)
    def keep_asking(self, task: str) -> None:
        self.desk.keep_asking(task)

    @rule(which=pick, yes=st.booleans())
    @precondition(lambda self: self.desk.all(ConfirmNeeded))
    def the_person_confirms_or_not(self, which: int, yes: bool) -> None:
        needed = self.desk.all(ConfirmNeeded)
        self.desk.step(Confirmed(needed[which % len(needed)].ask, yes))

    @rule(task=tasks, key=st.sampled_from([f"{AGENT} a", f"{AGENT} b"]))
    def the_agent_asks_for_an_approval(self, task: str, key: str) -> None:
        self.desk.request(key, task)

    @rule(
        which=pick,
        answer=st.sampled_from(["once", "always", "always", "deny"]),
        by=st.sampled_from(Who),
    )
    @precondition(lambda self: self.desk.all(AskApproval))
    def someone_approves(self, which: int, answer: str, by: Who) -> None:
        asked = self.desk.all(AskApproval)[-4:]
        self.desk.approve(asked[which % len(asked)].request, answer, by)

    @rule(task=tasks, tool=st.sampled_from(HostTool))
    def the_agent_wants_a_tool(self, task: str, tool: HostTool) -> None:
        self.desk.tool(tool, task)

    @rule(panel=panels, task=tasks)
    def the_person_sends(self, panel: str, task: str) -> None:
        version = self.desk.button(panel)
        if version is not None:
            self.desk.press(version, task, panel)

    @rule(task=tasks, sender=st.sampled_from([Sender.PERSON, Sender.OTHER]))
    def a_message(self, task: str, sender: Sender) -> None:
        self.desk.queue(self.desk.fresh("message"), task, sender)

    @rule(task=tasks, which=pick, act=st.sampled_from(["remove", "remove", "edit", "steer"]))
    def the_person_changes_the_queue(self, task: str, which: int, act: str) -> None:
        waiting = self.desk.router.waiting(task)
        if not waiting:
            return
        message = waiting[which % len(waiting)]
        if act == "remove":
            assert self.desk.remove(message.id, task) is None
        elif act == "edit":
            code = self.desk.edit(message.id, "other words", task)
            assert (code is None) is (message.sender is not Sender.PANEL)
        else:
            code = self.desk.steer(message.id, task)
            may = message.sender is not Sender.PANEL and task in self.desk.open
            assert (code is None) is may
            if may:
                self.desk.over.add(message.id)

    @rule(
        task=tasks,
        panel=panels,
        act=st.sampled_from(["disconnect", "connect", "off", "on", "on", "rests", "rests"]),
    )
    def the_person_connects_or_not(self, task: str, panel: str, act: str) -> None:
        match act:
            case "disconnect":
                self.desk.disconnect(task, panel)
            case "connect":
                self.desk.connect(task, panel)
            case "off":
                self.desk.turn_off()
            case "on":
                self.desk.turn_on()
            case _:
                pass

    @rule()
    def the_person_puts_all_in_order(self) -> None:
        """Without this most reads would meet a desk on which nothing can be called."""
        self.desk.turn_on()
        for panel in PANELS:
            for task in TASKS:
                self.desk.connect(task, panel)
            if self.page(panel) is None:
                self.desk.start_page(panel)

    # --- the host

    @rule(kind=st.sampled_from([*KINDS, "switch", "switch"]), slow=st.booleans())
    def the_host_is_slow_or_fast(self, kind: str, slow: bool) -> None:
        self.desk.holding = self.desk.holding | {kind} if slow else self.desk.holding - {kind}

    @rule(kind=st.sampled_from([*KINDS, "switch", "switch"]), fails=rarely(2))
    def the_host_fails_or_works(self, kind: str, fails: bool) -> None:
        self.desk.failing = self.desk.failing | {kind} if fails else self.desk.failing - {kind}

    @rule(begins=st.sampled_from([True, True, False]))
    def the_host_begins_turns_or_not(self, begins: bool) -> None:
        self.desk.begins = begins

    @rule(which=pick)
    @precondition(lambda self: self.desk.held)
    def work_ends(self, which: int) -> None:
        effect = self.desk.held[which % len(self.desk.held)]
        if isinstance(effect, Persist):
            # A store commits in the order in which it was asked.
            effect = next(one for one in self.desk.held if isinstance(one, Persist))
        self.desk.finish(effect)

    @rule()
    @precondition(lambda self: self.desk.held)
    def all_work_ends(self) -> None:
        for _ in range(40):
            if self.desk.held:
                self.desk.finish()

    @rule(which=pick)
    def a_switch_is_made_before_the_host_says_so(self, which: int) -> None:
        switches = [one for one in self.desk.held if isinstance(one, SwitchMode)]
        if switches:
            self.desk.make(switches[which % len(switches)])

    @rule(seconds=st.sampled_from([0.5, 4.5, 5.0, 5.0, 10.0, 30.0]))
    def time_passes(self, seconds: float) -> None:
        self.desk.wait(seconds)

    @rule(task=tasks, mode=modes, stays=st.sampled_from([True, True, True, False]))
    def a_task_comes_back(self, task: str, mode: str, stays: bool) -> None:
        if stays:
            return
        paused = task in self.desk.content
        self.desk.detach(task)
        self.attach(task, mode)
        # S-6: a task that was paused stays in Supervised.
        assert not paused or self.desk.switches[task].mode == SUPERVISED

    def attach(self, task: str, mode: str) -> None:
        self.desk.attach(task, mode=mode, switches=TASKS[task], runs_messages=True)

    @rule(durable=st.integers(0, 3), lives=st.sampled_from([True] * 4 + [False]))
    def the_host_is_killed(self, durable: int, lives: bool) -> None:
        """Of the store's work the first few became durable, and the router never heard."""
        if lives:
            return
        before, real = self.desk, dict(self.desk.real)
        paused = set(before.content)
        waiting = [one for one in before.held if isinstance(one, Persist)]
        for persist in waiting[:durable]:
            before.log += persist.records
        self.desk = WatchedDesk(before.log)
        self.tell_pages_files()
        assert self.desk.at_rest()
        for task in TASKS:
            self.attach(task, real[task])
            assert task not in paused or self.desk.switches[task].mode == SUPERVISED
            assert self.desk.router.waiting(task) == ()
        for panel in PANELS:
            self.desk.start_page(panel)

    # --- always, and at the end

    @invariant()
    def no_object_of_the_router_shows_what_was_said(self) -> None:
        for held in vars(self.desk.router).values():
            for inside in (held, *getattr(held, "__dict__", {}).values()):
                text = repr(inside)
                assert AGENT not in text, text
                assert PAGE not in text, text

    def teardown(self) -> None:
        if not hasattr(self, "desk"):
            return
        desk = self.desk
        desk.holding, desk.failing, desk.begins = set(), set(), True
        while desk.held:
            desk.finish()
        # A task that is held back is tried again at the end of a turn; then all has its turn.
        for task in TASKS:
            for _ in range(60):
                if task not in desk.open:
                    desk.start_turn(task)
                desk.end("completed", task)
                if not desk.router.waiting(task) and task not in desk.open:
                    break
        desk.wait(60)
        for task in TASKS:
            if task in desk.open:
                desk.end("completed", task)
        for needed in desk.all(ConfirmNeeded):
            desk.step(Confirmed(needed.ask, yes=False))
        for task in TASKS:
            assert desk.router.waiting(task) == ()
            assert desk.router.mode(task) == desk.due_mode[task]
            switch = desk.switches.get(task)
            # Nobody knows how a switch went that was cut short and that nothing came after.
            sure = switch is None or (switch.told and switch.made)
            assert desk.real[task] == desk.due_mode[task] or not sure
        assert desk.at_rest()
        assert not desk.images, "every image was handed on or given back"
