"""S-5: what the desk's own assistant sees of a task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deska_sdk.tasks.view import Entry, for_assistant
from tests.tasks.support_tasks import at_work

ENTRIES = st.lists(st.builds(Entry, st.text(max_size=8), st.sampled_from(["", "", "notes", "x"])))


@pytest.mark.rule("S-5")
@given(ENTRIES)
def test_the_assistant_reads_everything_but_what_is_marked_as_a_panels_in_its_order(entries):
    seen = for_assistant(entries)
    assert [one for one in entries if one in seen] == [one for one in entries if one.panel == ""]
    assert list(seen) == [one for one in entries if not one.panel]


@pytest.mark.rule("S-5", "N-1")
def test_a_reads_answer_and_a_panels_message_are_marked_and_so_not_for_the_assistant():
    desk = at_work()
    reply = desk.reply(desk.read("a note"))
    desk.offer("an offer")
    desk.press()
    desk.end_turn()
    (message,) = desk.started()
    entries = [
        Entry("the person's own words"),
        Entry(reply.text, reply.panel),
        Entry(message.text, message.panel),
    ]
    assert for_assistant(entries) == (entries[0],)


@pytest.mark.rule("S-5", "W-2")
def test_what_is_no_panels_text_is_not_marked():
    desk = at_work()
    write = desk.call()
    desk.answer(write, {"ok": True})
    refused = desk.call("no_such_action")
    assert desk.reply(write).panel == ""
    assert desk.reply(refused).panel == ""


@pytest.mark.rule("B-2")
def test_an_entry_does_not_show_its_text():
    assert "SECRET" not in repr(Entry("SECRET", "notes"))
