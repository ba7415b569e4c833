"""Messages start turns; turns end badly, tasks leave, hosts close (O-4, S-6, S-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from deska_host import Blob
from deska_sdk import AgentCode, PageCode, PageError, PersonCode, Refused
from deska_sdk.router import NoticeKind, RowKind, Sender
from tests.host.support_host import connect, later, picture
from tests.host.support_supervision import Mode, OwnError, Turns, a_room, person_code, settle

if TYPE_CHECKING:
    from deska_host.tasks import Turn
    from deska_sdk.router import Notice

pytestmark = pytest.mark.anyio


# --- messages of the person


@pytest.mark.rule("O-4")
async def test_messages_start_turns_one_after_another_in_the_mode_the_task_is_in() -> None:
    async with a_room() as room:
        sent = [await room.task.send(text) for text in ("one", "two")]
        sent.append(await room.task.send("three", sender="other"))
        for number, text in enumerate(("one", "two", "three")):
            one = await room.turns.next()
            assert (one.message.id, one.message.text) == (sent[number], text)
            assert (one.mode, one.message.panel, one.message.images) == ("automatic", "", ())
            assert room.waiting == sent[number + 1 :]
            assert room.task.in_turn
            await one.end()
        assert one.message.sender is Sender.OTHER
        assert not room.task.in_turn
        assert room.mode.asked == []
        assert room.host.pending == 0


@pytest.mark.rule("O-4")
async def test_the_person_edits_removes_and_steers_messages_that_are_theirs() -> None:
    async with a_room() as room:
        person = room.host.person
        await room.task.send("first")
        one = await room.turns.next()
        second, third, fourth = [await room.task.send(text) for text in ("2", "3", "4")]
        await person.edit("task-1", second, "second")
        await person.remove("task-1", third)
        await person.steer("task-1", fourth)
        assert [m.text for m in one.turn.take_steered()] == ["4"]
        assert one.turn.take_steered() == []
        for asked in (
            person.remove("task-1", third),
            person.steer("task-1", fourth),
            person.edit("task-1", one.message.id, "late"),
        ):
            assert await person_code(asked) is PersonCode.UNKNOWN_MESSAGE
        await one.end()
        two = await room.turns.next()
        assert two.message.text == "second"
        await two.end()
        assert len(room.turns.all) == 2


@pytest.mark.rule("O-4")
async def test_a_steered_message_that_the_turn_did_not_take_waits_for_a_turn_again() -> None:
    async with a_room() as room:
        await room.task.send("first")
        one = await room.turns.next()
        late, last = [await room.task.send(text) for text in ("late", "last")]
        await room.host.person.steer("task-1", late)
        assert room.waiting == [last]
        await one.end()
        texts = []
        for _ in range(2):
            one = await room.turns.next()
            texts.append(one.message.text)
            await one.end()
        assert texts == ["last", "late"]
        assert len(room.turns.all) == 3


@pytest.mark.rule("O-4")
async def test_a_turn_that_the_program_began_itself_can_be_steered_too() -> None:
    async with a_room(runs_messages=False) as room:
        message = await room.task.send("look here")
        code = await person_code(room.host.person.steer("task-1", message))
        assert code is PersonCode.NO_TURN
        async with room.task.turn():
            await room.host.person.steer("task-1", message)
            assert [m.text for m in room.task.take_steered()] == ["look here"]
            assert room.task.take_steered() == []
        # Without anything that runs turns, messages wait.
        other = await room.task.send("wait")
        await settle()
        assert room.waiting == [other]


# --- turns that end badly, tasks that leave


@pytest.mark.rule("S-6")
async def test_an_on_turn_that_raises_fails_its_turn_and_its_error_comes_out_of_the_host() -> None:
    error = OwnError("mine")
    mode = Mode()
    with pytest.raises(OwnError) as caught:  # noqa: PT012 - what ends the host
        async with a_room(mode=mode) as room:
            await room.offer()
            await room.host.person.send_to_task("board")
            one = await room.turns.next()
            assert mode.now == "supervised"
            await one.end(error)
            await anyio.sleep_forever()
    assert caught.value is error
    # Before the host ended the agent was back in its mode.
    assert mode.switched == ["supervised", "automatic"]
    assert room.host.pending == 0


@pytest.mark.rule("S-6", "A-8")
async def test_a_task_detached_in_its_turn_is_cancelled_and_starts_no_other() -> None:
    async with a_room() as room, anyio.create_task_group() as group:
        kept = (await room.hands.deska.files.put(Blob(picture())))["id"]
        await room.offer("x", [kept])
        await room.host.person.send_to_task("board")
        one = await room.turns.next()
        await room.task.send("next")
        await room.host.person.send_to_task("board")
        open_call = later(group, one.agent.call_action, "board", "read", {})
        await room.hands.calls.get()
        room.host.detach_task("task-1")
        await settle()
        assert one.cancelled
        assert (await open_call.wait()).code is AgentCode.STOPPED
        assert room.task.mode is None
        assert not room.task.in_turn
        assert len(room.turns.all) == 1
        # Nobody is there to put the mode back: the task stays in Supervised.
        assert room.mode.switched == ["supervised"]
        assert room.host.pending == 0
        assert await person_code(room.task.send("late")) is PersonCode.UNKNOWN_TASK

        again = room.host.attach_task(
            "task-1", mode="automatic", on_switch=room.mode.on_switch, on_turn=room.turns.on_turn
        )
        await settle()
        assert again.mode == "supervised"
        assert [row.kind for row in room.host.person.rows("task-1")] == [RowKind.RESTARTED]
        await again.send("hello")
        two = await room.turns.next()
        assert two.mode == "supervised"
        await two.end()


@pytest.mark.rule("S-6", "A-8")
async def test_a_task_that_leaves_before_its_turn_began_to_run_runs_nothing() -> None:
    async with a_room() as room:
        for step in range(4):
            before = len(room.turns.all)
            task = room.host.attach_task(
                f"other-{step}",
                mode="automatic",
                on_switch=room.mode.on_switch,
                on_turn=room.turns.on_turn,
            )
            await task.send("hello")
            for _ in range(step):
                await anyio.lowlevel.checkpoint()
            room.host.detach_task(task.id)
            await settle()
            assert all(one.cancelled for one in room.turns.all[before:])
            if step == 0:
                assert len(room.turns.all) == before
        assert room.host.pending == 0


@pytest.mark.rule("S-6")
async def test_a_turn_that_is_stopped_is_over_when_what_runs_it_has_ended() -> None:
    async with a_room() as room:
        await room.task.send("first")
        one = await room.turns.next()
        room.task.stop()
        # What ran the first one has not heard of it yet, so it may still be at work.
        with pytest.raises(RuntimeError, match="a turn of this task is open"):
            room.task.start_turn()
        await settle()
        assert one.cancelled
        agent = room.task.start_turn()
        assert room.task.in_turn
        assert (await agent.list_panels()).code is None
        await room.task.send("second")
        room.task.end_turn()
        two = await room.turns.next()
        assert two.message.text == "second"
        await two.end()


@pytest.mark.rule("S-1", "S-6")
async def test_an_agent_that_cannot_be_stopped_at_once_goes_on_in_supervised() -> None:
    modes: list[str] = []
    stopped, go_on = anyio.Event(), anyio.Event()
    room_mode: list[Any] = []

    async def on_turn(_turn: Turn) -> None:
        with anyio.CancelScope(shield=True):
            stopped.set()
            await go_on.wait()
            modes.append(room_mode[0].now)

    async with a_room() as room:
        room_mode.append(room.mode)
        room.host.detach_task("task-1")
        task = room.host.attach_task(
            "task-1", mode="automatic", on_switch=room.mode.on_switch, on_turn=on_turn
        )
        await room.offer()
        await room.host.person.send_to_task("board")
        await stopped.wait()
        task.stop()
        await settle()
        assert task.in_turn
        go_on.set()
        await settle()
        assert modes == ["supervised"]
        assert not task.in_turn
        assert room.mode.now == "automatic"


@pytest.mark.rule("O-4")
async def test_a_listener_finds_everything_done_of_which_it_is_told() -> None:
    async with a_room() as room:
        refused: list[str] = []

        def listener(notice: Notice) -> None:
            # The row of the message's turn: the turn is open by now, and not to be taken.
            if notice.kind is NoticeKind.ROW_SHOWN and not refused:
                with pytest.raises(RuntimeError) as caught:
                    room.task.start_turn()
                refused.append(str(caught.value))

        room.host.subscribe(listener)
        await room.offer()
        message = await room.host.person.send_to_task("board")
        one = await room.turns.next()
        assert refused == ["a turn of this task is open"]
        assert (one.message.id, one.mode) == (message, "supervised")
        await one.end()
        assert room.mode.now == "automatic"
        assert room.host.pending == 0


@pytest.mark.rule("S-6", "S-7")
@pytest.mark.parametrize("act", ["stop", "detach and attach"])
async def test_a_listener_that_stops_or_changes_the_task_drops_the_panels_message(act: str) -> None:
    async with a_room(switches="next_turn") as room:
        acted: list[str] = []

        def listener(notice: Notice) -> None:
            if notice.kind is not NoticeKind.ROW_SHOWN or acted:
                return
            acted.append(act)
            if act == "stop":
                room.task.stop()
            else:
                room.host.detach_task("task-1")
                room.host.attach_task("task-1", on_turn=room.turns.on_turn)

        room.host.subscribe(listener)
        async with room.task.turn() as agent:
            assert (await agent.call_action("board", "read", {})).code == "read_deferred"
            call = await room.hands.calls.get()
            await room.hands.deska.agent.respond(call["callId"], {})
        await settle()
        assert acted == [act]
        assert room.turns.all == []


@pytest.mark.rule("S-1", "S-5")
async def test_a_detached_task_begins_nothing() -> None:
    async with a_room() as room:
        room.host.detach_task("task-1")
        again = room.host.attach_task("task-1")
        async with again.turn() as agent:
            with pytest.raises(RuntimeError, match="detached"):
                room.task.start_turn()
            room.task.stop()
            with pytest.raises(Refused):
                await room.task.send("late")
            assert again.in_turn
            assert (await agent.list_panels()).code is None


@pytest.mark.rule("S-1")
async def test_a_switch_from_before_a_task_left_is_over_before_the_next_begins() -> None:
    order: list[str] = []
    slow, go_on = anyio.Event(), anyio.Event()

    async def on_switch(mode: str) -> bool:
        order.append(f"begin {mode}")
        if mode == "automatic":
            with anyio.CancelScope(shield=True):
                slow.set()
                await go_on.wait()
        order.append(f"end {mode}")
        return True

    async with a_room() as room, anyio.create_task_group() as group:
        room.host.detach_task("task-1")
        room.host.attach_task("task-1", on_switch=on_switch)
        wish = later(group, room.host.person.set_mode, "task-1", "automatic")
        await slow.wait()
        room.host.detach_task("task-1")
        await wish.ended()
        room.host.attach_task("task-1", on_switch=on_switch)
        keep = later(group, room.host.person.keep_asking, "task-1")
        await settle()
        go_on.set()
        await keep.ended()
        assert order == ["begin automatic", "end automatic", "begin supervised", "end supervised"]


@pytest.mark.rule("S-5")
async def test_the_assistant_does_not_take_the_place_of_a_change_that_is_on_its_way() -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    async def on_switch(mode: str) -> bool:
        if mode == "supervised":
            begun.set()
            await go_on.wait()
        return True

    async with a_room() as room, anyio.create_task_group() as group:
        room.host.detach_task("task-1")
        task = room.host.attach_task("task-1", mode="automatic", on_switch=on_switch)
        keep = later(group, room.host.person.keep_asking, "task-1")
        await begun.wait()
        with pytest.raises(Refused) as caught:
            await room.host.assistant.set_mode("task-1", "accept_edits")
        assert caught.value.code is PersonCode.SWITCH_FAILED
        go_on.set()
        await keep.ended()
        assert keep.error is None
        assert task.mode == "supervised"


@pytest.mark.rule("S-7")
async def test_stopping_a_task_between_its_turns_drops_its_deferred_read() -> None:
    async with a_room(switches="next_turn") as room:
        async with room.task.turn() as agent:
            assert (await agent.call_action("board", "read", {})).code == "read_deferred"
        room.task.stop()
        assert room.host.pending == 0
        call = await room.hands.calls.get()
        with pytest.raises(PageError) as caught:
            await room.hands.deska.agent.respond(call["callId"], {})
        assert caught.value.code is PageCode.UNKNOWN_CALL
        await settle()
        assert room.turns.all == []


# --- closing in the middle of everything


@pytest.mark.rule("S-6", "A-8")
@pytest.mark.parametrize("steps", range(12))
async def test_closing_the_host_in_the_middle_of_everything_answers_all_and_leaves_nothing(
    steps: int,
) -> None:
    async with anyio.create_task_group() as group:
        async with a_room() as room:
            host = room.host
            kept = (await room.hands.deska.files.put(Blob(picture())))["id"]
            turns = Turns(Mode())
            host.attach_task(
                "task-2",
                mode="automatic",
                switches="next_turn",
                on_switch=turns.mode.on_switch,
                on_turn=turns.on_turn,
            )
            await connect(host, "task-2", "board")
            await room.offer("x", [kept])
            agent = room.task.start_turn()
            reading = later(group, agent.call_action, "board", "read", {})
            call = await room.hands.calls.get()
            later(group, room.hands.deska.agent.respond, call["callId"], {"images": [kept]})
            asking = later(group, agent.ask_approval, "run tests")
            pressed = [
                later(group, lambda: host.person.send_to_task("board", task="task-1")),
                later(group, lambda: host.person.send_to_task("board", task="task-2")),
            ]
            wish = later(group, host.assistant.set_mode, "task-1", "accept_edits")
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
        for ended in (reading, asking, wish, *pressed):
            await ended.ended()
        assert all(one.cancelled for one in (*room.turns.all, *turns.all))
        assert all(one.mode == "supervised" for one in turns.all)
        assert host.pending == 0
