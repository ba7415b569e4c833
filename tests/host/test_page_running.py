"""A page's life: starting, hearing, raising, closing, and who may see its errors."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from attrs import evolve

from deska_host import Host, ManualClock, PageNotLoaded
from deska_sdk import AgentCode, PageCode, PageError, PersonCode, Refused
from deska_sdk.limits import DEFAULT_LIMITS
from tests.host.support_host import (
    Hands,
    Inbox,
    a_desk,
    a_panel,
    connect,
    later,
    offline_panel,
)

if TYPE_CHECKING:
    from pathlib import Path

    from deska_host import Deska

pytestmark = pytest.mark.anyio

OK = {"ok": True}


# --- ready and connected


@pytest.mark.rule("C-5")
async def test_ready_gives_the_number_of_tasks_and_connected_follows_once_also_at_zero() -> None:
    async with Host() as host:
        hands = Hands()
        await host.install(a_panel())
        await host.start_page("board", page=hands.main)
        await hands.up.wait()
        await anyio.wait_all_tasks_blocked()
        assert (hands.init, hands.tasks) == ({"agent": {"tasks": 0}}, [0])
        host.attach_task("task-1")
        host.attach_task("task-2")
        await connect(host, "task-1", "board")
        await connect(host, "task-2", "board")
        await connect(host, "task-2", "board")
        host.detach_task("task-1")
        await host.person.disconnect("task-2", "board")
        await anyio.wait_all_tasks_blocked()
        assert hands.tasks == [0, 1, 2, 1, 0]
        again = Hands()
        host.attach_task("task-1")
        await host.start_page("board", page=again.main)
        await again.up.wait()
        await anyio.wait_all_tasks_blocked()
        assert (again.init, again.tasks) == ({"agent": {"tasks": 1}}, [1])


@pytest.mark.rule("C-5", "G-1")
async def test_ready_twice_gives_the_same_and_tells_connected_once() -> None:
    told: list[Any] = []

    async def main(deska: Deska) -> None:
        deska.on("agent.connected", told.append)
        async with anyio.create_task_group() as group:
            calls = [later(group, deska.ready) for _ in range(3)]
            told.append([await call.wait() for call in calls])
        told.append(await deska.ready())

        over.set()

    over = anyio.Event()
    async with Host() as host:
        await host.install(a_panel())
        await host.start_page("board", page=main)
        await over.wait()
        await anyio.wait_all_tasks_blocked()
        init = {"agent": {"tasks": 0}}
        assert len(told) == 3
        assert {"tasks": 0} in told
        assert [init, init, init] in told
        assert init in told


@pytest.mark.rule("C-4")
async def test_an_extras_page_is_told_zero_tasks_and_gets_no_calls() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        extras = Hands()
        await desk.host.start_page("board", page=extras.main, kind="extras")
        await extras.up.wait()
        assert not desk.page.closed
        reply = later(group, desk.call, "add", {"text": "x"})
        await desk.hands.answer(OK)
        assert (await reply.wait()).code is None
        await anyio.wait_all_tasks_blocked()
        assert (extras.init, extras.tasks) == ({"agent": {"tasks": 0}}, [0])
        assert len(extras.calls) == 0


@pytest.mark.rule("A-2")
async def test_a_page_is_running_from_its_start_and_may_answer_without_ready() -> None:
    heard: Inbox[dict[str, Any]] = Inbox()
    told: list[Any] = []
    sides: list[Deska] = []

    async def main(deska: Deska) -> None:
        sides.append(deska)
        deska.on("agent.action", heard.put)
        deska.on("agent.connected", told.append)

    async with a_desk(main) as desk, anyio.create_task_group() as group:
        reply = later(group, desk.call, "add", {"text": "x"})
        call = await heard.get()
        await sides[0].agent.respond(call["callId"], OK)
        assert (await reply.wait()).code is None
        assert told == []


# --- listeners


@pytest.mark.rule("G-1")
async def test_an_unknown_event_and_a_listener_that_cannot_be_called_are_invalid_args() -> None:
    async with a_desk() as desk:
        for event, listener in (
            ("agent.called", print),
            ("", print),
            (7, print),
            ("agent.action", None),
            ("agent.action", "print"),
        ):
            with pytest.raises(PageError) as refused:
                desk.hands.deska.on(event, listener)  # type: ignore[arg-type]
            assert refused.value.code is PageCode.INVALID_ARGS


@pytest.mark.rule("A-4")
async def test_calls_before_the_first_listener_wait_and_only_the_latest_sixteen() -> None:
    heard: list[str] = []
    listen = anyio.Event()
    started = anyio.Event()

    async def main(deska: Deska) -> None:
        started.set()
        await listen.wait()

        async def hear(call: dict[str, Any]) -> None:
            heard.append(call["input"]["text"])
            await deska.agent.respond(call["callId"], OK)

        deska.on("agent.action", hear)

    async with a_desk(main) as desk, anyio.create_task_group() as group:
        await started.wait()
        replies = []
        for n in range(20):
            replies.append(later(group, desk.call, "add", {"text": str(n)}))
            await anyio.wait_all_tasks_blocked()
        desk.clock.advance(10)
        listen.set()
        got = [await reply.wait() for reply in replies[4:]]
        assert heard == [str(n) for n in range(4, 20)]
        assert {reply.text for reply in got} == {'{"ok":true}'}
        # What fell out ends at its own deadline, which ran from its hand-over.
        desk.clock.advance(19.9)
        assert not any(reply.over for reply in replies[:4])
        desk.clock.advance(0.2)
        assert [(await reply.wait()).code for reply in replies[:4]] == [AgentCode.PANEL_TIMEOUT] * 4
        assert desk.host.pending == 0


@pytest.mark.rule("A-4")
async def test_the_clock_of_a_call_runs_while_it_waits_for_the_first_listener() -> None:
    refused: list[PageCode] = []
    listen, over = anyio.Event(), anyio.Event()

    async def main(deska: Deska) -> None:
        await listen.wait()

        async def hear(call: dict[str, Any]) -> None:
            try:
                await deska.agent.respond(call["callId"], OK)
            except PageError as error:
                refused.append(error.code)
            over.set()

        deska.on("agent.action", hear)

    async with a_desk(main) as desk, anyio.create_task_group() as group:
        reply = later(group, desk.call, "add", {"text": "x"})
        await anyio.wait_all_tasks_blocked()
        desk.clock.advance(30)
        assert (await reply.wait()).code is AgentCode.PANEL_TIMEOUT
        listen.set()
        await over.wait()
        assert refused == [PageCode.UNKNOWN_CALL]


@pytest.mark.rule("A-4")
async def test_handlers_start_in_arrival_order_and_overlap() -> None:
    started: list[int] = []
    go = anyio.Event()
    all_started = anyio.Event()
    count = 40

    async def main(deska: Deska) -> None:
        async def hear(call: dict[str, Any]) -> None:
            started.append(call["input"]["count"])
            if len(started) == count:
                all_started.set()
            await go.wait()
            await deska.agent.respond(call["callId"], OK)

        deska.on("agent.action", hear)

    limits = evolve(DEFAULT_LIMITS, open_calls_per_connection=count)
    async with a_desk(main, limits=limits) as desk, anyio.create_task_group() as group:
        order = anyio.Lock()
        begun: list[int] = []

        async def call(n: int) -> None:
            begun.append(n)
            reply = await desk.call("add", {"text": "x", "count": n})
            assert reply.code is None

        async with order:
            for n in range(count):
                group.start_soon(call, n)
        await all_started.wait()
        # None has ended, all have started: they overlap.
        assert started == begun
        go.set()


@pytest.mark.rule("A-4")
async def test_handlers_of_calls_that_come_while_others_start_keep_their_order() -> None:
    started: list[int] = []
    over = anyio.Event()

    async def main(deska: Deska) -> None:
        async def hear(call: dict[str, Any]) -> None:
            started.append(call["input"]["count"])
            if len(started) == 30:
                over.set()
            for _ in range(call["input"]["count"] % 3):
                await anyio.lowlevel.checkpoint()
            await deska.agent.respond(call["callId"], OK)

        deska.on("agent.action", hear)

    async with a_desk(main) as desk, anyio.create_task_group() as group:
        begun: list[int] = []

        async def call(first: int) -> None:
            for n in range(first, first + 10):
                begun.append(n)
                await desk.call("add", {"text": "x", "count": n})

        for first in (0, 10, 20):
            group.start_soon(call, first)
        await over.wait()
        assert started == begun


@pytest.mark.rule("G-1")
async def test_each_of_several_listeners_hears_a_call_and_a_plain_function_is_one_too() -> None:
    heard: list[str] = []

    async def main(deska: Deska) -> None:
        async def second(call: dict[str, Any]) -> None:
            heard.append("second")
            await deska.agent.respond(call["callId"], OK)

        deska.on("agent.action", lambda _: heard.append("first"))
        deska.on("agent.action", second)

    async with a_desk(main) as desk:
        assert (await desk.call("add", {"text": "x"})).code is None
        assert heard == ["first", "second"]


# --- raising and closing


@pytest.mark.rule("G-4", "A-7")
async def test_raising_in_main_closes_the_page_and_its_waiting_calls_are_panel_closed() -> None:
    heard: Inbox[dict[str, Any]] = Inbox()
    fall = anyio.Event()

    async def main(deska: Deska) -> None:
        deska.on("agent.action", heard.put)
        await fall.wait()
        raise LookupError("page text")

    async with a_desk(main) as desk, anyio.create_task_group() as group:
        replies = [later(group, desk.call, "read") for _ in range(3)]
        for _ in replies:
            await heard.get()
        fall.set()
        assert [(await reply.wait()).code for reply in replies] == [AgentCode.PANEL_CLOSED] * 3
        await desk.page.wait_closed()
        assert (await desk.call("read")).code is AgentCode.PANEL_NOT_RUNNING
        assert desk.host.pending == 0


@pytest.mark.rule("A-7")
async def test_calls_of_a_page_that_raised_end_though_a_handler_of_it_is_slow_to_go() -> None:
    heard = anyio.Event()
    fall, let_go = anyio.Event(), anyio.Event()

    async def main(deska: Deska) -> None:
        async def hear(_call: dict[str, Any]) -> None:
            heard.set()
            with anyio.CancelScope(shield=True):
                await let_go.wait()

        deska.on("agent.action", hear)
        await fall.wait()
        raise LookupError

    async with a_desk(main) as desk, anyio.create_task_group() as group:
        reply = later(group, desk.call, "read")
        await heard.wait()
        fall.set()
        assert (await reply.wait()).code is AgentCode.PANEL_CLOSED
        assert not desk.page.closed
        let_go.set()
        await desk.page.wait_closed()


@pytest.mark.rule("G-4")
async def test_returning_from_main_leaves_the_page_up() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        await anyio.wait_all_tasks_blocked()
        reply = later(group, desk.call, "read")
        await desk.hands.answer({})
        assert (await reply.wait()).code is None
        assert not desk.page.closed


@pytest.mark.rule("G-4", "A-3")
async def test_raising_in_a_handler_leaves_the_page_up_and_the_call_waiting() -> None:
    heard: Inbox[dict[str, Any]] = Inbox()
    sides: list[Deska] = []

    async def main(deska: Deska) -> None:
        sides.append(deska)

        async def hear(call: dict[str, Any]) -> None:
            heard.put(call)
            raise LookupError("page text")

        deska.on("agent.action", hear)

    async with a_desk(main) as desk, anyio.create_task_group() as group:
        reply = later(group, desk.call, "read")
        call = await heard.get()
        await anyio.wait_all_tasks_blocked()
        assert not reply.over
        assert not desk.page.closed
        await sides[0].agent.respond(call["callId"], {})
        assert (await reply.wait()).code is None


@pytest.mark.rule("G-4", "A-7")
@pytest.mark.parametrize("place", ["main", "handler"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio's Cancelled cannot be raised by hand
async def test_a_page_that_waits_for_something_cancelled_harms_nobody_else(place: str) -> None:
    async def give_up() -> None:
        import asyncio

        raise asyncio.CancelledError

    async def main(deska: Deska) -> None:
        async def hear(_call: dict[str, Any]) -> None:
            await give_up()

        deska.on("agent.action", hear)
        await deska.ready()
        if place == "main":
            await give_up()

    async with a_desk(main) as desk, anyio.create_task_group() as group:
        other = Hands()
        await desk.host.install(a_panel("shelf"))
        await desk.host.start_page("shelf", page=other.main)
        await other.up.wait()
        await connect(desk.host, "task-1", "shelf")
        if place == "main":
            await desk.page.wait_closed()
        else:
            failing = later(group, desk.call, "read")
            await anyio.wait_all_tasks_blocked()
            assert not desk.page.closed
            desk.clock.advance(30)
            assert (await failing.wait()).code is AgentCode.PANEL_TIMEOUT
        reply = later(group, desk.call, "read", {}, "shelf")
        await other.answer({})
        assert (await reply.wait()).code is None


@pytest.mark.rule("A-7")
async def test_starting_a_panels_page_again_is_a_reload_and_nothing_is_delivered_twice() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        reply = later(group, desk.call, "read")
        call = await desk.hands.calls.get()
        again = Hands()
        await desk.host.start_page("board", page=again.main)
        await again.up.wait()
        assert (await reply.wait()).code is AgentCode.PANEL_CLOSED
        await desk.page.wait_closed()
        assert len(again.calls) == 0
        with pytest.raises(PageError) as refused:
            await again.deska.agent.respond(call["callId"], {})
        assert refused.value.code is PageCode.UNKNOWN_CALL
        reply = later(group, desk.call, "read")
        await again.answer({})
        assert (await reply.wait()).code is None
        assert len(desk.hands.calls) == 0


@pytest.mark.rule("A-7", "P-6")
async def test_an_update_starts_the_running_pages_again_with_the_new_code() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        new = Hands()
        reply = later(group, desk.call, "read")
        await desk.hands.calls.get()
        await desk.host.update(a_panel(version="2.0.0"), page=new.main)
        assert (await reply.wait()).code is AgentCode.PANEL_CLOSED
        assert desk.page.closed
        reply = later(group, desk.call, "read")
        await new.answer({})
        assert (await reply.wait()).code is None


@pytest.mark.rule("G-1")
async def test_a_closed_page_that_tidies_up_is_refused_and_does_not_hang() -> None:
    codes: list[PageCode] = []
    heard: Inbox[str] = Inbox()

    async def main(deska: Deska) -> None:
        async def hear(call: dict[str, Any]) -> None:
            heard.put(call["callId"])

        deska.on("agent.action", hear)
        call_id = await heard.get()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                for ask in (
                    lambda: deska.storage.set("last", 1),
                    lambda: deska.files.ids(),
                    lambda: deska.agent.respond(call_id, {}),
                    deska.ready,
                ):
                    try:
                        await ask()
                    except PageError as error:
                        codes.append(error.code)

    async with a_desk(main) as desk, anyio.create_task_group() as group:
        reply = later(group, desk.call, "read")
        await anyio.wait_all_tasks_blocked()
        await desk.host.close_page(desk.page)
        assert (await reply.wait()).code is AgentCode.PANEL_CLOSED
    assert codes == [
        PageCode.UNSUPPORTED,
        PageCode.UNSUPPORTED,
        PageCode.UNKNOWN_CALL,
        PageCode.UNSUPPORTED,
    ]


# --- on_page_error


@pytest.mark.rule("B-2", "G-4")
async def test_on_page_error_gets_what_pages_raise_and_nobody_else_does(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    failing, also = LookupError("page text"), ValueError("page text too")
    told: Inbox[tuple[str, Exception]] = Inbox()
    fall = anyio.Event()

    async def main(deska: Deska) -> None:
        async def hear(_call: dict[str, Any]) -> None:
            raise failing

        def hear_plainly(_call: dict[str, Any]) -> None:
            raise also

        deska.on("agent.action", hear)
        deska.on("agent.action", hear_plainly)
        await fall.wait()
        raise failing

    def hook(panel: str, error: Exception) -> None:
        told.put((panel, error))

    for on_page_error in (hook, None):
        fall = anyio.Event()
        async with (
            a_desk(main, on_page_error=on_page_error) as desk,
            anyio.create_task_group() as group,
        ):
            reply = later(group, desk.call, "read")
            await anyio.wait_all_tasks_blocked()
            fall.set()
            assert (await reply.wait()).code is AgentCode.PANEL_CLOSED
            await desk.page.wait_closed()
    assert [await told.get() for _ in range(3)] == [
        ("board", failing),
        ("board", also),
        ("board", failing),
    ]
    assert len(told) == 0
    assert "page text" not in caplog.text
    assert "page text" not in "".join(capsys.readouterr())


# --- loading a page's code


@pytest.mark.rule("G-4", "B-2")
@pytest.mark.parametrize(
    ("code", "entry"),
    [
        ("raise LookupError('page text')", "page.py"),
        ("this is no python", "page.py"),
        ("main = 5", "page.py"),
        ("def main(deska): pass", "page.py"),
        ("", "page.py"),
        ("<html></html>", "index.html"),
    ],
)
async def test_a_page_that_cannot_be_loaded_is_told_without_its_text(
    tmp_path: Path, code: str, entry: str
) -> None:
    import json

    (tmp_path / "panel.json").write_text(json.dumps(a_panel(entry=entry)))
    (tmp_path / entry).write_text(code)
    told: list[tuple[str, Exception]] = []
    async with Host(on_page_error=lambda panel, error: told.append((panel, error))) as host:
        await host.install(tmp_path)
        with pytest.raises(PageNotLoaded) as failed:
            await host.start_page("board")
        assert failed.value.__context__ is None
        assert failed.value.__cause__ is None
        assert "page text" not in str(failed.value)
        raises = code.startswith(("raise", "this"))
        assert [panel for panel, _ in told] == ["board"] * raises
        assert host.pending == 0


@pytest.mark.rule("G-4")
async def test_reload_runs_the_files_as_they_are_now(tmp_path: Path) -> None:
    import json

    page = """
async def main(deska):
    async def hear(call):
        await deska.agent.respond(call["callId"], {"notes": ["%s"]})
    deska.on("agent.action", hear)
    await deska.ready()
"""
    (tmp_path / "panel.json").write_text(json.dumps(a_panel(entry="page.py")))
    (tmp_path / "page.py").write_text(page % "first")
    async with Host() as host:
        await host.install(tmp_path)
        await host.start_page("board")
        task = host.attach_task("task-1")
        await connect(host, "task-1", "board")
        async with task.turn() as agent:
            assert "first" in (await agent.call_action("board", "read", {})).text
            (tmp_path / "page.py").write_text(page % "second, and longer")
            (tmp_path / "panel.json").write_text(
                json.dumps(a_panel(entry="page.py", version="1.0.1"))
            )
            assert (await host.reload("board")).version == "1.0.1"
            assert "second" in (await agent.call_action("board", "read", {})).text


@pytest.mark.rule("C-1", "P-6")
async def test_what_is_not_installed_is_unknown_panel_to_all_of_the_person_s_side() -> None:
    async with Host(clock=ManualClock()) as host:
        host.attach_task("task-1")
        for ask in (
            lambda: host.start_page("no"),
            lambda: host.reload("no"),
            lambda: host.uninstall("no"),
            lambda: host.update(a_panel("no")),
            lambda: host.person.connect("task-1", "no"),
        ):
            with pytest.raises(Refused) as refused:
                await ask()
            assert refused.value.code is PersonCode.UNKNOWN_PANEL
        with pytest.raises(Refused):
            host.person.sheet("no")
        await host.install(offline_panel())
        with pytest.raises(Refused) as refused:
            await host.person.connect("task-1", "clock")
        assert refused.value.code is PersonCode.NO_ACTIONS


@pytest.mark.rule("P-6")
async def test_the_ledger_refuses_at_install_update_and_reload_whatever_came_between(
    tmp_path: Path,
) -> None:
    import json

    async with Host() as host:
        await host.install(a_panel())
        for version in ("0.0.1", "9.0.0"):
            with pytest.raises(Refused) as refused:
                await host.update(offline_panel("board", version=version, network=["a.example"]))
            assert refused.value.code is PersonCode.LEDGER_REFUSED
        assert host.installed()["board"].version == "1.0.0"
        await host.update(offline_panel("board", version="2.0.0"))
        await host.uninstall("board")
        (tmp_path / "index.html").write_text("")
        (tmp_path / "panel.json").write_text(json.dumps(offline_panel("board")))
        await host.install(tmp_path)
        online = offline_panel("board", permissions=["open-url"])
        (tmp_path / "panel.json").write_text(json.dumps(online))
        with pytest.raises(Refused) as refused:
            await host.reload("board")
        assert refused.value.code is PersonCode.LEDGER_REFUSED
        await host.install(offline_panel("other", network=["a.example"]))


@pytest.mark.rule("C-3")
@pytest.mark.parametrize(
    ("kind", "supervised", "code"),
    [
        ("assistant", True, PersonCode.ASSISTANT_TASK),
        ("terminal", True, PersonCode.TERMINAL_TASK),
        ("remote", True, PersonCode.REMOTE_TASK),
        ("local", False, PersonCode.UNSUPERVISED_TASK),
    ],
)
async def test_only_local_supervised_tasks_connect(
    kind: str, supervised: bool, code: PersonCode
) -> None:
    async with a_desk() as desk:
        desk.host.attach_task("other", kind=kind, supervised=supervised)
        with pytest.raises(Refused) as refused:
            await connect(desk.host, "other", "board")
        assert refused.value.code is code
        assert desk.host.person.connected("other") == ()
