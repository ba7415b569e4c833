"""B-2: one marker in every place an agent or a page can write, looked for in every place it must
not be: logs, reprs, notices, counts, and exceptions with all their contexts."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from deska_host import Blob, Host, PageHandlers
from deska_host.agents import Replies
from deska_sdk import AgentCode, PackageError, PageError
from tests.host.support_host import (
    TEXT,
    Later,
    StuckImages,
    a_desk,
    a_panel,
    an_object,
    later,
    picture,
)
from tests.host.support_marker import MARK, Watch, everything_of, refused, watching

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deska_host import AgentReply
    from deska_sdk.router import Notice

pytestmark = pytest.mark.anyio


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Watch]:
    """Sees every event that is fed, every effect that is done, and every log record."""
    yield from watching(monkeypatch, caplog)


@pytest.mark.rule("B-2", "A-9")
async def test_what_an_agent_writes_is_in_no_log_repr_notice_count_or_exception(
    watch: Watch, tmp_path: Path
) -> None:
    (tmp_path / f"{MARK}.png").write_bytes(picture())
    (tmp_path / f"{MARK}.txt").write_text(MARK)
    notices: list[Notice] = []
    async with a_desk(folder=tmp_path) as desk, anyio.create_task_group() as group:
        desk.host.subscribe(notices.append)
        refusals: list[tuple[Any, Any, Any]] = [
            ("board", "add", {"text": {MARK: MARK}}),
            ("board", "add", {MARK: 1, "text": "x"}),
            ("board", "add", {f"{MARK} no token": 1, "text": "x"}),
            ("board", "add", {"text": MARK * 1_000}),
            ("board", "add", f'{{"text": "{MARK}'),
            ("board", "add", f'{{"{MARK}": {MARK}}}'.encode()),
            ("board", "add", f'"{MARK}"'),
            ("board", "add", MARK.encode() + b"\xff"),
            ("board", "add", {"text": f"{MARK}", "count": MARK}),
            ("board", MARK, {}),
            (MARK, "add", {}),
            (MARK, MARK, MARK),
            ([MARK], {MARK}, (MARK,)),
            ("board", "hang", {"image": f"{MARK}.gone"}),
            ("board", "hang", {"image": f"../{MARK}"}),
            ("board", "hang", {"image": f"{MARK}.txt"}),
            ("board", "hang", {"image": f"{MARK}\0"}),
            ("board", "hang", {"image": f"{MARK}\udfff"}),
            ("board", "hang", {"more": [MARK] * 11}),
        ]
        for panel, action, given in refusals:
            reply = await desk.agent.call_action(panel, action, given)
            assert reply.code is not None
            watch.see(reply)
            # The text names an unknown key where it is a token (D-7), and nothing else of it.
            if MARK in reply.text:
                assert list(given) == [MARK, "text"]
        for action, given in (
            ("add", {"text": MARK}),
            ("edit", {"revision": MARK[:8]}),
            ("hang", {"image": f"{MARK}.png"}),
        ):
            open_call = later(group, desk.call, action, given)
            call = await desk.hands.calls.get()
            assert MARK[:8] in str(call["input"]) or action == "hang"
            watch.see(*everything_of(desk.host))
            await desk.hands.deska.agent.respond(call["callId"], {"ok": True})
            watch.see(await open_call.wait())
        stuck: Later[AgentReply] = later(group, desk.call, "add", {"text": MARK})
        await desk.hands.calls.get()
        desk.clock.advance(30)
        assert (await stuck.wait()).code is AgentCode.PANEL_TIMEOUT
        activity = await desk.host.person.activity("board")
        watch.see(activity, notices, *everything_of(desk.host))
        assert notices
    assert watch.events > 30
    assert watch.effects > 60
    watch.assert_clean()


@pytest.mark.rule("B-2", "A-9", "W-2")
async def test_what_a_page_writes_is_in_no_log_repr_notice_count_or_exception(
    watch: Watch, tmp_path: Path
) -> None:
    notices: list[Notice] = []

    async def failing(*_args: object) -> None:
        raise OSError(MARK)

    handlers = PageHandlers(save=failing, copy=failing, notify=failing)
    panel = a_panel(permissions=["agent", "clipboard-write", "notify"])
    async with (
        a_desk(panel=panel, handlers=handlers, path=tmp_path / "desk.db") as desk,
        anyio.create_task_group() as group,
    ):
        host, deska = desk.host, desk.hands.deska
        host.subscribe(notices.append)
        await deska.storage.set(MARK, {MARK: [MARK]})
        await deska.storage.get(MARK)
        kept = await deska.files.put(Blob(MARK.encode(), f"image/{MARK}"))
        watch.see(await deska.files.get(kept["id"]))
        watch.see(Blob(MARK.encode(), f"{MARK}/{MARK}"))
        await deska.files.delete(MARK)
        for asked in (
            deska.storage.set(MARK, {MARK: object()}),
            deska.storage.set(MARK, {MARK: {MARK: [MARK, float("nan")]}}),
            deska.storage.set(MARK, f"{MARK}\ud800"),
            deska.storage.set(f"{MARK}\ud800", 1),
            deska.storage.set(MARK, MARK * 1_000_000),
            deska.storage.get({MARK: MARK}),  # type: ignore[arg-type]
            deska.files.put(Blob(MARK.encode(), f"{MARK} {MARK}")),
            deska.files.put(MARK),  # type: ignore[arg-type]
            deska.files.get([MARK]),  # type: ignore[arg-type]
            deska.save(MARK, Blob(MARK.encode())),
            deska.copy(MARK),
            deska.notify(MARK),
            deska.agent.respond(MARK, {MARK: MARK}),
            deska.agent.respond([MARK], MARK),  # type: ignore[arg-type]
        ):
            await refused(asked, watch)
        with pytest.raises(PageError) as error:
            deska.on(MARK, print)
        watch.see_error(error.value)

        write = later(group, desk.call, "add", {"text": "x"})
        call = await desk.hands.calls.get()
        for answer in (MARK, {MARK: MARK}, {"ok": MARK}, {"ok": False, "error": MARK}):
            await refused(deska.agent.respond(call["callId"], answer), watch)
        await deska.agent.respond(call["callId"], {"ok": True, "revision": MARK})
        reply = await write.wait()
        assert reply.text == '{"ok":true,"revision":"r1"}'
        again = later(group, desk.call, "edit", {"revision": "r1"})
        call = await desk.hands.answer({"ok": False, "error": "conflict", "revision": MARK})
        assert call["input"] == {"revision": MARK}
        watch.see(await again.wait(), *everything_of(host))

        read = later(group, desk.call, "read")
        call = await desk.hands.calls.get()
        for answer in ({MARK: 1}, {"notes": [{MARK: MARK}]}, {"notes": MARK}):
            await refused(deska.agent.respond(call["callId"], answer), watch)
        await deska.agent.respond(call["callId"], {"notes": [MARK], "images": [MARK]})
        reply = await read.wait()
        assert MARK in reply.text
        watch.see(reply, *everything_of(host))
        large = later(group, desk.call, "read")
        await desk.hands.answer({"notes": [MARK * 7_500]})
        reply = await large.wait()
        assert MARK not in reply.text
        assert reply.code is AgentCode.ANSWER_TOO_LARGE
        watch.see(await host.person.activity("board"), notices, *everything_of(host))
    watch.assert_clean()


@pytest.mark.rule("B-2")
async def test_what_a_page_raises_is_in_no_log_repr_notice_or_exception(
    watch: Watch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    class OwnError(Exception):
        def __repr__(self) -> str:
            return MARK

    heard = anyio.Event()
    fall = anyio.Event()

    async def main(deska: Any) -> None:
        async def hear(_call: dict[str, Any]) -> None:
            heard.set()
            with suppress(KeyError):
                raise KeyError(MARK)
            raise OwnError(MARK)

        deska.on("agent.action", hear)
        await fall.wait()
        raise ExceptionGroup(MARK, [OwnError(MARK), ValueError(MARK)])

    notices: list[Notice] = []
    async with a_desk(main) as desk, anyio.create_task_group() as group:
        desk.host.subscribe(notices.append)
        reply = later(group, desk.call, "read")
        await heard.wait()
        fall.set()
        watch.see(await reply.wait())
        await desk.page.wait_closed()
        watch.see(desk.page, notices, *everything_of(desk.host))

    (tmp_path / "panel.json").write_text(__import__("json").dumps(a_panel(entry="page.py")))
    for code in (f"raise KeyError('{MARK}')", f"{MARK} is no python", f"main = '{MARK}'"):
        (tmp_path / "page.py").write_text(code)
        async with Host() as host:
            await host.install(tmp_path)
            await refused(host.start_page("board"), watch)
            watch.see(*everything_of(host))
    watch.seen += capfd.readouterr()
    watch.assert_clean()


@pytest.mark.rule("B-2", "D-10")
async def test_names_and_descriptions_of_a_panel_are_in_no_log_repr_or_exception(
    watch: Watch,
) -> None:
    action = {
        "name": "add",
        "kind": "write",
        "description": MARK,
        "input": an_object(text={**TEXT, "description": MARK}),
    }
    panel = a_panel(
        name=MARK,
        description=MARK,
        author=MARK,
        license=MARK,
        homepage=f"https://{MARK}.example/",
        icon=f"{MARK}.png",
        entry=f"{MARK}.py",
        agent={"actions": [action]},
    )
    async with a_desk(panel=panel) as desk, anyio.create_task_group() as group:
        listed = await desk.agent.list_panels()
        assert MARK in listed.text
        reply = later(group, desk.call, "add", {"text": "x"})
        await desk.hands.answer({"ok": True})
        watch.see(listed, await reply.wait(), desk.host.installed(), *everything_of(desk.host))
        await desk.host.update({**panel, "name": f"{MARK} again"}, page=desk.hands.main)
        await refused(desk.host.person.connect("task-1", "board"), watch)
        for broken in ({MARK: MARK}, {"icon": f"/{MARK}"}, {"name": MARK * 20}):
            with pytest.raises(PackageError) as error:
                await desk.host.install({**panel, **broken})
            # An author reads the problems, quoted text and all (P-7); no log may.
            watch.see(str(error.value), error.value.args)
            assert error.value.__context__ is None
            assert error.value.__cause__ is None
    watch.assert_clean()


@pytest.mark.rule("B-2", "A-8")
async def test_nothing_of_a_call_is_left_in_the_host_after_it_was_cancelled_or_the_host_closed(
    watch: Watch, tmp_path: Path
) -> None:
    (tmp_path / f"{MARK}.png").write_bytes(picture())
    stuck = StuckImages()
    async with anyio.create_task_group() as group:
        async with a_desk(folder=tmp_path, images=stuck) as desk:
            reading = later(group, desk.call, "hang", {"image": f"{MARK}.png"})
            await stuck.asked.wait()
            watch.see(*everything_of(desk.host))
            reading.scope.cancel()
            await reading.ended()
            waiting = later(group, desk.call, "add", {"text": MARK})
            await desk.hands.calls.get()
            replies = next(one for one in everything_of(desk.host) if isinstance(one, Replies))
        watch.see(await waiting.wait(), *everything_of(desk.host))
        assert len(replies) == 0
    watch.assert_clean()
