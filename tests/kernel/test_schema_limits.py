"""The tokens and the limits of the dialect, each at its edges (D-2, D-3)."""

from __future__ import annotations

from typing import Any

import pytest

from deska_sdk.schema import TOKEN_CODES
from tests.kernel.support_schema_parse import FLAG, LARGEST, TEXT, about, array, of, problems


@pytest.mark.rule("D-2")
@pytest.mark.parametrize("token", ["a", "A9", "_", "-", ".", "x.y-z_0", "n" * 40, "9"])
def test_a_token_names_a_property_and_is_an_enum_value(token: str) -> None:
    assert problems(of(**{token: {"type": "string", "enum": [token]}})) == []


@pytest.mark.rule("D-2")
@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", ""),
        ("two words", "two words"),
        ("n" * 41, "n" * 41),
        ("n" * 65, "n" * 63 + "…"),
        ("é", "é"),
        ("a\n", "a\\u{000A}"),
        ("a\u200bb", "a\\u{200B}b"),
        ("１", "１"),
        ("a/b", "a/b"),
        ("\ud800", "\\u{D800}"),
    ],
)
def test_a_name_or_value_that_is_no_token_is_quoted_where_it_is(text: str, quoted: str) -> None:
    pointer = text.replace("/", "~1")
    assert problems(of(**{text: FLAG})) == [("not_a_token", f"/properties/{pointer}", quoted)]
    assert about({"type": "string", "enum": ["ok", text]}) == [("not_a_token", "/enum/1", quoted)]
    assert "not_a_token" in TOKEN_CODES


@pytest.mark.rule("D-2")
@pytest.mark.parametrize("name", ["__proto__", "constructor", "prototype"])
def test_a_name_that_javascript_gives_a_meaning_is_no_property_but_may_be_a_value(
    name: str,
) -> None:
    assert problems(of(**{name: FLAG})) == [("reserved_name", f"/properties/{name}", name)]
    assert about({"type": "string", "enum": [name]}) == []
    assert "reserved_name" in TOKEN_CODES


@pytest.mark.rule("D-3")
@pytest.mark.parametrize("limit", [1, 2, 262_143, 262_144])
def test_a_length_inside_its_limits_is_kept_as_it_is(limit: int) -> None:
    assert about({"type": "string", "maxLength": limit}) == []


@pytest.mark.rule("D-3")
@pytest.mark.parametrize("limit", [1, 2, 999, 1_000])
def test_a_number_of_items_inside_its_limits_is_kept_as_it_is(limit: int) -> None:
    assert about(array(TEXT, limit)) == []


NO_INTEGERS = [
    (True, "true"),
    (False, "false"),
    ("5", "5"),
    (5.0, "5.0"),
    (5.5, "5.5"),
    (float("inf"), "inf"),
    (float("nan"), "nan"),
    (None, "null"),
    ([5], "[…]"),
    ({}, "{…}"),
    (0, "0"),
    (-1, "-1"),
    (10**19, str(10**19)),
]


@pytest.mark.rule("D-3")
@pytest.mark.parametrize(("limit", "quoted"), [*NO_INTEGERS, (262_145, "262145")])
def test_a_length_that_is_no_integer_in_range_is_refused_and_never_coerced(
    limit: Any, quoted: str
) -> None:
    expected = [("bad_limit", "/maxLength", quoted)]
    assert about({"type": "string", "maxLength": limit}) == expected
    assert about({"type": "string", "enum": ["a"], "maxLength": limit}) == expected


@pytest.mark.rule("D-3")
@pytest.mark.parametrize(("limit", "quoted"), [*NO_INTEGERS, (1_001, "1001")])
def test_a_number_of_items_that_is_no_integer_in_range_is_refused(limit: Any, quoted: str) -> None:
    assert about(array(TEXT, limit)) == [("bad_limit", "/maxItems", quoted)]


@pytest.mark.rule("D-3", "P-7")
def test_a_limit_too_long_to_be_written_in_decimal_is_quoted_by_its_size() -> None:
    quoted = "an integer of 20001 bits"
    assert about(array(TEXT, 1 << 20_000)) == [("bad_limit", "/maxItems", quoted)]


@pytest.mark.rule("D-3")
def test_an_object_has_at_most_64_properties() -> None:
    assert problems(of(**{f"p{n}": FLAG for n in range(63)})) == []
    assert problems(of(**{f"p{n}": FLAG for n in range(64)})) == []
    found = problems(of(**{f"p{n}": FLAG for n in range(65)}))
    assert found == [("too_many_properties", "/properties", None)]


@pytest.mark.rule("D-3")
def test_an_enum_has_1_to_256_values_and_each_once() -> None:
    def enum(*values: Any) -> Any:
        return about({"type": "string", "enum": list(values)})

    assert enum("a") == []
    assert enum(*(f"v{n}" for n in range(255))) == []
    assert enum(*(f"v{n}" for n in range(256))) == []
    assert enum(*(f"v{n}" for n in range(257))) == [("enum_size", "/enum", None)]
    assert enum() == [("enum_size", "/enum", None)]
    assert enum("a", "b", "a") == [("duplicate", "/enum/2", "a")]
    assert enum("a", 1, None) == [("wrong_type", "/enum/1", "1"), ("wrong_type", "/enum/2", "null")]


@pytest.mark.rule("D-3")
def test_required_names_are_properties_and_each_stands_once() -> None:
    schema = {**of(a=FLAG, b=FLAG), "required": ["b", "a"]}
    assert problems(schema) == []
    schema["required"] = ["a", "c", "a", 1, "two words"]
    assert problems(schema) == [
        ("not_listed", "/required/1", "c"),
        ("duplicate", "/required/2", "a"),
        ("wrong_type", "/required/3", "1"),
        ("not_listed", "/required/4", "two words"),
    ]
    assert problems({"type": "object", "required": ["a"]}) == [("not_listed", "/required/0", "a")]
    assert problems({"type": "object", "required": []}) == []
    assert problems({"type": "object", "required": "a"}) == [("wrong_type", "/required", "a")]
    assert problems({"type": "object", "properties": []}) == [("wrong_type", "/properties", "[…]")]


@pytest.mark.rule("D-3")
@pytest.mark.parametrize("kind", ["integer", "number"])
@pytest.mark.parametrize("word", ["minimum", "maximum"])
def test_bounds_lie_in_the_range_that_every_reader_of_json_keeps(kind: str, word: str) -> None:
    for bound in (0, LARGEST, -LARGEST, LARGEST - 1):
        assert about({"type": kind, word: bound}) == []
    for bound in (LARGEST + 1, -LARGEST - 1, 10**400, True, "5", None, float("nan"), float("inf")):
        [(code, where, _)] = about({"type": kind, word: bound})
        assert (code, where) == ("bad_limit", f"/{word}")


@pytest.mark.rule("D-3")
def test_bounds_of_an_integer_are_integers_and_those_of_a_number_any_number() -> None:
    assert about({"type": "number", "minimum": -0.5, "maximum": 1.0}) == []
    assert about({"type": "integer", "minimum": 1.0}) == [("bad_limit", "/minimum", "1.0")]
    assert about({"type": "integer", "maximum": 0.5}) == [("bad_limit", "/maximum", "0.5")]


@pytest.mark.rule("D-3")
def test_minimum_is_at_most_maximum() -> None:
    for kind in ("integer", "number"):
        assert about({"type": kind, "minimum": 3, "maximum": 3}) == []
        found = about({"type": kind, "minimum": 4, "maximum": 3})
        assert found == [("empty_range", "/maximum", "3")]
    found = about({"type": "number", "maximum": 0.25, "minimum": 0.5})
    assert found == [("empty_range", "/maximum", "0.25")]
