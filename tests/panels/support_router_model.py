"""A model of the whole router, driven at random and held against every effect it gives.

The model knows the desk (what is installed, agreed to, connected, on), each request's phase and
deadline, each image's owner and what each counter ever meant. It says beforehand what a call is
answered with, and checks what comes.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from deska_sdk.errors import AgentCode, PageCode
from deska_sdk.panels.consent import fingerprint
from deska_sdk.router import (
    CallCancelled,
    CallRequested,
    EncodeImage,
    ImageHandle,
    ListRequested,
    Persist,
    ReadImage,
    Release,
    Reply,
    Responded,
    SettleRespond,
    SwitchMode,
    Tick,
)
from tests.panels.support_router import (
    refusal,
)
from tests.panels.support_router_desk import DeskRules
from tests.panels.support_router_world import (
    ACTIONS,
    AGENT,
    LIMITS,
    PAGE,
    PANELS,
    TASKS,
    VERSIONS,
    Call,
    pick,
)


class RouterMachine(DeskRules):
    """Everything that can happen to a router, in any order."""

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
        event = CallRequested(request, f"id-of-{request}", task, call.turn, panel, action, payload)
        if code is None:
            self.calls[request] = call
        effects = self.feed(event, tick=False)
        replies = [one for one in effects if isinstance(one, Reply)]
        assert [one.code for one in replies] == ([] if code is None else [code])
        if code is None:
            assert call.phase == ("preparing" if call.paths else "waiting")
        elif code is not AgentCode.INVALID_INPUT:
            assert replies[0].text == refusal(code, LIMITS)

    @rule(
        task=st.sampled_from(TASKS),
        panel=st.sampled_from(PANELS),
        action=st.sampled_from(["list_notes", "add_note"]),
        text=st.sampled_from(["", "r1", "r2", "r4", "r\u200b2", AGENT]),
        more=st.sampled_from(["", "tags", "place"]),
        images=st.sampled_from([0, 0, 1, 2]),
    )
    def a_right_call(
        self, task: str, panel: str, action: str, text: str, more: str, images: int
    ) -> None:
        self.call(task, panel, action, text, more, images, as_text=False, old_turn=False)

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
        kind=st.sampled_from(["good", "good", "good", "good", "bad", "large", "escaped", "images"]),
        revision=st.integers(0, 5),
        images=st.sampled_from([0, 0, 1, 2]),
        late=st.sampled_from([False, False, True]),
        seconds=st.sampled_from([0.0, 1.0, 30.0]),
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
        seconds: float,
        foreign: bool,
        over: bool,
    ) -> None:
        if late:
            # No tick comes in between: the answer itself must let what is due fall first.
            self.now += seconds
        else:
            self.feed(Tick())
        waiting = [one for one in self.calls.values() if one.phase == "waiting"]
        calls = list(self.ended.values()) if over or not waiting else waiting
        if not calls:
            return
        call = calls[which % len(calls)]
        self.page_answers(call, kind, revision, images, foreign=foreign)

    def page_answers(
        self, call: Call, kind: str, revision: int, images: int, *, foreign: bool = False
    ) -> None:
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
        # Where the pause holds already there is nothing to wait for but images, and while a task
        # that was paused is put into Supervised again nothing enters.
        at_once: list[AgentCode | None] = []
        if call.is_read and not images and code is None:
            if self.router.paused(call.task):
                at_once = [None]
            elif any(
                self.recovering.get(op) == call.task and self.now < due
                for op, due in self.switching.items()
            ):
                at_once = [AgentCode.PAUSE_FAILED]
        event = Responded(instance, self.names, f"id-of-{call.id}", deepcopy(answer))
        effects = self.feed(event, tick=False)
        (settled,) = [one for one in effects if isinstance(one, SettleRespond)]
        assert settled.code is code
        if live:
            mine = [one for one in effects if isinstance(one, Reply) and one.request == call.id]
            if ends is not None:
                assert [one.code for one in mine] == [ends]
            elif code is not None or call.is_read:
                assert [one.code for one in mine] == at_once

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

    @rule(
        which=pick,
        steps=st.sampled_from([1, 2, 3, 4, 6]),
        size=st.sampled_from([10, 40, 70]),
        revision=st.integers(0, 5),
        images=st.sampled_from([0, 1, 2]),
        ok=st.sampled_from([True, True, False]),
    )
    @precondition(lambda self: self.calls)
    def a_call_goes_on(
        self, which: int, steps: int, size: int, revision: int, images: int, ok: bool
    ) -> None:
        """One of the open calls takes its next steps, each as it should but for the last."""
        self.feed(Tick())
        calls = list(self.calls.values())
        if not calls:
            return
        call = calls[which % len(calls)]
        for left in reversed(range(steps)):
            if call.phase == "waiting":
                self.page_answers(call, "good", revision, images)
            elif call.phase != "ended":
                op = self.work_for(call)
                if op is not None:
                    self.complete(op, ok=ok or left > 0, size=size)

    @rule(
        task=st.sampled_from(TASKS),
        panel=st.sampled_from(PANELS),
        revisions=st.lists(st.integers(0, 9), min_size=1, max_size=8),
        ok=st.booleans(),
        images=st.sampled_from([0, 0, 1]),
    )
    def writes_in_a_row(
        self, task: str, panel: str, revisions: list[int], ok: bool, images: int
    ) -> None:
        """Enough writes to use up blocks of numbers and bytes; the store ends its work or waits."""
        for revision in revisions:
            self.call(task, panel, "add_note", "r1", "tags", images, as_text=True, old_turn=False)
            call = next(reversed(self.calls.values()), None)
            if call is not None and call.phase == "preparing":
                op = self.work_for(call)
                if op is not None:
                    self.complete(op, ok=True, size=40)
            if call is None or call.phase != "waiting" or call.is_read:
                return
            self.page_answers(call, "good", revision, 0)
            for op in self.open_work() if ok else ():
                if isinstance(self.work[op], Persist):
                    self.complete(op, ok=True)

    @rule(
        task=st.sampled_from(TASKS),
        panel=st.sampled_from(PANELS),
        sizes=st.lists(st.sampled_from([10, 40, 70]), max_size=2),
        ends=st.sampled_from([True, True, False]),
    )
    def a_whole_read(self, task: str, panel: str, sizes: list[int], ends: bool) -> None:
        self.call(task, panel, "list_notes", "", "", 0, as_text=True, old_turn=False)
        call = next(reversed(self.calls.values()), None)
        if call is None or call.phase != "waiting" or not call.is_read:
            return
        self.page_answers(call, "good", 0, len(sizes))
        for size in sizes:
            op = self.work_for(call)
            if op is not None and call.phase == "finishing":
                self.complete(op, ok=True, size=size)
        while call.phase == "finishing" and (op := self.work_for(call)) is not None:
            self.complete(op, ok=ends)

    def work_for(self, call: Call) -> int | None:
        """The oldest work that may be this call's."""
        for op in self.open_work():
            if op in self.cancelled:
                continue
            match self.work[op]:
                case ReadImage(path=path) if path.split("/")[1] == call.id:
                    return op
                case EncodeImage(file_id=file_id) if call.id in file_id.split(f"{PAGE}-")[1]:
                    return op
                case SwitchMode(task=task) if task == call.task and call.is_read:
                    return op
                case Persist() if call.phase == "finishing":
                    return op
        return None

    @rule(size=st.sampled_from([10, 40]))
    @precondition(lambda self: self.open_work())
    def all_work_ends(self, size: int) -> None:
        for op in self.open_work():
            self.complete(op, ok=True, size=size)

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

    @rule(seconds=st.sampled_from([0.25, 0.25, 1.0, 1.0, 4.0, 10.0, 30.0]), tick=st.booleans())
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

    @rule(durable=st.integers(0, 3), sure=st.sampled_from([False] * 5 + [True]))
    def host_is_killed(self, durable: int, sure: bool) -> None:
        """Of the store's work the first few became durable, and the router never heard."""
        if not sure:
            return
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
