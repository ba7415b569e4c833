"""Reads of an agent that can only be put into Supervised from its next turn on (S-7)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from PIL import Image

from deska_host import AgentReply, Blob
from deska_sdk import AgentCode, PageCode, PageError
from deska_sdk.router import RowKind, Sender
from tests.host.support_host import later, picture
from tests.host.support_supervision import FENCED, NOTES, PAUSED, Mode, a_room, settle

if TYPE_CHECKING:
    from deska_host import Agent
    from tests.host.support_supervision import Room

pytestmark = pytest.mark.anyio


async def deferred(room: Room, agent: Agent, panel: str = "board") -> dict[str, Any]:
    """A read is answered at once, and the page has heard the call."""
    reply: AgentReply = await agent.call_action(panel, "read", {})
    assert (reply.code, reply.is_error, reply.panel) == (AgentCode.READ_DEFERRED, False, "")
    assert reply.images == ()
    hands = room.hands if panel == "board" else room.pages[panel]
    return await hands.calls.get()


async def late_code(room: Room, call: dict[str, Any]) -> PageCode:
    """Why an answer to this call is refused."""
    with pytest.raises(PageError) as caught:
        await room.hands.deska.agent.respond(call["callId"], NOTES)
    return caught.value.code


@pytest.mark.rule("S-7", "S-1", "I-4", "I-5", "O-4")
async def test_a_deferred_read_comes_as_the_panel_s_message_in_a_turn_of_its_own() -> None:
    async with a_room(switches="next_turn") as room:
        jpeg = (await room.hands.deska.files.put(Blob(picture(kind="JPEG"))))["id"]
        webp = (await room.hands.deska.files.put(Blob(picture((3, 9), "blue", "WEBP"))))["id"]
        async with room.task.turn() as agent:
            call = await deferred(room, agent)
            await room.task.send("and then this")
            answer = {"notes": ["look"], "images": [jpeg, webp, jpeg]}
            assert await room.hands.deska.agent.respond(call["callId"], answer) is True
            await settle()
            # Nothing of it is in the turn that asked, and nothing was switched for it.
            assert room.mode.asked == []
            assert not room.task.paused
            assert [m.sender for m in room.host.person.waiting("task-1")] == ["panel", "person"]
            assert await agent.may_preview() is None
        one = await room.turns.next()
        assert one.mode == "supervised"
        assert room.task.paused
        assert (one.message.sender, one.message.panel) == (Sender.PANEL, "board")
        assert one.message.text == FENCED.replace(
            '{"notes":["Make the header blue"]}',
            '{"notes":["look"],"images":["image:1","image:2","image:1"]}',
        )
        sizes = []
        for image in one.message.images:
            assert image.media_type == "image/png"
            with Image.open(io.BytesIO(image.data)) as opened:
                assert opened.format == "PNG"
                sizes.append(opened.size)
        assert sizes == [(6, 4), (3, 9)]
        assert room.rows == [PAUSED]
        assert await one.agent.may_preview() is AgentCode.PREVIEW_PAUSED
        # This turn was in Supervised from its start, so it reads at once.
        assert (await room.read(one.agent)).text == FENCED
        await one.end()
        second = await room.turns.next()
        assert second.message.text == "and then this"
        assert second.mode == "automatic"
        assert room.task.mode == "automatic"
        await second.end()
        assert len(room.turns.all) == 2
        assert room.host.pending == 0


@pytest.mark.rule("S-7")
async def test_an_answer_that_comes_after_the_turn_ended_is_sent_then() -> None:
    async with a_room(switches="next_turn") as room:
        async with room.task.turn() as agent:
            call = await deferred(room, agent)
        await settle()
        assert room.turns.all == []
        assert room.host.pending == 1
        room.clock.advance(29.9)
        await room.hands.deska.agent.respond(call["callId"], NOTES)
        one = await room.turns.next()
        assert (one.message.text, one.mode) == (FENCED, "supervised")
        await one.end()
        assert (room.mode.now, room.host.pending) == ("automatic", 0)


@pytest.mark.rule("S-7")
async def test_a_newer_read_takes_the_place_of_the_one_that_waits() -> None:
    async with a_room(switches="next_turn") as room:
        async with room.task.turn() as agent:
            first = await deferred(room, agent)
            second = await deferred(room, agent)
            assert await late_code(room, first) is PageCode.UNKNOWN_CALL
            await room.hands.deska.agent.respond(second["callId"], {"notes": ["old"]})
            await settle()
            # Also when it is in the queue already.
            third = await deferred(room, agent)
            assert room.host.person.waiting("task-1") == ()
            await room.hands.deska.agent.respond(third["callId"], NOTES)
        one = await room.turns.next()
        assert one.message.text == FENCED
        await one.end()
        assert len(room.turns.all) == 1
        assert room.host.pending == 0


@pytest.mark.rule("S-7")
async def test_reads_of_two_panels_both_come_each_in_its_own_turn() -> None:
    async with a_room(switches="next_turn") as room:
        shelf = await room.add_panel("shelf")
        async with room.task.turn() as agent:
            board = await deferred(room, agent)
            other = await deferred(room, agent, "shelf")
            await room.hands.deska.agent.respond(board["callId"], NOTES)
            await shelf.deska.agent.respond(other["callId"], NOTES)
        for _ in range(2):
            one = await room.turns.next()
            assert one.mode == "supervised"
            await one.end()
        assert {one.message.panel for one in room.turns.all} == {"board", "shelf"}
        assert room.mode.switched == ["supervised", "automatic"] * 2
        assert room.host.pending == 0


@pytest.mark.rule("S-7")
@pytest.mark.parametrize("how", ["stopped", "interrupted"])
@pytest.mark.parametrize("answered", [False, True])
async def test_stopping_or_interrupting_the_task_drops_its_deferred_read(
    how: str, answered: bool
) -> None:
    async with a_room(switches="next_turn") as room:
        kept = (await room.hands.deska.files.put(Blob(picture())))["id"]
        agent = room.task.start_turn()
        call = await deferred(room, agent)
        if answered:
            await room.hands.deska.agent.respond(call["callId"], {"images": [kept]})
            await settle()
            assert len(room.host.person.waiting("task-1")) == 1
        room.task.stop(how)
        await settle()
        assert room.host.person.waiting("task-1") == ()
        if not answered:
            assert await late_code(room, call) is PageCode.UNKNOWN_CALL
        await settle()
        assert room.turns.all == []
        assert room.mode.asked == []
        assert room.host.pending == 0
        assert (await room.host.person.activity("board")).refusals == ()


@pytest.mark.rule("S-7")
@pytest.mark.parametrize("how", ["completed", "failed"])
async def test_a_turn_that_completes_or_fails_drops_nothing(how: str) -> None:
    async with a_room(switches="next_turn") as room:
        agent = room.task.start_turn()
        call = await deferred(room, agent)
        room.task.end_turn(how)
        await room.hands.deska.agent.respond(call["callId"], NOTES)
        one = await room.turns.next()
        await one.end()
        assert room.host.pending == 0


@pytest.mark.rule("S-7", "C-6", "C-7", "A-7")
@pytest.mark.parametrize("ended", ["off", "disconnected", "closed", "uninstalled", "late", "large"])
async def test_what_ends_a_deferred_read_leaves_nothing_to_send(ended: str) -> None:
    async with a_room(switches="next_turn") as room:
        person = room.host.person
        agent = room.task.start_turn()
        call = await deferred(room, agent)
        code = None
        match ended:
            case "off":
                await person.turn_actions_off()
            case "disconnected":
                await person.disconnect("task-1", "board")
            case "closed":
                await room.host.close_page(room.page)
                code = AgentCode.PANEL_CLOSED
            case "uninstalled":
                await room.host.uninstall("board")
            case "late":
                room.clock.advance(30)
                code = AgentCode.PANEL_TIMEOUT
            case _:
                large = {"notes": ["x" * 66_000]}
                assert await room.hands.deska.agent.respond(call["callId"], large) is True
                code = AgentCode.ANSWER_TOO_LARGE
        if ended in ("off", "disconnected", "late", "large"):
            assert await late_code(room, call) is PageCode.UNKNOWN_CALL
        room.task.end_turn()
        await settle()
        assert room.turns.all == []
        assert person.waiting("task-1") == ()
        assert room.host.pending == 0
        if ended != "uninstalled":
            activity = await person.activity("board")
            told = [(one.code, one.count) for one in activity.refusals]
            assert told == ([] if code is None else [(code, 1)])
            assert [(one.action, one.called) for one in activity.actions] == [("read", 1)]


@pytest.mark.rule("S-7", "S-3")
async def test_listing_and_writes_work_on_an_agent_whose_reads_are_deferred() -> None:
    async with (
        a_room(switches="next_turn") as room,
        room.task.turn() as agent,
        anyio.create_task_group() as group,
    ):
        assert (await agent.list_panels()).code is None
        reply = later(group, agent.call_action, "board", "add", {"text": "x"})
        await room.hands.answer({"ok": True})
        assert (await reply.wait()).text == '{"ok":true}'
        assert room.mode.asked == []


@pytest.mark.rule("S-7", "S-1")
async def test_an_agent_that_never_switches_gets_no_read_and_the_page_hears_no_call() -> None:
    async with a_room(switches="never", mode=Mode("supervised")) as room:
        async with room.task.turn() as agent:
            reply = await agent.call_action("board", "read", {})
        assert reply.code is AgentCode.PAUSE_FAILED
        assert len(room.hands.calls) == 0
        assert room.host.pending == 0


@pytest.mark.rule("S-7", "S-1", "O-4")
@pytest.mark.parametrize("hangs", [False, True])
async def test_a_message_whose_switch_fails_waits_and_is_sent_after_the_next_turn(
    hangs: bool,
) -> None:
    async def says_no() -> bool:
        return False

    async with a_room(switches="next_turn") as room:
        room.mode.instead["supervised"] = anyio.sleep_forever if hangs else says_no
        async with room.task.turn() as agent:
            call = await deferred(room, agent)
            await room.hands.deska.agent.respond(call["callId"], NOTES)
        await settle()
        for _ in range(4):
            room.clock.advance(5)
            await settle()
        assert room.turns.all == []
        assert not room.task.paused
        # One row says so, however long it waits: nothing tries again by itself.
        kinds = [row.kind for row in room.host.person.rows("task-1")]
        assert kinds == [RowKind.NOT_SENT]
        assert [m.panel for m in room.host.person.waiting("task-1")] == ["board"]
        assert room.mode.now == "automatic"
        del room.mode.instead["supervised"]
        async with room.task.turn():
            pass
        one = await room.turns.next()
        assert (one.message.text, one.mode) == (FENCED, "supervised")
        await one.end()
        assert room.mode.now == "automatic"
        assert room.host.pending == 0
