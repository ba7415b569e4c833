"""Counters in place of a page's revisions, over calls, restarts and kills (R-1 to R-4, W-2)."""

from __future__ import annotations

import json
import re

import pytest

from deska_sdk.errors import AgentCode, PageCode
from deska_sdk.records import CounterBlockRecord
from deska_sdk.router import ImageHandle, Persist, ReadImage
from tests.panels.support_router import Desk, manifest


def shown(desk: Desk, revision: str | None, *, task: str = "task-1", panel: str = "notes") -> str:
    """The counter an agent gets for a write that the page answers with this revision."""
    call = desk.call(task=task, panel=panel)
    assert desk.answer(call, {"ok": True, "revision": revision}) is None
    return json.loads(desk.reply(call).text)["revision"]


def heard(desk: Desk, payload: dict[str, object], **where: str) -> dict[str, object]:
    """The input that the page gets for this call."""
    return desk.delivered(desk.call("add_note", payload, **where)).input


@pytest.mark.rule("R-1", "W-2")
def test_the_agent_reads_counters_and_the_same_revision_is_the_same_counter():
    desk = Desk().with_notes()
    assert [shown(desk, one) for one in ("b7", "x", "b7", "r9", "x")] == [
        "r1",
        "r2",
        "r1",
        "r3",
        "r2",
    ]


@pytest.mark.rule("W-1", "W-2")
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"ok": True}, '{"ok":true}'),
        ({"ok": False}, '{"ok":false}'),
        ({"ok": True, "revision": "a" * 64}, '{"ok":true,"revision":"r1"}'),
        ({"ok": False, "error": "not_found"}, '{"ok":false,"error":"not_found"}'),
        (
            {"error": "invalid", "revision": "A._-9", "ok": False},
            '{"ok":false,"revision":"r1","error":"invalid"}',
        ),
    ],
)
def test_a_writes_reply_is_ok_counter_and_closed_word_and_nothing_else(answer, text):
    desk = Desk().with_notes()
    call = desk.call()
    assert desk.answer(call, answer) is None
    assert desk.reply(call).text == text
    assert desk.reply(call).images == ()


@pytest.mark.rule("R-1", "R-4")
def test_each_task_and_each_panel_has_counters_of_its_own():
    desk = Desk().with_notes()
    desk.install(manifest("sketches"))
    desk.connect(panel="sketches")
    desk.start_page("sketches")
    desk.attach("task-2")
    desk.connect("task-2")
    assert shown(desk, "mine") == "r1"
    assert shown(desk, "theirs", task="task-2") == "r1"
    assert shown(desk, "sketch", panel="sketches") == "r1"
    assert heard(desk, {"text": "r1"}) == {"text": "mine"}
    assert heard(desk, {"text": "r1"}, task="task-2") == {"text": "theirs"}
    assert heard(desk, {"text": "r1"}, panel="sketches") == {"text": "sketch"}
    # A counter that only another task or panel has is plain text.
    assert shown(desk, "second") == "r2"
    assert heard(desk, {"text": "r2"}, task="task-2") == {"text": "r2"}
    assert heard(desk, {"text": "r2"}, panel="sketches") == {"text": "r2"}


@pytest.mark.rule("R-4", "D-9")
def test_a_kept_counter_that_is_a_whole_string_is_the_pages_revision_wherever_it_stands():
    desk = Desk().with_notes()
    shown(desk, "board-7f3a-which-is-longer-than-eight")
    given = {"text": "r1", "after": "r1", "tags": ["a", "r1", "r2"]}
    revision = "board-7f3a-which-is-longer-than-eight"
    # "after" has maxLength 8: the replaced value need not fit it.
    assert heard(desk, given) == {
        "text": revision,
        "after": revision,
        "tags": ["a", revision, "r2"],
    }
    assert given == {"text": "r1", "after": "r1", "tags": ["a", "r1", "r2"]}


@pytest.mark.rule("R-4")
@pytest.mark.parametrize(
    "text", ["r1 ", " r1", "R1", "r01", "see r1", "r1r1", "r", "r10", "r\u0661", "r1\n", "-r1", ""]
)
def test_what_is_not_exactly_a_kept_counter_stays_as_it_is(text):
    desk = Desk().with_notes()
    shown(desk, "board")
    assert heard(desk, {"text": text}) == {"text": text}


@pytest.mark.rule("R-4", "T-3")
def test_a_counter_with_something_invisible_in_it_is_the_counter_it_looks_like():
    desk = Desk().with_notes()
    shown(desk, "board")
    assert heard(desk, {"text": "r\u200b1"}) == {"text": "board"}


@pytest.mark.rule("R-4")
def test_a_counter_in_an_enum_or_a_path_is_never_replaced():
    desk = Desk().with_notes()
    shown(desk, "board")
    desk.folder = {"r1": ImageHandle("image-1", "image/png", 9)}
    got = heard(desk, {"text": "x", "place": "r1", "pictures": ["r1"]})
    assert got == {"text": "x", "place": "r1", "pictures": [desk.folder["r1"]]}
    assert [read.path for read in desk.all(ReadImage)] == ["r1"]


@pytest.mark.rule("R-4")
def test_a_revision_that_looks_like_another_counter_is_put_back_once():
    desk = Desk().with_notes()
    shown(desk, "r2")
    shown(desk, "other")
    assert heard(desk, {"text": "r1", "tags": ["r2"]}) == {"text": "r2", "tags": ["other"]}


@pytest.mark.rule("R-4", "A-1")
def test_counters_are_put_back_at_delivery_when_images_have_been_read():
    desk = Desk().with_notes()
    image = ImageHandle("image-1", "image/png", 9)
    desk.folder = {"a.png": image}
    desk.holding = {"read"}
    call = desk.call("add_note", {"text": "r1", "pictures": ["a.png"]})
    assert shown(desk, "board") == "r1"
    desk.finish()
    assert desk.delivered(call).input == {"text": "board", "pictures": [image]}


@pytest.mark.rule("R-2", "R-3")
def test_a_revision_that_fell_out_gets_a_new_number_and_its_old_one_is_plain_text():
    desk = Desk(revisions_kept=2).with_notes()
    assert [shown(desk, one) for one in ("a", "b", "a", "c")] == ["r1", "r2", "r1", "r3"]
    # "a" was given again and so was refreshed: "b" is what fell out.
    assert heard(desk, {"text": "", "tags": ["r1", "r2", "r3"]})["tags"] == ["a", "r2", "c"]
    assert shown(desk, "b") == "r4"
    assert heard(desk, {"text": "", "tags": ["r1", "r2", "r3", "r4"]})["tags"] == [
        "r1",
        "r2",
        "c",
        "b",
    ]


@pytest.mark.rule("R-2", "C-7")
def test_disconnecting_forgets_no_number():
    desk = Desk().with_notes()
    assert shown(desk, "a") == "r1"
    desk.disconnect()
    desk.connect()
    assert shown(desk, "b") == "r2"
    assert heard(desk, {"text": "r1"}) == {"text": "a"}


@pytest.mark.rule("R-2", "G-3")
def test_uninstalling_forgets_the_revisions_and_keeps_the_numbers_used_up():
    desk = Desk().with_notes()
    given = {shown(desk, one) for one in ("a", "b")}
    desk.uninstall()
    desk.install(manifest())
    desk.connect()
    desk.start_page()
    assert heard(desk, {"text": "", "tags": ["r1", "r2"]})["tags"] == ["r1", "r2"]
    new = shown(desk, "a")
    assert new not in given
    later = desk.again()
    later.attach("task-1")
    later.start_page()
    assert shown(later, "c") not in given | {new}


def number(counter: str) -> int:
    found = re.fullmatch(r"r([1-9][0-9]*)", counter)
    assert found is not None
    return int(found[1])


@pytest.mark.rule("R-2")
@pytest.mark.parametrize("block", [1, 2, 3, 4, 5, 8, 64])
def test_no_number_is_given_twice_over_any_number_of_restarts(block):
    desk = Desk(counter_block=block).with_notes()
    given: list[int] = []
    for run in range(6):
        for write in range(run * 3):
            counter = shown(desk, f"revision-{run}-{write}")
            assert heard(desk, {"text": counter}) == {"text": f"revision-{run}-{write}"}
            given.append(number(counter))
        desk = desk.again()
        desk.attach("task-1")
        desk.start_page()
        # after a restart an old counter is plain text.
        old = [f"r{one}" for one in given[-8:]]
        assert heard(desk, {"text": "", "tags": old})["tags"] == old
    assert len(given) == 45
    assert given == sorted(set(given))


@pytest.mark.rule("R-2")
def test_a_number_is_told_only_when_its_block_is_durable():
    # A kill is a restart from what was durable: what the store had not yet is lost.
    desk = Desk(counter_block=1).with_notes()
    desk.holding = {"store"}
    given = [shown(desk, "a")]
    waiting = desk.call()
    desk.answer(waiting, {"ok": True, "revision": "b"})
    assert desk.is_open(waiting)
    killed = desk.again()
    killed.attach("task-1")
    killed.start_page()
    assert shown(killed, "c") not in given
    # In the run that goes on, the reply comes with the commit.
    while desk.held:
        desk.finish()
    assert json.loads(desk.reply(waiting).text) == {"ok": True, "revision": "r2"}


@pytest.mark.rule("R-2")
def test_a_block_that_became_durable_in_a_run_that_was_killed_before_it_heard_is_used_up():
    desk = Desk(counter_block=4).with_notes()
    for one in ("a", "b"):
        shown(desk, one)
    desk.holding = {"store"}
    # With the third of four the next block is asked for; it is written, but never told.
    assert shown(desk, "c") == "r3"
    (ahead,) = desk.held
    desk.completion(ahead)
    later = desk.again()
    later.attach("task-1")
    later.start_page()
    assert number(shown(later, "d")) > max(
        one.high for one in desk.log if isinstance(one, CounterBlockRecord)
    )


@pytest.mark.rule("R-2")
@pytest.mark.parametrize("blocks", [(128, 64), (64, 128), (64, 128, 64), (128,)])
def test_a_block_is_never_lowered_whatever_the_order_of_the_records(blocks):
    desk = Desk().with_notes()
    log = [one for one in desk.log if not isinstance(one, CounterBlockRecord)]
    log += [CounterBlockRecord("task-1", "notes", high) for high in blocks]
    later = Desk(log)
    later.attach("task-1")
    later.start_page()
    assert shown(later, "a") == "r129"


@pytest.mark.rule("R-2")
def test_a_block_that_becomes_durable_after_a_higher_one_lowers_nothing():
    desk = Desk(counter_block=4).with_notes()
    desk.holding = {"store"}
    for number in range(1, 5):
        assert shown(desk, f"revision-{number}") == f"r{number}"
    (ahead,) = desk.held
    waiting = desk.call()
    desk.answer(waiting, {"ok": True, "revision": "revision-5"})
    desk.finish(desk.held[-1])
    desk.holding = set()
    assert json.loads(desk.reply(waiting).text)["revision"] == "r5"
    for number in range(6, 12):
        assert shown(desk, f"revision-{number}") == f"r{number}"
    # The block asked for first is durable last: no host promises an order of transactions.
    desk.finish(ahead)
    assert desk.log[-1] == CounterBlockRecord("task-1", "notes", 8)
    desk.uninstall()
    desk.install(manifest())
    desk.connect()
    desk.start_page()
    assert int(shown(desk, "another").removeprefix("r")) > 11


@pytest.mark.rule("R-2", "A-3")
def test_the_first_writes_reply_waits_for_no_store():
    desk = Desk().with_notes()
    desk.holding = {"store"}
    assert shown(desk, "a") == "r1"
    assert not desk.held


@pytest.mark.rule("R-2", "A-3")
def test_blocks_are_reserved_ahead_so_that_a_steady_flow_waits_for_no_store():
    desk = Desk(counter_block=8).with_notes()
    desk.holding = {"store"}
    for write in range(64):
        assert shown(desk, f"revision-{write}") == f"r{write + 1}"
        if len(desk.held) == 1 and write % 8 == 7:
            desk.finish()
    highs = [one.high for one in desk.log if isinstance(one, CounterBlockRecord)]
    assert highs == list(range(8, 73, 8))


@pytest.mark.rule("R-2")
def test_a_store_that_fails_to_reserve_gives_a_write_without_counter_and_later_ones_with_one():
    desk = Desk(counter_block=1).with_notes()
    desk.failing = {"store"}
    assert shown(desk, "a") == "r1"
    call = desk.call()
    assert desk.answer(call, {"ok": True, "revision": "b"}) is None
    assert desk.reply(call).text == '{"ok":true}'
    assert desk.code(call) is None
    desk.failing = set()
    assert shown(desk, "b") == "r2"


@pytest.mark.rule("R-2", "A-6")
def test_a_block_that_is_durable_after_its_write_was_stopped_is_still_taken_over():
    desk = Desk(counter_block=1).with_notes()
    desk.failing = {"store"}
    shown(desk, "a")
    desk.failing, desk.holding = set(), {"store"}
    call = desk.call()
    desk.answer(call, {"ok": True, "revision": "b"})
    desk.cancel(call)
    assert desk.code(call) is AgentCode.STOPPED
    assert desk.finish() == []
    persisted = len(desk.all(Persist))
    assert shown(desk, "c") == "r2"
    # What it got was reserved already; only the next block was asked for, ahead.
    assert len(desk.all(Persist)) == persisted + 1


@pytest.mark.rule("R-2")
def test_several_writes_that_wait_for_the_store_get_a_number_each_in_their_order():
    desk = Desk(counter_block=1).with_notes()
    desk.failing = {"store"}
    shown(desk, "a")
    desk.failing, desk.holding = set(), {"store"}
    calls = [desk.call() for _ in range(3)]
    for call, revision in zip(calls, ("b", "c", "b"), strict=True):
        assert desk.answer(call, {"ok": True, "revision": revision}) is None
    while desk.held:
        desk.finish()
    assert [json.loads(desk.reply(call).text)["revision"] for call in calls] == ["r2", "r3", "r2"]


@pytest.mark.rule("W-1", "A-5")
@pytest.mark.parametrize("revision", ["", "a" * 65, "a b", "a\n", "ä", "a/b", 1, None, True, ["a"]])
def test_what_is_no_revision_makes_the_answer_invalid_and_uses_up_no_number(revision):
    desk = Desk().with_notes()
    call = desk.call()
    assert desk.answer(call, {"ok": True, "revision": revision}) is PageCode.INVALID_ARGS
    assert desk.is_open(call)
    assert shown(desk, "right") == "r1"


@pytest.mark.rule("R-1", "R-2")
def test_a_read_uses_up_no_number_and_its_text_is_not_searched_for_counters():
    desk = Desk().with_notes()
    shown(desk, "board")
    call = desk.call("list_notes")
    desk.answer(call, {"notes": ["r1", "board"]})
    assert '{"notes":["r1","board"]}' in desk.reply(call).text
    assert shown(desk, "next") == "r2"
