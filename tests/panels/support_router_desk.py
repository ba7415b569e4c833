"""What the person, tasks and pages do to the router under its model."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from deska_sdk.errors import AgentCode
from deska_sdk.panels.consent import fingerprint
from deska_sdk.router import (
    ClosePage,
    ConnectAsked,
    Connected,
    DisconnectAsked,
    Effect,
    Init,
    InstallAsked,
    PageClosed,
    PageReady,
    PageStarted,
    Persist,
    SwitchAsked,
    Switches,
    TaskAttached,
    TaskDetached,
    TaskKind,
    Tick,
    TurnEnded,
    TurnStarted,
    UninstallAsked,
)
from tests.panels.support_router_work import WorkingHost
from tests.panels.support_router_world import (
    MODES,
    PANELS,
    TASKS,
    VERSIONS,
    pick,
)


class DeskRules(WorkingHost):
    """Everything that changes the desk."""

    # --- rules: the person

    @initialize(ready=st.sampled_from([True, True, True, True, False]))
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

    def install(self, panel: str, version: int) -> None:
        self.ask(InstallAsked(self.fresh("ask"), VERSIONS[panel][version]))

    def uninstall(self, panel: str) -> None:
        self.ask(UninstallAsked(self.fresh("ask"), panel))

    def connect(self, task: str, panel: str, agrees: bool = True) -> None:
        installed = self.desk.installed.get(panel)
        consent = fingerprint(installed) if installed is not None and agrees else "no"
        self.ask(ConnectAsked(self.fresh("ask"), task, panel, consent))

    def disconnect(self, task: str, panel: str) -> None:
        self.feed(Tick())
        calls = [one for one in self.calls.values() if (one.task, one.panel) == (task, panel)]
        ask = DisconnectAsked(self.fresh("ask"), task, panel)
        self.at_once(ask)
        self.asks.append(ask)
        self.ends(ask, calls, AgentCode.NOT_CONNECTED)

    def turn_off(self) -> None:
        self.feed(Tick())
        ask = SwitchAsked(self.fresh("ask"), on=False)
        calls = list(self.calls.values())
        self.at_once(ask)
        self.asks.append(ask)
        self.ends(ask, calls, AgentCode.TURNED_OFF)

    def turn_on(self) -> None:
        self.ask(SwitchAsked(self.fresh("ask"), on=True))

    @rule(
        act=st.sampled_from(
            ["install", "uninstall", "connect", "disconnect", "off", "on"] + ["rests"] * 8
        ),
        task=st.sampled_from(TASKS),
        panel=st.sampled_from(PANELS),
        version=st.sampled_from([0, 0, 1, 1, 2, 3, 4]),
        agrees=st.sampled_from([True, True, True, False]),
    )
    def the_person_acts(self, act: str, task: str, panel: str, version: int, agrees: bool) -> None:
        match act:
            case "install":
                self.install(panel, version)
            case "uninstall":
                self.uninstall(panel)
            case "connect":
                self.connect(task, panel, agrees)
            case "disconnect":
                self.disconnect(task, panel)
            case "off":
                self.turn_off()
            case "on":
                self.turn_on()

    @rule(
        panel=st.sampled_from(PANELS),
        version=st.sampled_from([1, 1, 2, 3]),
        sure=st.sampled_from([False, False, True]),
    )
    def a_new_version_takes_over(self, panel: str, version: int, sure: bool) -> None:
        """With its page running, so that consent is all that may stand between it and a call."""
        if sure:
            self.install(panel, version)
            self.finish_asks()
            self.start_page(panel, "desk", ready=True)

    @rule()
    def the_person_puts_all_in_order(self) -> None:
        """Without this most calls would meet a desk on which nothing can be called."""
        self.finish_asks()
        if not self.desk.on:
            self.turn_on()
        for panel in PANELS:
            if panel not in self.desk.installed or not self.desk.installed[panel].actions:
                self.install(panel, 0)
        self.finish_asks()
        for task in TASKS:
            if not self.here(task):
                self.attach(task)
            if self.turns[task] is None:
                self.start_turn(task)
            for panel in PANELS:
                self.connect(task, panel)
        self.finish_asks()
        for panel in PANELS:
            if (panel, "desk") not in self.pages.values():
                self.start_page(panel, "desk", ready=True)

    # --- rules: tasks and turns

    @rule(
        act=st.sampled_from(["attach", "detach", "start", "end", "old end"] + ["goes on"] * 6),
        task=st.sampled_from(TASKS),
        kind=st.sampled_from([TaskKind.LOCAL] * 3 + [TaskKind.REMOTE]),
        switches=st.sampled_from([Switches.MID_TURN] * 3 + [Switches.NEVER]),
        mode=st.sampled_from(MODES),
    )
    def a_task_changes(
        self, act: str, task: str, kind: TaskKind, switches: Switches, mode: str
    ) -> None:
        match act:
            case "attach":
                self.attach(task, kind, switches, mode)
            case "detach":
                self.detach(task)
            case "start":
                self.start_turn(task)
            case "end" | "old end":
                self.end_turn(task, act == "old end")

    def attach(
        self,
        task: str,
        kind: TaskKind = TaskKind.LOCAL,
        switches: Switches = Switches.MID_TURN,
        mode: str = "automatic",
    ) -> None:
        event = TaskAttached(task, kind, switches=switches, mode=mode)
        calls = [one for one in self.calls.values() if one.task == task]
        self.feed(Tick())
        self.mode[task] = mode
        self.tasks[task], self.turns[task] = event, None
        self.ends(event, calls, AgentCode.STOPPED)

    def detach(self, task: str) -> None:
        calls = [one for one in self.calls.values() if one.task == task]
        self.feed(Tick())
        self.tasks.pop(task, None)
        self.turns.pop(task, None)
        self.ends(TaskDetached(task), calls, AgentCode.STOPPED)

    def start_turn(self, task: str) -> None:
        calls = [one for one in self.calls.values() if one.task == task]
        self.feed(Tick())
        turn = self.fresh("turn")
        if task in self.tasks:
            self.turns[task] = turn
        self.ends(TurnStarted(task, turn), calls, AgentCode.STOPPED)

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
        act=st.sampled_from(["start", "ready", "close", *["stays"] * 4]),
        panel=st.sampled_from(PANELS),
        kind=st.sampled_from(["desk", "desk", "desk", "extras"]),
        ready=st.booleans(),
        which=pick,
    )
    def a_page_changes(self, act: str, panel: str, kind: str, ready: bool, which: int) -> None:
        if act == "start":
            self.start_page(panel, kind, ready)
        elif act == "ready" and self.pages:
            self.page_ready(which)
        elif act == "close" and self.pages:
            self.close_page(which)

    def start_page(self, panel: str, kind: str, ready: bool) -> None:
        instance = self.fresh("page")
        self.feed(Tick())
        calls = self.waiting_on(panel) if kind == "desk" else []
        if panel in self.desk.installed:
            self.pages[instance] = (panel, kind)
        effects = self.ends(PageStarted(instance, panel, kind), calls, AgentCode.PANEL_CLOSED)
        if panel not in self.desk.installed:
            assert effects == [ClosePage(instance)]
        if ready and instance in self.pages:
            self.feed(PageReady(instance))

    def page_ready(self, which: int) -> None:
        instance = list(self.pages)[which % len(self.pages)]
        had = instance in self.told
        effects = self.feed(PageReady(instance))
        assert [type(one) for one in effects] == ([] if had else [Init, Connected])

    def close_page(self, which: int) -> None:
        self.feed(Tick())
        instance = list(self.pages)[which % len(self.pages)]
        panel, kind = self.pages[instance]
        calls = self.waiting_on(panel) if kind == "desk" else []
        del self.pages[instance]
        self.told.pop(instance, None)
        self.ends(PageClosed(instance), calls, AgentCode.PANEL_CLOSED)
