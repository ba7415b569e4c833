"""What a pause holds back, and what the desk's own assistant may do (S-4, S-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.abc
import pytest

from deska_sdk import AgentCode, PersonCode, Refused
from deska_sdk.router import Answer, NoticeKind
from deska_sdk.tasks.view import Entry
from tests.host.support_host import Later, later
from tests.host.support_supervision import FENCED, NOTES, a_room, person_code, settle

if TYPE_CHECKING:
    from deska_host import Agent
    from deska_sdk.router import Notice
    from tests.host.support_supervision import Room

pytestmark = pytest.mark.anyio


async def asking(group: anyio.abc.TaskGroup, agent: Agent, key: str) -> Later[bool]:
    """The agent asks; what it gets."""
    got = later(group, agent.ask_approval, key)
    await settle()
    return got


async def answered(room: Room, agent: Agent, key: str, answer: Answer | str) -> bool:
    """The person is asked about ``key``, and nothing else, and answers."""
    async with anyio.create_task_group() as group:
        got = await asking(group, agent, key)
        (open_one,) = room.host.person.approvals()
        assert (open_one.task, open_one.key) == ("task-1", key)
        await room.host.person.approve(open_one.request, answer)
        return await got.wait()


async def unasked(room: Room, agent: Agent, key: str) -> bool:
    """Whether ``key`` is allowed without a question."""
    async with anyio.create_task_group() as group:
        got = await asking(group, agent, key)
        asked = bool(room.host.person.approvals())
        group.cancel_scope.cancel()
    return got.over and not asked


# --- approvals


@pytest.mark.rule("S-4")
async def test_an_always_from_before_the_pause_asks_again_and_one_given_in_it_counts_once() -> None:
    async with a_room() as room:
        async with room.task.turn() as agent:
            assert await answered(room, agent, "run tests", "always")
            assert await unasked(room, agent, "run tests")
            await room.read(agent)
            assert await answered(room, agent, "run tests", Answer.ALWAYS)
            assert await answered(room, agent, "run tests", "once")
            assert not await answered(room, agent, "run tests", "deny")
            assert await answered(room, agent, "delete", "always")
            assert not await unasked(room, agent, "delete")
        await settle()
        async with room.task.turn() as agent:
            # What was always allowed before the pause is so again; what was said in it was once.
            assert await unasked(room, agent, "run tests")
            assert not await unasked(room, agent, "delete")
        assert room.host.pending == 0


@pytest.mark.rule("S-4")
async def test_no_preview_runs_and_no_subagent_starts_while_a_panel_s_content_is_in_the_turn() -> (
    None
):
    async with a_room() as room:
        async with room.task.turn() as agent:
            assert await agent.may_preview() is None
            assert await agent.may_launch_subagent() is None
            await room.read(agent)
            assert await agent.may_preview() is AgentCode.PREVIEW_PAUSED
            assert await agent.may_launch_subagent() is AgentCode.SUBAGENT_PAUSED
            await room.host.person.set_mode("task-1", "automatic")
            assert await agent.may_preview() is None
        assert await agent.may_preview() is AgentCode.STOPPED
        assert await agent.may_launch_subagent() is AgentCode.STOPPED
        await settle()
        async with room.task.turn() as agent:
            assert await agent.may_preview() is None
            assert await agent.may_launch_subagent() is None


@pytest.mark.rule("S-4", "A-8")
async def test_an_agent_that_no_longer_waits_for_an_approval_leaves_no_question_behind() -> None:
    async with a_room() as room, anyio.create_task_group() as group:
        agent = room.task.start_turn()
        given_up = await asking(group, agent, "run tests")
        (request,) = [one.request for one in room.host.person.approvals()]
        given_up.scope.cancel()
        await given_up.ended()
        assert room.host.person.approvals() == ()
        assert room.host.pending == 0
        code = await person_code(room.host.person.approve(request, "always"))
        assert code is PersonCode.UNKNOWN_REQUEST
        assert not await unasked(room, agent, "run tests")

        waiting = await asking(group, agent, "run tests")
        room.task.end_turn()
        assert await waiting.wait() is False
        assert room.host.person.approvals() == ()
        assert await agent.ask_approval("run tests") is False
        assert room.host.pending == 0


@pytest.mark.rule("S-4")
async def test_an_approval_that_is_answered_as_its_wait_is_cancelled_ends_once() -> None:
    async with a_room() as room, anyio.create_task_group() as group:
        async with room.task.turn() as agent:
            waiting = await asking(group, agent, "run tests")
            (one,) = room.host.person.approvals()
            waiting.scope.cancel()
            await room.host.person.approve(one.request, "always")
            await waiting.ended()
            assert await unasked(room, agent, "run tests")
        assert room.host.pending == 0


# --- the assistant


@pytest.mark.rule("S-5")
@pytest.mark.parametrize("yes", [True, False])
async def test_in_a_pause_the_assistant_loosens_a_mode_only_with_the_person_s_word(
    yes: bool,
) -> None:
    notices: list[Notice] = []
    async with a_room() as room, anyio.create_task_group() as group:
        room.host.subscribe(notices.append)
        async with room.task.turn() as agent:
            await room.read(agent)
            wish = later(group, room.host.assistant.set_mode, "task-1", "automatic")
            await settle()
            assert not wish.over
            assert room.task.paused
            assert room.mode.now == "supervised"
            assert [n.task for n in notices if n.kind is NoticeKind.CONFIRMATION_ASKED] == [
                "task-1"
            ]
            ((ask, needed),) = room.host.person.confirmations().items()
            assert (needed.task, needed.mode, needed.request) == ("task-1", "automatic", "")
            room.host.person.confirm(ask, yes=yes)
            await wish.ended()
            assert room.host.person.confirmations() == {}
            room.host.person.confirm(ask, yes=True)
            if yes:
                assert wish.error is None
                assert room.mode.now == "automatic"
            else:
                assert isinstance(wish.error, Refused)
                assert wish.error.code is PersonCode.NOT_CONFIRMED
                assert room.task.paused
                assert room.mode.now == "supervised"
        await settle()
        assert room.mode.now == "automatic"
        assert room.host.pending == 0


@pytest.mark.rule("S-5")
async def test_the_assistant_never_ends_a_pause_and_sets_modes_freely_without_one() -> None:
    async with a_room() as room:
        await room.host.assistant.set_mode("task-1", "accept_edits")
        assert room.mode.now == "accept_edits"
        await room.host.assistant.set_mode("task-1", "automatic")
        assert room.mode.now == "automatic"
        async with room.task.turn() as agent:
            await room.read(agent)
            await room.host.assistant.set_mode("task-1", "supervised")
            assert room.task.paused
        await settle()
        assert room.mode.now == "automatic"
        code = await person_code(room.host.assistant.set_mode("task-1", "yolo"))
        assert code is PersonCode.UNKNOWN_MODE


@pytest.mark.rule("S-5")
async def test_in_a_pause_the_assistant_approves_only_with_the_person_s_word() -> None:
    async with a_room() as room, anyio.create_task_group() as group:
        assistant, person = room.host.assistant, room.host.person
        async with room.task.turn() as agent:
            free = await asking(group, agent, "format")
            await assistant.approve(person.approvals()[0].request, "once")
            assert await free.wait() is True
            await room.read(agent)
            for yes in (True, False):
                wanted = await asking(group, agent, "push")
                request = person.approvals()[0].request
                wish = later(group, assistant.approve, request, "always")
                await settle()
                assert not wanted.over
                (ask,) = person.confirmations()
                person.confirm(ask, yes=yes)
                await wish.ended()
                if yes:
                    assert await wanted.wait() is True
                else:
                    assert isinstance(wish.error, Refused)
                    assert wish.error.code is PersonCode.NOT_CONFIRMED
                    assert not wanted.over
                    # It may say no by itself.
                    await assistant.approve(request, "deny")
                    assert await wanted.wait() is False
            assert not await unasked(room, agent, "push")
        await settle()
        assert room.host.pending == 0


@pytest.mark.rule("S-5", "A-8")
async def test_a_confirmation_for_a_task_that_left_is_asked_for_no_more() -> None:
    async with a_room() as room, anyio.create_task_group() as group:
        agent = room.task.start_turn()
        await room.read(agent)
        wish = later(group, room.host.assistant.set_mode, "task-1", "automatic")
        await settle()
        assert len(room.host.person.confirmations()) == 1
        room.host.detach_task("task-1")
        await wish.ended()
        assert isinstance(wish.error, Refused)
        assert wish.error.code is PersonCode.UNKNOWN_TASK
        assert room.host.person.confirmations() == {}
        await settle()
        assert room.host.pending == 0


@pytest.mark.rule("S-5")
async def test_the_assistant_reads_a_conversation_without_what_replies_and_messages_mark() -> None:
    async with a_room() as room:
        async with room.task.turn() as agent:
            listed = await agent.list_panels()
            read = await room.read(agent)
            refused = await agent.call_action("board", "nothing", {})
        await room.hands.deska.agent.offer(text="Buy ferns")
        await settle()
        await room.host.person.send_to_task("board")
        one = await room.turns.next()
        entries = [
            Entry("please read the board"),
            Entry(listed.text, listed.panel),
            Entry(read.text, read.panel),
            Entry(refused.text, refused.panel),
            Entry(one.message.text, one.message.panel),
        ]
        view = room.host.assistant.view(entries)
        assert [entry.text for entry in view] == [
            "please read the board",
            listed.text,
            refused.text,
        ]
        assert read.text == FENCED
        assert NOTES["notes"][0] not in "".join(entry.text for entry in view)
        await one.end()
