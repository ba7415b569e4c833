"""S-4, S-5: what an agent may do while a pause holds, and who may allow it."""

from __future__ import annotations

import pytest

from deska_sdk.errors import AgentCode, PersonCode, sentence
from deska_sdk.router import Answer, AskApproval, HostTool, RowKind, Who
from tests.tasks.support_tasks import TaskDesk, at_work

ALWAYS, ONCE, DENY = Answer.ALWAYS, Answer.ONCE, Answer.DENY


def allowed(desk: TaskDesk, key: str) -> bool | None:
    """How a request ends without a word of the person; ``None``: they are asked."""
    request = desk.request(key)
    assert desk.asks(request) is (desk.decided(request) is None)
    return desk.decided(request)


def always(desk: TaskDesk, key: str) -> None:
    assert desk.approve(desk.request(key), ALWAYS) is None


# --- without a pause


@pytest.mark.rule("S-4")
def test_what_was_allowed_once_is_asked_about_again_and_what_was_always_allowed_is_not():
    desk = at_work()
    once = desk.request("run tests")
    assert desk.asks(once)
    assert desk.approve(once, ONCE) is None
    assert desk.decided(once) is True
    assert allowed(desk, "run tests") is None
    always(desk, "run tests")
    assert allowed(desk, "run tests") is True
    assert allowed(desk, "push") is None


@pytest.mark.rule("S-4")
def test_what_the_person_denies_is_not_allowed_and_asked_about_again():
    desk = at_work()
    request = desk.request("push")
    assert desk.approve(request, DENY) is None
    assert desk.decided(request) is False
    assert allowed(desk, "push") is None


@pytest.mark.rule("S-4")
def test_an_answer_to_what_was_answered_or_never_asked_is_refused():
    desk = at_work()
    request = desk.request("push")
    desk.approve(request, ONCE)
    assert desk.approve(request, ALWAYS) is PersonCode.UNKNOWN_REQUEST
    assert desk.approve("never asked", ALWAYS) is PersonCode.UNKNOWN_REQUEST
    assert allowed(desk, "push") is None


# --- S-4: while it holds


@pytest.mark.rule("S-4")
def test_an_always_from_before_the_pause_is_ignored_in_it_and_counts_again_after_it():
    desk = at_work()
    always(desk, "run tests")
    desk.read("a note")
    assert allowed(desk, "run tests") is None
    desk.end_turn()
    desk.start_turn("task-1")
    assert allowed(desk, "run tests") is True


@pytest.mark.rule("S-4")
def test_an_always_given_in_the_pause_counts_once():
    desk = at_work()
    desk.read("a note")
    request = desk.request("push")
    assert desk.approve(request, ALWAYS) is None
    assert desk.decided(request) is True
    assert allowed(desk, "push") is None
    desk.end_turn()
    desk.start_turn("task-1")
    assert allowed(desk, "push") is None


@pytest.mark.rule("S-4")
def test_an_always_given_in_the_pause_to_what_was_asked_before_it_counts_once_too():
    desk = at_work()
    request = desk.request("push")
    desk.read("a note")
    desk.approve(request, ALWAYS)
    assert desk.decided(request) is True
    desk.set_mode("automatic")
    assert allowed(desk, "push") is None


@pytest.mark.rule("S-4")
def test_an_always_given_after_the_pause_to_what_was_asked_in_it_is_an_always():
    desk = at_work()
    desk.read("a note")
    request = desk.request("push")
    desk.set_mode("automatic")
    desk.approve(request, ALWAYS)
    assert allowed(desk, "push") is True


@pytest.mark.rule("S-4", "S-5")
def test_once_the_person_ended_the_pause_what_was_always_allowed_is_allowed():
    desk = at_work()
    always(desk, "run tests")
    desk.read("a note")
    desk.set_mode("accept_edits")
    assert allowed(desk, "run tests") is True
    desk.read("another")
    assert allowed(desk, "run tests") is None


@pytest.mark.rule("S-4")
def test_a_pause_that_begins_or_is_being_undone_asks_about_everything():
    desk = at_work()
    always(desk, "run tests")
    desk.holding = {"switch"}
    desk.read("a note")
    assert allowed(desk, "run tests") is None
    desk.finish()
    desk.end_turn()
    desk.start_turn("task-1")
    assert allowed(desk, "run tests") is None
    desk.finish()
    assert allowed(desk, "run tests") is True


@pytest.mark.rule("S-4")
def test_each_task_has_its_own_approvals_and_a_task_that_left_has_none():
    desk = at_work()
    always(desk, "push")
    desk.attach("task-2", mode="automatic")
    assert not desk.decided(desk.request("push", task="task-2"))
    desk.detach()
    desk.attach("task-1", mode="automatic")
    assert allowed(desk, "push") is None


@pytest.mark.rule("S-4", "S-6")
def test_a_request_ends_with_its_turn_and_is_not_allowed():
    desk = at_work()
    request = desk.request("push")
    assert desk.router.pending == 1
    desk.end_turn()
    assert desk.decided(request) is False
    assert desk.approve(request, ONCE) is PersonCode.UNKNOWN_REQUEST
    assert desk.router.pending == 0


@pytest.mark.rule("S-4")
def test_a_request_of_a_turn_that_is_not_running_is_not_allowed():
    desk = at_work()
    always(desk, "push")
    late = desk.request("push", turn="old-turn")
    unknown = desk.request("push", task="task-9", turn="turn-1")
    assert (desk.decided(late), desk.decided(unknown)) == (False, False)


# --- S-4: the host's tools


@pytest.mark.rule("S-4", "A-9")
def test_preview_tools_are_refused_and_no_subagent_is_launched_while_a_pause_holds():
    desk = at_work()
    assert [desk.tool(tool) for tool in HostTool] == [None, None]
    desk.read("a note")
    for _ in range(3):
        assert desk.tool(HostTool.PREVIEW) is AgentCode.PREVIEW_PAUSED
        assert desk.tool(HostTool.SUBAGENT) is AgentCode.SUBAGENT_PAUSED
    assert "Wait for the person" in sentence(AgentCode.PREVIEW_PAUSED)
    desk.end_turn()
    desk.start_turn("task-1")
    assert [desk.tool(tool) for tool in HostTool] == [None, None]


@pytest.mark.rule("S-4")
def test_the_tools_are_held_back_from_the_first_step_of_a_pause_to_its_last():
    desk = at_work()
    desk.holding = {"switch"}
    desk.read("a note")
    assert desk.tool(HostTool.PREVIEW) is AgentCode.PREVIEW_PAUSED
    desk.finish()
    assert desk.tool(HostTool.PREVIEW) is AgentCode.PREVIEW_PAUSED
    desk.end_turn()
    desk.start_turn("task-1")
    assert desk.tool(HostTool.PREVIEW) is AgentCode.PREVIEW_PAUSED
    desk.finish()
    assert desk.tool(HostTool.PREVIEW) is None


@pytest.mark.rule("S-4", "S-5")
def test_the_tools_run_again_once_the_person_ended_the_pause():
    desk = at_work()
    desk.read("a note")
    desk.set_mode("automatic")
    assert [desk.tool(tool) for tool in HostTool] == [None, None]


@pytest.mark.rule("S-4")
def test_a_tool_of_a_turn_that_is_over_is_stopped_and_another_task_is_not_held_back():
    desk = at_work()
    desk.attach("task-2")
    desk.read("a note")
    assert desk.tool(HostTool.PREVIEW, turn="old-turn") is AgentCode.STOPPED
    assert desk.tool(HostTool.PREVIEW, task="task-9", turn="turn-1") is AgentCode.STOPPED
    assert desk.tool(HostTool.PREVIEW, task="task-2") is None


@pytest.mark.rule("S-4", "O-4")
def test_all_of_it_holds_in_the_turn_of_a_panels_message_from_its_start():
    desk = at_work()
    always(desk, "run tests")
    desk.end_turn()
    desk.offer("SECRET")
    desk.press()
    assert desk.router.paused("task-1")
    assert desk.tool(HostTool.PREVIEW) is AgentCode.PREVIEW_PAUSED
    assert desk.tool(HostTool.SUBAGENT) is AgentCode.SUBAGENT_PAUSED
    assert allowed(desk, "run tests") is None
    assert desk.rows() == [RowKind.PAUSED]


# --- S-5: the assistant


@pytest.mark.rule("S-5")
@pytest.mark.parametrize("answer", [ONCE, ALWAYS])
def test_while_a_pause_stands_the_assistants_approval_waits_for_the_person(answer):
    desk = at_work()
    desk.read("a note")
    request = desk.request("push")
    assert desk.approve(request, answer, Who.ASSISTANT) == "open"
    assert desk.decided(request) is None
    assert desk.confirm(yes=True) is None
    assert desk.decided(request) is True
    # Confirmed by the person, an always still counts once.
    assert allowed(desk, "push") is None


@pytest.mark.rule("S-5")
def test_an_approval_that_the_person_does_not_confirm_leaves_the_request_open():
    desk = at_work()
    desk.read("a note")
    request = desk.request("push")
    desk.approve(request, ALWAYS, Who.ASSISTANT)
    assert desk.confirm(yes=False) is PersonCode.NOT_CONFIRMED
    assert desk.decided(request) is None
    assert desk.approve(request, ONCE) is None
    assert desk.decided(request) is True


@pytest.mark.rule("S-5")
def test_the_assistant_may_deny_and_where_no_pause_stands_approve_by_itself():
    desk = at_work()
    free = desk.request("push")
    assert desk.approve(free, ONCE, Who.ASSISTANT) is None
    assert desk.decided(free) is True
    desk.read("a note")
    denied = desk.request("push")
    assert desk.approve(denied, DENY, Who.ASSISTANT) is None
    assert desk.decided(denied) is False
    assert desk.confirmations() == []


@pytest.mark.rule("S-5")
def test_a_confirmed_approval_of_what_is_over_is_refused():
    desk = at_work()
    desk.read("a note")
    request = desk.request("push")
    desk.approve(request, ONCE, Who.ASSISTANT)
    desk.end_turn()
    assert desk.decided(request) is False
    # The pause is over, and with it the person's word for what was asked in it.
    assert desk.confirm(yes=True) is PersonCode.NOT_CONFIRMED
    assert desk.router.pending == 0


@pytest.mark.rule("S-5", "S-4")
def test_the_same_request_of_two_tasks_is_answered_for_the_one_that_asked():
    desk = at_work()
    desk.attach("task-2")
    mine, theirs = desk.request("push"), desk.request("push", task="task-2")
    desk.approve(theirs, ALWAYS)
    assert (desk.decided(mine), desk.decided(theirs)) == (None, True)
    assert [one.task for one in desk.all(AskApproval)] == ["task-1", "task-2"]


@pytest.mark.rule("B-2")
def test_the_key_of_a_request_is_hidden_from_repr():
    desk = at_work()
    desk.request("SECRET")
    (asked,) = desk.all(AskApproval)
    assert asked.key == "SECRET"
    assert "SECRET" not in repr(asked)
    assert "SECRET" not in repr(desk.router._tasks.get("task-1"))
