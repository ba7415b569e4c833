"""Reading a JSON document that an author wrote (P-1, P-7)."""

from __future__ import annotations

import json
import math

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from deska_sdk.document import Document, document_of, parse_document
from deska_sdk.limits import DEFAULT_LIMITS

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20) + 1, 10**20 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
)
_KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=20,
)
# Pieces that stand close to JSON, so that random texts get far into the reader.
_NEARLY = st.lists(
    st.sampled_from(
        [
            *("{", "}", "[", "]", ",", ":", '"', '"a"', "\\", "\\u", "d83d", "1", "-", ".", "e"),
            *("NaN", "true", "nul", " ", "\n", "\r", "\ufeff", "\ud800", "\x00", "'", "/"),
            *('{"a":', "1e999"),
        ]
    ),
    max_size=14,
).map("".join)


def codes(document: Document) -> list[tuple[str, str]]:
    return [(problem.code, problem.where) for problem in document.problems]


@pytest.mark.rule("P-1")
@given(JSON, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_a_json_value_is_read_as_the_standard_library_reads_it(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    for source in (text, text.encode()):
        document = parse_document(source)
        assert document.complete
        assert document.problems == ()
        assert repr(document.value) == repr(json.loads(text))


@pytest.mark.rule("P-1")
@given(_NEARLY | st.text(max_size=30))
@example('"\\ud83d\\ude0')
@example("-")
@example("\ufeff")
def test_any_text_is_read_or_is_a_problem_and_raises_nothing(text):
    document = parse_document(text)
    try:
        expected = json.loads(text, parse_constant=lambda _: 0)
    except ValueError:
        readable = False
    else:
        readable = True
        assert not document.complete or document.problems or document.value == expected
    # A byte order mark alone is told and read over; the standard library stops at it.
    assert document.complete == readable or text.startswith("\ufeff")
    assert document.complete or document.problems[-1].code == "syntax"


@pytest.mark.rule("P-1")
@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_are_a_problem(data):
    document = parse_document(data)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        assert codes(document) == [("not_utf8", "")]
    else:
        assert codes(document) == codes(parse_document(text))


@pytest.mark.rule("P-1")
def test_bytes_that_are_not_utf8_are_told_at_the_first_wrong_byte():
    problem = parse_document('{"a": "é\n'.encode() + b'"\xff"}').problems[0]
    assert (problem.code, problem.line, problem.column) == ("not_utf8", 2, 2)
    assert codes(parse_document('{"a":1}'.encode("utf-16"))) == [("not_utf8", "")]
    assert codes(parse_document(b'"\xed\xa0\x80"')) == [("not_utf8", "")]


@pytest.mark.rule("P-1")
def test_a_document_at_the_limit_is_read_and_one_byte_more_is_too_large():
    most = DEFAULT_LIMITS.manifest_bytes
    fits = b'"' + b"x" * (most - 2) + b'"'
    assert parse_document(fits).complete
    assert codes(parse_document(b" " + fits)) == [("too_large", "")]
    # A text is measured by its bytes, not by its characters.
    text = '"' + "ä" * (most // 2) + '"'
    assert codes(parse_document(text)) == [("too_large", "")]
    assert parse_document(text, max_bytes=most + 2).complete


@pytest.mark.rule("P-1")
@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"b":'])
def test_what_is_nested_without_end_is_one_problem_and_no_recursion(opening):
    depth = DEFAULT_LIMITS.manifest_bytes // len(opening)
    problems = parse_document(opening * depth).problems
    assert [problem.code for problem in problems] == ["nesting_too_deep", "syntax"]


@pytest.mark.rule("P-1")
def test_nesting_is_told_once_for_each_value_that_is_too_deep():
    limits = evolve(DEFAULT_LIMITS, json_nesting=2)
    document = parse_document('[[[1],2,{"a":NaN}],[{}]]', limits=limits)
    assert codes(document) == [
        ("nesting_too_deep", "/0/0"),
        ("nesting_too_deep", "/0/2"),
        ("nesting_too_deep", "/1/0"),
    ]
    assert document.value == [[None, 2, None], [None]]


@pytest.mark.rule("P-1")
def test_what_is_wrong_but_readable_leaves_the_rest_to_be_read():
    document = parse_document('{"a":[NaN,1e999],"b":123456789012345678901,"a":"\\udc00","c":-0}')
    assert codes(document) == [
        ("not_finite", "/a/0"),
        ("number_too_large", "/a/1"),
        ("integer_too_long", "/b"),
        ("duplicate_key", "/a"),
        ("lone_surrogate", "/a"),
    ]
    assert document.complete
    assert document.value == {"a": "\ufffd", "b": None, "c": 0}


@pytest.mark.rule("P-7")
def test_every_problem_has_the_line_and_column_of_what_is_wrong():
    document = parse_document('{"a": 1,\r\n "é😀": [NaN,\r  Infinity],\n\t"a": 2}')
    places = [(problem.code, problem.line, problem.column) for problem in document.problems]
    assert places == [("not_finite", 2, 9), ("not_finite", 3, 3), ("duplicate_key", 4, 2)]


@pytest.mark.rule("P-7")
@given(JSON)
def test_the_place_of_every_value_is_where_its_text_starts(value):
    text = json.dumps(value, indent=1, ensure_ascii=False)
    document = parse_document(text)

    def visit(item: object, where: str) -> None:
        place = document.place(where)
        assert place is not None
        line, column = place
        rest = document.line(line)[column - 1 :]
        if isinstance(item, dict):
            assert rest.startswith("{")
            for key, inner in item.items():
                inside = where + "/" + key.replace("~", "~0").replace("/", "~1")
                key_place = document.place(inside, key=True)
                assert key_place is not None
                named = document.line(key_place[0])[key_place[1] - 1 :]
                assert named.startswith(json.dumps(key, ensure_ascii=False))
                visit(inner, inside)
        elif isinstance(item, list):
            assert rest.startswith("[")
            for index, inner in enumerate(item):
                visit(inner, f"{where}/{index}")
        else:
            assert rest.rstrip(",") == json.dumps(item, ensure_ascii=False)

    # U+2028 and the like end no line of a JSON text, so only CR and LF could split a string; those
    # are always escaped.
    visit(value, "")


@pytest.mark.rule("P-7")
@pytest.mark.parametrize("where", ["/b", "/a/2", "/a/x", "/a/0/0", "/a/01", "a"])
def test_a_pointer_to_nothing_has_no_place(where):
    document = parse_document('{"a":[1,2]}')
    assert document.place(where) is None
    assert document.line(0) == ""
    assert document.line(2) == ""


@pytest.mark.rule("P-7")
def test_a_problem_quotes_what_is_wrong_cut_and_with_nothing_invisible():
    key = "k\u200b" + "x" * 100
    problem = parse_document(json.dumps({"a": 1})[:-1] + f',"{key}":1,"{key}":2}}').problems[0]
    assert problem.quoted is not None
    assert problem.quoted.startswith("k\\u{200B}x")
    assert problem.quoted.endswith("…")
    assert "\u200b" not in problem.sentence
    assert problem.where == f"/{key}"


@pytest.mark.rule("P-7")
def test_a_document_made_to_have_endless_problems_says_that_not_all_are_told():
    key = "k" * 60_000
    document = parse_document('{"' + key + '":[' + ",".join(["NaN"] * 40_000) + "]}")
    assert document.problems[-1].code == "too_many_problems"
    assert sum(len(problem.where) for problem in document.problems) < 2_000_000
    many = parse_document("[" + ",".join(["NaN"] * 40_000) + "]")
    assert len(many.problems) == 40_000


@pytest.mark.rule("P-1")
@given(JSON)
def test_a_value_that_never_was_text_is_read_like_its_text(value):
    document = document_of(value)
    assert document.complete
    assert repr(document.value) == repr(value)


def _knot() -> list[object]:
    knot: list[object] = []
    knot.append(knot)
    return knot


def _flood() -> list[object]:
    flood: list[object] = []
    for _ in range(40):
        flood = [flood] * 10
    return flood


class _Text(str):
    __slots__ = ()


@pytest.mark.rule("P-1")
@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({1: 2}, "not_json"),
        ({"a": (1,)}, "not_json"),
        ({"a": {1}}, "not_json"),
        ({"a": _Text("x")}, "not_json"),
        ({_Text("x"): 1}, "not_json"),
        (b"{}", "not_json"),
        (10**20, "integer_too_long"),
        (-(10**5000), "integer_too_long"),
        (math.nan, "not_finite"),
        ([math.inf], "not_finite"),
        ("\ud83d\ude00", "lone_surrogate"),
        ({"\udfff": 1}, "lone_surrogate"),
        (_knot(), "nesting_too_deep"),
        (_flood(), "too_large"),
        ("x" * DEFAULT_LIMITS.manifest_bytes, "too_large"),
        ({"x" * DEFAULT_LIMITS.manifest_bytes: 1}, "too_large"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_a_value_that_json_cannot_hold_is_a_problem(value, code):
    assert [problem.code for problem in document_of(value).problems] == [code]


@pytest.mark.rule("B-2")
def test_a_document_shows_nothing_of_its_text_in_its_repr():
    assert "secret" not in repr(parse_document('{"secret":"secret"}'))
