"""Leaving the host while things are under way, errors inside it, and a store that fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from deska_host import Blob, Host, ImageWorker, ManualClock, StoreError, StoreFailed
from deska_sdk import AgentCode, PersonCode, Refused
from deska_sdk.router import NoticeKind
from tests.host.support_host import (
    Hands,
    Images,
    StuckImages,
    a_desk,
    a_panel,
    answering,
    connect,
    later,
    picture,
)

if TYPE_CHECKING:
    from deska_host import Deska
    from deska_sdk.router import Notice

pytestmark = pytest.mark.anyio


def descriptors() -> int:
    """How many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def children() -> set[str]:
    """The processes that this one started and that are not gone."""
    found: set[str] = set()
    for thread in Path("/proc/self/task").iterdir():
        found |= set((thread / "children").read_text().split())
    return found


# --- closing while things are under way


@pytest.mark.rule("A-8", "A-3", "A-9")
async def test_closing_answers_every_open_call_and_leaves_no_descriptor_and_no_process(
    tmp_path: Path,
) -> None:
    (tmp_path / "good.png").write_bytes(picture())

    async def once(path: Path | None) -> None:
        async with anyio.create_task_group() as group:
            async with a_desk(folder=tmp_path, path=path, images=ImageWorker()) as desk:
                host = desk.host
                waiting = [later(group, desk.call, "add", {"text": "x"}) for _ in range(5)]
                for _ in waiting:
                    await desk.hands.calls.get()
                reading = later(group, desk.call, "hang", {"image": "good.png"})
                await desk.hands.answer({"ok": True})
                assert (await reading.wait()).code is None
                assert len(children()) == 1
                writes = [later(group, desk.hands.deska.storage.set, str(n), n) for n in range(5)]
                later(group, desk.call, "hang", {"image": "good.png"})
                await anyio.lowlevel.checkpoint()
            assert [(await call.wait()).code for call in waiting] == [AgentCode.STOPPED] * 5
            for write in writes:
                await write.ended()
            assert host.pending == 0

    # What the threads of the loop itself hold is there after the first time.
    await once(tmp_path / "first.db")
    before = descriptors()
    for n in range(3):
        await once(tmp_path / f"{n}.db")
        await once(None)
    assert descriptors() <= before
    assert children() == set()


@pytest.mark.rule("A-8")
async def test_closing_while_images_are_read_and_encoded_is_at_once(tmp_path: Path) -> None:
    (tmp_path / "good.png").write_bytes(picture())
    stuck = StuckImages()
    async with anyio.create_task_group() as group:
        async with a_desk(folder=tmp_path, images=stuck) as desk:
            kept = (await desk.hands.deska.files.put(Blob(picture())))["id"]
            encoding = later(group, desk.call, "read")
            await desk.hands.answer({"images": [kept]})
            reading = later(group, desk.call, "hang", {"image": "good.png"})
            await stuck.asked.wait()
            host = desk.host
        assert (await encoding.wait()).code is AgentCode.STOPPED
        assert (await reading.wait()).code is AgentCode.STOPPED
        assert stuck.closed
        assert host.pending == 0


@pytest.mark.rule("A-8", "G-3")
async def test_what_was_asked_of_the_person_s_side_while_closing_still_ends_and_is_durable(
    tmp_path: Path,
) -> None:
    path = tmp_path / "desk.db"
    async with anyio.create_task_group() as group:
        async with a_desk(path=path) as desk:
            host = desk.host
            asked = [
                later(group, host.install, a_panel("shelf")),
                later(group, host.person.disconnect, "task-1", "board"),
                later(group, host.person.turn_actions_off),
            ]
            for _ in range(2):
                await anyio.lowlevel.checkpoint()
        for ask in asked:
            await ask.ended()
        done = [ask.error is None for ask in asked]
    async with Host(path) as host:
        assert ("shelf" in host.installed()) or not done[0]
        assert (host.person.connected("task-1") == ()) or not done[1]
        task = host.attach_task("task-1")
        async with task.turn() as agent:
            off = (await agent.call_action("x", "y", {})).code is AgentCode.TURNED_OFF
            assert off or not done[2]


@pytest.mark.rule("A-8", "A-9")
@pytest.mark.parametrize("in_file", [False, True])
async def test_a_closed_host_answers_and_refuses_and_nothing_hangs(
    tmp_path: Path, in_file: bool
) -> None:
    async with a_desk(path=tmp_path / "desk.db" if in_file else None) as desk:
        pass
    with anyio.fail_after(10):
        assert (await desk.call("add", {"text": "x"})).code is not None
        for asked in (
            lambda: desk.host.install(a_panel("shelf")),
            lambda: desk.host.person.turn_actions_off(),
            lambda: desk.host.person.activity("board"),
        ):
            with pytest.raises(StoreError):
                await asked()
    assert desk.page.closed


@pytest.mark.rule("A-7")
async def test_a_page_with_slow_handlers_is_cancelled_with_the_host() -> None:
    ended: list[str] = []

    async def main(deska: Deska) -> None:
        async def hear(_call: dict[str, Any]) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                ended.append("handler")

        deska.on("agent.action", hear)
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("main")

    async with anyio.create_task_group() as group:
        async with a_desk(main) as desk:
            reply = later(group, desk.call, "read")
            await anyio.wait_all_tasks_blocked()
        assert sorted(ended) == ["handler", "main"]
        assert (await reply.wait()).code is AgentCode.STOPPED


@pytest.mark.rule("A-8", "G-3")
@pytest.mark.parametrize("in_file", [False, True])
async def test_a_host_whose_surroundings_are_cancelled_closes_and_gives_its_file_free(
    tmp_path: Path, in_file: bool
) -> None:
    path = tmp_path / "desk.db" if in_file else None
    reached = anyio.Event()
    with anyio.CancelScope() as scope:
        async with a_desk(path=path) as desk:
            await desk.hands.deska.storage.set("key", 1)
            reached.set()
            scope.cancel()
            await anyio.sleep_forever()
    assert reached.is_set()
    assert scope.cancelled_caught
    assert desk.page.closed
    async with Host(path) as host:
        assert list(host.installed()) == ["board"] * in_file


# --- errors inside


@pytest.mark.rule("A-8")
@pytest.mark.parametrize("in_file", [False, True])
async def test_what_is_raised_inside_comes_out_as_it_is_and_in_no_group(
    tmp_path: Path, in_file: bool
) -> None:
    raised = LookupError("mine")
    with pytest.raises(LookupError) as caught:  # noqa: PT012 - what is raised inside
        async with a_desk(path=tmp_path / "desk.db" if in_file else None) as desk:
            await desk.hands.deska.storage.set("key", 1)
            raise raised
    assert caught.value is raised
    assert desk.page.closed


@pytest.mark.rule("A-3", "A-8")
async def test_a_listener_of_notices_that_raises_loses_no_reply_and_no_notice() -> None:
    class OwnError(Exception):
        pass

    notices: list[NoticeKind] = []

    def failing(notice: Notice) -> None:
        if notice.kind is NoticeKind.CALL_ENDED:
            raise OwnError

    async with a_desk() as desk, anyio.create_task_group() as group:
        desk.host.subscribe(failing)
        desk.host.subscribe(lambda notice: notices.append(notice.kind))
        reply = later(group, desk.call, "read")
        call = await desk.hands.calls.get()
        # It is raised where the event came from: here the page's answer.
        with pytest.raises(OwnError):
            await desk.hands.deska.agent.respond(call["callId"], {})
        assert (await reply.wait()).code is None
        # A read pauses, and the pause has its row (S-2).
        assert notices == [
            NoticeKind.CALL_STARTED,
            NoticeKind.ROW_SHOWN,
            NoticeKind.CALL_ENDED,
        ]
        assert desk.host.pending == 0


@pytest.mark.rule("G-3")
async def test_an_error_that_ends_the_host_comes_out_alone_and_the_file_is_free_again(
    tmp_path: Path,
) -> None:
    class OwnError(Exception):
        pass

    def failing(_notice: Notice) -> None:
        raise OwnError

    path = tmp_path / "desk.db"
    with pytest.raises(OwnError):  # noqa: PT012 - what ends the host
        async with Host(path) as host:
            host.subscribe(failing)
            # The store's end of it is told outside of this task.
            await host.install(a_panel())
            await anyio.sleep_forever()
    async with Host(path) as host:
        assert list(host.installed()) == ["board"]


@pytest.mark.rule("B-2")
async def test_unsubscribing_ends_the_notices() -> None:
    notices: list[Notice] = []
    async with Host() as host:
        stop = host.subscribe(notices.append)
        await host.install(a_panel())
        stop()
        stop()
        await host.install(a_panel("shelf"))
    assert [(notice.kind, notice.panel) for notice in notices] == [(NoticeKind.INSTALLED, "board")]


@pytest.mark.rule("I-1", "C-3")
async def test_attaching_wrongly_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    before = descriptors()
    async with Host(images=Images()) as host:
        for folder in (tmp_path / "missing", "/proc", "/dev/shm"):
            with pytest.raises(ValueError, match=r"folder|proc|dev"):
                host.attach_task("task-1", folder)
        with pytest.raises(ValueError, match="TaskKind"):
            host.attach_task("task-1", tmp_path, kind="guest")
        host.attach_task("task-1", tmp_path)
        with pytest.raises(ValueError, match="attached"):
            host.attach_task("task-1", tmp_path)
        host.detach_task("task-1")
        with pytest.raises(Refused) as refused:
            host.detach_task("task-1")
        assert refused.value.code is PersonCode.UNKNOWN_TASK
        task = host.attach_task("task-1")
        async with task.turn():
            with pytest.raises(RuntimeError):
                task.start_turn()
    assert descriptors() <= before + 0


# --- a store that fails


@pytest.mark.rule("G-3", "P-6", "C-2", "C-6")
@pytest.mark.parametrize("in_file", [False, True])
async def test_a_commit_that_fails_is_store_failed_and_changes_nothing(
    tmp_path: Path, in_file: bool
) -> None:
    path = tmp_path / "desk.db" if in_file else None
    async with a_desk(path=path) as desk:
        host, person = desk.host, desk.host.person
        await host.install(a_panel("shelf"))
        sheet = person.sheet("shelf")
        notices: list[Notice] = []
        host.subscribe(notices.append)
        store = host._keeper.store

        def fail(_records: object) -> None:
            raise StoreFailed

        store.apply = fail  # type: ignore[method-assign]
        for asked in (
            lambda: host.install(a_panel("table")),
            lambda: host.update(a_panel("shelf", version="2.0.0", name="Renamed")),
            lambda: person.connect("task-1", "shelf", consent=sheet.fingerprint),
            lambda: person.turn_actions_on(),
        ):
            with pytest.raises(StoreFailed) as failed:
                await asked()
            assert failed.value.__context__ is None
            assert failed.value.__cause__ is None
        assert notices == []
        assert sorted(host.installed()) == ["board", "shelf"]
        assert host.installed()["shelf"].version == "1.0.0"
        assert person.connected("task-1") == ("board",)
        assert not host._engine.router.ledger.ever("table")
        assert person.held("shelf")
        del store.apply
        await connect(host, "task-1", "shelf")
        assert person.connected("task-1") == ("board", "shelf")
        assert host.pending == 0


@pytest.mark.rule("R-2", "W-2")
async def test_a_write_whose_numbers_cannot_be_reserved_is_answered_without_a_counter() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        store = desk.host._keeper.store

        def fail(_records: object) -> None:
            raise StoreFailed

        store.apply = fail  # type: ignore[method-assign]
        texts = []
        for n in range(66):
            reply = later(group, desk.call, "add", {"text": "x"})
            await desk.hands.answer({"ok": True, "revision": f"v{n}"})
            texts.append((await reply.wait()).text)
        assert texts[:64] == [f'{{"ok":true,"revision":"r{n}"}}' for n in range(1, 65)]
        assert texts[64:] == ['{"ok":true}'] * 2
        del store.apply
        reply = later(group, desk.call, "add", {"text": "x"})
        await desk.hands.answer({"ok": True, "revision": "v65"})
        assert (await reply.wait()).text == '{"ok":true,"revision":"r65"}'
        assert desk.host.pending == 0


@pytest.mark.rule("B-1")
async def test_counts_that_cannot_be_written_harm_nothing() -> None:
    hands = Hands()

    def fail(_rows: object) -> None:
        raise StoreFailed

    async with Host(clock=ManualClock()) as host:
        await host.install(a_panel())
        await host.start_page("board", page=hands.main)
        await hands.up.wait()
        task = host.attach_task("task-1")
        await connect(host, "task-1", "board")
        store = host._keeper.store
        store.counts_add = fail  # type: ignore[method-assign]
        async with task.turn() as agent:
            await agent.call_action("board", "add", {})
            assert (await host.person.activity("board")).refusals == ()
            del store.counts_add
            await agent.call_action("board", "add", {})
            (refused,) = (await host.person.activity("board")).refusals
            assert refused.count == 1


# --- many overlapping, with everything at once


@pytest.mark.rule("A-8", "A-3")
async def test_a_busy_desk_with_reloads_cancels_and_switches_ends_with_nothing_pending(
    tmp_path: Path,
) -> None:
    (tmp_path / "good.png").write_bytes(picture())

    async def answer(deska: Deska, call: dict[str, Any]) -> object:
        for _ in range(len(call["callId"]) % 3):
            await anyio.lowlevel.checkpoint()
        if call["action"] == "read":
            kept = await deska.files.put(Blob(picture()))
            await deska.files.delete(kept["id"])
            return {"notes": ["x"], "images": [kept["id"]]}
        return {"ok": True, "revision": "v1"}

    main = answering(answer)
    codes: list[AgentCode | None] = []
    async with a_desk(main, folder=tmp_path, path=tmp_path / "desk.db") as desk:
        host = desk.host

        async def agent(number: int) -> None:
            for n in range(20):
                action, given = [
                    ("add", {"text": "x"}),
                    ("read", {}),
                    ("hang", {"image": "good.png"}),
                    ("add", {"wrong": 1}),
                ][(n + number) % 4]
                if n % 7 == 6:
                    with anyio.CancelScope() as scope:
                        scope.cancel()
                        await desk.call(action, given)
                else:
                    codes.append((await desk.call(action, given)).code)

        async def person() -> None:
            for n in range(4):
                await host.start_page("board")
                await host.person.turn_actions_off()
                await host.person.turn_actions_on()
                await host.update(a_panel(version=f"1.0.{n}"), page=main)
                await host.person.disconnect("task-1", "board")
                await connect(host, "task-1", "board")

        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(agent, number)
            group.start_soon(person)
        await anyio.wait_all_tasks_blocked()
        assert host.pending == 0
        assert len(codes) == 8 * 18
        codes.append((await desk.call("add", {"text": "x"})).code)
        assert codes[-1] is None
        allowed = {
            None,
            AgentCode.INVALID_INPUT,
            AgentCode.PANEL_CLOSED,
            AgentCode.PANEL_NOT_RUNNING,
            AgentCode.TURNED_OFF,
            AgentCode.NOT_CONNECTED,
        }
        assert set(codes) <= allowed
