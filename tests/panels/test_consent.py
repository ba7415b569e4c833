"""The sheet, and what a person's yes is bound to (C-1, C-2)."""

from __future__ import annotations

import copy
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deska_sdk.panels.catalog import catalogue
from deska_sdk.panels.consent import fingerprint, sheet_of
from deska_sdk.panels.manifest import load_stored
from deska_sdk.text import has_invisible
from tests.panels.support_manifest import READ, WRITE, checked, working

SCHEMA = {
    "type": "object",
    "description": "why",
    "properties": {
        "description": {"type": "string", "maxLength": 5, "description": "why"},
        "rows": {
            "type": "array",
            "description": "why",
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {"on": {"type": "boolean", "description": "why"}},
            },
        },
    },
    "required": ["rows"],
}


def described(text: str | None) -> dict[str, object]:
    """``SCHEMA`` with another description at every node, or with none."""
    mark = '"description": "why"'
    if text is not None:
        return json.loads(json.dumps(SCHEMA).replace(mark, f'"description": "{text}"'))
    bare = json.dumps(SCHEMA).replace(f"{mark}, ", "").replace(f", {mark}", "")
    return json.loads(bare)


@pytest.mark.rule("C-1")
def test_a_sheet_shows_the_name_and_each_action_as_folded():
    manifest = checked(
        working(
            {**WRITE, "description": "Adds\na note.\u202e"},
            READ,
            name=" No\u2060tes ",
            version="2.0.0",
        )
    )
    sheet = sheet_of(manifest)
    assert (sheet.panel, sheet.name) == ("notes", "No tes")
    assert [(one.name, one.kind, one.description) for one in sheet.actions] == [
        ("add_note", "write", "Adds a note."),
        ("read_notes", "read", "Reads the notes."),
    ]
    assert sheet.fingerprint == fingerprint(manifest)


@pytest.mark.rule("C-1", "L-2")
@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
def test_the_sheet_and_the_agents_list_say_the_same_words(name, description):
    manifest = checked(working({**READ, "description": f"x{description}"}, name=f"x{name}"))
    sheet = sheet_of(manifest)
    listed = json.loads(catalogue([manifest]))["panels"][0]
    assert listed["name"] == sheet.name
    assert [(one["name"], one["kind"], one["description"]) for one in listed["actions"]] == [
        (one.name, one.kind, one.description) for one in sheet.actions
    ]


@pytest.mark.rule("C-1")
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_nothing_in_a_sheets_text_moves_a_cursor_or_adds_a_line(text):
    plain = sheet_of(checked(working(READ, name="x"))).text
    sheet = sheet_of(checked(working({**READ, "description": f"x{text}"}, name=f"x{text}"[:80])))
    assert not has_invisible(sheet.text)
    assert sheet.text.count("\n") == plain.count("\n")
    assert "\t" not in sheet.text


@pytest.mark.rule("C-1")
def test_a_sheets_text_names_the_panel_its_id_and_every_action_with_its_kind():
    text = sheet_of(checked(working(READ, WRITE, name="My notes"))).text
    for words in ("My notes", "(notes)", "read_notes (reads", "add_note (changes", "Adds a note."):
        assert words in text


@pytest.mark.rule("C-2")
def test_a_fingerprint_is_the_hash_of_this_very_text():
    manifest = checked(working({**READ, "input": SCHEMA}, WRITE, name="Not\u00e9s"))
    canonical = (
        '{"actions":[{"description":"Reads the notes.","input":'
        '{"properties":{"description":{"maxLength":5,"type":"string"},"rows":{"items":'
        '{"properties":{"on":{"type":"boolean"}},"type":"object"},"maxItems":3,"type":"array"}},'
        '"required":["rows"],"type":"object"},"kind":"read","name":"read_notes","output":'
        '{"properties":{"notes":{"items":{"maxLength":80,"type":"string"},"maxItems":9,'
        '"type":"array"}},"type":"object"}},'
        '{"description":"Adds a note.","input":{"properties":{"text":{"maxLength":80,'
        '"type":"string"}},"required":["text"],"type":"object"},"kind":"write",'
        '"name":"add_note"}],"id":"notes","name":"Not\u00e9s"}'
    )
    assert fingerprint(manifest) == hashlib.sha256(canonical.encode()).hexdigest()


@pytest.mark.rule("C-2")
@pytest.mark.parametrize(
    "change",
    [
        {"version": "9.9.9"},
        {"description": "Another."},
        {"author": "Ada"},
        {"permissions": ["agent", "notify"]},
        {"name": " Notes\u200b"},
        {"entry": "panel.py"},
    ],
)
def test_what_no_sheet_showed_and_no_call_needs_may_change_without_asking(change):
    before = fingerprint(checked(working()))
    assert fingerprint(checked(working(**change))) == before


@pytest.mark.rule("C-2", "D-5")
def test_descriptions_and_the_order_of_keys_in_a_schema_change_no_fingerprint():
    def of(schema: dict[str, object]) -> str:
        return fingerprint(checked(working({**READ, "input": schema, "output": schema})))

    turned = dict(reversed(SCHEMA.items()))
    turned["properties"] = dict(reversed(SCHEMA["properties"].items()))
    assert of(described("other")) == of(described(None)) == of(SCHEMA) == of(turned)
    assert '"maxLength": 5' in json.dumps(described(None))


CHANGES = {
    "the id": {"id": "notes-2"},
    "the name": {"name": "Note"},
    "the name's case": {"name": "notes"},
    "the order": {"actions": [WRITE, READ]},
    "one action less": {"actions": [READ]},
    "an action's name": {"actions": [{**READ, "name": "read"}, WRITE]},
    "a description": {"actions": [{**READ, "description": "Reads all notes."}, WRITE]},
    "a kind": {
        "actions": [{**WRITE, "name": "read_notes", "description": READ["description"]}, WRITE]
    },
    "an input": {"actions": [{**READ, "input": {"type": "object", "properties": {}}}, WRITE]},
    "an output": {"actions": [{**READ, "output": {"type": "object"}}, WRITE]},
    "a limit deep inside": {
        "actions": [json.loads(json.dumps(READ).replace("80", "81")), WRITE],
    },
    "what is required": {
        "actions": [READ, json.loads(json.dumps(WRITE).replace('["text"]', "[]"))],
    },
}


@pytest.mark.rule("C-2")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_any_change_of_what_the_person_saw_or_a_call_needs_asks_again(change):
    keys = copy.deepcopy(change)
    actions = keys.pop("actions", [READ, WRITE])
    before = fingerprint(checked(working(READ, WRITE)))
    assert fingerprint(checked(working(*actions, **keys))) != before


@pytest.mark.rule("C-2")
def test_the_old_version_has_the_old_fingerprint_again():
    before = fingerprint(checked(working()))
    assert fingerprint(checked(working(READ))) != before
    assert fingerprint(load_stored(checked(working()).text)) == before


@pytest.mark.rule("C-2", "L-4")
def test_a_stored_manifest_with_stale_tokens_has_a_sheet_and_a_fingerprint():
    def stored(word: str) -> str:
        node = {"type": "object", "properties": {word: {"type": "boolean", "description": word}}}
        return fingerprint(load_stored(json.dumps(working(READ, {**WRITE, "input": node}))))

    assert stored("two words") != stored("three words")
