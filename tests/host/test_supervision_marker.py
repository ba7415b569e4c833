"""B-2 for tasks: what a page offers, what an agent asks for and what the person writes is in no
log, repr, notice or exception."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from deska_host import Blob
from deska_sdk import DeskaError, PageError
from deska_sdk.router import NoticeKind, RowKind
from deska_sdk.tasks.view import Entry
from tests.host.support_host import a_panel, connect, later, picture
from tests.host.support_marker import MARK, Watch, everything_of, refused, watching
from tests.host.support_supervision import Hands, a_room, settle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deska_sdk.router import Notice

pytestmark = pytest.mark.anyio


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Watch]:
    """Sees every event that is fed, every effect that is done, and every log record."""
    yield from watching(monkeypatch, caplog)


@pytest.mark.rule("B-2", "O-1", "O-3", "O-4")
async def test_what_a_page_offers_is_in_no_log_repr_notice_or_exception(watch: Watch) -> None:
    notices: list[Notice] = []
    async with a_room() as room:
        host, deska = room.host, room.hands.deska
        host.subscribe(notices.append)
        kept = (await deska.files.put(Blob(picture(), f"image/{MARK}")))["id"]
        wrong: list[dict[str, Any]] = [
            {"text": MARK * 2_000},
            {"text": [MARK]},
            {"text": MARK, "files": [MARK]},
            {"files": MARK},
            {"files": [{MARK: MARK}]},
            {"files": {MARK: MARK}},
        ]
        for offer in wrong:
            await refused(deska.agent.offer(**offer), watch)
        await deska.agent.offer(text=MARK, files=[kept])
        watch.see(host.person.offers(), *everything_of(host))
        await refused(host.person.send_to_task("board", version=0), watch)
        await refused(host.person.send_to_task("board", task="task-2"), watch)
        agent = room.task.start_turn()
        message = await host.person.send_to_task("board")
        await settle()
        (waiting,) = host.person.waiting("task-1")
        assert MARK in waiting.text
        watch.see(waiting, host.person.waiting("task-1"), *everything_of(host))
        await refused(host.person.edit("task-1", message, MARK), watch)
        await refused(host.person.steer("task-1", message), watch)
        room.task.end_turn()
        one = await room.turns.next()
        assert MARK in one.message.text
        watch.see(one.turn, one.message, agent, room.task, *everything_of(host))
        entry = Entry(one.message.text, one.message.panel)
        watch.see(entry, host.assistant.view([entry]))
        await one.end()
        watch.see(await host.person.activity("board"), notices, *everything_of(host))
        assert {NoticeKind.OFFER_CHANGED, NoticeKind.ROW_SHOWN} <= {n.kind for n in notices}
    watch.assert_clean()


@pytest.mark.rule("B-2", "S-7")
async def test_a_deferred_answer_is_in_no_log_repr_notice_or_exception(watch: Watch) -> None:
    async with a_room(switches="next_turn") as room:
        host, deska = room.host, room.hands.deska
        for answer in ({"notes": [MARK]}, {"notes": [MARK * 7_500]}):
            async with room.task.turn() as agent:
                watch.see(await agent.call_action("board", "read", {}))
                call = await room.hands.calls.get()
                await refused(deska.agent.respond(call["callId"], {MARK: MARK}), watch)
                await deska.agent.respond(call["callId"], answer)
                await settle()
                watch.see(host.person.waiting("task-1"), *everything_of(host))
                await refused(deska.agent.respond(call["callId"], answer), watch)
            if len(answer["notes"][0]) < 100:
                one = await room.turns.next()
                assert MARK in one.message.text
                watch.see(one.turn, one.message, *everything_of(host))
                await one.end()
        assert len(room.turns.all) == 1
        watch.see(await host.person.activity("board"))
    watch.assert_clean()


@pytest.mark.rule("B-2", "S-4", "S-5")
async def test_what_an_agent_asks_for_and_a_person_writes_is_in_no_log_repr_or_notice(
    watch: Watch,
) -> None:
    notices: list[Notice] = []
    async with a_room() as room, anyio.create_task_group() as group:
        host, person = room.host, room.host.person
        host.subscribe(notices.append)
        await room.task.send(MARK)
        one = await room.turns.next()
        assert one.message.text == MARK
        await room.read(one.agent)
        for answer in ("always", "once", "deny"):
            asking = later(group, one.agent.ask_approval, MARK)
            await settle()
            (asked,) = person.approvals()
            # The person's screen shows it, and nothing else does.
            assert asked.key == MARK
            watch.see(asked, person.approvals(), *everything_of(host))
            await person.approve(asked.request, answer)
            await asking.wait()
        asking = later(group, one.agent.ask_approval, MARK)
        await settle()
        wish = later(group, host.assistant.approve, person.approvals()[0].request, "once")
        await settle()
        watch.see(person.confirmations(), *everything_of(host))
        person.confirm(next(iter(person.confirmations())), yes=False)
        await wish.ended()
        assert isinstance(wish.error, DeskaError)
        watch.see_error(wish.error)
        await refused(person.approve("wish-0", "once"), watch)
        asking.scope.cancel()
        await asking.ended()

        first, second = [await room.task.send(f"{MARK} {n}") for n in range(2)]
        await person.edit("task-1", first, f"{MARK} edited")
        await person.steer("task-1", first)
        await person.steer("task-1", second)
        watch.see(room.task, one.turn, *everything_of(host))
        taken = one.turn.take_steered()
        assert [message.text for message in taken] == [f"{MARK} edited", f"{MARK} 1"]
        watch.see(taken)
        third = await room.task.send(MARK)
        await person.steer("task-1", third)
        # It is not taken, so it waits again.
        await one.end()
        two = await room.turns.next()
        assert two.message.text == MARK
        watch.see(two.turn, *everything_of(host))
        for asked_for in (
            person.remove("task-1", third),
            person.edit("task-1", third, MARK),
            person.edit("task-2", third, MARK),
            person.steer("task-1", third),
        ):
            await refused(asked_for, watch)
        await two.end()
        watch.see(notices)
        kinds = {notice.kind for notice in notices}
        assert {NoticeKind.APPROVAL_ASKED, NoticeKind.CONFIRMATION_ASKED} <= kinds
    watch.assert_clean()


@pytest.mark.rule("B-2", "S-2")
async def test_the_names_of_panels_in_rows_are_in_no_log_repr_or_notice(watch: Watch) -> None:
    notices: list[Notice] = []
    async with a_room() as room:
        host = room.host
        host.subscribe(notices.append)
        room.pages["shelf"] = hands = Hands()
        await host.install(a_panel("shelf", name=MARK))
        await host.start_page("shelf", page=hands.main)
        await hands.up.wait()
        await connect(host, "task-1", "shelf")
        async with room.task.turn() as agent:
            await room.read(agent, panel="shelf")
        await settle()
        rows = host.person.rows("task-1")
        assert [row.kind for row in rows] == [RowKind.PAUSED, RowKind.BACK]
        assert all(MARK in row.text for row in rows)
        watch.see(rows, *rows, notices, *everything_of(host))
        # A message that could not be sent has a row with the name too.

        async def says_no() -> bool:
            return False

        room.mode.instead["supervised"] = says_no
        await hands.deska.agent.offer(text=MARK)
        await host.person.send_to_task("shelf")
        await settle()
        (*_, row) = host.person.rows("task-1")
        assert row.kind is RowKind.NOT_SENT
        assert MARK in row.text
        watch.see(row, host.person.waiting("task-1"), notices, *everything_of(host))
    watch.assert_clean()


@pytest.mark.rule("B-2", "S-1")
async def test_what_a_program_s_on_switch_raises_is_in_no_log_and_no_exception_of_an_agent(
    watch: Watch, capfd: pytest.CaptureFixture[str]
) -> None:
    async with a_room() as room:

        async def raises() -> bool:
            raise RuntimeError(MARK)

        room.mode.instead["supervised"] = raises
        async with room.task.turn() as agent:
            reply = await room.read(agent, {"notes": [MARK]})
            assert MARK not in reply.text
            watch.see(reply, *everything_of(room.host))
        await room.hands.deska.agent.offer(text=MARK)
        await room.host.person.send_to_task("board")
        await settle()
        room.mode.instead["accept_edits"] = raises
        with pytest.raises(DeskaError) as caught:
            await room.host.person.set_mode("task-1", "accept_edits")
        watch.see_error(caught.value)
        with pytest.raises(PageError) as refusal:
            await room.hands.deska.agent.respond(MARK, MARK)
        watch.see_error(refusal.value)
    watch.seen += capfd.readouterr()
    watch.assert_clean()
