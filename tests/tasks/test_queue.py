"""O-4, S-1: what waits for a task, and a panel's message in a turn of its own."""

from __future__ import annotations

from typing import Any

import pytest

from deska_sdk.errors import PersonCode
from deska_sdk.router import (
    Message,
    MessageQueued,
    Release,
    RowKind,
    Sender,
    ShowRow,
    StartTurn,
    Steer,
    SwitchMode,
    TurnStarted,
)
from tests.tasks.support_tasks import NAME, PNG, TaskDesk, at_work

NOT_SENT = (
    f"What {NAME} sent is still waiting: this task could not be put into Supervised first. "
    "It is tried again when the next turn ends."
)


def with_panels_message(text: str = "SECRET", **facts: Any) -> TaskDesk:
    """A turn runs, and what the person sent from the panel waits; its id is ``sent-1``."""
    desk = at_work(**facts)
    desk.kept = {"one": PNG}
    desk.offer(text, ["one"])
    assert desk.press() is None
    return desk


# --- messages of the person


@pytest.mark.rule("O-4")
def test_messages_start_turns_in_their_order_one_at_a_time():
    desk = at_work()
    for name in ("first", "second", "third"):
        assert desk.queue(name) is None
    assert desk.started() == []
    desk.end_turn()
    assert [one.id for one in desk.started()] == ["first"]
    assert desk.waiting() == ["second", "third"]
    desk.end_turn()
    desk.end_turn()
    assert [one.id for one in desk.started()] == ["first", "second", "third"]
    assert desk.modes == []


@pytest.mark.rule("O-4")
def test_a_message_to_an_idle_task_starts_its_turn_at_once():
    desk = at_work()
    desk.end_turn()
    desk.queue("first")
    assert desk.started() == [Message("first", "text of first")]
    assert desk.waiting() == []


@pytest.mark.rule("O-4")
def test_without_a_host_that_runs_messages_they_wait():
    desk = with_panels_message(runs_messages=False)
    desk.queue("first")
    desk.end_turn()
    assert desk.started() == []
    assert desk.waiting() == ["sent-1", "first"]
    assert desk.modes == []


@pytest.mark.rule("O-4")
def test_the_person_steers_edits_and_removes_their_own_messages():
    desk = at_work()
    for name in ("first", "second", "third"):
        desk.queue(name)
    assert desk.edit("first", "other words") is None
    assert desk.steer("second") is None
    assert desk.remove("third") is None
    assert desk.all(Steer) == [
        Steer("task-1", desk.turns["task-1"], Message("second", "text of second"))
    ]
    desk.end_turn()
    assert desk.started() == [Message("first", "other words")]
    assert desk.waiting() == []


@pytest.mark.rule("O-4")
def test_a_message_is_steered_only_into_a_turn_that_runs():
    desk = at_work(runs_messages=False)
    desk.queue("first")
    desk.end_turn()
    assert desk.steer("first") is PersonCode.NO_TURN
    assert desk.waiting() == ["first"]


@pytest.mark.rule("O-4")
def test_messages_and_tasks_that_are_not_there_are_refused():
    desk = at_work()
    assert desk.queue("first", task="task-9") is PersonCode.UNKNOWN_TASK
    assert desk.steer("first", task="task-9") is PersonCode.UNKNOWN_TASK
    assert desk.edit("first", "text", task="task-9") is PersonCode.UNKNOWN_TASK
    assert desk.remove("first", task="task-9") is PersonCode.UNKNOWN_TASK
    assert desk.steer("first") is PersonCode.UNKNOWN_MESSAGE
    assert desk.edit("first", "text") is PersonCode.UNKNOWN_MESSAGE
    assert desk.remove("first") is PersonCode.UNKNOWN_MESSAGE
    assert desk.all(Steer) == []


@pytest.mark.rule("O-4", "S-1")
def test_only_the_engine_makes_a_panels_message():
    desk = at_work()
    forged = Message("forged", "<panel_content>", Sender.PANEL, panel="notes")
    with pytest.raises(ValueError, match="comes from its page"):
        desk.step(MessageQueued("ask", "task-1", forged))
    assert desk.waiting() == []


@pytest.mark.rule("O-4")
def test_other_senders_messages_pause_nothing():
    desk = at_work()
    desk.end_turn()
    desk.queue("from a schedule", sender=Sender.OTHER)
    assert desk.started()[0].sender is Sender.OTHER
    assert desk.modes == []


# --- O-4: a panel's message


@pytest.mark.rule("O-4", "S-1", "S-2")
def test_a_panels_message_waits_for_a_turn_of_its_own_that_is_paused_from_its_start():
    desk = with_panels_message()
    assert desk.started() == []
    assert desk.modes == []
    desk.end_turn()
    kinds = [type(one) for one in desk.effects if isinstance(one, (SwitchMode, ShowRow, StartTurn))]
    assert kinds == [SwitchMode, ShowRow, StartTurn]
    (message,) = desk.started()
    assert (message.sender, message.panel, message.images) == (Sender.PANEL, "notes", (PNG,))
    assert desk.router.paused("task-1")
    assert desk.real["task-1"] == "supervised"
    desk.end_turn()
    assert desk.real["task-1"] == "automatic"
    assert desk.rows() == [RowKind.PAUSED, RowKind.BACK]


@pytest.mark.rule("O-4")
def test_a_panels_message_can_be_neither_steered_nor_edited_before_or_after_it_is_sent():
    desk = with_panels_message()
    assert desk.steer("sent-1") is PersonCode.PANEL_MESSAGE
    assert desk.edit("sent-1", "other words") is PersonCode.PANEL_MESSAGE
    assert desk.waiting() == ["sent-1"]
    desk.end_turn()
    text = desk.started()[0].text
    assert desk.edit("sent-1", "other words") is PersonCode.UNKNOWN_MESSAGE
    assert desk.steer("sent-1") is PersonCode.UNKNOWN_MESSAGE
    assert "SECRET" in text
    assert "other words" not in text


@pytest.mark.rule("O-4")
def test_a_panels_message_stands_where_it_landed_and_is_merged_with_nothing():
    desk = at_work()
    desk.offer("SECRET")
    desk.queue("first")
    desk.press()
    desk.press()
    desk.queue("second")
    assert desk.waiting() == ["first", "sent-1", "sent-2", "second"]
    for _ in range(4):
        desk.end_turn()
    assert [one.id for one in desk.started()] == ["first", "sent-1", "sent-2", "second"]
    assert [one.text.count("SECRET") for one in desk.started()] == [0, 1, 1, 0]
    assert desk.modes == ["supervised", "automatic"] * 2


@pytest.mark.rule("O-4")
def test_the_person_can_remove_a_panels_message_while_it_waits_and_its_images_go_with_it():
    desk = with_panels_message()
    assert desk.remove("sent-1") is None
    assert desk.released == [PNG]
    desk.end_turn()
    assert desk.started() == []
    assert desk.modes == []
    assert desk.remove("sent-1") is PersonCode.UNKNOWN_MESSAGE


@pytest.mark.rule("O-4", "S-1")
def test_a_panels_message_removed_while_its_task_is_switched_is_not_sent_and_the_mode_comes_back():
    desk = with_panels_message()
    desk.queue("first")
    desk.holding = {"switch"}
    desk.end_turn()
    assert desk.remove("sent-1") is None
    assert desk.released == [PNG]
    assert desk.started() == []
    desk.release_held("switch")
    assert desk.modes == ["supervised", "automatic"]
    assert desk.real["task-1"] == "automatic"
    # What waited behind it starts when the mode is back.
    assert [one.id for one in desk.started()] == ["first"]
    assert desk.rows() == []


@pytest.mark.rule("S-1", "O-4")
def test_a_panels_message_whose_switch_fails_stays_the_first_and_a_row_says_so():
    desk = with_panels_message()
    desk.queue("first")
    desk.failing = {"switch"}
    desk.end_turn()
    assert desk.started() == []
    assert desk.waiting() == ["sent-1", "first"]
    assert desk.row() == ShowRow("task-1", RowKind.NOT_SENT, NOT_SENT)
    assert desk.router.mode("task-1") == "automatic"
    assert desk.at_rest()
    # Once, and not again and again while the host cannot.
    assert desk.modes == ["supervised"]


@pytest.mark.rule("S-1", "O-4")
def test_a_panels_message_that_could_not_be_sent_is_tried_again_when_the_next_turn_ends():
    desk = with_panels_message()
    desk.failing = {"switch"}
    desk.end_turn()
    desk.failing = set()
    desk.start_turn("task-1")
    assert desk.started() == []
    desk.end_turn()
    assert [one.id for one in desk.started()] == ["sent-1"]
    assert desk.real["task-1"] == "supervised"
    assert desk.rows() == [RowKind.NOT_SENT, RowKind.PAUSED]


@pytest.mark.rule("S-1", "O-4", "A-3")
def test_a_panels_message_whose_switch_never_ends_stays_waiting_and_is_not_tried_for_ever():
    desk = with_panels_message()
    desk.holding = {"switch"}
    desk.end_turn()
    desk.wait(4.999)
    assert desk.rows() == []
    desk.wait(0.001)
    assert desk.rows() == [RowKind.NOT_SENT]
    assert desk.modes == ["supervised", "automatic"]
    # The mode is put back, and that the task is at rest again is no reason to try again.
    desk.release_held("switch")
    assert desk.modes == ["supervised", "automatic"]
    assert desk.waiting() == ["sent-1"]
    assert desk.at_rest()


@pytest.mark.rule("S-1", "O-4")
def test_a_message_behind_one_that_could_not_be_sent_starts_when_that_one_is_removed():
    desk = with_panels_message()
    desk.queue("first")
    desk.failing = {"switch"}
    desk.end_turn()
    desk.remove("sent-1")
    assert [one.id for one in desk.started()] == ["first"]


@pytest.mark.rule("S-1", "O-4")
def test_so_it_does_when_that_one_is_removed_while_the_mode_is_put_back():
    desk = with_panels_message()
    desk.queue("first")
    desk.holding = {"switch"}
    desk.end_turn()
    desk.wait(5)
    assert desk.rows() == [RowKind.NOT_SENT]
    desk.remove("sent-1")
    assert desk.started() == []
    desk.release_held("switch")
    assert [one.id for one in desk.started()] == ["first"]
    assert desk.router.mode("task-1") == "automatic"


@pytest.mark.rule("S-1", "S-5", "O-4")
def test_a_persons_change_fails_the_switch_of_a_panels_message_which_then_enters_anew():
    desk = with_panels_message()
    desk.holding = {"switch"}
    desk.end_turn()
    desk.set_mode("accept_edits")
    assert desk.rows() == [RowKind.NOT_SENT]
    assert desk.started() == []
    desk.release_held("switch")
    # The person's change is made, and the message is tried again on top of it.
    assert desk.modes == ["supervised", "accept_edits", "supervised"]
    desk.release_held("switch")
    assert [one.id for one in desk.started()] == ["sent-1"]
    desk.end_turn()
    assert desk.router.mode("task-1") == "accept_edits"


@pytest.mark.rule("O-4", "S-1")
def test_the_next_turn_waits_until_the_mode_from_before_is_back():
    desk = with_panels_message()
    desk.end_turn()
    desk.queue("first")
    desk.holding = {"switch"}
    desk.end_turn()
    assert [one.id for one in desk.started()] == ["sent-1"]
    desk.finish()
    assert [one.id for one in desk.started()] == ["sent-1", "first"]


@pytest.mark.rule("O-4", "S-1")
def test_a_turn_that_the_host_begins_meanwhile_lets_a_panels_message_wait_on():
    desk = with_panels_message()
    desk.holding = {"switch"}
    desk.end_turn()
    # The host's agent goes on by itself before the task is in Supervised.
    desk.start_turn("task-1")
    desk.release_held("switch")
    assert desk.started() == []
    assert desk.waiting() == ["sent-1"]
    assert desk.real["task-1"] == "automatic"
    desk.holding = set()
    desk.end_turn()
    assert [one.id for one in desk.started()] == ["sent-1"]


@pytest.mark.rule("O-4")
def test_a_message_whose_turn_the_host_did_not_begin_is_still_to_come():
    desk = with_panels_message()
    desk.begins = False
    desk.end_turn()
    assert [one.id for one in desk.started()] == ["sent-1"]
    desk.begins = True
    desk.start_turn("task-1")
    assert desk.waiting() == ["sent-1"]
    desk.end_turn()
    assert [one.id for one in desk.started()] == ["sent-1", "sent-1"]
    assert desk.waiting() == []


@pytest.mark.rule("O-4")
def test_a_turn_that_takes_the_place_of_another_does_not_start_the_next_message_as_well():
    desk = at_work()
    desk.queue("first")
    desk.step(TurnStarted("task-1", "turn-of-its-own"))
    assert desk.started() == []
    assert desk.waiting() == ["first"]


@pytest.mark.rule("O-4", "S-6")
def test_what_waits_for_a_task_does_not_outlive_it_and_its_images_are_given_back():
    desk = with_panels_message()
    desk.queue("first")
    assert Release((PNG,)) in desk.detach()
    desk.attach("task-1", mode="automatic", runs_messages=True)
    desk.end_turn()
    assert desk.started() == []
    assert desk.waiting() == []


@pytest.mark.rule("B-2")
def test_messages_hide_their_text_and_the_panels_name_from_repr():
    desk = with_panels_message()
    desk.queue("first")
    desk.edit("first", "SECRET")
    waiting = desk.router.waiting("task-1")
    assert len(waiting) == 2
    for hidden in ("SECRET", NAME, "text of"):
        assert hidden not in repr(waiting)
        assert hidden not in repr(desk.effects)
        assert hidden not in repr(desk.router._tasks.get("task-1"))
