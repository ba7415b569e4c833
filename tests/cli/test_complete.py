"""What can come next in a line of ``deska try`` (K-7)."""

from __future__ import annotations

import pytest

from deska_host._commands.complete import complete
from deska_host._commands.lines import replacing
from deska_sdk.panels.check import check_panel
from tests.cli.support_desk import a_manifest
from tests.host.support_host import an_array, an_object

WORD = {"type": "string", "maxLength": 20}
MOOD = {"type": "string", "enum": ["sunny", "rainy"], "description": "The weather."}
DEEP = an_object(
    ("name",),
    name=WORD,
    mood=MOOD,
    moods=an_array(MOOD),
    at=an_object(here={"type": "boolean"}, place=an_object(mood=MOOD)),
    places=an_array(an_object(mood=MOOD, size={"type": "integer"})),
)


def panels(*names):
    action = {"name": "plan", "kind": "write", "description": "Plans a day.", "input": DEEP}
    other = {**action, "name": "play"}
    made = {}
    for name in names:
        manifest = check_panel(a_manifest(name, agent={"actions": [action, other]})).manifest
        assert manifest is not None
        made[name] = manifest
    return made


def choices(line, *names):
    """The lines that can come out of this one."""
    found = complete(line, panels(*(names or ("echo",))))
    return [line[: len(line) - choice.back] + choice.text for choice in found]


@pytest.mark.rule("K-7")
def test_an_empty_line_can_become_any_command():
    assert choices("") == ["list ", "call ", "help ", "quit "]
    assert choices("c") == ["call "]
    assert choices("list ") == choices("sing ") == choices("list x") == []


@pytest.mark.rule("K-7")
def test_after_call_come_actions_and_panels():
    assert choices("call p") == ["call plan ", "call play "]
    assert choices("call ") == ["call plan ", "call play ", "call echo "]
    assert choices("call e") == ["call echo "]
    assert choices("call echo pla") == ["call echo plan ", "call echo play "]
    # With several panels an action alone says nothing.
    assert choices("call ", "echo", "other") == ["call echo ", "call other "]
    assert choices("call plan {", "echo", "other") == []
    assert choices("call other plan {", "echo", "other")[0] == 'call other plan {"name": '


@pytest.mark.rule("K-7")
def test_in_an_object_come_the_properties_that_are_not_there_yet():
    names = ["name", "mood", "moods", "at", "places"]
    assert choices("call plan {") == [f'call plan {{"{name}": ' for name in names]
    assert choices('call plan {"m') == ['call plan {"mood": ', 'call plan {"moods": ']
    assert choices('call plan {"mood": "sunny", "m') == ['call plan {"mood": "sunny", "moods": ']
    assert choices('call plan {"at": {"') == [
        'call plan {"at": {"here": ',
        'call plan {"at": {"place": ',
    ]


@pytest.mark.rule("K-7")
def test_a_value_is_what_its_schema_has():
    assert choices("call plan ") == ["call plan {"]
    assert choices('call plan {"mood": ') == [
        'call plan {"mood": "sunny"',
        'call plan {"mood": "rainy"',
    ]
    assert choices('call plan {"mood": "r') == ['call plan {"mood": "rainy"']
    assert choices('call plan {"at": {"here": t') == ['call plan {"at": {"here": true']
    assert choices('call plan {"name": ') == ['call plan {"name": "']
    assert choices('call plan {"name": "su') == []
    assert choices('call plan {"places": ') == ['call plan {"places": [']
    assert choices('call plan {"places": [{"size": ') == []
    assert choices('call plan {"moods": ["sunny", "r') == ['call plan {"moods": ["sunny", "rainy"']
    assert choices('call plan {"places": [{"size": 3}, {"m') == [
        'call plan {"places": [{"size": 3}, {"mood": '
    ]
    assert choices('call plan {"at": {"place": {"mood": "s') == [
        'call plan {"at": {"place": {"mood": "sunny"'
    ]


@pytest.mark.rule("K-7")
@pytest.mark.parametrize(
    "behind",
    [
        "}",
        "]",
        '{"name" "',
        '{"name": "a"',
        '{"name"',
        "{,",
        "{}} ",
        '[{"',
        '{"other": ',
        "{}",
        "{:",
    ],
)
def test_where_nothing_can_be_said_there_are_no_choices(behind):
    assert choices(f"call plan {behind}") == []


@pytest.mark.rule("K-7")
def test_a_choice_says_what_it_is():
    (name, mood, *_) = complete("call plan {", panels("echo"))
    assert name.about == "string, required"
    assert mood.about == "string: The weather."
    assert complete("call p", panels("echo"))[0].about == "Plans a day."


@pytest.mark.rule("K-7")
def test_readline_puts_a_choice_in_the_place_of_the_word_at_the_cursor():
    line = 'call plan {"m'
    found = complete(line, panels("echo"))
    assert replacing(line, line.index("{"), found) == ['{"mood": ', '{"moods": ']
    # A choice that goes further back than readline's word cannot be put in.
    assert replacing(line, len(line), found) == []
