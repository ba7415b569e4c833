"""How a test suite drives a panel with a fake agent. ``deska_desk`` comes with the package.

Nothing to set up: the fixture is a host in memory whose clock stands still until it is moved.
"""

import json
from pathlib import Path

NOOK = Path(__file__).parent / "nook"


def test_a_note_that_was_added_can_be_read(deska_desk):
    agent = deska_desk.connect(NOOK)
    added, read = agent.play([("add_note", {"text": "Water the fern"}), ("read_board", {})])
    assert json.loads(added.text) == {"ok": True, "revision": "r1"}
    assert '{"notes":["Water the fern"],"images":[]}' in read.text


def test_an_edit_of_an_old_state_is_a_conflict(deska_desk):
    agent = deska_desk.connect(NOOK)
    edit = {"note": 1, "text": "Repot the fern", "revision": "r1"}
    replies = agent.play([("add_note", {"text": "Water it"}), ("edit_note", edit)])
    assert [json.loads(reply.text)["ok"] for reply in replies] == [True, True]
    assert json.loads(agent.call("edit_note", edit).text)["error"] == "conflict"


def test_a_page_that_never_answers_costs_thirty_seconds(deska_desk):
    async def page(deska):
        await deska.ready()

    manifest = json.loads((NOOK / "panel.json").read_text())
    agent = deska_desk.connect(manifest, page)
    call = agent.start("read_board")
    deska_desk.advance(30)
    assert call.result().code == "panel_timeout"
