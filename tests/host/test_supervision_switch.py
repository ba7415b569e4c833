"""Agents that do not change their mode, or not in time: nothing is handed over (S-1, A-3)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from deska_sdk import AgentCode, PersonCode, Refused
from deska_sdk.router import RowKind
from tests.host.support_host import connect, later
from tests.host.support_supervision import FENCED, NOTES, OwnError, a_room, settle

if TYPE_CHECKING:
    from deska_host import Agent
    from tests.host.support_supervision import Room

pytestmark = pytest.mark.anyio


@pytest.mark.rule("S-1", "S-5")
async def test_a_task_that_nothing_switches_is_in_supervised_and_stays_there() -> None:
    async with a_room() as room:
        with pytest.raises(ValueError, match="on_switch"):
            room.host.attach_task("task-2", mode="automatic")
        task = room.host.attach_task("task-2")
        await connect(room.host, "task-2", "board")
        assert task.mode == "supervised"
        async with task.turn() as agent:
            assert (await room.read(agent)).text == FENCED
            assert task.paused
            with pytest.raises(Refused) as caught:
                await room.host.person.set_mode("task-2", "automatic")
            assert caught.value.code is PersonCode.SWITCH_FAILED
            assert task.mode == "supervised"
        await room.host.person.keep_asking("task-2")
        assert task.mode == "supervised"
        assert room.mode.asked == []
        assert room.host.pending == 0


async def says_no() -> bool:
    await anyio.lowlevel.checkpoint()
    return False


async def says_nothing() -> None:
    await anyio.lowlevel.checkpoint()


async def says_one() -> int:
    return 1


async def raises() -> bool:
    await anyio.lowlevel.checkpoint()
    raise OwnError("the agent said: be quiet")


async def refused_read(room: Room, agent: Agent, *, hangs: bool = False) -> None:
    """A read that must fail, with nothing of it left."""
    async with anyio.create_task_group() as group:
        reply = later(group, agent.call_action, "board", "read", {})
        await room.hands.answer(NOTES)
        await settle()
        if hangs:
            room.clock.advance(4.9)
            await settle()
            assert not reply.over
            room.clock.advance(0.1)
        told = await reply.wait()
    assert (told.code, told.panel, told.images) == (AgentCode.PAUSE_FAILED, "", ())
    assert "header" not in told.text
    assert not room.task.paused
    await settle()
    assert room.host.pending == 0


@pytest.mark.rule("S-1", "A-3")
@pytest.mark.parametrize("instead", [says_no, says_nothing, says_one, raises])
async def test_an_agent_that_does_not_say_true_gets_nothing_of_the_panel(instead: Any) -> None:
    async with a_room(on_switch_error=lambda _task, _error: None) as room:
        async with room.task.turn() as agent:
            room.mode.instead["supervised"] = instead
            await refused_read(room, agent)
            assert room.rows == []
            assert room.task.mode == "automatic"
            # The next one is tried anew.
            del room.mode.instead["supervised"]
            assert (await room.read(agent)).text == FENCED
        await settle()
        assert room.mode.now == "automatic"


@pytest.mark.rule("S-1", "A-3")
async def test_a_switch_that_takes_longer_than_five_seconds_fails_and_is_undone() -> None:
    async with a_room() as room:

        async def too_late() -> bool:
            room.mode.now = "supervised"
            await anyio.sleep_forever()
            raise AssertionError

        async with room.task.turn() as agent:
            room.mode.instead["supervised"] = too_late
            await refused_read(room, agent, hangs=True)
            # It may have switched all the same, so the mode from before was asked for.
            assert room.mode.asked == ["supervised", "automatic"]
            assert (room.mode.now, room.task.mode) == ("automatic", "automatic")
            del room.mode.instead["supervised"]
            assert (await room.read(agent)).text == FENCED


@pytest.mark.rule("S-1")
async def test_a_switch_that_was_given_up_is_over_before_the_next_one_begins() -> None:
    async with a_room() as room:
        done = anyio.Event()

        async def cannot_be_stopped() -> bool:
            with anyio.CancelScope(shield=True):
                await done.wait()
            # It reaches the agent long after it was given up.
            room.mode.now = "supervised"
            return True

        async with room.task.turn() as agent:
            room.mode.instead["supervised"] = cannot_be_stopped
            async with anyio.create_task_group() as group:
                reply = later(group, agent.call_action, "board", "read", {})
                await room.hands.answer(NOTES)
                await settle()
                room.clock.advance(5)
                assert (await reply.wait()).code is AgentCode.PAUSE_FAILED
            await settle()
            asked = list(room.mode.asked)
            # Set before anything is asserted: without it nothing could end.
            done.set()
            assert asked == ["supervised"]
            await settle()
            assert room.mode.asked == ["supervised", "automatic"]
            assert room.mode.most_calls == 1
            assert (room.mode.now, room.task.mode) == ("automatic", "automatic")


@pytest.mark.rule("S-1")
@pytest.mark.parametrize("instead", [says_no, raises, anyio.sleep_forever])
async def test_a_mode_that_cannot_be_put_back_stays_supervised_and_a_row_says_so(
    instead: Any,
) -> None:
    async with a_room(on_switch_error=lambda _task, _error: None) as room:
        room.mode.instead["automatic"] = instead
        async with room.task.turn() as agent:
            await room.read(agent)
        await settle()
        room.clock.advance(5)
        await settle()
        assert (room.task.mode, room.mode.now) == ("supervised", "supervised")
        assert not room.task.paused
        assert room.host.person.rows("task-1")[-1].kind is RowKind.STAYS
        assert "Supervised" in room.rows[-1]
        assert room.host.pending == 0
        del room.mode.instead["automatic"]
        await room.host.person.set_mode("task-1", "automatic")
        assert room.mode.now == "automatic"


@pytest.mark.rule("S-1", "B-2")
async def test_what_on_switch_raises_goes_to_the_program_and_not_to_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: list[tuple[str, Exception]] = []
    async with a_room(on_switch_error=lambda *told: heard.append(told)) as room:
        room.mode.instead["supervised"] = raises
        async with room.task.turn() as agent:
            await refused_read(room, agent)
    ((task, error),) = heard
    assert task == "task-1"
    assert isinstance(error, OwnError)
    assert error.__context__ is None
    assert caplog.records == []


@pytest.mark.rule("S-1", "B-2")
async def test_by_default_the_log_says_that_on_switch_raised_and_where_but_not_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with a_room() as room:
        room.mode.instead["supervised"] = raises
        async with room.task.turn() as agent:
            await refused_read(room, agent)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("deska_host", logging.ERROR)
    assert "task-1" in record.getMessage()
    assert "OwnError" in record.getMessage()
    assert "test_supervision_switch.py" in record.getMessage()
    assert "be quiet" not in caplog.text
    assert record.exc_info is None


@pytest.mark.rule("S-1")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_that_on_switch_ran_into_is_not_taken_for_ours() -> None:
    import asyncio

    async def meets_a_cancelled_task() -> bool:
        task = asyncio.ensure_future(asyncio.sleep(10))
        task.cancel()
        await task
        return True

    async with a_room() as room, room.task.turn() as agent:
        room.mode.instead["supervised"] = meets_a_cancelled_task
        await refused_read(room, agent)


@pytest.mark.rule("S-1")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_on_switch_that_cancels_its_own_task_did_not_switch_and_the_host_goes_on() -> None:
    import asyncio

    async def cancels_itself() -> bool:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return True

    async with a_room() as room, room.task.turn() as agent:
        room.mode.instead["supervised"] = cancels_itself
        await refused_read(room, agent)
