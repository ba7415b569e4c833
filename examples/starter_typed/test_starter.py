"""Run with ``pytest``; ``deska_desk`` comes with deska-sdk and is a whole host in memory."""

from pathlib import Path

from deska_host.cli import main as deska

PANEL = Path(__file__).parent


def test_a_note_that_was_added_can_be_read(deska_desk):
    agent = deska_desk.connect(PANEL)
    assert agent.call("add_note", {"text": "Water the fern"}).text == '{"ok":true,"revision":"r1"}'
    assert '"notes":["Water the fern"]' in agent.call("read_notes").text


def test_a_note_that_is_no_text_never_reaches_the_page(deska_desk):
    agent = deska_desk.connect(PANEL)
    assert agent.call("add_note", {"text": 5}).code == "invalid_input"
    assert '"notes":[]' in agent.call("read_notes").text


def test_the_list_does_not_grow_without_end(deska_desk):
    agent = deska_desk.connect(PANEL)
    replies = agent.play(("add_note", {"text": f"Note {number}"}) for number in range(51))
    assert replies[49].text == '{"ok":true,"revision":"r50"}'
    assert replies[50].text == '{"ok":false,"error":"invalid"}'


def test_panel_json_was_made_from_the_page_as_it_is_now():
    page, made = PANEL / "page.py", PANEL / "panel.json"
    assert deska(["manifest", str(page), "--check", str(made)]) == 0
