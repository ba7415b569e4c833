"""The pause for approvals, from the read to the end of the turn (S-1, S-2, S-5, S-6)."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from deska_host import Blob
from deska_sdk import AgentCode, PersonCode, Refused
from deska_sdk.router import RowKind
from tests.host.support_host import Images, later, picture
from tests.host.support_supervision import (
    BACK,
    FENCED,
    NOTES,
    PAUSED,
    Mode,
    OwnError,
    a_room,
    settle,
)

pytestmark = pytest.mark.anyio


# --- a turn with a read in it


@pytest.mark.rule("S-1", "S-2")
async def test_a_read_is_handed_over_after_the_switch_and_the_mode_comes_back_with_the_turn() -> (
    None
):
    async with a_room() as room:
        async with room.task.turn() as agent:
            seen: list[object] = []
            switch = room.mode.on_switch

            async def logged() -> bool:
                del room.mode.instead["supervised"]
                seen.append(await switch("supervised"))
                return True

            room.mode.instead["supervised"] = logged
            reply = await room.read(agent)
            seen.append(reply.text)
            assert seen == [True, FENCED]
            assert (reply.code, reply.is_error, reply.panel) == (None, False, "board")
            assert room.task.paused
            assert (room.task.mode, room.mode.now) == ("supervised", "supervised")
            assert room.rows == [PAUSED]
        assert not room.task.paused
        await settle()
        assert (room.task.mode, room.mode.now) == ("automatic", "automatic")
        assert room.mode.switched == ["supervised", "automatic"]
        assert room.rows == [PAUSED, BACK]
        assert [row.keep_asking for row in room.host.person.rows("task-1")] == [False, True]
        assert room.host.pending == 0


@pytest.mark.rule("S-1", "I-4")
async def test_images_of_a_read_are_encoded_before_the_task_is_switched() -> None:
    seen: list[str] = []

    class Logged(Images):
        async def to_png(self, *args: Any, **options: Any) -> bytes:
            png = await super().to_png(*args, **options)
            seen.append("png")
            return png

    async with a_room(images=Logged()) as room, anyio.create_task_group():
        kept = [(await room.hands.deska.files.put(Blob(picture())))["id"] for _ in range(2)]
        switch = room.mode.on_switch

        async def logged() -> bool:
            seen.append("switch")
            del room.mode.instead["supervised"]
            return await switch("supervised")

        room.mode.instead["supervised"] = logged
        async with room.task.turn() as agent:
            reply = await room.read(agent, {"images": kept})
        assert seen == ["png", "png", "switch"]
        assert [image.media_type for image in reply.images] == ["image/png"] * 2


@pytest.mark.rule("S-1", "S-6")
@pytest.mark.parametrize("how", ["completed", "failed", "stopped", "interrupted"])
async def test_however_a_turn_ends_the_mode_from_before_comes_back(how: str) -> None:
    async with a_room(mode=Mode("accept_edits")) as room:
        agent = room.task.start_turn()
        await room.read(agent)
        if how in ("stopped", "interrupted"):
            room.task.stop(how)
        else:
            room.task.end_turn(how)
        await settle()
        assert room.mode.switched == ["supervised", "accept_edits"]
        assert room.task.mode == "accept_edits"
        assert "back to Accept edits" in room.rows[-1]
        assert room.host.pending == 0


@pytest.mark.rule("S-6")
async def test_a_turn_that_raises_or_is_cancelled_ends_its_pause_as_well() -> None:
    async with a_room() as room:
        with pytest.raises(OwnError):  # noqa: PT012 - what is raised inside
            async with room.task.turn() as agent:
                await room.read(agent)
                raise OwnError
        await settle()
        assert room.mode.now == "automatic"
        with anyio.CancelScope() as scope:
            async with room.task.turn() as agent:
                await room.read(agent)
                scope.cancel()
                await anyio.sleep_forever()
        await settle()
        assert room.mode.switched == ["supervised", "automatic"] * 2


@pytest.mark.rule("S-6", "S-2")
async def test_several_reads_of_several_panels_make_one_pause_with_one_row() -> None:
    async with a_room() as room:
        await room.add_panel("shelf")
        await room.add_panel("clock")
        async with room.task.turn() as agent:
            for panel in ("board", "shelf", "board", "clock", "shelf"):
                assert (await room.read(agent, panel=panel)).code is None
            assert room.mode.asked == ["supervised"]
            assert room.rows == [PAUSED.replace("Board", "Board, Shelf and Clock")]
        await settle()
        assert room.mode.asked == ["supervised", "automatic"]
        assert room.rows[1:] == [BACK.replace("Board", "Board, Shelf and Clock")]


@pytest.mark.rule("S-1")
async def test_reads_that_come_while_the_task_is_switched_wait_for_the_same_switch() -> None:
    async with a_room() as room, anyio.create_task_group() as group:
        go = anyio.Event()

        async def slow() -> bool:
            await go.wait()
            room.mode.now = "supervised"
            return True

        room.mode.instead["supervised"] = slow
        async with room.task.turn() as agent:
            replies = [later(group, agent.call_action, "board", "read", {}) for _ in range(3)]
            for _ in replies:
                await room.hands.answer(NOTES)
            await settle()
            assert room.mode.asked == ["supervised"]
            assert not any(reply.over for reply in replies)
            go.set()
            assert [(await reply.wait()).text for reply in replies] == [FENCED] * 3
        assert room.mode.asked[0] == "supervised"
        assert "supervised" not in room.mode.asked[1:]


@pytest.mark.rule("S-3")
async def test_a_write_pauses_nothing() -> None:
    async with a_room() as room, anyio.create_task_group() as group:
        async with room.task.turn() as agent:
            reply = later(group, agent.call_action, "board", "add", {"text": "x"})
            await room.hands.answer({"ok": True, "revision": "v1"})
            assert (await reply.wait()).panel == ""
            assert not room.task.paused
        await settle()
        assert room.mode.asked == []
        assert room.rows == []


# --- the person's own change


@pytest.mark.rule("S-2", "S-5")
async def test_keep_asking_leaves_the_task_in_supervised_until_the_person_changes_it() -> None:
    async with a_room() as room:
        async with room.task.turn() as agent:
            await room.read(agent)
        await settle()
        assert room.mode.now == "automatic"
        await room.host.person.keep_asking("task-1")
        assert (room.mode.now, room.task.mode) == ("supervised", "supervised")
        async with room.task.turn() as agent:
            assert (await room.read(agent)).code is None
        await settle()
        assert (room.mode.now, room.task.mode) == ("supervised", "supervised")
        await room.host.person.set_mode("task-1", "automatic")
        assert (room.mode.now, room.task.mode) == ("automatic", "automatic")
        assert room.host.pending == 0


@pytest.mark.rule("S-5", "S-6")
async def test_the_person_s_mode_ends_the_pause_and_is_what_comes_back_after_the_next_read() -> (
    None
):
    async with a_room() as room:
        async with room.task.turn() as agent:
            await room.read(agent)
            await room.host.person.set_mode("task-1", "accept_edits")
            assert not room.task.paused
            assert room.mode.now == "accept_edits"
            assert (await room.read(agent)).text == FENCED
            assert room.task.paused
            assert room.mode.now == "supervised"
        await settle()
        assert room.mode.switched == ["supervised", "accept_edits", "supervised", "accept_edits"]
        assert "back to Accept edits" in room.rows[-1]
        async with room.task.turn() as agent:
            await room.read(agent)
            await room.host.person.set_mode("task-1", "automatic")
        await settle()
        # The person's mode stays; there is nothing to put back, and no row that says so.
        assert room.mode.now == "automatic"
        assert [row.kind for row in room.host.person.rows("task-1")].count(RowKind.BACK) == 1


@pytest.mark.rule("S-2", "S-5")
async def test_each_turn_keeps_its_own_row_also_where_the_person_ended_its_pause() -> None:
    async with a_room() as room:
        await room.add_panel("shelf")
        for _ in range(2):
            async with room.task.turn() as agent:
                await room.read(agent)
                await room.read(agent, panel="shelf")
                await room.host.person.set_mode("task-1", "automatic")
            await settle()
        both = PAUSED.replace("Board", "Board and Shelf")
        assert room.rows == [both, both]


@pytest.mark.rule("S-1", "S-5")
async def test_a_change_by_the_person_while_the_task_is_switched_fails_the_read() -> None:
    async with a_room() as room, anyio.create_task_group() as group:
        room.mode.instead["supervised"] = anyio.sleep_forever
        async with room.task.turn() as agent:
            reply = later(group, agent.call_action, "board", "read", {})
            await room.hands.answer(NOTES)
            await settle()
            await room.host.person.set_mode("task-1", "accept_edits")
            assert (await reply.wait()).code is AgentCode.PAUSE_FAILED
            assert "header" not in (await reply.wait()).text
            assert not room.task.paused
        await settle()
        assert room.mode.now == "accept_edits"
        assert room.host.pending == 0


@pytest.mark.rule("S-1", "S-5")
async def test_nothing_is_handed_over_while_the_person_s_change_is_on_its_way() -> None:
    async with a_room() as room, anyio.create_task_group() as group:
        go = anyio.Event()

        async def slow() -> bool:
            # The agent has left Supervised, and its program has not said so yet.
            room.mode.now = "automatic"
            await go.wait()
            return True

        async with room.task.turn() as agent:
            await room.read(agent)
            room.mode.instead["automatic"] = slow
            changed = later(group, room.host.person.set_mode, "task-1", "automatic")
            await settle()
            assert room.mode.now == "automatic"
            reply = await room.read(agent)
            assert (reply.code, reply.panel) == (AgentCode.PAUSE_FAILED, "")
            assert "header" not in reply.text
            go.set()
            await changed.wait()
            assert changed.error is None


@pytest.mark.rule("S-5")
async def test_modes_and_tasks_that_are_not_there_are_refused() -> None:
    async with a_room() as room:
        for asked, code in (
            (room.host.person.set_mode("task-1", "yolo"), PersonCode.UNKNOWN_MODE),
            (room.host.person.set_mode("task-2", "automatic"), PersonCode.UNKNOWN_TASK),
            (room.host.person.keep_asking("task-2"), PersonCode.UNKNOWN_TASK),
        ):
            with pytest.raises(Refused) as caught:
                await asked
            assert caught.value.code is code
        assert room.mode.asked == []
