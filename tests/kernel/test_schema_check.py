"""What a value has to be, what is said when it is not, and what is handed on (D-7…D-9, T-3)."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest

from deska_sdk.errors import InvalidValue
from deska_sdk.problems import Rule
from deska_sdk.schema import Checker, ObjectNode
from deska_sdk.schema import checker as checker_module
from tests.kernel.support_schema import LARGEST
from tests.kernel.support_schema_check import FLAG, array, both, fault, faults, made, of, text
from tests.kernel.support_schema_maker import Real, Row, Table, Text, Whole

# -- D-7: the kinds of fault ---------------------------------------------------------------------


@both
@pytest.mark.rule("D-7")
def test_an_unknown_property_is_told_at_its_object_and_named_only_if_it_is_a_token(
    kind: Any,
) -> None:
    checker = made(of(a=of(b=FLAG)), kind)
    unknown = Rule.UNKNOWN_PROPERTY
    assert faults(checker, {"c": 1}) == [fault("", unknown, name="c")]
    assert faults(checker, {"a": {"x.y-z_0": 1}}) == [fault("/a", unknown, name="x.y-z_0")]
    assert faults(checker, {"n" * 40: 1}) == [fault("", unknown, name="n" * 40)]
    for key in ("n" * 41, "two words", "", "é", "c\n", "\u200b", "\ud800", 7, None, ("a",)):
        assert faults(checker, {key: 1}) == [fault("", unknown)]


@both
@pytest.mark.rule("D-7", "A-9", "B-2")
def test_no_word_of_a_value_is_in_an_error_or_its_repr(kind: Any) -> None:
    schema = of(["e"], s=text(3), e={"type": "string", "enum": ["ok"]}, n={"type": "integer"})
    value = {"SECRETKEY": 1, "s": "SECRET", "e": "SECRET", "n": "SECRET", "SECRET KEY": 1}
    with pytest.raises(InvalidValue) as caught:
        made(schema, kind).check(value)
    error = caught.value
    assert len(error.faults) == 5
    assert "SECRET" not in f"{error!s} {error!r} {error.faults!r} {error.args!r}"
    sentences = " ".join(one.sentence for one in error.faults)
    assert sentences.count("SECRET") == sentences.count("'SECRETKEY'") == 1


@both
@pytest.mark.rule("D-7")
def test_what_is_missing_is_told_after_what_is_there_in_the_order_of_the_schema(kind: Any) -> None:
    schema = of(["c", "a", "b"], a=FLAG, b=FLAG, c=FLAG, d=FLAG)
    missing = Rule.MISSING_PROPERTY
    assert faults(made(schema, kind), {"d": 1, "a": True, "z": 1}) == [
        fault("/d", Rule.WRONG_TYPE, expected="boolean"),
        fault("", Rule.UNKNOWN_PROPERTY, name="z"),
        fault("", missing, name="c"),
        fault("", missing, name="b"),
    ]
    assert made(schema, kind).check({"b": True, "c": False, "a": True}) == {
        "b": True,
        "c": False,
        "a": True,
    }


@both
@pytest.mark.rule("D-7", "I-4")
def test_objects_with_several_images_are_closed_and_need_what_they_require(kind: Any) -> None:
    image = text(9, format="deska-image")
    checker = made(of(["b", "c"], a=image, b=image, c=FLAG), kind)
    assert checker.check({"c": True, "b": "x"}) == {"c": True, "b": "x"}
    for value in ({"c": True, "b": "x", "z": 1}, {"z": 1, "c": True, "b": "x", "a": "y"}):
        assert faults(checker, value) == [fault("", Rule.UNKNOWN_PROPERTY, name="z")]
    for value, name in (({"a": "x", "c": True}, "b"), ({"b": "x", "a": "x"}, "c")):
        assert faults(checker, value) == [fault("", Rule.MISSING_PROPERTY, name=name)]
    assert len(faults(checker, {})) == 2


@both
@pytest.mark.rule("D-7")
def test_faults_come_in_the_order_of_the_value_depth_first(kind: Any) -> None:
    inner = of(["n"], n={"type": "integer", "maximum": 5}, s=text(2))
    checker = made(of(["z"], rows=array(inner, 2), top=text(1), z=FLAG), kind)
    value = {"top": "ab", "rows": [{"s": "abc", "n": 6}, {"q": 1}, {}], "y": 1}
    assert faults(checker, value) == [
        fault("/top", Rule.TOO_LONG, limit=1),
        fault("/rows", Rule.TOO_MANY_ITEMS, limit=2),
        fault("/rows/0/s", Rule.TOO_LONG, limit=2),
        fault("/rows/0/n", Rule.OUT_OF_RANGE, limit=5),
        fault("/rows/1", Rule.UNKNOWN_PROPERTY, name="q"),
        fault("/rows/1", Rule.MISSING_PROPERTY, name="n"),
        fault("", Rule.UNKNOWN_PROPERTY, name="y"),
        fault("", Rule.MISSING_PROPERTY, name="z"),
    ]


@both
@pytest.mark.rule("D-7")
def test_eight_faults_are_told_and_whether_there_are_more(kind: Any) -> None:
    checker = made(of(a=array(FLAG, 21)), kind)
    for count in (7, 8, 9, 20):
        found = faults(checker, {"a": [True, *[1] * count]}, more=count > 8)[:9]
        assert [one.where for one in found] == [f"/a/{n}" for n in range(1, min(count, 8) + 1)]
    assert len(faults(made(of(a=array(FLAG)), kind, faults=1), {"a": [1, 2]}, more=True)) == 1


@both
@pytest.mark.rule("D-7")
def test_a_list_far_too_long_is_not_searched_to_its_end(kind: Any) -> None:
    class Never:
        def __eq__(self, other: object) -> bool:
            raise AssertionError("looked at")

        __hash__ = None  # type: ignore[assignment]

    items = [True, True, True, *[Never()] * 100]
    assert faults(made(of(a=array(FLAG)), kind), {"a": items}) == [
        fault("/a", Rule.TOO_MANY_ITEMS, limit=3)
    ]


@both
@pytest.mark.rule("D-7", "D-8")
@pytest.mark.parametrize("side", ["input", "output"])
def test_lengths_and_numbers_of_items_are_exact(kind: Any, side: Any) -> None:
    checker = made(of(s=text(4), a=array(FLAG, 3), l=array(text(4), 3), x=text(70)), kind, side)
    for good in ("", "abc", "abcd", "日本語😀"):
        assert checker.check({"s": good, "l": [good] * 3}) == {"s": good, "l": [good] * 3}
    for bad in ("abcde", "日本語😀😀", "a" * 1000):
        assert faults(checker, {"s": bad}) == [fault("/s", Rule.TOO_LONG, limit=4)]
        assert faults(checker, {"l": ["", bad]}) == [fault("/l/1", Rule.TOO_LONG, limit=4)]
    for size in (0, 2, 3):
        assert checker.check({"a": [True] * size, "l": ["a"] * size})
    assert faults(checker, {"a": [True] * 4}) == [fault("/a", Rule.TOO_MANY_ITEMS, limit=3)]
    assert faults(checker, {"l": ["a"] * 4}) == [fault("/l", Rule.TOO_MANY_ITEMS, limit=3)]
    for good in ("a" * 65, "a" * 70, "é" * 70):
        assert checker.check({"x": good}) == {"x": good}
    assert faults(checker, {"x": "a" * 71}) == [fault("/x", Rule.TOO_LONG, limit=70)]


@both
@pytest.mark.rule("D-7", "D-3")
def test_a_value_of_an_enum_is_one_of_them_and_within_its_length(kind: Any) -> None:
    enum = {"type": "string", "enum": ["a", "abc", "r1"], "maxLength": 2}
    for side in ("input", "output"):
        checker = made(of(e=enum), kind, side)
        for good in ("a", "r1"):
            assert checker.check({"e": good}) == {"e": good}
        assert faults(checker, {"e": "abc"}) == [fault("/e", Rule.TOO_LONG, limit=2)]
        assert faults(checker, {"e": "b"}) == [fault("/e", Rule.NOT_IN_ENUM)]
        assert faults(checker, {"e": ""}) == [fault("/e", Rule.NOT_IN_ENUM)]
        assert faults(checker, {"e": ["a"]}) == [fault("/e", Rule.WRONG_TYPE, expected="string")]
    never = made(of(e={"type": "string", "enum": ["abc"], "maxLength": 2}), kind)
    assert faults(never, {"e": "abc"}) == [fault("/e", Rule.TOO_LONG, limit=2)]


# -- D-8: numbers and exact types ----------------------------------------------------------------


@both
@pytest.mark.rule("D-8")
@pytest.mark.parametrize("name", ["integer", "number"])
def test_a_number_without_a_fraction_is_handed_on_as_an_int(kind: Any, name: str) -> None:
    for side in ("input", "output"):
        checker = made(of(n={"type": name}, l=array({"type": name}, 9)), kind, side)
        for given, due in ((3, 3), (3.0, 3), (1e2, 100), (-0.0, 0), (float(LARGEST), LARGEST)):
            got = checker.check({"n": given, "l": [given]})
            assert json.dumps(got) == json.dumps({"n": due, "l": [due]})
        assert checker.check_json('{"n": 1e2, "l": [-0.0, 4.00, -0]}') == {"n": 100, "l": [0, 4, 0]}
        assert all(type(one) is int for one in checker.check_json('{"l": [-0.0, 4.00]}')["l"])


@both
@pytest.mark.rule("D-8")
def test_a_fraction_fits_a_number_and_no_integer(kind: Any) -> None:
    checker = made(of(i={"type": "integer"}, n={"type": "number"}), kind)
    assert checker.check({"n": 0.5}) == {"n": 0.5}
    assert faults(checker, {"i": 0.5}) == [fault("/i", Rule.FRACTION)]
    assert faults(checker, {"i": 1e-300}) == [fault("/i", Rule.FRACTION)]


@both
@pytest.mark.rule("D-8")
@pytest.mark.parametrize("name", ["integer", "number"])
def test_numbers_beyond_the_safe_range_and_infinite_ones_are_refused(kind: Any, name: str) -> None:
    checker = made(of(n={"type": name}), kind)
    for good in (LARGEST, -LARGEST, LARGEST - 1):
        assert checker.check({"n": good}) == {"n": good}
    for bad in (2**53, float(2**53), 1e300, 10**400):
        assert faults(checker, {"n": bad}) == [fault("/n", Rule.OUT_OF_RANGE, limit=LARGEST)]
        assert faults(checker, {"n": -bad}) == [fault("/n", Rule.OUT_OF_RANGE, limit=-LARGEST)]
    for bad in (math.nan, math.inf, -math.inf):
        assert faults(checker, {"n": bad}) == [fault("/n", Rule.NOT_FINITE)]


@both
@pytest.mark.rule("D-8", "D-3")
def test_bounds_are_part_of_the_range(kind: Any) -> None:
    whole = {"type": "integer", "minimum": -2, "maximum": 3}
    checker = made(of(i=whole, n={"type": "number", "minimum": 0.5, "maximum": 1.5}), kind)
    for good in (-2, -1, 0, 2, 3, -2.0, 3.0):
        assert checker.check({"i": good}) == {"i": good}
    for bad, limit in ((-3, -2), (4, 3), (-3.0, -2), (4.0, 3)):
        assert faults(checker, {"i": bad}) == [fault("/i", Rule.OUT_OF_RANGE, limit=limit)]
    assert checker.check({"n": 0.5}) == {"n": 0.5}
    assert checker.check({"n": 1.5}) == {"n": 1.5}
    below, above = math.nextafter(0.5, 0), math.nextafter(1.5, 2)
    assert faults(checker, {"n": below}) == [fault("/n", Rule.OUT_OF_RANGE, limit=0.5)]
    assert faults(checker, {"n": above}) == [fault("/n", Rule.OUT_OF_RANGE, limit=1.5)]
    assert faults(checker, {"n": 2}) == [fault("/n", Rule.OUT_OF_RANGE, limit=1.5)]


class Word(StrEnum):
    A = "a"


RIGHT: dict[str, Any] = {
    "object": {},
    "array": [],
    "string": "a",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
}
NODES: dict[str, Any] = {
    "object": of(),
    "array": array(FLAG),
    "string": text(9),
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": FLAG,
}
NEVER = [
    None,
    (),
    ("a",),
    {1},
    b"a",
    bytearray(b"a"),
    Decimal(1),
    1j,
    object(),
    int,
    Table(),
    Row(),
]
NEVER += [Text("a"), Word.A, Whole(1), Real(1.5), range(3), iter([])]


@both
@pytest.mark.rule("D-8", "D-9")
@pytest.mark.parametrize("name", NODES)
def test_types_are_exact_and_nothing_is_coerced(kind: Any, name: str) -> None:
    wrong = [one for other, one in RIGHT.items() if other != name]
    if name == "integer":
        wrong.remove(1.5)  # a fraction, which is a fault of its own
    if name == "number":
        wrong.remove(1)
    wrong += ["1", "true", "[]", 0, 1] if name == "boolean" else []
    schema = of(v=NODES[name], l=array(NODES[name]))
    for side in ("input", "output"):
        checker = made(schema, kind, side)
        right = RIGHT[name]
        assert checker.check({"v": right, "l": [right]}) == {"v": right, "l": [right]}
        for bad in [*wrong, *NEVER]:
            expected = [fault(where, Rule.WRONG_TYPE, expected=name) for where in ("/v", "/l/0")]
            assert faults(checker, {"v": bad, "l": [bad]}) == expected


@both
@pytest.mark.rule("D-8")
def test_the_root_and_the_keys_have_exact_types_too(kind: Any) -> None:
    checker = made(of(a=FLAG), kind)
    for bad in (None, [], "a", 1, Table(a=True), [("a", True)]):
        assert faults(checker, bad) == [fault("", Rule.WRONG_TYPE, expected="object")]
    assert faults(checker, {Text("a"): True}) == [fault("", Rule.UNKNOWN_PROPERTY)]
    assert faults(checker, {Word.A: True}) == [fault("", Rule.UNKNOWN_PROPERTY)]
    required = made(of(["a"], a=FLAG), kind)
    assert faults(required, {Word.A: True}) == [
        fault("", Rule.UNKNOWN_PROPERTY),
        fault("", Rule.MISSING_PROPERTY, name="a"),
    ]


@both
@pytest.mark.rule("D-8", "D-10")
def test_a_key_that_would_run_code_is_never_compared(kind: Any) -> None:
    class Trap(str):
        __slots__ = ()
        armed = False

        def __eq__(self, other: object) -> bool:
            assert not Trap.armed, "compared"
            return True

        __hash__ = str.__hash__

    value = {Trap("a"): True}
    Trap.armed = True
    unknown = [fault("", Rule.UNKNOWN_PROPERTY)]
    assert faults(made(of(a=FLAG), kind), value) == unknown
    images = of(a=text(9, format="deska-image"), b=text(9, format="deska-image"))
    assert faults(made(images, kind), value) == unknown


@both
@pytest.mark.rule("D-11", "D-7")
def test_json_text_where_an_object_is_due_says_to_send_an_object(kind: Any) -> None:
    checker = made(of(a=of(b=FLAG), s=text(9)), kind)
    for sent in ('{"b": true}', ' \n\t{"b":1}', "{", "\ufeff{}", "\u200b \u3000{"):
        [found] = faults(checker, {"a": sent})
        assert found == fault("/a", Rule.WRONG_TYPE, expected="object", text_for_object=True)
        assert found.sentence == "expected an object at /a: send an object, not text"
        assert faults(checker, sent)[0].text_for_object
    for other in ("b", "", "[{", "x{", '"{"'):
        assert faults(checker, {"a": other}) == [fault("/a", Rule.WRONG_TYPE, expected="object")]
    assert not faults(checker, {"s": {}})[0].text_for_object
    output = made(of(a=of()), kind, "output")
    assert not faults(output, {"a": "\u200b{}"})[0].text_for_object  # checked as it was sent


# -- a bug of ours is loud -----------------------------------------------------------------------


@pytest.mark.rule("D-7")
def test_a_refusal_that_nothing_explains_is_an_error_of_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checker_module, "interpreter", lambda *_: lambda *_: None)
    checker = Checker(ObjectNode(), "input", checker="interpreted")
    with pytest.raises(RuntimeError, match="a mistake in deska_sdk"):
        checker.check({})
