"""What generated code is made of, when it is made, and who never runs any (D-10)."""

from __future__ import annotations

import builtins
import math
import re
import sys
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from deska_sdk.errors import InvalidValue
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.schema import (
    ArrayNode,
    BooleanNode,
    Checker,
    EnumNode,
    Node,
    NumberNode,
    ObjectNode,
    Property,
    StringNode,
    compile_schema,
    fast,
    finish,
    objects,
    parse_schema,
    sent,
)
from deska_sdk.schema import checker as checker_module
from deska_sdk.schema import compile as compile_module
from deska_sdk.schema.compile import Given, compilable, compiled, source
from tests.kernel.support_codec import CODECS
from tests.kernel.support_schema_maker import Maker

FLAG = {"type": "boolean"}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def everywhere(name: str) -> list[Node]:
    """Nodes that hold ``name`` where a parsed schema could hold a token."""
    enum = EnumNode(values=("ok", name))
    return [
        ObjectNode(properties=(Property(name, BooleanNode()),)),
        ObjectNode(properties=(Property(name, BooleanNode()),), required=(name,)),
        ObjectNode(properties=(Property("a", enum),)),
        ObjectNode(properties=(Property("a", ArrayNode(items=enum, max_items=2)),)),
    ]


HOSTILE = [
    "",
    "a'b",
    'a"b',
    "a\\",
    "a\nb",
    "'] = 1; import os; x['",
    "{a}",
    "é",
    "a b",
    "a\x00",
    "🙂",
]
HOSTILE += [
    "']: pass\n        __import__('os').system('true')\n        x0['",
    "\u2028",
    "\ud800",
    "%s",
]


@pytest.mark.rule("D-10", "D-2")
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("side", ["input", "output"])
def test_a_name_that_is_no_token_never_reaches_source_even_in_a_hand_made_node(
    name: str, side: Any
) -> None:
    for node in everywhere(name):
        for known in Given:
            with pytest.raises(ValueError, match="a name or an enum value is no token") as caught:
                source(node, side, known)
            assert caught.value.__context__ is None


@pytest.mark.rule("D-10")
@given(st.text(max_size=8))
@settings(deadline=None)
def test_source_holds_a_name_only_as_a_literal_of_a_token(name: str) -> None:
    token = re.fullmatch(r"[A-Za-z0-9_.\-]+", name) is not None
    for node in everywhere(name):
        try:
            written = source(node, "input", Given.OBJECT)
        except ValueError:
            assert not token
        else:
            assert token
            assert f"'{name}'" in written


class Liar(str):
    """A token that would write something else about itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "__import__('os').system('true')"

    def encode(self, *_: object) -> bytes:  # type: ignore[override]
        return b"x'] + evil + x['"

    def __str__(self) -> str:
        return "evil"

    def __format__(self, _: str) -> str:
        return "evil"


@pytest.mark.rule("D-10")
def test_names_are_built_anew_and_cannot_say_what_is_written_for_them() -> None:
    for node in everywhere(Liar("name")):
        written = source(node, "input", Given.OBJECT)
        assert "'name'" in written
        assert "import" not in written
        assert "evil" not in written


class Number(int):
    def __repr__(self) -> str:
        return "evil"


@pytest.mark.rule("D-10", "D-3")
@pytest.mark.parametrize("bad", [True, "5", None, Number(5), 5.5, math.inf])
def test_a_limit_that_is_no_exact_integer_never_reaches_source(bad: Any) -> None:
    text = StringNode(max_length=bad)
    for node in (text, ArrayNode(items=text, max_items=3), ArrayNode(items=text, max_items=bad)):
        for known in Given:
            with pytest.raises((ValueError, TypeError)):
                source(ObjectNode(properties=(Property("a", node),)), "input", known)


@pytest.mark.rule("D-10", "D-3")
@pytest.mark.parametrize("bad", [True, "5", Number(5), math.inf, -math.inf, math.nan])
def test_a_bound_that_is_no_finite_number_never_reaches_source(bad: Any) -> None:
    for node in (NumberNode(whole=True, minimum=bad), NumberNode(whole=False, maximum=bad)):
        with pytest.raises(ValueError, match="a bound is no finite number"):
            source(ObjectNode(properties=(Property("a", node),)), "input", Given.OBJECT)


WORDS = {"def", "check", "images", "counters", "try", "except", "KeyError", "return", "None", "if"}
WORDS |= {"elif", "else", "for", "in", "not", "and", "or", "is", "break", "type", "dict", "list"}
WORDS |= {"str", "int", "float", "len", "enumerate", "copy", "key", "isascii", "isprintable"}
WORDS |= {"strip", "append", "True", "False", "has_invisible", "join", "is_counter", "is_integer"}
WORDS |= {"strip_each", "refuse", "cannot_tell", "given", "pass", "TypeError", "map", "max"}
#: Of the functions beside the checker, see the modules that make them.
QUICK = {"read", "clean", "finish", "data", "bytes", "other", "most", "isascii", "typed", "closed"}
QUICK |= {"count", "parse", "convert", "struct", "rest", "Refusal", "n", "b", "sum", "line", "any"}
QUICK |= {"is_tracked", "dumps", "whole", "copied", "only_dicts", "float", "str"}


@pytest.mark.rule("D-10")
@given(st.randoms(use_true_random=False), st.sampled_from(["input", "output"]))
@settings(deadline=None, max_examples=40)
def test_source_is_made_of_a_fixed_vocabulary_numbers_and_literals_of_tokens(
    rng: Any, side: Any
) -> None:
    node, _ = parse_schema(Maker(rng, side).schema(), side)
    assert node is not None
    assert isinstance(node, ObjectNode)
    for known in Given:
        for places in (True, False):
            assert names_in(source(node, side, known, places=places)) <= WORDS
    for made in (fast.source, finish.source, sent.source, objects.source):
        assert names_in(made(node)) <= WORDS | QUICK


def names_in(written: str) -> set[str]:
    """All words of a source text but its variables, numbers and literals of tokens."""
    bare = re.sub(r"'[A-Za-z0-9_.\-]*'|'r:'|b'[:\"]'", " ", written)
    words = set(re.findall(r"[A-Za-z_]\w*", re.sub(r"\b\d[\w.]*([e][+-]?\d+)?", " ", bare)))
    return {word for word in words if not re.fullmatch(r"[xnik]\d+", word)}


@pytest.mark.rule("D-10")
def test_generated_code_has_no_builtins() -> None:
    node, _ = parse_schema(of(a=FLAG), "input")
    assert node is not None
    function = compiled(node, "input", Given.OBJECT)
    assert function.__globals__["__builtins__"] == {}  # type: ignore[attr-defined]


@pytest.mark.rule("D-10")
def test_equal_schemas_share_one_function_whatever_their_descriptions_say() -> None:
    first = of(a={"type": "string", "maxLength": 5, "description": "One."})
    second = of(a={"maxLength": 5, "type": "string", "description": "Two."})
    nodes = [parse_schema(schema, "input")[0] for schema in (first, second)]
    assert nodes[0] is not None
    assert nodes[1] is not None
    assert compiled(nodes[0], "input", Given.OBJECT) is compiled(nodes[1], "input", Given.OBJECT)
    assert compiled.cache_info().maxsize == 512


@pytest.mark.rule("D-10")
@pytest.mark.parametrize("codec", CODECS)
def test_code_is_generated_at_the_first_use_and_once(
    codec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Given] = []

    def counted(node: Node, side: Any, known: Given, *, places: bool = True) -> str:
        made.append(known)
        return source(node, side, known, places=places)

    monkeypatch.setattr(compile_module, "source", counted)
    schema = of(**{f"only_{codec}": {"type": "string", "maxLength": 9}})
    text = f'{{"only_{codec}": "é\\u200b"}}'
    checker = compile_schema(schema, codec=codec)
    assert made == []
    for _ in range(3):
        checker.check({})
    assert made == [Given.OBJECT]
    for _ in range(3):
        checker.check_json("{}")
        checker.check_json(b"{}")
    assert set(made) <= {Given.OBJECT, Given.CLEAN}
    for _ in range(3):
        checker.check_json(text)
        compile_schema(schema, codec=codec).check_json(text)
    assert sorted(known.name for known in made) == ["CLEAN", "OBJECT", "PARSED"]


@pytest.mark.rule("D-10")
def test_who_chooses_the_interpreter_runs_no_generated_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forbidden(*_: object, **__: object) -> Any:
        raise AssertionError("generated code")

    for name in ("compiled", "source"):
        monkeypatch.setattr(compile_module, name, forbidden)
    for module in (fast, finish, sent, objects):
        monkeypatch.setattr(module, "source", forbidden)
    monkeypatch.setattr(checker_module, "compiled", forbidden)
    monkeypatch.setattr(builtins, "exec", forbidden)
    monkeypatch.setattr(builtins, "compile", forbidden)
    monkeypatch.setattr(builtins, "eval", forbidden)
    checker = compile_schema(of(a=FLAG), checker="interpreted")
    assert checker.check({"a": True}) == checker.check_json('{"a": true}') == {"a": True}
    with pytest.raises(InvalidValue):
        checker.check({"a": 1})


@pytest.mark.rule("D-10", "D-6")
def test_compiling_and_refusing_open_and_fetch_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    sys.addaudithook(lambda event, _: events.append(event) if watching else None)
    watching = True
    try:
        for schema in (of(a=FLAG), {**of(a={"$ref": "file:///etc/passwd"}), "$ref": "http://x/"}):
            node, problems = parse_schema(schema, "input")
            if node is not None:
                Checker(node, "input").check({})
            assert (node is None) == bool(problems)
    finally:
        watching = False
    assert not [event for event in events if event.startswith(("open", "socket", "os.", "urllib"))]


@pytest.mark.rule("D-10")
def test_a_schema_too_large_to_pay_for_a_function_of_its_own_is_interpreted() -> None:
    wide = {f"p{n}": {"type": "array", "maxItems": 2, "items": FLAG} for n in range(63)}
    schema = of(**{f"q{n}": of(**wide) for n in range(9)})
    node, problems = parse_schema(schema, "input")
    assert not problems
    assert node is not None
    assert not compilable(node)
    checker = compile_schema(schema)
    assert checker.check({"q1": {"p2": [True]}}) == {"q1": {"p2": [True]}}
    with pytest.raises(InvalidValue) as caught:
        checker.check({"q1": {"p2": [1]}})
    assert caught.value.faults[0].where == "/q1/p2/0"


@pytest.mark.rule("D-1", "D-10")
@pytest.mark.parametrize("levels", [5, 6, 7, 40])
def test_an_embedder_may_allow_more_levels(levels: int) -> None:
    schema: dict[str, Any] = {"type": "boolean"}
    value: Any = True
    for level in range(levels - 1):
        array = level % 2 == 0 and level < levels - 2
        schema = {"type": "array", "items": schema, "maxItems": 2} if array else of(a=schema)
        value = [value] if array else {"a": value}
    checker = compile_schema(schema, limits=evolve(DEFAULT_LIMITS, schema_levels=levels))
    assert checker.check(value) == value
    assert compilable(checker.node) == (levels <= 6)


@pytest.mark.rule("D-1")
def test_a_hand_made_schema_whose_root_is_no_object_is_not_compiled() -> None:
    text, number = StringNode(max_length=3), NumberNode(whole=True)
    for node in (text, number, EnumNode(values=("a",)), ArrayNode(items=text, max_items=1)):
        with pytest.raises(ValueError, match="the root of a schema is an object"):
            source(node, "input", Given.OBJECT)


@pytest.mark.rule("B-2")
def test_a_checker_and_what_it_hands_on_say_nothing_in_their_reprs() -> None:
    checker = compile_schema(of(secret={"type": "string", "maxLength": 9}))
    checked = checker.examine({"secret": "r1"})
    assert repr(checker) == "<Checker: input, compiled>"
    assert "secret" not in repr(checked)
    assert "r1" not in repr(checked)
