"""S-1 to S-3, S-5, S-6: a task is in Supervised before content is in its turn, and as long."""

from __future__ import annotations

from typing import Any

import pytest

from deska_sdk.errors import AgentCode, PersonCode
from deska_sdk.records import PauseRecord
from deska_sdk.router import (
    CancelOp,
    Confirmed,
    EncodeImage,
    Mode,
    Modes,
    ModeSwitched,
    Persist,
    Reply,
    RowKind,
    ShowRow,
    SwitchMode,
    TurnEnd,
    Who,
)
from tests.panels.support_router import inside_the_fence, manifest, refusal
from tests.tasks.support_tasks import NAME, PNG, TaskDesk, at_work, second_panel

IN_TURN = f"{NAME} sent content into this turn, so this task is in Supervised until the turn ends."
OVER = (
    f"The turn is over, so this task is back to Automatic. The content {NAME} sent is still in "
    "this conversation, and later turns can read it."
)


def held(desk: TaskDesk, kind: type) -> Any:
    (one,) = [effect for effect in desk.held if isinstance(effect, kind)]
    return one


# --- S-1: before the content


@pytest.mark.rule("S-1")
@pytest.mark.parametrize("mode", ["supervised", "accept_edits", "automatic"])
def test_a_read_puts_the_task_into_supervised_before_anything_is_handed_over_in_any_mode(mode):
    desk = at_work(mode=mode)
    call = desk.read("a note")
    kinds = [type(one) for one in desk.effects if isinstance(one, (SwitchMode, ShowRow, Reply))]
    assert kinds == [SwitchMode, ShowRow, Reply]
    assert desk.modes == ["supervised"]
    assert desk.real["task-1"] == desk.router.mode("task-1") == "supervised"
    assert desk.router.paused("task-1")
    assert inside_the_fence(desk.reply(call).text) == {"notes": ["a note"]}


@pytest.mark.rule("S-1")
def test_supervised_is_the_agents_own_strictest_mode():
    modes = Modes((Mode("ask", "Asks first"), Mode("go", "Goes ahead")))
    desk = at_work(modes=modes, mode="go")
    desk.read("a note")
    desk.end_turn()
    assert desk.modes == ["ask", "go"]
    assert "back to Goes ahead." in desk.row().text


@pytest.mark.rule("S-1")
def test_images_are_encoded_before_the_task_is_switched():
    desk = at_work()
    desk.kept = {"one": PNG}
    desk.read("a note", images=["one"])
    kinds = [type(one) for one in desk.effects if isinstance(one, (EncodeImage, SwitchMode))]
    assert kinds == [EncodeImage, SwitchMode]


@pytest.mark.rule("S-1", "S-6")
def test_content_waits_until_it_is_durable_that_the_task_is_paused():
    desk = at_work()
    desk.holding = {"store"}
    call = desk.read("a note")
    assert desk.real["task-1"] == "supervised"
    assert desk.is_open(call)
    assert not desk.router.paused("task-1")
    desk.finish()
    assert desk.log[-1] == PauseRecord("task-1", paused=True)
    assert desk.code(call) is None
    assert desk.router.paused("task-1")


@pytest.mark.rule("S-1")
def test_a_switch_that_fails_is_pause_failed_and_the_mode_is_as_it_was():
    desk = at_work()
    desk.failing = {"switch"}
    call = desk.read("SECRET")
    assert desk.reply(call).text == refusal(AgentCode.PAUSE_FAILED)
    assert desk.modes == ["supervised"]
    assert desk.router.mode("task-1") == "automatic"
    assert desk.rows() == []
    assert desk.at_rest()
    # It is durable that nothing is paused.
    assert desk.log[-1] == PauseRecord("task-1", paused=False)


@pytest.mark.rule("S-1", "A-3")
def test_a_switch_that_takes_too_long_is_pause_failed_and_is_taken_back():
    desk = at_work()
    desk.holding = {"switch"}
    call = desk.read("SECRET")
    first = held(desk, SwitchMode)
    desk.wait(4.999)
    assert desk.is_open(call)
    made = desk.wait(0.001)
    assert desk.reply(call).text == refusal(AgentCode.PAUSE_FAILED)
    assert CancelOp(first.op) in made
    # The switch may have been made all the same.
    assert desk.modes == ["supervised", "automatic"]
    desk.finish(first)
    desk.release_held("switch")
    assert desk.router.mode("task-1") == desk.real["task-1"] == "automatic"
    assert desk.rows() == []
    assert desk.at_rest()


@pytest.mark.rule("S-1")
@pytest.mark.parametrize("first", ["switch", "store"])
def test_a_store_that_fails_is_pause_failed_and_the_mode_is_put_back(first):
    desk = at_work()
    desk.holding = {"switch", "store"}
    call = desk.read("SECRET")
    if first == "switch":
        desk.finish(held(desk, SwitchMode))
    desk.failing = {"store"}
    desk.finish(held(desk, Persist))
    assert desk.reply(call).text == refusal(AgentCode.PAUSE_FAILED)
    desk.failing = set()
    desk.release_held("switch")
    assert desk.modes == ["supervised", "automatic"]
    assert desk.real["task-1"] == desk.router.mode("task-1") == "automatic"
    desk.release_held("store")
    assert PauseRecord("task-1", paused=True) not in desk.log
    # The next read tries all of it again.
    assert desk.code(desk.read("a note")) is None
    assert desk.log[-1] == PauseRecord("task-1", paused=True)


@pytest.mark.rule("S-1", "S-6")
def test_a_store_that_failed_while_the_read_was_given_up_is_asked_again_by_the_next_read():
    desk = at_work()
    desk.holding = {"switch", "store"}
    call = desk.read("SECRET")
    desk.cancel(call)
    desk.failing = {"store"}
    desk.finish(held(desk, Persist))
    desk.failing = set()
    again = desk.read("a note")
    desk.release_held("switch")
    assert desk.is_open(again)
    desk.release_held("store")
    assert desk.code(again) is None
    assert desk.log[-1] == PauseRecord("task-1", paused=True)


@pytest.mark.rule("S-1")
def test_more_reads_join_a_switch_that_is_under_way_and_enter_with_it():
    desk = at_work()
    desk.holding = {"switch"}
    calls = [desk.read(f"note {number}") for number in range(3)]
    assert desk.modes == ["supervised"]
    assert all(desk.is_open(call) for call in calls)
    made = desk.finish()
    assert [one.request for one in made if isinstance(one, Reply)] == calls
    assert desk.rows() == [RowKind.PAUSED]


@pytest.mark.rule("S-1")
def test_reads_that_joined_fail_with_the_switch():
    desk = at_work()
    desk.holding = {"switch"}
    calls = [desk.read("SECRET"), desk.read("SECRET")]
    desk.failing = {"switch"}
    desk.finish()
    assert [desk.code(call) for call in calls] == [AgentCode.PAUSE_FAILED] * 2


@pytest.mark.rule("S-1")
def test_a_read_that_is_stopped_leaves_the_switch_to_those_that_joined_it():
    desk = at_work()
    desk.holding = {"switch"}
    stopped, other = desk.read("SECRET"), desk.read("a note")
    desk.cancel(stopped)
    assert desk.modes == ["supervised"]
    desk.finish()
    assert desk.code(stopped) is AgentCode.STOPPED
    assert desk.code(other) is None


@pytest.mark.rule("S-1")
def test_a_switch_for_which_nobody_waits_any_more_is_taken_back_without_a_row():
    desk = at_work()
    desk.holding = {"switch"}
    call = desk.read("SECRET")
    desk.cancel(call)
    desk.release_held("switch")
    assert desk.modes == ["supervised", "automatic"]
    assert desk.router.mode("task-1") == "automatic"
    assert desk.rows() == []
    assert desk.at_rest()


@pytest.mark.rule("S-1")
def test_content_for_a_turn_that_ended_while_switching_is_stopped_and_the_mode_comes_back():
    desk = at_work()
    desk.holding = {"switch"}
    call = desk.read("SECRET")
    desk.end_turn()
    assert desk.reply(call).text == refusal(AgentCode.STOPPED)
    desk.release_held("switch")
    assert desk.real["task-1"] == desk.router.mode("task-1") == "automatic"
    assert desk.rows() == []


# --- S-1, S-5: the person's change while a switch is under way


@pytest.mark.rule("S-1", "S-5")
@pytest.mark.parametrize("mode", ["automatic", "accept_edits", "supervised"])
def test_a_persons_change_fails_a_switch_that_is_under_way_and_its_mode_is_what_stays(mode):
    desk = at_work()
    desk.holding = {"switch"}
    calls = [desk.read("SECRET"), desk.read("SECRET")]
    assert desk.set_mode(mode) == "open"
    assert [desk.code(call) for call in calls] == [AgentCode.PAUSE_FAILED] * 2
    desk.release_held("switch")
    assert desk.all(SwitchMode)[-1].mode == mode
    assert desk.router.mode("task-1") == desk.real["task-1"] == mode
    assert not desk.router.paused("task-1")
    desk.end_turn()
    assert desk.modes == ["supervised", mode]
    assert desk.rows() == []


@pytest.mark.rule("S-1")
def test_a_read_that_comes_while_the_person_changes_the_mode_is_pause_failed():
    desk = at_work()
    desk.holding = {"switch"}
    desk.set_mode("accept_edits")
    assert desk.code(desk.read("SECRET")) is AgentCode.PAUSE_FAILED
    desk.release_held("switch")
    assert desk.code(desk.read("a note")) is None
    desk.end_turn()
    assert desk.router.mode("task-1") == "accept_edits"


@pytest.mark.rule("S-1", "S-5")
def test_a_read_that_comes_while_the_person_ends_the_pause_is_pause_failed():
    # The agent may be out of Supervised although the host has not said so yet.
    desk = at_work()
    desk.read("a note")
    desk.holding = {"switch"}
    desk.set_mode("automatic")
    assert desk.code(desk.read("SECRET")) is AgentCode.PAUSE_FAILED


@pytest.mark.rule("S-1", "S-5")
def test_nobody_knows_the_mode_after_a_change_that_never_ended_so_no_more_content_enters():
    desk = at_work()
    desk.read("a note")
    desk.holding = {"switch"}
    desk.set_mode("automatic")
    desk.wait(5)
    assert desk.done().code is PersonCode.SWITCH_FAILED
    assert desk.code(desk.read("SECRET")) is AgentCode.PAUSE_FAILED
    # The pause itself goes on to the end of the turn.
    assert desk.router.paused("task-1")
    desk.end_turn()
    desk.release_held("switch")
    assert desk.real["task-1"] == "automatic"
    assert desk.rows() == [RowKind.PAUSED, RowKind.BACK]


@pytest.mark.rule("S-1", "S-5")
def test_after_a_change_that_the_host_refused_the_pause_holds_as_before():
    desk = at_work()
    desk.read("a note")
    desk.failing = {"switch"}
    assert desk.set_mode("automatic") is PersonCode.SWITCH_FAILED
    desk.failing = set()
    assert desk.router.paused("task-1")
    assert desk.code(desk.read("more")) is None


# --- S-5: only the person's own change ends a pause early


@pytest.mark.rule("S-5")
@pytest.mark.parametrize("mode", ["automatic", "accept_edits", "supervised"])
def test_the_persons_own_change_ends_a_pause_and_then_that_mode_stays(mode):
    desk = at_work()
    desk.read("a note")
    assert desk.set_mode(mode) is None
    assert not desk.router.paused("task-1")
    assert desk.log[-1] == PauseRecord("task-1", paused=False)
    desk.end_turn()
    assert desk.modes == ["supervised", mode]
    assert desk.router.mode("task-1") == mode
    assert desk.rows() == [RowKind.PAUSED]


@pytest.mark.rule("S-5", "S-6")
def test_a_read_after_the_person_ended_the_pause_pauses_anew_and_their_mode_comes_back():
    desk = at_work()
    desk.read("a note")
    desk.set_mode("accept_edits")
    desk.read("another")
    assert desk.router.paused("task-1")
    desk.end_turn()
    assert desk.modes == ["supervised", "accept_edits", "supervised", "accept_edits"]
    assert desk.row().text == OVER.replace("Automatic", "Accept edits")


@pytest.mark.rule("S-5")
def test_a_change_that_is_under_way_when_the_turn_ends_is_what_stays():
    desk = at_work()
    desk.read("a note")
    desk.holding = {"switch"}
    desk.set_mode("accept_edits")
    desk.end_turn()
    desk.release_held("switch")
    assert desk.modes == ["supervised", "accept_edits"]
    assert desk.router.mode("task-1") == "accept_edits"
    assert desk.log[-1] == PauseRecord("task-1", paused=False)


@pytest.mark.rule("S-1", "S-5", "S-6")
@pytest.mark.parametrize("late", [False, True])
def test_a_change_that_fails_after_the_turn_ended_lets_the_mode_from_before_come_back(late):
    desk = at_work()
    desk.read("a note")
    desk.holding = {"switch"}
    desk.set_mode("accept_edits")
    desk.end_turn()
    if late:
        desk.wait(5)
    else:
        desk.failing = {"switch"}
        desk.finish()
        desk.failing = set()
    assert desk.done().code is PersonCode.SWITCH_FAILED
    desk.release_held("switch")
    assert desk.modes[-1] == desk.router.mode("task-1") == desk.real["task-1"] == "automatic"
    assert desk.row() == ShowRow("task-1", RowKind.BACK, OVER, keep_asking=True)


@pytest.mark.rule("S-1", "S-5")
def test_a_change_that_fails_in_the_place_of_a_switch_or_of_restoring_lets_the_old_mode_come_back():
    for ends in (False, True):
        desk = at_work()
        desk.holding = {"switch"} if not ends else set()
        desk.read("a note")
        if ends:
            desk.holding = {"switch"}
            desk.end_turn()
        desk.set_mode("accept_edits")
        desk.failing = {"switch"}
        desk.finish(next(one for one in desk.held if one.mode == "accept_edits"))
        desk.failing = set()
        assert desk.done().code is PersonCode.SWITCH_FAILED
        desk.release_held("switch")
        assert desk.modes[-1] == desk.router.mode("task-1") == "automatic"
        assert desk.log[-1] == PauseRecord("task-1", paused=False)


@pytest.mark.rule("S-5")
def test_the_newer_of_two_changes_is_the_one_that_counts():
    desk = at_work()
    desk.holding = {"switch"}
    desk.set_mode("accept_edits")
    desk.set_mode("supervised")
    first, second = list(desk.held)
    desk.finish(second)
    assert desk.ended("ask-3") is PersonCode.SWITCH_FAILED
    assert desk.ended("ask-4") is None
    assert desk.router.mode("task-1") == "supervised"
    assert first.op in desk.cancelled


@pytest.mark.rule("S-5")
def test_a_mode_or_a_task_that_does_not_exist_is_refused_and_nothing_is_switched():
    desk = at_work()
    assert desk.set_mode("reckless") is PersonCode.UNKNOWN_MODE
    assert desk.set_mode("automatic", task="task-9") is PersonCode.UNKNOWN_TASK
    assert desk.keep_asking(task="task-9") is PersonCode.UNKNOWN_TASK
    assert desk.modes == []


# --- S-5: the assistant


@pytest.mark.rule("S-5")
@pytest.mark.parametrize("mode", ["accept_edits", "automatic"])
def test_the_assistants_loosening_of_a_paused_task_waits_for_the_person(mode):
    desk = at_work()
    desk.read("a note")
    assert desk.set_mode(mode, Who.ASSISTANT) == "open"
    assert desk.modes == ["supervised"]
    assert desk.router.paused("task-1")
    assert desk.router.pending == 1
    assert desk.confirm(yes=True) is None
    # Confirmed it is the person's own change.
    assert desk.router.mode("task-1") == mode
    desk.end_turn()
    assert desk.modes == ["supervised", mode]


@pytest.mark.rule("S-5")
def test_what_the_person_does_not_confirm_changes_nothing():
    desk = at_work()
    desk.read("a note")
    desk.set_mode("automatic", Who.ASSISTANT)
    assert desk.confirm(yes=False) is PersonCode.NOT_CONFIRMED
    assert desk.router.paused("task-1")
    assert desk.modes == ["supervised"]
    # A second answer to the same confirmation is stale.
    before = len(desk.effects)
    desk.step(Confirmed(desk.confirmations()[-1], yes=True))
    assert len(desk.effects) == before


@pytest.mark.rule("S-5")
def test_the_assistants_tightening_of_a_paused_task_changes_nothing_and_ends_nothing():
    desk = at_work()
    desk.read("a note")
    assert desk.set_mode("supervised", Who.ASSISTANT) is None
    assert desk.router.paused("task-1")
    assert desk.confirmations() == []
    desk.end_turn()
    assert desk.modes == ["supervised", "automatic"]


@pytest.mark.rule("S-5")
def test_where_no_pause_stands_the_assistant_needs_no_confirmation():
    desk = at_work(mode="supervised")
    assert desk.set_mode("automatic", Who.ASSISTANT) is None
    assert desk.router.mode("task-1") == "automatic"
    desk.read("a note")
    desk.end_turn()
    assert desk.set_mode("accept_edits", Who.ASSISTANT) is None
    assert desk.confirmations() == []


@pytest.mark.rule("S-5")
@pytest.mark.parametrize("moment", ["switching", "restoring"])
def test_a_pause_that_begins_or_is_being_undone_stands_for_the_assistant_too(moment):
    desk = at_work()
    if moment == "restoring":
        desk.read("a note")
    desk.holding = {"switch"}
    if moment == "restoring":
        desk.end_turn()
    else:
        desk.read("a note")
    assert desk.set_mode("automatic", Who.ASSISTANT) == "open"
    assert len(desk.confirmations()) == 1


@pytest.mark.rule("S-5")
def test_a_confirmation_for_a_task_that_left_is_over():
    desk = at_work()
    desk.read("a note")
    desk.set_mode("automatic", Who.ASSISTANT)
    ask = desk.confirmations()[-1]
    desk.detach()
    assert desk.ended(ask) is PersonCode.UNKNOWN_TASK
    assert desk.router.pending == 0


# --- S-2: rows


@pytest.mark.rule("S-2")
def test_the_two_rows_are_these_and_the_second_offers_keep_asking():
    desk = at_work()
    desk.read("a note")
    desk.end_turn()
    assert desk.all(ShowRow) == [
        ShowRow("task-1", RowKind.PAUSED, IN_TURN),
        ShowRow("task-1", RowKind.BACK, OVER, keep_asking=True),
    ]


@pytest.mark.rule("S-2")
def test_rows_join_the_names_of_several_panels_and_name_each_once():
    desk = at_work()
    second_panel(desk)
    second_panel(desk, "maps")
    for panel in ("notes", "sketches", "notes", "maps", "sketches"):
        desk.read("a note", panel=panel)
    desk.end_turn()
    texts = [one.text for one in desk.all(ShowRow)]
    names = [NAME, "The sketches panel", "The maps panel"]
    joined = [names[0], f"{names[0]} and {names[1]}", f"{names[0]}, {names[1]} and {names[2]}"]
    assert texts == [
        *(IN_TURN.replace(NAME, one) for one in joined),
        OVER.replace(NAME, joined[2]),
    ]


@pytest.mark.rule("S-2", "T-4")
def test_rows_show_a_panels_name_as_folded():
    desk = TaskDesk()
    desk.install(manifest(name="The\u200b  notes\u00a0panel"))
    desk.attach("task-1", mode="automatic")
    desk.connect()
    desk.start_page()
    desk.read("a note")
    assert desk.row().text.startswith("The notes panel sent content")


@pytest.mark.rule("S-2")
def test_keep_asking_is_supervised_until_the_person_changes_it():
    desk = at_work()
    desk.read("a note")
    desk.end_turn()
    assert desk.keep_asking() is None
    assert desk.router.mode("task-1") == desk.real["task-1"] == "supervised"
    desk.start_turn("task-1")
    desk.read("a note")
    desk.end_turn()
    assert desk.router.mode("task-1") == "supervised"
    assert "back to Supervised." in desk.row().text
    assert desk.set_mode("automatic") is None
    assert desk.router.mode("task-1") == "automatic"


@pytest.mark.rule("S-2", "S-5")
def test_keep_asking_during_a_pause_ends_it_as_the_persons_own_change():
    desk = at_work()
    desk.read("a note")
    assert desk.keep_asking() is None
    assert not desk.router.paused("task-1")
    desk.end_turn()
    assert desk.modes == ["supervised", "supervised"]
    assert desk.router.mode("task-1") == "supervised"
    assert desk.rows() == [RowKind.PAUSED]


@pytest.mark.rule("S-2")
def test_rows_hide_the_names_of_panels_from_repr():
    desk = at_work()
    desk.read("a note")
    assert NAME not in repr(desk.row())


# --- S-3, S-6


@pytest.mark.rule("S-3")
def test_a_writes_answer_pauses_nothing():
    desk = at_work()
    call = desk.call()
    desk.answer(call, {"ok": True, "revision": "a"})
    assert desk.code(call) is None
    assert desk.modes == []
    assert not desk.router.paused("task-1")
    desk.end_turn()
    assert desk.rows() == []


@pytest.mark.rule("S-6")
def test_several_reads_in_one_turn_make_one_pause():
    desk = at_work()
    for number in range(4):
        assert desk.code(desk.read(f"note {number}")) is None
    assert desk.modes == ["supervised"]
    assert desk.rows() == [RowKind.PAUSED]
    desk.end_turn()
    assert desk.modes == ["supervised", "automatic"]


@pytest.mark.rule("S-6", "S-1")
@pytest.mark.parametrize("how", TurnEnd)
def test_a_turn_that_ends_in_any_way_ends_the_pause_and_the_mode_comes_back(how):
    desk = at_work()
    desk.read("a note")
    desk.end(how)
    assert desk.router.mode("task-1") == desk.real["task-1"] == "automatic"
    assert desk.rows() == [RowKind.PAUSED, RowKind.BACK]
    assert desk.log[-1] == PauseRecord("task-1", paused=False)
    assert desk.at_rest()


@pytest.mark.rule("S-6")
def test_a_turn_that_begins_ends_the_one_before_it_and_its_pause():
    desk = at_work()
    desk.read("a note")
    desk.start_turn("task-1")
    assert desk.router.mode("task-1") == "automatic"
    assert not desk.router.paused("task-1")


@pytest.mark.rule("S-1", "S-2")
def test_a_pause_is_of_one_task_and_no_other():
    desk = at_work()
    desk.attach("task-2", mode="automatic")
    desk.connect("task-2")
    desk.read("a note")
    assert desk.router.mode("task-2") == "automatic"
    assert desk.rows("task-2") == []


@pytest.mark.rule("S-1")
@pytest.mark.parametrize("late", [False, True])
def test_a_restore_that_fails_stays_supervised_and_a_row_says_so(late):
    desk = at_work()
    desk.read("a note")
    if late:
        desk.holding = {"switch"}
        desk.end_turn()
        desk.wait(4.999)
        assert desk.rows() == [RowKind.PAUSED]
        desk.wait(0.001)
    else:
        desk.failing = {"switch"}
        desk.end_turn()
    assert desk.router.mode("task-1") == desk.real["task-1"] == "supervised"
    assert desk.row() == ShowRow(
        "task-1",
        RowKind.STAYS,
        "This task could not be put back to Automatic, so it stays in Supervised.",
    )
    assert desk.at_rest()
    # Supervised is the mode now, so it is what comes back after the next pause.
    desk.failing, desk.holding = set(), set()
    desk.start_turn("task-1")
    desk.read("a note")
    desk.end_turn()
    assert desk.router.mode("task-1") == "supervised"


@pytest.mark.rule("S-1")
@pytest.mark.parametrize("late", [False, True])
def test_a_switch_that_was_cut_short_and_cannot_be_taken_back_has_a_row_that_says_to_look(late):
    desk = at_work()
    desk.holding = {"switch"}
    call = desk.read("SECRET")
    desk.cancel(call)
    desk.failing = {"switch"}
    if late:
        desk.wait(5)
    else:
        desk.finish(desk.held[-1])
    assert desk.row() == ShowRow(
        "task-1",
        RowKind.STAYS,
        "This task was about to be put into Supervised, and could not be put back to Automatic. "
        "It counts as Supervised now, but check its mode before you go on.",
    )
    assert desk.at_rest()
    assert desk.router.mode("task-1") == "supervised"
    # The next content puts it into Supervised for certain.
    desk.failing, desk.holding = set(), set()
    assert desk.code(desk.read("a note")) is None


@pytest.mark.rule("S-1")
def test_a_task_that_was_in_supervised_anyway_is_in_its_mode_whatever_the_host_says():
    desk = at_work(mode="supervised")
    desk.read("a note")
    desk.failing = {"switch"}
    desk.end_turn()
    assert desk.row().kind is RowKind.BACK
    assert desk.router.mode("task-1") == "supervised"


@pytest.mark.rule("S-1", "S-2", "S-6")
def test_content_of_a_new_turn_before_the_old_mode_is_back_pauses_that_turn_too():
    desk = at_work()
    desk.read("a note")
    desk.holding = {"switch"}
    desk.end_turn()
    desk.start_turn("task-1")
    call = desk.read("another")
    restoring, switching = list(desk.held)
    assert restoring.op in desk.cancelled
    desk.finish(switching)
    assert desk.code(call) is None
    # The new turn has a row of its own, and the mode from before the first pause comes back.
    assert [(one.kind, one.text) for one in desk.all(ShowRow)] == [(RowKind.PAUSED, IN_TURN)] * 2
    desk.holding = set()
    desk.held.clear()
    desk.end_turn()
    assert desk.modes[-1] == desk.router.mode("task-1") == "automatic"
    assert desk.row() == ShowRow("task-1", RowKind.BACK, OVER, keep_asking=True)


@pytest.mark.rule("S-1", "S-6")
def test_a_switch_that_fails_in_the_place_of_restoring_lets_the_old_mode_come_back():
    desk = at_work()
    desk.read("a note")
    desk.holding = {"switch"}
    desk.end_turn()
    desk.start_turn("task-1")
    call = desk.read("SECRET")
    desk.failing = {"switch"}
    desk.finish(desk.held[-1])
    desk.failing = set()
    assert desk.code(call) is AgentCode.PAUSE_FAILED
    desk.release_held("switch")
    assert desk.modes[-1] == desk.router.mode("task-1") == "automatic"
    assert desk.row().kind is RowKind.BACK


@pytest.mark.rule("S-1", "A-6")
def test_a_switch_told_twice_or_late_changes_nothing():
    desk = at_work()
    desk.read("a note")
    (switch,) = desk.all(SwitchMode)
    desk.end_turn()
    assert desk.step(ModeSwitched(switch.op, ok=True)) == []
    assert desk.step(ModeSwitched(switch.op, ok=False)) == []
    assert desk.router.mode("task-1") == "automatic"
