"""S-7: reads of an agent that can be put into Supervised only from its next turn on."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from deska_sdk.errors import AgentCode, PageCode, PersonCode
from deska_sdk.panels.tables import DEFERRED, DEFERRED_COUNTS, DeferredCause, DeferredState
from deska_sdk.router import (
    Count,
    ImageHandle,
    Release,
    Reply,
    RowKind,
    Sender,
    ShowRow,
    StartTurn,
    Switches,
    SwitchMode,
)
from tests.panels.support_router import inside_the_fence, manifest, refusal
from tests.tasks.support_tasks import PNG, TWO, TaskDesk, at_work, second_panel

if TYPE_CHECKING:
    from collections.abc import Callable

ASKED, ENCODING = DeferredState.ASKED, DeferredState.ENCODING
QUEUED, IN_ITS_TURN = DeferredState.QUEUED, DeferredState.IN_ITS_TURN
DROPPED = DeferredState.DROPPED

DEFERS = {"switches": Switches.NEXT_TURN}


def deferring(**facts: Any) -> TaskDesk:
    """A task in a turn, whose agent's reads are deferred."""
    desk = at_work(**DEFERS | facts)
    desk.kept = {"one": PNG, "two": TWO}
    return desk


def asked() -> TaskDesk:
    desk = deferring()
    desk.call("list_notes")
    return desk


def encoding() -> TaskDesk:
    desk = deferring()
    desk.holding = {"encode"}
    desk.read("SECRET", images=["one", "two"])
    desk.finish()
    return desk


def queued() -> TaskDesk:
    desk = deferring()
    desk.read("SECRET", images=["one"])
    return desk


#: Each state before the last two, and the images that the router holds in it.
IN_STATE: dict[DeferredState, tuple[Callable[[], TaskDesk], list[ImageHandle]]] = {
    ASKED: (asked, []),
    ENCODING: (encoding, [PNG]),
    QUEUED: (queued, [PNG]),
}
STATES = pytest.mark.parametrize("before", IN_STATE)


def the_read(desk: TaskDesk) -> Any:
    (deferred,) = desk.router._deferrals._waiting.values()
    return deferred


def nothing_comes(desk: TaskDesk) -> None:
    """Nothing of the read is sent any more, and nothing of it is held."""
    desk.release_held("encode")
    assert desk.router.pending == 0
    desk.holding = set()
    desk.wait(100)
    desk.end_turn()
    assert desk.started() == []
    assert desk.waiting() == []
    assert desk.modes == []
    assert desk.at_rest()


# --- the table


@pytest.mark.rule("S-7", "A-6")
def test_the_table_of_deferred_reads_is_this_and_no_more():
    anywhere = {
        (state, cause): DROPPED
        for state in (ASKED, ENCODING, QUEUED)
        for cause in ("replaced by a newer read", "task stopped", "turned off", "disconnected")
    }
    assert {(before, cause.value): after for (before, cause), after in DEFERRED.items()} == {
        **anywhere,
        (ASKED, "answer accepted"): ENCODING,
        (ASKED, "answer too large"): DROPPED,
        (ASKED, "deadline"): DROPPED,
        (ASKED, "page closed"): DROPPED,
        (ENCODING, "images done"): QUEUED,
        (ENCODING, "answer too large"): DROPPED,
        (QUEUED, "its turn started"): IN_ITS_TURN,
        (QUEUED, "removed by the person"): DROPPED,
    }


@pytest.mark.rule("S-7", "A-6", "A-7")
@pytest.mark.parametrize(
    ("before", "cause"),
    [one for one in product(IN_STATE, DeferredCause) if one not in DEFERRED],
)
def test_a_cause_without_an_entry_moves_nothing_and_does_nothing(before, cause):
    desk = IN_STATE[before][0]()
    read = the_read(desk)
    due = desk.router.next_deadline()
    desk.router._deferrals.move(read, cause)
    assert read.state is before
    assert the_read(desk) is read
    assert desk.router._effects == []
    assert desk.router.next_deadline() == due


@pytest.mark.rule("S-7")
@pytest.mark.parametrize(("before", "cause"), DEFERRED)
def test_each_entry_moves_and_counts_what_the_panel_did_and_nothing_else(before, cause):
    desk = IN_STATE[before][0]()
    read = the_read(desk)
    desk.router._deferrals.move(read, cause)
    assert read.state is DEFERRED[before, cause]
    counts = [one for one in desk.router._effects if isinstance(one, Count)]
    code = DEFERRED_COUNTS.get(cause)
    assert counts == ([] if code is None else [Count("notes", "list_notes", code, called=False)])
    over = DEFERRED[before, cause] in (DROPPED, IN_ITS_TURN)
    assert len(desk.router._deferrals) == (not over)


@pytest.mark.rule("S-7")
@pytest.mark.parametrize("cause", DeferredCause)
def test_nothing_moves_a_read_that_is_in_its_turn_or_dropped(cause):
    assert (IN_ITS_TURN, cause) not in DEFERRED
    assert (DROPPED, cause) not in DEFERRED


# --- the whole way


@pytest.mark.rule("S-7", "A-6")
def test_a_deferred_read_is_answered_at_once_with_the_hosts_sentence_and_nothing_of_the_panel():
    desk = deferring()
    call = desk.call("list_notes")
    assert desk.reply(call) == Reply(
        call, refusal(AgentCode.READ_DEFERRED), code=AgentCode.READ_DEFERRED
    )
    # The page is asked all the same.
    assert desk.was_delivered(call)
    assert desk.router.pending == 1


@pytest.mark.rule("S-7", "O-4", "S-1")
def test_when_the_turn_ends_the_answer_is_the_next_message_in_a_turn_that_asks():
    desk = deferring()
    call = desk.read("a\u200b note")
    assert desk.started() == []
    assert desk.modes == []
    assert "a note" not in desk.reply(call).text
    desk.end_turn()
    kinds = [type(one) for one in desk.effects if isinstance(one, (SwitchMode, ShowRow, StartTurn))]
    assert kinds == [SwitchMode, ShowRow, StartTurn]
    (message,) = desk.started()
    assert inside_the_fence(message.text) == {"notes": ["a note"]}
    assert (message.sender, message.panel) == (Sender.PANEL, "notes")
    assert desk.router.paused("task-1")
    desk.end_turn()
    assert desk.modes == ["supervised", "automatic"]
    assert desk.rows() == [RowKind.PAUSED, RowKind.BACK]
    assert desk.started() == [message]
    assert desk.at_rest()


@pytest.mark.rule("S-7")
def test_an_answer_that_comes_after_the_turn_ended_is_sent_then():
    desk = asked()
    desk.end_turn()
    assert desk.started() == []
    assert desk.answer("request-1", {"notes": ["a note"]}) is None
    assert len(desk.started()) == 1
    assert desk.real["task-1"] == "supervised"


@pytest.mark.rule("S-7")
def test_an_answer_that_comes_in_a_later_turn_waits_for_the_end_of_that_one():
    desk = asked()
    desk.end_turn()
    desk.start_turn("task-1")
    desk.answer("request-1", {"notes": ["a note"]})
    assert desk.started() == []
    desk.end_turn()
    assert len(desk.started()) == 1


@pytest.mark.rule("S-7", "O-4")
def test_the_answer_goes_to_the_front_of_the_queue():
    desk = deferring()
    desk.queue("first")
    desk.read("a note")
    desk.queue("second")
    assert desk.waiting() == ["call-of-request-1", "first", "second"]
    for _ in range(3):
        desk.end_turn()
    assert [one.id for one in desk.started()] == ["call-of-request-1", "first", "second"]


@pytest.mark.rule("S-7", "I-4")
def test_its_images_are_encoded_before_its_turn_and_come_with_the_message():
    desk = deferring()
    desk.read("a note", images=["one", "missing", "two"])
    desk.end_turn()
    (message,) = desk.started()
    assert message.images == (PNG, TWO)
    told = inside_the_fence(message.text)["images"]
    assert told == ["image:1", "image:unavailable", "image:2"]
    desk.end_turn()
    assert desk.released == []


@pytest.mark.rule("S-7", "A-3", "I-4")
def test_its_late_images_are_unavailable_and_the_rest_is_sent():
    desk = encoding()
    desk.wait(10)
    desk.end_turn()
    (message,) = desk.started()
    assert message.images == (PNG,)
    assert inside_the_fence(message.text)["images"] == ["image:1", "image:unavailable"]
    # The late image is nobody's.
    assert desk.finish() == [Release((TWO,))]


@pytest.mark.rule("S-7", "A-5")
def test_an_answer_that_breaks_its_rule_leaves_the_ask_waiting_for_a_good_one():
    desk = asked()
    assert desk.answer("request-1", {"notes": 5}) is PageCode.INVALID_ARGS
    assert desk.answer("request-1", {"notes": ["a note"]}) is None
    assert desk.answer("request-1", {"notes": ["again"]}) is PageCode.UNKNOWN_CALL
    desk.end_turn()
    assert inside_the_fence(desk.started()[0].text) == {"notes": ["a note"]}


@pytest.mark.rule("S-7", "A-3", "B-1")
def test_without_an_answer_in_thirty_seconds_nothing_is_sent_and_it_is_counted():
    desk = asked()
    desk.wait(29.999)
    assert the_read(desk).state is ASKED
    desk.wait(0.001)
    assert desk.answer("request-1", {"notes": ["late"]}) is PageCode.UNKNOWN_CALL
    assert desk.counted() == [
        ("list_notes", None, True),
        ("list_notes", AgentCode.PANEL_TIMEOUT, False),
    ]
    nothing_comes(desk)


@pytest.mark.rule("S-7", "A-3")
def test_the_thirty_seconds_go_on_when_the_turn_ends():
    desk = asked()
    desk.wait(20)
    desk.end_turn()
    assert desk.router.next_deadline() == desk.now + 10


@pytest.mark.rule("S-7", "N-4", "A-5", "B-1")
@pytest.mark.parametrize("text", ["x" * 70_000, "<" * 20_000])
def test_an_answer_that_is_too_large_is_true_for_the_page_is_not_sent_and_is_counted(text):
    desk = deferring()
    call = desk.call("list_notes")
    assert desk.answer(call, {"notes": [text], "images": ["one"]}) is None
    assert desk.counted()[-1] == ("list_notes", AgentCode.ANSWER_TOO_LARGE, False)
    assert desk.released == ([PNG] if text[0] == "<" else [])
    nothing_comes(desk)


@pytest.mark.rule("S-7", "A-7", "B-1")
def test_a_page_that_closes_before_it_answered_is_counted_and_nothing_is_sent():
    desk = asked()
    desk.close_page()
    assert desk.counted()[-1] == ("list_notes", AgentCode.PANEL_CLOSED, False)
    nothing_comes(desk)


@pytest.mark.rule("S-7", "A-7")
@pytest.mark.parametrize("before", [ENCODING, QUEUED])
def test_a_page_that_closes_after_it_answered_changes_nothing(before):
    desk = IN_STATE[before][0]()
    desk.close_page()
    desk.release_held("encode")
    desk.end_turn()
    assert len(desk.started()) == 1
    assert [called for _, _, called in desk.counted()] == [True]


@pytest.mark.rule("S-7", "B-1")
def test_a_deferred_read_is_counted_as_one_call_that_was_not_refused():
    desk = queued()
    desk.end_turn()
    assert desk.counted() == [("list_notes", None, True)]


# --- what drops it


@STATES
@pytest.mark.rule("S-7", "A-5")
def test_a_newer_read_of_the_same_panel_takes_its_place(before):
    make, images = IN_STATE[before]
    desk = make()
    newer = desk.call("list_notes")
    assert desk.reply(newer).code is AgentCode.READ_DEFERRED
    assert desk.released == images
    assert desk.answer("request-1", {"notes": ["old"]}) is PageCode.UNKNOWN_CALL
    desk.release_held("encode")
    assert desk.answer(newer, {"notes": ["newest"]}) is None
    desk.end_turn()
    desk.end_turn()
    assert [inside_the_fence(one.text) for one in desk.started()] == [{"notes": ["newest"]}]
    assert desk.counted() == [("list_notes", None, True)] * 2


@pytest.mark.rule("S-7")
def test_a_read_that_is_refused_replaces_nothing():
    desk = queued()
    assert desk.code(desk.call("list_notes", {"limit": 0})) is AgentCode.INVALID_INPUT
    desk.end_turn()
    assert len(desk.started()) == 1


@pytest.mark.rule("S-7")
def test_reads_of_other_panels_and_of_other_tasks_wait_beside_it():
    desk = queued()
    second_panel(desk)
    desk.read("a sketch", panel="sketches")
    desk.attach("task-2", mode="automatic", runs_messages=True, **DEFERS)
    desk.connect("task-2")
    desk.read("for the other task", task="task-2")
    assert len(desk.router._deferrals) == 3
    desk.disconnect("task-2")
    desk.end_turn()
    desk.end_turn()
    assert {one.panel for one in desk.started()} == {"notes", "sketches"}
    assert desk.started("task-2") == []


@STATES
@pytest.mark.rule("S-7")
@pytest.mark.parametrize("how", ["stopped", "interrupted", "between turns"])
def test_stopping_or_interrupting_the_task_drops_it(before, how):
    make, images = IN_STATE[before]
    desk = make()
    if how == "between turns":
        # The turn is over, and the read is still to come: its message cannot start a turn.
        desk.failing = {"switch"}
        desk.end_turn()
        desk.effects = [one for one in desk.effects if not isinstance(one, SwitchMode)]
        desk.stop_between_turns()
    else:
        desk.end(how)
    assert desk.released == images
    if before is ASKED:
        assert desk.answer("request-1", {"notes": []}) is PageCode.UNKNOWN_CALL
    assert [called for _, _, called in desk.counted()] == [True]
    desk.start_turn("task-1")
    nothing_comes(desk)


@STATES
@pytest.mark.rule("S-7")
@pytest.mark.parametrize("how", ["completed", "failed"])
def test_a_turn_that_ends_otherwise_drops_nothing(before, how):
    desk = IN_STATE[before][0]()
    desk.end(how)
    if before is ASKED:
        desk.answer("request-1", {"notes": ["a note"]})
    desk.release_held("encode")
    assert len(desk.started()) == 1


@STATES
@pytest.mark.rule("S-7", "C-6", "C-7")
@pytest.mark.parametrize("act", ["turn_off", "disconnect", "uninstall"])
def test_turning_off_disconnecting_and_uninstalling_drop_it_for_good(before, act):
    make, images = IN_STATE[before]
    desk = make()
    getattr(desk, act)()
    assert desk.released == images
    if before is ASKED:
        assert desk.answer("request-1", {"notes": []}) is PageCode.UNKNOWN_CALL
    assert AgentCode.PANEL_CLOSED not in [code for _, code, _ in desk.counted()]
    desk.release_held("encode")
    if act == "turn_off":
        desk.turn_on()
    elif act == "disconnect":
        desk.connect()
    nothing_comes(desk)


@STATES
@pytest.mark.rule("S-7", "C-6", "C-7")
@pytest.mark.parametrize("act", ["turn_off", "disconnect"])
def test_it_is_dropped_before_the_store_has_it_in_writing(before, act):
    desk = IN_STATE[before][0]()
    desk.holding = {"store"}
    getattr(desk, act)()
    assert len(desk.router._deferrals) == 0


@STATES
@pytest.mark.rule("S-7", "S-6")
def test_a_task_that_leaves_drops_it(before):
    make, images = IN_STATE[before]
    desk = make()
    desk.detach()
    assert desk.released == images
    desk.attach("task-1", mode="automatic", runs_messages=True, **DEFERS)
    nothing_comes(desk)


@pytest.mark.rule("S-7", "O-4")
def test_the_person_can_remove_it_while_it_waits():
    desk = queued()
    assert desk.steer("call-of-request-1") is PersonCode.PANEL_MESSAGE
    assert desk.edit("call-of-request-1", "text") is PersonCode.PANEL_MESSAGE
    assert desk.remove("call-of-request-1") is None
    assert desk.released == [PNG]
    nothing_comes(desk)


@pytest.mark.rule("S-7", "S-1", "C-6")
@pytest.mark.parametrize("act", ["turn_off", "disconnect", "stop_between_turns", "remove"])
def test_it_is_dropped_until_its_turn_starts_also_while_its_task_is_switched(act):
    desk = queued()
    desk.queue("first")
    desk.holding = {"switch"}
    desk.end_turn()
    if act == "remove":
        desk.remove("call-of-request-1")
    else:
        getattr(desk, act)()
    assert desk.released == [PNG]
    desk.release_held("switch")
    assert [one.id for one in desk.started()] == ["first"]
    assert desk.modes == ["supervised", "automatic"]
    assert desk.rows() == []


@pytest.mark.rule("S-7", "S-1")
def test_a_newer_read_replaces_it_while_its_task_is_switched():
    desk = queued()
    desk.holding = {"switch"}
    desk.end_turn()
    desk.start_turn("task-1")
    newer = desk.read("newest")
    desk.release_held("switch")
    assert desk.released == [PNG]
    assert desk.code(newer) is AgentCode.READ_DEFERRED
    desk.end_turn()
    assert [inside_the_fence(one.text) for one in desk.started()] == [{"notes": ["newest"]}]


@pytest.mark.rule("S-7")
def test_one_dropped_after_the_host_was_told_to_start_it_does_not_wait_again():
    desk = queued()
    desk.begins = False
    desk.end_turn()
    assert len(desk.started()) == 1
    desk.turn_off()
    desk.begins = True
    desk.start_turn("task-1")
    assert desk.waiting() == []
    assert desk.released == [PNG]
    desk.end_turn()
    assert len(desk.started()) == 1


@pytest.mark.rule("S-7")
def test_once_its_turn_started_nothing_drops_it():
    desk = queued()
    desk.end_turn()
    desk.turn_off()
    desk.disconnect()
    desk.end("stopped")
    assert desk.released == []
    assert len(desk.started()) == 1
    assert desk.router.mode("task-1") == "automatic"


@pytest.mark.rule("S-7", "A-5")
def test_the_agents_cancel_comes_too_late_for_a_read_that_was_answered_at_once():
    desk = asked()
    assert desk.cancel("request-1") == []
    assert desk.answer("request-1", {"notes": ["a note"]}) is None
    desk.end_turn()
    assert len(desk.started()) == 1


@pytest.mark.rule("S-7", "C-2")
def test_an_update_of_the_panel_lets_an_answer_that_was_accepted_go_on():
    desk = queued()
    desk.install(manifest(version="1.1.0"))
    desk.end_turn()
    assert len(desk.started()) == 1


@pytest.mark.rule("S-7", "S-1", "O-4")
def test_one_whose_switch_fails_stays_first_and_is_sent_when_the_next_turn_ended():
    desk = queued()
    desk.failing = {"switch"}
    desk.end_turn()
    assert desk.started() == []
    assert desk.waiting() == ["call-of-request-1"]
    assert desk.rows() == [RowKind.NOT_SENT]
    assert desk.router.pending == 1
    desk.failing = set()
    desk.start_turn("task-1")
    desk.end_turn()
    assert len(desk.started()) == 1


# --- who defers


@pytest.mark.rule("S-7")
def test_listing_writes_and_send_to_task_work_on_an_agent_that_defers():
    desk = deferring()
    assert [one["panel"] for one in desk.listed()["panels"]] == ["notes"]
    write = desk.call()
    assert desk.answer(write, {"ok": True, "revision": "a"}) is None
    assert desk.reply(write).text == '{"ok":true,"revision":"r1"}'
    desk.offer("for the task")
    assert desk.press() is None
    desk.end_turn()
    assert [inside_the_fence(one.text) for one in desk.started()] == [{"text": "for the task"}]


@pytest.mark.rule("S-7", "A-1")
def test_a_turn_that_was_supervised_from_its_start_needs_no_deferral_and_still_pauses():
    desk = deferring(mode="supervised")
    assert desk.code(desk.read("a note")) is None
    assert desk.router.paused("task-1")
    assert desk.rows() == [RowKind.PAUSED]
    desk.end_turn()
    assert "back to Supervised." in desk.row().text


@pytest.mark.rule("S-7", "A-1")
def test_in_the_turn_of_a_panels_message_reads_are_answered_at_once():
    desk = queued()
    desk.end_turn()
    call = desk.read("more")
    assert desk.code(call) is None
    assert inside_the_fence(desk.reply(call).text) == {"notes": ["more"]}
    desk.end_turn()
    desk.start_turn("task-1")
    assert desk.code(desk.read("more")) is AgentCode.READ_DEFERRED


@pytest.mark.rule("S-7", "S-1")
def test_a_turn_put_into_supervised_after_its_start_defers_to_its_end():
    desk = deferring()
    desk.set_mode("supervised")
    assert desk.code(desk.read("SECRET")) is AgentCode.READ_DEFERRED
    desk.disconnect()
    desk.connect()
    desk.end_turn()
    desk.start_turn("task-1")
    assert desk.code(desk.read("a note")) is None


@pytest.mark.rule("S-7", "S-1")
@pytest.mark.parametrize("back", [False, True])
def test_a_turn_that_left_supervised_defers_even_if_the_mode_came_back(back):
    desk = deferring(mode="supervised")
    desk.set_mode("automatic")
    if back:
        desk.set_mode("supervised")
    assert desk.code(desk.read("SECRET")) is AgentCode.READ_DEFERRED


@pytest.mark.rule("S-1", "S-7")
@pytest.mark.parametrize("back", [False, True])
def test_a_read_asked_before_the_turn_left_supervised_is_pause_failed(back):
    desk = deferring(mode="supervised")
    call = desk.call("list_notes")
    desk.set_mode("automatic")
    if back:
        desk.set_mode("supervised")
    desk.answer(call, {"notes": ["SECRET"]})
    assert desk.reply(call).text == refusal(AgentCode.PAUSE_FAILED)


@pytest.mark.rule("S-1", "S-7")
@pytest.mark.parametrize("done", [False, True])
def test_a_turn_that_began_while_the_old_mode_was_coming_back_defers(done):
    # The agent may have been out of Supervised when its turn began.
    desk = queued()
    desk.end_turn()
    desk.holding = {"switch"}
    desk.end_turn()
    desk.start_turn("task-1")
    if done:
        desk.finish()
    assert desk.code(desk.read("SECRET")) is AgentCode.READ_DEFERRED


@pytest.mark.rule("S-1", "S-7")
def test_a_turn_that_began_after_nobody_knew_whether_the_old_mode_is_back_defers():
    desk = queued()
    desk.end_turn()
    desk.holding = {"switch"}
    desk.end_turn()
    desk.wait(5)
    assert desk.row().kind is RowKind.STAYS
    desk.start_turn("task-1")
    assert desk.code(desk.read("SECRET")) is AgentCode.READ_DEFERRED


@pytest.mark.rule("S-7", "A-1")
def test_an_agent_that_never_switches_reads_nothing_and_its_page_is_not_asked():
    desk = at_work(switches=Switches.NEVER, mode="supervised")
    call = desk.call("list_notes")
    assert desk.reply(call).text == refusal(AgentCode.PAUSE_FAILED)
    assert not desk.was_delivered(call)


@pytest.mark.rule("S-7", "A-1", "A-8")
def test_the_images_of_a_call_are_read_before_it_is_deferred_and_are_the_pages():
    desk = deferring()
    desk.folder = {"a.png": PNG}
    desk.holding = {"read"}
    call = desk.call("list_notes", {"like": "a.png"})
    assert desk.is_open(call)
    desk.finish()
    assert desk.code(call) is AgentCode.READ_DEFERRED
    assert desk.delivered(call).input == {"like": PNG}
    desk.wait(30)
    assert desk.released == []
    assert desk.at_rest()


@pytest.mark.rule("B-2")
def test_a_deferred_read_shows_nothing_of_the_page():
    for make, _ in IN_STATE.values():
        desk = make()
        deferrals, waiting = desk.router._deferrals, desk.router.waiting("task-1")
        for shown in (the_read(desk), deferrals, desk.effects, waiting):
            assert "SECRET" not in repr(shown)
