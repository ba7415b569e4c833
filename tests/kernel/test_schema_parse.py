"""What is a schema of the dialect, and what is said about what is none (D-1…D-6)."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deska_sdk.errors import PackageError
from deska_sdk.problems import Problem
from deska_sdk.schema import (
    ArrayNode,
    BooleanNode,
    EnumNode,
    NumberNode,
    ObjectNode,
    Property,
    StringNode,
    compile_schema,
    parse_schema,
)
from tests.kernel.support_schema_maker import Maker
from tests.kernel.support_schema_parse import FLAG, TEXT, about, array, of, problems


@pytest.mark.rule("D-1", "D-2", "D-3", "D-4", "D-5")
def test_every_kind_of_node_is_read_with_all_that_it_may_carry() -> None:
    schema = {
        "type": "object",
        "properties": {
            "text": {"maxLength": 7, "type": "string", "description": "What it says."},
            "image": {"type": "string", "maxLength": 1000, "format": "deska-image"},
            "state": {"type": "string", "enum": ["open", "done"], "maxLength": 9},
            "count": {"type": "integer", "minimum": 0, "maximum": 9},
            "share": {"type": "number", "minimum": -0.5},
            "flag": {"type": "boolean"},
            "rows": {"type": "array", "items": {"type": "object"}, "maxItems": 2},
        },
        "required": ["state", "text"],
        "description": "All of it.",
    }

    node, found = parse_schema(schema, "input")

    assert found == ()
    assert node == ObjectNode(
        properties=(
            Property("text", StringNode(max_length=7)),
            Property("image", StringNode(max_length=1000, format="deska-image")),
            Property("state", EnumNode(values=("open", "done"), max_length=9)),
            Property("count", NumberNode(whole=True, minimum=0, maximum=9)),
            Property("share", NumberNode(whole=False, minimum=-0.5)),
            Property("flag", BooleanNode()),
            Property("rows", ArrayNode(items=ObjectNode(), max_items=2)),
        ),
        required=("state", "text"),
    )
    assert node.description == "All of it."
    assert node.properties is not None
    assert node.properties[0].node.description == "What it says."


@pytest.mark.rule("D-1")
@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (None, ("not_a_schema", "", "null")),
        ("{}", ("not_a_schema", "", "{}")),
        ([], ("not_a_schema", "", "[…]")),
        (True, ("not_a_schema", "", "true")),
        ({}, ("missing_keyword", "", "type")),
        (array(TEXT), ("root_not_object", "", "array")),
        (TEXT, ("root_not_object", "", "string")),
    ],
)
def test_the_root_of_a_schema_is_an_object(schema: Any, expected: Any) -> None:
    assert problems(schema) == [expected]


@pytest.mark.rule("D-1")
def test_a_schema_has_four_levels_and_each_property_or_item_is_one() -> None:
    assert problems(of(a=of(b=of(c=TEXT)))) == []
    assert problems(of(a=array(array(TEXT)))) == []
    assert problems(of(a=array(of(b=TEXT)))) == []
    deep = "/properties/a/properties/b/properties/c/properties/d"
    assert problems(of(a=of(b=of(c=of(d=TEXT))))) == [("too_deep", deep, None)]
    deep = "/properties/a/items/items/items"
    assert problems(of(a=array(array(array(TEXT))))) == [("too_deep", deep, None)]
    assert problems(of(a=TEXT), schema_levels=1) == [("too_deep", "/properties/a", None)]


@pytest.mark.rule("D-1", "D-6")
def test_a_schema_that_contains_itself_is_refused_and_ends() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    schema["properties"]["again"] = schema
    assert problems(schema) == [("too_deep", "/properties/again" * 4, None)]


@pytest.mark.rule("D-4")
def test_a_format_belongs_to_one_side() -> None:
    image = {"type": "string", "maxLength": 36, "format": "deska-image"}
    file = {"type": "string", "maxLength": 36, "format": "deska-file"}
    assert about(image, "input") == []
    assert about(file, "output") == []
    assert about(file, "input") == [("unknown_format", "/format", "deska-file")]
    assert about(image, "output") == [("unknown_format", "/format", "deska-image")]


@pytest.mark.rule("D-4")
@pytest.mark.parametrize("form", ["date", "", "Deska-image", "deska-image ", None, 1, ["x"], {}])
def test_any_other_format_refuses_the_package(form: Any) -> None:
    for side in ("input", "output"):
        [(code, where, _)] = about({"type": "string", "maxLength": 36, "format": form}, side)
        assert (code, where) == ("unknown_format", "/format")


@pytest.mark.rule("D-4")
def test_the_id_of_a_kept_image_has_room_for_36_characters() -> None:
    def file(most: int) -> Any:
        return about({"type": "string", "maxLength": most, "format": "deska-file"}, "output")

    assert file(37) == file(36) == []
    assert file(35) == [("file_id_too_short", "/maxLength", "35")]
    assert about({"type": "string", "maxLength": 1, "format": "deska-image"}) == []


@pytest.mark.rule("D-4", "D-6")
def test_a_string_with_enum_has_no_format() -> None:
    member = {"type": "string", "enum": ["a"], "format": "deska-image"}
    assert about(member) == [("unknown_format", "/format", "deska-image")]


@pytest.mark.rule("D-5")
@pytest.mark.parametrize("text", ["d", "d" * 200, "two\nlines\tand a tab", "日本語", "😀" * 200])
def test_any_node_may_carry_a_description(text: str) -> None:
    for node in (TEXT, FLAG, array(TEXT), of(), {"type": "integer"}, {"type": "number"}):
        assert about({**node, "description": text}) == []
    assert problems({**of(a=FLAG), "description": text}) == []


@pytest.mark.rule("D-5")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad_description"),
        ("d" * 201, "bad_description"),
        (7, "bad_description"),
        (None, "bad_description"),
        (["d"], "bad_description"),
        ("a\u200bb", "invisible_text"),
        ("❤\ufe0f", "invisible_text"),
        ("a\r\nb", "invisible_text"),
        ("a\x00b", "invisible_text"),
        ("a\ud800", "invisible_text"),
    ],
)
def test_a_description_is_short_and_hides_nothing(text: Any, code: str) -> None:
    [(found, where, _)] = about({**FLAG, "description": text})
    assert (found, where) == (code, "/description")


@pytest.mark.rule("D-6")
@pytest.mark.parametrize(
    "word",
    [
        "$ref", "oneOf", "anyOf", "allOf", "not", "if", "minLength", "pattern", "const", "default",
        "additionalProperties", "patternProperties", "minItems", "uniqueItems", "multipleOf",
        "exclusiveMinimum", "title", "examples", "$schema", "$id", "definitions", "nullable",
        "Type", "maxlength", "", "a/b~c", "x" * 70, "\u200b",
    ],
)  # fmt: skip
@pytest.mark.parametrize("node", [TEXT, FLAG, array(TEXT), of(a=FLAG), {"type": "number"}])
def test_any_other_keyword_refuses_the_package_and_is_named(word: str, node: Any) -> None:
    [(code, where, quoted)] = about({**node, word: {"type": "string"}})
    assert code == "unknown_keyword"
    assert where == "/" + word.replace("~", "~0").replace("/", "~1")
    assert quoted == {"\u200b": "\\u{200B}", "x" * 70: "x" * 63 + "…"}.get(word, word)


@pytest.mark.rule("D-6")
@pytest.mark.parametrize(
    ("node", "word"),
    [
        (FLAG, "maxLength"),
        (TEXT, "maxItems"),
        (TEXT, "minimum"),
        ({"type": "integer"}, "enum"),
        ({"type": "number"}, "format"),
        (array(TEXT), "properties"),
        (of(), "items"),
        (of(), "maxLength"),
    ],
)
def test_a_keyword_of_another_type_refuses_the_package(node: Any, word: str) -> None:
    assert about({**node, word: 5}) == [("unknown_keyword", f"/{word}", word)]


@pytest.mark.rule("D-6")
@pytest.mark.parametrize("kind", [["string", "null"], "null", "any", "String", 1, None, {}, True])
def test_a_type_outside_the_table_refuses_the_package(kind: Any) -> None:
    [(code, where, _)] = about({"type": kind})
    assert (code, where) == ("unknown_type", "/type")


@pytest.mark.rule("D-3", "D-6")
@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"type": "array"}, ["items", "maxItems"]),
        ({"type": "array", "items": TEXT}, ["maxItems"]),
        ({"type": "array", "maxItems": 5}, ["items"]),
        ({"type": "string"}, ["maxLength"]),
        ({"maxLength": 5}, ["type"]),
        ({}, ["type"]),
    ],
)
def test_a_required_keyword_that_is_missing_is_named(node: Any, words: list[str]) -> None:
    assert about(node) == [("missing_keyword", "", word) for word in words]


@pytest.mark.rule("P-7", "D-6")
def test_all_problems_are_told_in_document_order() -> None:
    schema = {
        "description": "",
        "properties": {
            "b c": {"pattern": "x", "type": "strnig", "maxLength": 0},
            "rows": {"maxItems": True, "items": {"type": "string", "enum": []}, "title": "t"},
        },
        "type": "object",
        "required": ["rows", "none"],
        "$ref": "file:///etc/passwd",
    }
    assert problems(schema) == [
        ("bad_description", "/description", ""),
        ("not_a_token", "/properties/b c", "b c"),
        ("unknown_keyword", "/properties/b c/pattern", "pattern"),
        ("unknown_type", "/properties/b c/type", "strnig"),
        ("bad_limit", "/properties/b c/maxLength", "0"),
        ("missing_keyword", "/properties/rows", "type"),
        ("bad_limit", "/properties/rows/maxItems", "true"),
        ("enum_size", "/properties/rows/items/enum", None),
        ("unknown_keyword", "/properties/rows/title", "title"),
        ("not_listed", "/required/1", "none"),
        ("unknown_keyword", "/$ref", "$ref"),
    ]


@pytest.mark.rule("P-7")
def test_the_place_of_the_schema_in_its_document_begins_every_place() -> None:
    _, found = parse_schema({"type": "object", "x": 1}, "output", where="/agent/actions/0/output")
    assert [problem.where for problem in found] == ["/agent/actions/0/output/x"]


@pytest.mark.rule("P-7", "D-6")
def test_compiling_a_schema_with_problems_raises_all_of_them() -> None:
    with pytest.raises(PackageError) as caught:
        compile_schema({"type": "array", "x": 1, "maxItems": 0, "items": FLAG})
    assert [problem.code for problem in caught.value.problems] == [
        "root_not_object",
        "unknown_keyword",
        "bad_limit",
    ]
    assert all(isinstance(problem, Problem) for problem in caught.value.problems)
    with pytest.raises(ValueError, match="a side is input or output"):
        compile_schema(of(), "both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="compiled or interpreted"):
        compile_schema(of(), checker="fast")  # type: ignore[arg-type]


class Liar(str):
    """Equal to every keyword, and it would run code where it was asked."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a foreign key was compared")

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return "__import__('os')"


@pytest.mark.rule("D-6", "D-10")
def test_keys_and_words_that_are_no_exact_strings_are_problems_and_never_asked() -> None:
    assert problems({Liar("type"): "object"}) == [
        ("missing_keyword", "", "type"),
        ("unknown_keyword", "", "Liar"),
    ]
    assert problems({"type": "object", 7: 1, None: 2}) == [
        ("unknown_keyword", "", "7"),
        ("unknown_keyword", "", "null"),
    ]
    assert problems({"type": "object", "properties": {Liar("a"): FLAG}}) == [
        ("not_a_token", "/properties", "Liar")
    ]
    assert about({"type": Liar("string"), "maxLength": 5}) == [("unknown_type", "/type", "Liar")]
    assert about({"type": "string", "enum": [Liar("a")]}) == [("wrong_type", "/enum/0", "Liar")]
    assert problems({**of(a=FLAG), "required": [Liar("a")]}) == [
        ("wrong_type", "/required/0", "Liar")
    ]


WORDS = ["type", "properties", "required", "items", "maxItems", "enum", "maxLength", "format"]
WORDS += ["minimum", "maximum", "description", "a", "x y"]
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=3)
    | st.sampled_from(["object", "array", "string", "integer", 10**400, (), object()]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(WORDS) | st.integers() | st.none(),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)


@pytest.mark.rule("D-6")
@given(ANYTHING, st.sampled_from(["input", "output"]))
@settings(deadline=None)
def test_whatever_stands_where_a_schema_is_due_gives_problems_and_no_exception(
    value: Any, side: Any
) -> None:
    node, found = parse_schema(value, side)
    assert (node is None) == bool(found)
    for problem in found:
        assert problem.quoted is None or len(problem.quoted) <= 64 * 10


@pytest.mark.rule("D-6")
def test_a_value_nested_deeper_than_python_can_follow_gives_problems() -> None:
    deep: Any = {}
    for _ in range(sys.getrecursionlimit() * 3):
        deep = {"type": "object", "properties": {"a": deep}, "x": [deep]}
    assert problems(deep) == [
        ("too_deep", "/properties/a" * 4, None),
        *(("unknown_keyword", "/properties/a" * n + "/x", "x") for n in (3, 2, 1, 0)),
    ]


@pytest.mark.rule("D-1", "D-2", "D-3", "D-4", "D-5")
@given(st.randoms(use_true_random=False), st.sampled_from(["input", "output"]))
@settings(deadline=None, max_examples=40)
def test_every_schema_of_the_dialect_is_read_without_a_problem(rng: Any, side: Any) -> None:
    assert problems(Maker(rng, side).schema(), side) == []
