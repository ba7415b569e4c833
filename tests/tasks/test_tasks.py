"""S-6: tasks come, go and come back; a host ends; what a pause leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from deska_sdk.errors import AgentCode, PersonCode
from deska_sdk.records import PauseRecord
from deska_sdk.router import RowKind, ShowRow, Switches, SwitchMode, TurnEnded, TurnStarted, Who
from tests.tasks.support_tasks import PNG, TaskDesk, at_work

AGAIN = (
    "This task was paused for a panel's content when it was last here, so it stays in Supervised "
    "until you change it."
)


def restarted(desk: TaskDesk, *, holding: Any = (), failing: Any = (), **facts: Any) -> TaskDesk:
    """The next run of the host on the same store, with the task as its program says."""
    later = desk.again()
    later.holding, later.failing = set(holding), set(failing)
    facts = {"mode": "automatic", "runs_messages": True} | facts
    later.real["task-1"] = facts["mode"]
    later.attach("task-1", **facts)
    later.start_page()
    return later


def paused() -> TaskDesk:
    desk = at_work()
    desk.read("a note")
    return desk


# --- S-6: the host ended while the task was paused


@pytest.mark.rule("S-6")
@pytest.mark.parametrize("mode", ["automatic", "accept_edits", "supervised"])
def test_a_task_that_was_paused_when_the_host_ended_stays_supervised_and_a_row_says_so(mode):
    desk = restarted(paused(), mode=mode)
    assert desk.modes == ["supervised"]
    assert desk.real["task-1"] == desk.router.mode("task-1") == "supervised"
    assert desk.all(ShowRow) == [ShowRow("task-1", RowKind.RESTARTED, AGAIN)]
    assert not desk.router.paused("task-1")
    assert desk.at_rest()
    # Nobody puts an older mode back.
    desk.end_turn()
    assert desk.modes == ["supervised"]


@pytest.mark.rule("S-6")
def test_the_row_is_shown_once_and_not_at_every_later_start():
    desk = restarted(restarted(paused()))
    assert desk.modes == []
    assert desk.rows() == []


@pytest.mark.rule("S-6", "S-5")
def test_after_a_restart_the_person_changes_the_mode_and_it_stays():
    desk = restarted(paused())
    assert desk.set_mode("automatic") is None
    assert restarted(desk).modes == []


@pytest.mark.rule("S-6")
def test_a_host_that_ends_before_content_was_handed_over_leaves_the_task_supervised_too():
    desk = at_work()
    desk.holding = {"switch"}
    desk.read("SECRET")
    assert restarted(desk).rows() == [RowKind.RESTARTED]


@pytest.mark.rule("S-6")
def test_a_host_that_ends_before_it_is_durable_that_the_mode_is_back_is_on_the_safe_side():
    desk = paused()
    desk.holding = {"store"}
    desk.end_turn()
    assert desk.router.mode("task-1") == "automatic"
    assert restarted(desk).rows() == [RowKind.RESTARTED]
    desk.release_held("store")
    assert restarted(desk).rows() == []


@pytest.mark.rule("S-6")
def test_a_task_that_was_not_paused_when_the_host_ended_is_left_as_it_is():
    for desk in (at_work(), paused()):
        desk.end_turn()
        assert restarted(desk).modes == []


@pytest.mark.rule("S-6")
@pytest.mark.parametrize("late", [False, True])
def test_a_task_that_cannot_be_put_into_supervised_after_a_restart_has_a_row_that_says_so(late):
    if late:
        desk = restarted(paused(), holding={"switch"})
        desk.wait(5)
    else:
        desk = restarted(paused(), failing={"switch"})
    assert desk.row().kind is RowKind.STAYS
    assert "could not be put into Supervised again" in desk.row().text
    assert desk.at_rest()
    desk.holding, desk.failing = set(), set()
    # It is tried again when the task is next here.
    assert restarted(desk).rows() == [RowKind.RESTARTED]


@pytest.mark.rule("S-1", "S-6")
def test_no_content_enters_while_a_task_is_put_into_supervised_after_a_restart():
    desk = restarted(paused(), holding={"switch"})
    assert desk.code(desk.read("SECRET")) is AgentCode.PAUSE_FAILED
    desk.release_held("switch")
    assert desk.code(desk.read("a note")) is None


@pytest.mark.rule("S-5", "S-6")
def test_the_assistant_cannot_get_in_between_when_a_task_is_put_into_supervised_again():
    desk = restarted(paused(), holding={"switch"})
    assert desk.set_mode("automatic", Who.ASSISTANT) == "open"
    assert len(desk.confirmations()) == 1
    desk.release_held("switch")
    assert desk.router.mode("task-1") == "supervised"
    assert desk.rows() == [RowKind.RESTARTED]


@pytest.mark.rule("S-5", "S-6")
def test_the_person_can_and_then_their_mode_is_what_stays():
    desk = restarted(paused(), holding={"switch"})
    desk.set_mode("accept_edits")
    desk.release_held("switch")
    assert desk.modes == ["supervised", "accept_edits"]
    assert desk.router.mode("task-1") == "accept_edits"
    assert desk.rows() == []
    assert restarted(desk).rows() == []


@pytest.mark.rule("S-5", "S-6")
def test_a_persons_change_that_fails_there_leaves_a_row_that_says_to_look():
    desk = restarted(paused(), holding={"switch"})
    desk.set_mode("accept_edits")
    desk.failing = {"switch"}
    desk.release_held("switch")
    assert desk.row().kind is RowKind.STAYS
    assert "Check its mode" in desk.row().text
    assert desk.at_rest()


@pytest.mark.rule("S-6")
def test_calls_deferred_reads_offers_and_queues_do_not_outlive_the_host():
    desk = at_work(switches=Switches.NEXT_TURN)
    desk.read("SECRET")
    desk.call("list_notes")
    desk.call()
    desk.offer("SECRET")
    desk.press()
    desk.queue("first")
    later = restarted(desk, switches=Switches.NEXT_TURN)
    assert later.router.pending == 0
    assert later.button() is None
    assert later.waiting() == []
    later.end_turn()
    assert later.started() == []


# --- S-6: the task left while it was paused


@pytest.mark.rule("S-6")
@pytest.mark.parametrize("moment", ["switching", "holding", "restoring"])
def test_a_task_that_leaves_while_it_is_paused_is_supervised_when_it_is_here_again(moment):
    desk = at_work()
    if moment == "switching":
        desk.holding = {"switch"}
    desk.read("a note")
    if moment == "restoring":
        desk.holding = {"switch"}
        desk.end_turn()
    desk.detach()
    assert desk.at_rest()
    desk.holding = set()
    desk.held.clear()
    desk.attach("task-1", mode="automatic")
    assert desk.router.mode("task-1") == desk.real["task-1"] == "supervised"
    assert desk.row().kind is RowKind.RESTARTED
    desk.detach()
    # Once: it is known to be in Supervised now.
    shown = desk.rows()
    desk.attach("task-1", mode="automatic")
    assert desk.rows() == shown
    assert desk.router.mode("task-1") == "automatic"


@pytest.mark.rule("S-6")
def test_a_task_that_leaves_is_told_no_more_modes_and_its_read_is_stopped():
    desk = at_work()
    desk.holding = {"switch"}
    call = desk.read("SECRET")
    made = desk.detach()
    assert desk.code(call) is AgentCode.STOPPED
    assert [one for one in made if isinstance(one, (SwitchMode, ShowRow))] == []


@pytest.mark.rule("S-6")
def test_a_change_of_mode_that_is_under_way_when_the_task_leaves_is_over():
    desk = at_work()
    desk.holding = {"switch"}
    desk.set_mode("accept_edits")
    desk.detach()
    assert desk.done().code is PersonCode.SWITCH_FAILED
    assert desk.at_rest()
    assert desk.router.mode("task-1") is None


@pytest.mark.rule("S-6")
def test_attaching_a_task_that_is_here_is_leaving_and_coming_back():
    desk = paused()
    desk.attach("task-1", mode="automatic")
    assert desk.row().kind is RowKind.RESTARTED
    assert desk.router.mode("task-1") == "supervised"


@pytest.mark.rule("S-6")
def test_events_of_a_task_or_a_turn_that_is_not_there_change_nothing():
    desk = paused()
    for stray in (
        TurnStarted("task-9", "turn-9"),
        TurnEnded("task-9", "turn-9"),
        TurnEnded("task-1", "turn-9"),
    ):
        assert desk.step(stray) == []
    assert desk.detach("task-9") == []
    assert desk.router.paused("task-1")
    assert not desk.router.paused("task-9")
    assert desk.router.waiting("task-9") == ()


@pytest.mark.rule("S-6", "S-4")
def test_nothing_is_pending_after_a_turn_with_all_that_a_pause_brings():
    desk = at_work()
    desk.kept = {"one": PNG}
    desk.read("a note", images=["one"])
    desk.request("push")
    desk.set_mode("automatic", Who.ASSISTANT)
    desk.confirm(yes=False)
    desk.end_turn()
    assert desk.at_rest()
    assert desk.log.count(PauseRecord("task-1", paused=True)) == 1
    assert desk.log[-1] == PauseRecord("task-1", paused=False)
