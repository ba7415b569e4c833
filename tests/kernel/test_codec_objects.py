"""Objects and answers with both codecs: judged, copied, written and measured alike."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from decimal import Decimal
from math import inf, nan
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deska_sdk import fence
from deska_sdk.errors import InvalidValue
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.answers import read_answer
from deska_sdk.schema import Checker, compile_schema
from deska_sdk.text import strip_json
from tests.kernel.support_codec import (
    CODECS,
    ROW,
    SCHEMAS,
    WHOLE,
    answered,
    array,
    of,
    outcome,
    quick,
    text,
)
from tests.kernel.support_fence import JSON
from tests.kernel.support_schema_maker import Real, Text, Whole, member_like

both = pytest.mark.parametrize("codec", CODECS)
needs_speed = pytest.mark.skipif("speed" not in CODECS, reason="msgspec or orjson is missing")


# -- objects and answers ---------------------------------------------------------------------------

LEAVES: Any = st.sampled_from([
    "a", "r1", "on", "a\u200b", "\r\n", "\ud800", "<&>", "é", "x" * 99, 1, 2.0, 2.5, -0.0, 1e-5,
    True, None, nan, inf, 2**53, 10**30, (), ("a",), {"a"}, b"a", member_like("a"), member_like(1),
])  # fmt: skip
ROWS = st.lists(
    st.dictionaries(st.sampled_from(["id", "n", "w", "f", "e", "zz"]), LEAVES), max_size=4
)
OBJECTS = st.fixed_dictionaries(
    {},
    optional={"rows": ROWS | LEAVES, "s": LEAVES, "l": st.lists(LEAVES, max_size=3), "n": LEAVES},
)


@pytest.mark.rule("D-7", "D-8", "D-9", "T-3", "N-1", "N-4")
@settings(deadline=None, max_examples=300)
@given(OBJECTS)
def test_any_object_is_judged_and_answered_alike_with_both(value: Any) -> None:
    before = repr(value)
    for schema in SCHEMAS.values():
        for side in ("input", "output"):
            slow = compile_schema(schema, side, checker="interpreted", codec="stdlib")
            for codec in CODECS:
                checker = compile_schema(schema, side, codec=codec)
                assert quick(checker.check, value) == quick(slow.check, value)
                assert outcome(checker, value) == outcome(slow, value)
                if side == "output" and "1e-05" not in before:
                    assert answered(checker, value) == answered(slow, value)
    assert repr(value) == before


@both
@pytest.mark.rule("N-4")
@pytest.mark.parametrize("letter", ["x", "é", "日", "😀", "<", "\u200b", "\n", "\x00", "\ud800"])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_an_answer_is_measured_alike_in_code_points_as_sent_and_as_escaped(
    codec: Any, letter: str, more: int
) -> None:
    schema = of([], s=text(262_144))
    slow = compile_schema(schema, "output", checker="interpreted", codec="stdlib")
    size = len(json.dumps(letter, ensure_ascii=False)) - 2
    for each in (size, 6 if letter == "<" else size):
        room = DEFAULT_LIMITS.answer - len('{"s":""}')
        value = {"s": letter * (room // each + more)}
        checker = compile_schema(schema, "output", codec=codec)
        assert answered(checker, value) == answered(slow, value)


@both
@pytest.mark.rule("N-4")
def test_an_answer_that_could_be_huge_is_measured_before_it_is_written(codec: Any) -> None:
    schema = of([], l=array(text(262_144)))
    checker = compile_schema(schema, "output", codec=codec)
    assert checker.line({"l": ["a"]}) is None
    assert answered(checker, {"l": ["x" * 262_144] * 1_000}) == "too large"
    assert "a" in answered(checker, {"l": ["a"]})


@both
@pytest.mark.rule("N-1", "N-6")
@settings(deadline=None)
@given(value=JSON)
def test_any_value_has_the_same_fence_with_both(codec: Any, value: object) -> None:
    made = fence.encode("p", "P", value, codec=codec)
    assert json.loads(fence.compact(value, 10**6, codec=codec)) == value
    expected = fence.encode("p", "P", value, codec="stdlib")
    if "e-" not in expected:
        assert made == expected


@needs_speed
@pytest.mark.rule("N-2")
def test_only_the_spelling_of_very_small_floats_differs() -> None:
    assert fence.compact([1e-05, 0.0001], 99, codec="stdlib") == "[1e-05,0.0001]"
    assert fence.compact([1e-05, 0.0001], 99, codec="speed") == "[0.00001,0.0001]"


@both
@pytest.mark.rule("D-9")
def test_a_check_that_was_taken_from_its_checker_early_is_as_good(codec: Any) -> None:
    checker = compile_schema(SCHEMAS["small"], codec=codec)
    check, check_json = checker.check, checker.check_json
    for _ in range(3):
        assert check({"s": "a\u200b"}) == check_json(b'{"s": "a\\u200b"}') == {"s": "a"}
        with pytest.raises(InvalidValue):
            check({})
        with pytest.raises(InvalidValue):
            check_json(b"{}")
        with pytest.raises(TypeError, match="JSON text is"):
            check_json(None)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        checker.other  # noqa: B018


@both
@pytest.mark.rule("D-10", "T-3")
@pytest.mark.parametrize(
    "said", ["plain", "a:b", '\n\t"quoted" \\b', "é日😀", "a\u200b", "\r\n\x00", "r1", "x" * 300]
)
def test_texts_objects_and_answers_of_every_kind_take_a_quick_way(
    codec: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object) -> Any:
        raise AssertionError("the long way")

    monkeypatch.setattr(Checker, "examine", forbidden)
    monkeypatch.setattr(Checker, "_examine_slowly", forbidden)
    rows = [{"id": str(n), "n": 1.5, "w": n, "f": True, "e": "on"} for n in range(40)]
    values: list[tuple[str, Any]] = [
        ("small", {"s": said[:40], "n": 2.5}),
        ("texts", {"l": [said, "plain"] * 9, "s": said}),
        ("texts", {"l": [*["plain"] * 40, said]}),
        ("rows", {"rows": [*rows, {"id": said[:9]}], "s": said[:99]}),
        ("numbers", {"g": [[1, 2.5]], "w": [7], "n": 0.5}),
    ]
    for name, value in values:
        expected = strip_json(value)
        checker = compile_schema(SCHEMAS[name], codec=codec)
        for escaped in (True, False):
            written = json.dumps(value, ensure_ascii=escaped)
            assert checker.check_json(written) == expected
            assert checker.check_json(written.encode()) == expected
        assert checker.check(value) == expected
        output = compile_schema(SCHEMAS[name], "output", codec=codec)
        assert json.loads(answered(output, value).splitlines()[1]) == expected


@both
@pytest.mark.rule("D-8")
@pytest.mark.parametrize("side", ["input", "output"])
@pytest.mark.parametrize(
    "rows",
    [
        [OrderedDict(id="a")], [{"id": "a"}, OrderedDict(id="a")], ({"id": "a"},),
        deque([{"id": "a"}]), [{Text("id"): "a"}], [{"id": Text("a")}], [{"id": member_like("a")}],
        [{"id": "a", "w": Whole(1)}], [{"id": "a", "w": member_like(1)}],
        [{"id": "a", "n": Decimal(1)}], [{"id": "a", "n": Real(1.5)}], [{"id": "a", "f": 1}],
        [{"id": UUID(int=0)}], [("id", "a")], [{"id": b"a"}],
    ],
)  # fmt: skip
def test_what_is_only_like_a_value_is_refused_in_lists_too(
    codec: Any, side: Any, rows: Any
) -> None:
    checker = compile_schema(SCHEMAS["rows"], side, codec=codec)
    assert checker.check({"rows": [{"id": "a", "w": 1, "n": 1.5, "f": True}]})
    for check in (
        checker.check,
        checker.examine,
        lambda it: read_answer(it, checker, DEFAULT_LIMITS),
    ):
        with pytest.raises(InvalidValue):
            check({"rows": rows})


@both
@pytest.mark.rule("D-9")
def test_clean_objects_are_handed_on_as_new_ones_too(codec: Any) -> None:
    deep = of([], w=array(WHOLE))
    schema = of([], rows=array(ROW), grid=array(array(WHOLE, 9), 9), deep=deep)
    checker = compile_schema(schema, codec=codec)
    row, cells, inner = {"n": 1.5, "id": "a"}, [1], [2]
    value: dict[str, Any] = {"rows": [row, row], "grid": [cells, cells], "deep": {"w": inner}}
    new = checker.check(value)
    assert json.dumps(new) == json.dumps(value)
    parts = [new, new["rows"], *new["rows"], new["grid"], *new["grid"], new["deep"]]
    old = [value, value["rows"], row, value["grid"], cells, value["deep"], inner]
    everything = [*parts, new["deep"]["w"], *old]
    assert len({id(part) for part in everything}) == len(everything)


@both
@pytest.mark.rule("N-1", "N-4")
@pytest.mark.parametrize(
    "hidden", ["", '"', "\\", "\n", "\x00", "\x1f", "\x7f", "\ud800", "é", "😀"]
)
@pytest.mark.parametrize("length", [127, 128, 129, 256, 257, 5_000])
def test_long_texts_are_written_as_the_standard_encoder_writes_them(
    codec: Any, hidden: str, length: int
) -> None:
    said = hidden + "x" * (length - len(hidden))
    for value in (said, [said, "é", 1], {"a": {"b": [said]}, "c": [{"d": said}]}):
        expected = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        assert fence.compact(value, 99_999, codec=codec) == expected
