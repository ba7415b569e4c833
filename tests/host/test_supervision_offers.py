"""Send to task: what a page offers and only the person sends (O-1 to O-4)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from deska_host import Blob
from deska_sdk import PageCode, PageError, PersonCode
from deska_sdk.router import NoticeKind, RowKind, Sender
from tests.host.support_host import connect, picture
from tests.host.support_supervision import PAUSED, Mode, Turns, a_room, person_code, settle

if TYPE_CHECKING:
    from deska_sdk.router import Notice
    from tests.host.support_supervision import OneTurn

pytestmark = pytest.mark.anyio


def value_of(one: OneTurn) -> Any:
    """What stands in the fence of a panel's message."""
    first, line, last = one.message.text.split("\n")
    assert first == '<panel_content package="board" panel="Board" trust="untrusted">'
    assert last == "</panel_content>"
    return json.loads(line)


@pytest.mark.rule("O-1", "O-2", "O-3", "O-4", "S-1", "S-6")
async def test_what_the_button_showed_is_sent_into_a_turn_of_its_own_that_is_paused() -> None:
    notices: list[Notice] = []
    async with a_room() as room:
        person, deska = room.host.person, room.hands.deska
        room.host.subscribe(notices.append)
        kept = [(await deska.files.put(Blob(picture())))["id"] for _ in range(2)]
        assert person.offers() == {}
        await room.offer("Make it\u200b <blue>", [kept[1], kept[0], kept[1]])
        assert [n.panel for n in notices if n.kind is NoticeKind.OFFER_CHANGED] == ["board"]
        (version,) = person.offers().values()
        message = await person.send_to_task("board", version=version)
        one = await room.turns.next()
        assert one.mode == "supervised"
        assert room.task.paused
        assert one.message.id == message
        assert (one.message.sender, one.message.panel) == (Sender.PANEL, "board")
        assert value_of(one) == {"text": "Make it <blue>", "images": ["image:1", "image:2"]}
        assert "<blue>" not in one.message.text
        assert [image.data[:4] for image in one.message.images] == [b"\x89PNG"] * 2
        assert room.rows == [PAUSED]
        # The page learns nothing of it: no event, and the offer stands.
        assert person.offers() == {"board": version}
        assert len(room.hands.calls) == 0
        assert room.hands.tasks == [0, 1]
        await one.end()
        assert room.mode.switched == ["supervised", "automatic"]
        assert room.host.pending == 0


@pytest.mark.rule("O-3")
async def test_a_press_sends_what_was_shown_or_nothing() -> None:
    async with a_room() as room:
        person = room.host.person
        for asked in (person.send_to_task("board"), person.send_to_task("nothing")):
            assert await person_code(asked) is PersonCode.NO_OFFER
        await room.offer("old")
        (old,) = person.offers().values()
        await room.offer("new")
        code = await person_code(person.send_to_task("board", version=old))
        assert code is PersonCode.NO_OFFER
        await person.send_to_task("board")
        one = await room.turns.next()
        assert value_of(one)["text"] == "new"
        await one.end()
        for nothing in ({}, {"text": ""}, {"text": " \u200b\n"}, {"files": []}):
            await room.offer()
            await room.hands.deska.agent.offer(**nothing)
            assert person.offers() == {}
        assert room.host.pending == 0


@pytest.mark.rule("O-1")
async def test_an_offer_over_a_limit_is_refused_and_the_earlier_one_stands() -> None:
    async with a_room() as room:
        kept = [(await room.hands.deska.files.put(Blob(picture())))["id"] for _ in range(7)]
        await room.offer("x" * 10_000, kept[:6] + kept[:6])
        before = room.host.person.offers()
        wrong: list[dict[str, Any]] = [
            {"text": "x" * 10_001},
            {"files": kept},
            {"files": ["not-kept"]},
            {"files": [kept[0], 7]},
            {"text": 7},
            {"text": "x", "files": "one"},
        ]
        for offer in wrong:
            with pytest.raises(PageError) as caught:
                await room.hands.deska.agent.offer(**offer)
            assert caught.value.code is PageCode.INVALID_ARGS
            assert room.host.person.offers() == before
        assert room.host.pending == 0


@pytest.mark.rule("O-2", "C-6", "C-7", "C-4")
async def test_the_button_is_on_only_while_there_is_somewhere_to_send_to() -> None:
    async with a_room() as room:
        host, person = room.host, room.host.person
        await room.offer()
        for off, on in (
            (person.turn_actions_off, person.turn_actions_on),
            (
                lambda: person.disconnect("task-1", "board"),
                lambda: connect(host, "task-1", "board"),
            ),
        ):
            await off()
            assert person.offers() == {}
            assert await person_code(person.send_to_task("board")) is PersonCode.NO_OFFER
            await on()
            assert list(person.offers()) == ["board"]
        host.detach_task("task-1")
        assert person.offers() == {}
        host.attach_task("task-1")
        assert list(person.offers()) == ["board"]
        await host.close_page(room.page)
        assert person.offers() == {}


@pytest.mark.rule("O-2")
async def test_with_several_tasks_connected_the_person_picks_one() -> None:
    async with a_room() as room:
        host, person = room.host, room.host.person
        other = Turns(Mode("accept_edits"))
        host.attach_task(
            "task-2", mode="accept_edits", on_switch=other.mode.on_switch, on_turn=other.on_turn
        )
        await connect(host, "task-2", "board")
        await room.offer()
        assert await person_code(person.send_to_task("board")) is PersonCode.UNKNOWN_TASK
        code = await person_code(person.send_to_task("board", task="task-3"))
        assert code is PersonCode.UNKNOWN_TASK
        await person.send_to_task("board", task="task-2")
        one = await other.next()
        assert one.mode == "supervised"
        assert room.turns.all == []
        assert room.mode.asked == []
        assert [row.kind for row in person.rows("task-2")] == [RowKind.PAUSED]
        assert room.rows == []
        await one.end()
        assert other.mode.now == "accept_edits"


@pytest.mark.rule("O-4")
async def test_a_panel_s_message_waits_for_its_own_turn_and_can_only_be_removed() -> None:
    async with a_room() as room:
        person = room.host.person
        kept = (await room.hands.deska.files.put(Blob(picture())))["id"]
        agent = room.task.start_turn()
        await room.offer("Buy ferns", [kept])
        sent = [await person.send_to_task("board") for _ in range(2)]
        await settle()
        assert room.waiting == sent
        assert not room.task.paused
        for asked in (
            person.steer("task-1", sent[0]),
            person.edit("task-1", sent[0], "Buy nothing"),
        ):
            assert await person_code(asked) is PersonCode.PANEL_MESSAGE
        assert room.task.take_steered() == []
        # Two images wait with their messages.
        assert room.host.pending == 2
        await person.remove("task-1", sent[0])
        assert room.host.pending == 1
        assert (await agent.list_panels()).code is None
        room.task.end_turn()
        one = await room.turns.next()
        assert one.message.id == sent[1]
        for asked in (
            person.edit("task-1", sent[1], "Buy nothing"),
            person.remove("task-1", sent[1]),
        ):
            assert await person_code(asked) is PersonCode.UNKNOWN_MESSAGE
        await one.end()
        assert len(room.turns.all) == 1
        assert room.host.pending == 0


@pytest.mark.rule("O-4", "S-1")
async def test_a_message_removed_while_its_switch_is_under_way_starts_no_turn() -> None:
    async with a_room() as room:
        room.mode.instead["supervised"] = anyio.sleep_forever
        await room.offer()
        message = await room.host.person.send_to_task("board")
        await room.task.send("and this")
        await settle()
        assert room.mode.asked == ["supervised"]
        await room.host.person.remove("task-1", message)
        one = await room.turns.next()
        assert (one.message.text, one.mode) == ("and this", "automatic")
        assert not room.task.paused
        await one.end()
        assert len(room.turns.all) == 1
        assert room.host.pending == 0
