"""What a page may answer: a write's few closed values and a read that fits its schema (W, N)."""

from __future__ import annotations

import json

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from deska_sdk.errors import InvalidValue, TooLarge
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.answers import WriteAnswer, fenced, read_answer, write_answer, write_text
from deska_sdk.schema import compile_schema

OUTPUT = compile_schema(
    {
        "type": "object",
        "properties": {
            "text": {"type": "string", "maxLength": 200_000},
            "number": {"type": "number"},
            "files": {
                "type": "array",
                "maxItems": 50,
                "items": {"type": "string", "maxLength": 36, "format": "deska-file"},
            },
        },
    },
    "output",
)

WORDS = {"invalid", "conflict", "not_found", "failed"}


def invalid(payload: object) -> bool:
    error = None
    try:
        write_answer(payload, DEFAULT_LIMITS)
    except InvalidValue as caught:
        error = caught
    if error is None:
        return False
    assert "SECRET" not in f"{error!r}{error}{error.faults!r}"
    assert error.__context__ is None
    return True


@pytest.mark.rule("W-1")
@given(
    st.dictionaries(
        st.sampled_from(["ok", "revision", "error", "SECRET"]),
        st.one_of(
            st.booleans(),
            st.none(),
            st.integers(0, 1),
            st.sampled_from([*sorted(WORDS), "SECRET no", "b-7.f_3", ""]),
            st.lists(st.just("failed"), max_size=1),
        ),
        max_size=4,
    )
)
def test_a_write_may_answer_exactly_what_the_rule_says(payload):
    revision, error = payload.get("revision", "x"), payload.get("error", "failed")
    fits = (
        payload.keys() <= {"ok", "revision", "error"}
        and payload.get("ok") in (True, False)
        and type(payload.get("ok")) is bool
        and type(revision) is str
        and revision not in ("", "SECRET no")
        and type(error) is str
        and error in WORDS
        and not (payload["ok"] and "error" in payload)
    )
    assert invalid(payload) is not fits
    if fits:
        answer = write_answer(payload, DEFAULT_LIMITS)
        assert answer == WriteAnswer(payload["ok"], payload.get("revision"), payload.get("error"))


@pytest.mark.rule("W-1")
@pytest.mark.parametrize(
    "payload",
    [
        None,
        True,
        "ok",
        [],
        [("ok", True)],
        {},
        {"ok": 1},
        {"ok": None},
        {"ok": "true"},
        {"ok": True, "error": None},
        {"ok": True, "error": "failed"},
        {"ok": False, "error": "Failed"},
        {"ok": False, "error": ["failed"]},
        {"ok": False, "revision": None},
        {"ok": True, "revision": "a" * 65},
        {"ok": True, "revision": "a\n"},
        {"ok": True, "text": "SECRET"},
        {"ok": True, 1: 2},
        {"ok": True, "revision": "\u0661"},
    ],
)
def test_anything_else_is_no_answer_of_a_write(payload):
    assert invalid(payload)


@pytest.mark.rule("W-1")
def test_subclasses_are_not_taken_for_what_they_stand_for():
    class Sly(dict):
        pass

    class Text(str):
        __slots__ = ()

    assert invalid(Sly(ok=True))
    assert invalid({"ok": True, "revision": Text("a")})
    assert invalid({"ok": False, "error": Text("failed")})
    assert invalid({Text("ok"): True})


@pytest.mark.rule("W-2")
@given(st.booleans(), st.none() | st.sampled_from(sorted(WORDS)), st.none() | st.integers(1, 10**9))
def test_the_agent_reads_closed_words_and_a_counter_and_nothing_else(ok, error, number):
    answer = WriteAnswer(ok, "SECRET", error)
    counter = None if number is None else f"r{number}"
    told = json.loads(write_text(answer, counter))
    expected = {"ok": ok, "revision": counter, "error": error}
    assert told == {key: value for key, value in expected.items() if value is not None}
    assert "SECRET" not in write_text(answer, counter)
    assert "SECRET" not in repr(answer)


@pytest.mark.rule("N-1", "D-9", "N-4")
def test_a_read_is_measured_as_sent_and_the_pages_value_is_not_changed():
    payload = {"text": "a\u200bb", "number": 3.0, "files": ["one", "two", "one"]}
    limits = evolve(
        DEFAULT_LIMITS, answer=len('{"text":"a b","number":3,"files":["one","two","one"]}')
    )
    answer = read_answer(payload, OUTPUT, limits)
    assert answer.line == '{"text":"a\u200bb","number":3,"files":["one","two","one"]}'
    assert answer.file_ids == ("one", "two")
    text = fenced("notes", "Notes", answer, {"two": "image:1"}, DEFAULT_LIMITS)
    assert text.split("\n")[1] == (
        '{"text":"ab","number":3,"files":["image:unavailable","image:1","image:unavailable"]}'
    )
    assert payload == {"text": "a\u200bb", "number": 3.0, "files": ["one", "two", "one"]}
    with pytest.raises(TooLarge):
        read_answer(payload, OUTPUT, evolve(limits, answer=limits.answer - 1))


@pytest.mark.rule("I-3", "N-4")
def test_too_many_distinct_images_are_a_fault_and_win_over_size():
    many = {"text": "x" * 100_000, "files": [f"id-{number}" for number in range(11)]}
    with pytest.raises(InvalidValue):
        read_answer(many, OUTPUT, DEFAULT_LIMITS)
    ten = {"files": [f"id-{number % 10}" for number in range(50)]}
    assert len(read_answer(ten, OUTPUT, DEFAULT_LIMITS).file_ids) == 10


@pytest.mark.rule("N-4", "N-2")
def test_the_escaped_line_has_the_limit_of_its_own():
    limits = evolve(DEFAULT_LIMITS, answer=100)
    answer = read_answer({"text": "<" * 20}, OUTPUT, limits)
    with pytest.raises(TooLarge):
        fenced("notes", "Notes", answer, {}, limits)


@pytest.mark.rule("I-4", "W-2")
def test_no_id_of_a_page_is_left_in_what_the_agent_gets():
    answer = read_answer({"files": ["SECRET"]}, OUTPUT, DEFAULT_LIMITS)
    assert "SECRET" not in fenced("notes", "Notes", answer, {}, DEFAULT_LIMITS)
    assert "SECRET" not in repr(answer)
