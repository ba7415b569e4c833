"""O-1 to O-4: a page offers, and only the person sends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deska_sdk.errors import PageCode, PersonCode
from deska_sdk.router import (
    CancelOp,
    Deliver,
    EncodeImage,
    FindFiles,
    ImageHandle,
    OfferButton,
    PageClosed,
    Release,
    RowKind,
    Sender,
    SendPressed,
    SettleOffer,
    StartTurn,
    Switches,
    SwitchMode,
)
from deska_sdk.text import strip_invisible
from tests.panels.support_router import inside_the_fence, manifest, other_actions
from tests.tasks.support_tasks import NAME, PNG, TWO, TaskDesk, at_work, second_panel

INVALID = PageCode.INVALID_ARGS


def offering(text: Any = "for the task", files: Any = None, **facts: Any) -> TaskDesk:
    """A panel that offers this to its one connected task, which runs a turn."""
    desk = at_work(**facts)
    desk.kept = {"one": PNG, "two": TWO}
    assert desk.offer(text, files) is None
    return desk


def sent(desk: TaskDesk) -> list[Any]:
    """What the agent reads, message by message, once all of it had its turn."""
    while desk.waiting():
        desk.end_turn()
    return [inside_the_fence(one.text) for one in desk.started()]


# --- O-1: what may be offered


@pytest.mark.rule("O-1")
def test_an_offer_has_at_most_ten_thousand_code_points():
    desk = at_work()
    assert desk.offer("\U0001f600" * 10_000) is None
    assert desk.offer("x" * 10_001) is INVALID
    # Counted as the page sent it, before anything is stripped.
    assert desk.offer("\u200b" * 10_001) is INVALID


@pytest.mark.rule("O-1")
def test_an_offer_has_at_most_six_distinct_images():
    desk = at_work()
    desk.kept = {f"image-{number}": PNG for number in range(7)}
    ids = list(desk.kept)
    assert desk.offer(files=ids[:6] + ids[:6]) is None
    assert desk.offer(files=ids) is INVALID


@pytest.mark.rule("O-1", "D-9")
@pytest.mark.parametrize(
    ("text", "files"),
    [
        (5, None),
        (True, None),
        (["text"], None),
        (b"text", None),
        ("text", "one"),
        ("text", {"one": 1}),
        ("text", {"one"}),
        ("text", [1]),
        ("text", [None]),
        ("text", [""]),
        ("text", [["one"]]),
    ],
)
def test_what_has_another_shape_is_invalid_args_and_nothing_of_it_is_looked_up(text, files):
    desk = offering("stands")
    looked = len(desk.all(FindFiles))
    assert desk.offer(text, files) is INVALID
    assert len(desk.all(FindFiles)) == looked
    desk.press()
    assert sent(desk) == [{"text": "stands"}]


@pytest.mark.rule("O-1")
def test_an_id_that_the_panel_does_not_keep_is_invalid_args_and_the_earlier_offer_stands():
    desk = offering("stands", ["one"])
    version = desk.button()
    assert desk.offer("other", ["one", "gone"]) is INVALID
    assert desk.button() == version
    desk.press()
    assert sent(desk) == [{"text": "stands", "images": ["image:1"]}]


@pytest.mark.rule("O-1")
def test_a_panel_is_asked_for_its_own_files_and_for_each_once():
    desk = at_work()
    desk.kept = {"one": PNG, "two": TWO}
    desk.offer("text", ["two", "one", "two"])
    (looked,) = desk.all(FindFiles)
    assert (looked.panel, looked.file_ids) == ("notes", ("two", "one"))


@pytest.mark.rule("O-1")
def test_a_lookup_that_fails_is_invalid_args():
    desk = offering("stands")
    desk.failing = {"find"}
    assert desk.offer("other", ["one"]) is INVALID
    desk.press()
    assert sent(desk) == [{"text": "stands"}]


@pytest.mark.rule("O-1", "O-2")
@pytest.mark.parametrize("files", [None, [], ()])
@pytest.mark.parametrize("text", [None, "", " \n\t ", "\u200b", "\u200b \u2060\n", "\u2800"])
def test_neither_text_nor_images_withdraws_the_offer(text, files):
    desk = offering()
    assert desk.offer(text, files) is None
    assert desk.button() is None
    assert desk.press(version=1) is PersonCode.NO_OFFER
    # Withdrawing what is withdrawn is true too, and nothing is said about the button.
    assert desk.offer(text, files) is None


@pytest.mark.rule("O-1", "O-3")
def test_blank_text_beside_images_is_none():
    desk = offering(" \u200b\n", ["one"])
    desk.press()
    assert sent(desk) == [{"images": ["image:1"]}]


@pytest.mark.rule("O-1")
def test_a_new_offer_replaces_the_old_one():
    desk = offering("old", ["one"])
    first = desk.button()
    assert desk.offer("new") is None
    assert desk.button() != first
    desk.press()
    assert sent(desk) == [{"text": "new"}]


@pytest.mark.rule("O-1")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_the_newest_offer_stands_in_whatever_order_the_lookups_end(order):
    desk = at_work()
    desk.kept = {"one": PNG}
    desk.holding = {"find"}
    tickets = [desk.make_offer(f"offer {number}", ["one"]) for number in range(3)]
    lookups = list(desk.held)
    for which in order:
        desk.finish(lookups[which])
    # Each resolves true: it was a good offer, and a newer one took its place.
    assert [desk.settled(ticket) for ticket in tickets] == [None] * 3
    desk.press()
    assert sent(desk) == [{"text": "offer 2", "images": ["image:1"]}]


@pytest.mark.rule("O-1")
def test_an_offer_without_images_and_a_withdrawal_outrun_an_earlier_lookup():
    for later, expected in ((("newer",), [{"text": "newer"}]), ((), [])):
        desk = at_work()
        desk.kept = {"one": PNG}
        desk.holding = {"find"}
        ticket = desk.make_offer("older", ["one"])
        assert desk.offer(*later) is None
        desk.finish()
        assert desk.settled(ticket) is None
        if expected:
            desk.press()
        else:
            assert desk.button() is None
        assert sent(desk) == expected


@pytest.mark.rule("O-1")
def test_a_newer_offer_that_is_refused_lets_an_older_lookup_stand():
    desk = at_work()
    desk.kept = {"one": PNG}
    desk.holding = {"find"}
    desk.make_offer("older", ["one"])
    assert desk.offer("x" * 10_001) is INVALID
    desk.make_offer("newer", ["gone"])
    desk.release_held("find")
    desk.press()
    assert sent(desk) == [{"text": "older", "images": ["image:1"]}]


@pytest.mark.rule("O-1", "A-8")
def test_an_offer_that_is_looked_up_is_pending_until_it_is_settled():
    desk = at_work()
    desk.kept = {"one": PNG}
    desk.holding = {"find"}
    desk.make_offer("text", ["one"])
    assert desk.router.pending == 1
    desk.finish()
    assert desk.router.pending == 0


@pytest.mark.rule("O-1")
def test_a_page_that_is_gone_before_its_files_are_found_offers_nothing():
    desk = at_work()
    desk.kept = {"one": PNG}
    desk.holding = {"find"}
    desk.make_offer("text", ["one"])
    desk.close_page()
    desk.start_page()
    desk.finish()
    assert desk.button() is None


@pytest.mark.rule("O-1", "C-4")
def test_an_extras_page_and_a_page_that_does_not_run_cannot_offer():
    desk = at_work()
    extras = desk.start_page(kind="extras")
    assert desk.offer("text", instance=extras) is PageCode.UNSUPPORTED
    assert desk.offer("text", instance="no-page") is PageCode.UNSUPPORTED
    assert desk.button() is None
    # Nor does an Extras page that closes take away what the desk's page offers.
    desk.offer("text")
    desk.step(PageClosed(extras))
    assert desk.button() is not None


# --- O-2: the button


@pytest.mark.rule("O-2")
def test_the_button_is_on_only_while_an_offer_stands_and_a_task_is_connected():
    desk = TaskDesk()
    desk.install(manifest())
    desk.start_page()
    desk.offer("text")
    assert desk.button() is None
    desk.attach("task-1", mode="automatic")
    desk.connect()
    assert desk.button() is not None
    desk.disconnect()
    assert desk.button() is None
    desk.connect()
    assert desk.button() is not None
    desk.offer()
    assert desk.button() is None


@pytest.mark.rule("O-2", "C-6")
def test_turned_off_the_offer_stands_and_the_button_is_off_until_it_is_on_again():
    desk = offering()
    version = desk.button()
    desk.turn_off()
    assert desk.button() is None
    assert desk.press(version) is PersonCode.NO_OFFER
    assert desk.offer("newer") is None
    assert desk.button() is None
    desk.turn_on()
    desk.press()
    assert sent(desk) == [{"text": "newer"}]


@pytest.mark.rule("O-2", "C-6")
def test_the_button_goes_off_before_it_is_durable_that_actions_are_off():
    desk = offering()
    desk.holding = {"store"}
    desk.turn_off()
    assert desk.button() is None


@pytest.mark.rule("O-2")
def test_the_button_follows_the_tasks_that_are_here():
    desk = offering()
    desk.detach()
    assert desk.button() is None
    desk.attach("task-1", mode="automatic")
    assert desk.button() is not None


@pytest.mark.rule("O-2", "C-3")
def test_a_task_that_may_not_be_connected_lights_no_button():
    desk = offering()
    desk.attach("task-1", mode="automatic", supervised=False)
    assert desk.button() is None


@pytest.mark.rule("O-2", "C-2")
def test_a_held_connection_lights_no_button_and_sends_nothing():
    desk = offering()
    desk.install(manifest(version="2.0.0", agent=other_actions()))
    desk.start_page()
    desk.offer("from the new version", instance="page-2")
    assert desk.button() is None
    desk.connect()
    assert desk.button() is not None


@pytest.mark.rule("O-2", "A-7")
@pytest.mark.parametrize("how", ["close", "reload", "update", "uninstall"])
def test_an_offer_goes_with_its_page(how):
    desk = offering()
    version = desk.button()
    if how == "close":
        desk.close_page()
    elif how == "reload":
        desk.start_page()
    elif how == "update":
        desk.install(manifest(version="1.1.0"))
        desk.start_page()
    else:
        desk.uninstall()
    assert desk.button() is None
    assert desk.press(version) is PersonCode.NO_OFFER


@pytest.mark.rule("O-2")
def test_a_panel_that_offers_nothing_has_no_button():
    desk = offering()
    second_panel(desk)
    assert desk.button("sketches") is None
    assert desk.press(1, panel="sketches") is PersonCode.NO_OFFER
    assert desk.press(1, panel="no-panel") is PersonCode.NO_OFFER


@pytest.mark.rule("O-2", "G-5")
def test_the_page_never_learns_that_or_where_it_was_sent():
    desk = offering(files=["one"])
    before = len(desk.effects)
    desk.press()
    sent(desk)
    made = desk.effects[before:]
    assert not [one for one in made if hasattr(one, "instance")]
    assert not [one for one in desk.effects if isinstance(one, Deliver)]


# --- O-2, O-3: the person presses


@pytest.mark.rule("O-3", "O-4", "S-1")
def test_pressing_sends_the_fenced_offer_as_the_panels_message_in_a_paused_turn():
    desk = offering("Make the header <blue>\u200b", ["one"])
    assert desk.press() is None
    assert desk.waiting() == ["sent-1"]
    desk.end_turn()
    (message,) = desk.started()
    assert message.text == (
        '<panel_content package="notes" panel="The notes panel" trust="untrusted">\n'
        '{"text":"Make the header \\u003cblue\\u003e","images":["image:1"]}\n'
        "</panel_content>"
    )
    assert (message.sender, message.panel, message.panel_name) == (Sender.PANEL, "notes", NAME)
    assert message.images == (PNG,)
    kinds = [type(one) for one in desk.effects if isinstance(one, (SwitchMode, StartTurn))]
    assert kinds == [SwitchMode, StartTurn]
    assert desk.rows() == [RowKind.PAUSED]
    # The offer still stands: the person may send it again.
    assert desk.press() is None


@pytest.mark.rule("O-3")
def test_an_idle_task_gets_it_at_once():
    desk = offering()
    desk.end_turn()
    desk.press()
    assert len(desk.started()) == 1
    assert desk.real["task-1"] == "supervised"


@pytest.mark.rule("O-3")
def test_what_the_button_showed_is_sent_whatever_the_page_does_meanwhile():
    desk = offering("shown", ["one"])
    desk.holding = {"encode"}
    desk.press()
    desk.offer("swapped")
    desk.close_page()
    desk.release_held("encode")
    assert sent(desk) == [{"text": "shown", "images": ["image:1"]}]


@pytest.mark.rule("O-2", "O-3")
def test_a_press_of_what_the_button_shows_no_more_sends_nothing():
    desk = offering("shown")
    version = desk.button()
    desk.offer("swapped")
    assert desk.press(version) is PersonCode.NO_OFFER
    assert desk.waiting() == []


@pytest.mark.rule("O-3", "D-9")
def test_a_list_that_the_page_changes_afterwards_changes_nothing_that_was_offered():
    ids = ["one"]
    desk = offering("text", ids)
    ids[0] = "two"
    desk.press()
    sent(desk)
    assert desk.started()[0].images == (PNG,)


@pytest.mark.rule("O-3", "I-4", "I-5")
def test_its_images_are_encoded_again_and_one_that_is_gone_is_unavailable():
    desk = offering("text", ["one", "two"])
    del desk.kept["one"]
    desk.press()
    assert [one.file_id for one in desk.all(EncodeImage)] == ["one", "two"]
    assert sent(desk) == [{"text": "text", "images": ["image:unavailable", "image:1"]}]
    assert desk.started()[0].images == (TWO,)


@pytest.mark.rule("O-3", "A-3")
def test_images_that_take_too_long_are_unavailable():
    desk = offering("text", ["one"])
    desk.holding = {"encode"}
    desk.press()
    assert desk.router.pending == 1
    desk.wait(10)
    assert sent(desk) == [{"text": "text", "images": ["image:unavailable"]}]
    assert desk.finish() == [Release((PNG,))]
    assert desk.router.pending == 0


@pytest.mark.rule("O-3", "N-4")
def test_an_offer_over_the_size_of_an_answer_is_told_to_the_person_and_not_sent():
    desk = TaskDesk(answer=100)
    desk.kept = {"one": PNG}
    desk.install(manifest())
    desk.attach("task-1", mode="automatic", runs_messages=True)
    desk.connect()
    desk.start_page()
    desk.offer("<" * 90, ["one"])
    assert desk.press() is PersonCode.OFFER_TOO_LARGE
    assert desk.released == [PNG]
    assert desk.waiting() == []
    assert desk.router.pending == 0


@pytest.mark.rule("O-1", "O-3", "N-4")
def test_the_largest_offer_fits_however_it_is_escaped():
    desk = offering("<" * 10_000)
    assert desk.press() is None
    assert sent(desk) == [{"text": "<" * 10_000}]


@pytest.mark.rule("O-1", "O-3", "T-3", "N-5")
@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_sent_stripped_or_withdraws_the_offer(text):
    desk = at_work()
    assert desk.offer(text) is None
    stripped = strip_invisible(text)
    if not stripped.strip():
        assert desk.button() is None
        return
    desk.press()
    assert sent(desk) == [{"text": stripped}]


@pytest.mark.rule("O-2")
def test_with_several_tasks_connected_the_person_picks_one():
    desk = offering()
    desk.attach("task-2", mode="automatic", runs_messages=True)
    desk.connect("task-2")
    assert desk.press() is PersonCode.UNKNOWN_TASK
    assert desk.press(task="task-2") is None
    assert desk.waiting("task-2") == ["sent-2"]
    assert desk.waiting() == []
    assert desk.press(task="task-9") is PersonCode.UNKNOWN_TASK


@pytest.mark.rule("O-2")
def test_a_task_that_is_not_connected_or_not_here_cannot_be_picked():
    desk = offering()
    desk.attach("task-2", mode="automatic")
    assert desk.press(task="task-2") is PersonCode.UNKNOWN_TASK
    desk.connect("task-2")
    desk.detach("task-2")
    assert desk.press(task="task-2") is PersonCode.UNKNOWN_TASK
    # The one that is left need not be picked.
    assert desk.press() is None


@pytest.mark.rule("O-2", "C-3")
def test_a_task_that_may_not_be_connected_any_more_cannot_be_picked():
    desk = offering()
    desk.attach("task-2", mode="automatic")
    desk.connect("task-2")
    desk.attach("task-2", mode="automatic", supervised=False)
    assert desk.press(task="task-2") is PersonCode.UNKNOWN_TASK
    assert desk.waiting("task-2") == []


@pytest.mark.rule("S-1", "O-3")
def test_an_agent_that_never_switches_cannot_be_sent_to():
    desk = offering(switches=Switches.NEVER)
    assert desk.press() is PersonCode.SWITCH_FAILED
    assert desk.waiting() == []


@pytest.mark.rule("O-3", "C-6", "C-7", "S-6")
@pytest.mark.parametrize(
    ("act", "code"),
    [
        ("turn_off", PersonCode.NO_OFFER),
        ("disconnect", PersonCode.NO_OFFER),
        ("uninstall", PersonCode.NO_OFFER),
        ("detach", PersonCode.UNKNOWN_TASK),
    ],
)
def test_what_was_pressed_and_has_no_place_in_the_queue_yet_ends_with_its_connection(act, code):
    desk = offering("text", ["one", "two"])
    desk.holding = {"encode"}
    desk.press()
    desk.finish()
    (second,) = desk.held
    made = getattr(desk, act)()
    # The installing was the first ask, the connecting the second.
    assert desk.ended("ask-3") is code
    assert CancelOp(second.op) in made
    assert desk.released == [PNG]
    assert desk.finish() == [Release((TWO,))]
    assert desk.waiting() == []
    assert desk.router.pending == 0


@pytest.mark.rule("O-3", "C-6", "C-7")
@pytest.mark.parametrize("act", ["turn_off", "disconnect"])
def test_what_the_person_sent_waits_on_when_actions_are_turned_off_or_disconnected(act):
    desk = offering()
    desk.press()
    getattr(desk, act)()
    assert sent(desk) == [{"text": "for the task"}]


@pytest.mark.rule("O-3")
def test_each_press_is_a_message_of_its_own():
    desk = offering()
    desk.press()
    desk.offer("another")
    desk.press()
    assert sent(desk) == [{"text": "for the task"}, {"text": "another"}]


@pytest.mark.rule("O-2", "A-6")
def test_an_offer_is_settled_once_and_the_button_is_said_only_when_it_changes():
    desk = offering("text", ["one"])
    (settled,) = desk.all(SettleOffer)
    assert settled.code is None
    before = len(desk.all(OfferButton))
    desk.attach("task-2")
    desk.connect("task-2")
    assert len(desk.all(OfferButton)) == before


@pytest.mark.rule("B-2")
def test_an_offer_shows_nothing_of_the_page_in_reprs():
    desk = at_work()
    desk.kept = {"SECRET-id": ImageHandle("image-9", "image/png", 1)}
    desk.holding = {"encode"}
    desk.offer("SECRET", ["SECRET-id"])
    desk.press()
    offers: Any = desk.router._offers
    for shown in (desk.effects, offers, vars(offers), SendPressed("ask", "notes", 1, "m")):
        assert "SECRET" not in repr(shown)
