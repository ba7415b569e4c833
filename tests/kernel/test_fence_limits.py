"""N-4 and N-6: how large an answer may be, and what is no answer at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from deska_sdk import fence
from deska_sdk.codec import find
from deska_sdk.errors import InvalidValue, TooLarge
from deska_sdk.limits import DEFAULT_LIMITS
from tests.kernel.support_codec import CODECS
from tests.kernel.support_fence import JSON

if TYPE_CHECKING:
    import re


@pytest.mark.rule("N-4")
def test_the_limit_passes_and_one_more_does_not() -> None:
    overhead = len('[""]')
    fits = fence.encode("p", "P", ["x" * (65_536 - overhead)])
    assert len(fits.splitlines()[1]) == 65_536
    with pytest.raises(TooLarge) as caught:
        fence.encode("p", "P", ["x" * (65_537 - overhead)])
    assert caught.value.limit == 65_536


@pytest.mark.rule("N-4")
def test_code_points_are_counted_and_not_bytes_or_halves_of_pairs() -> None:
    assert len(fence.encode("p", "P", "😀" * 65_534).splitlines()[1]) == 65_536
    with pytest.raises(TooLarge):
        fence.encode("p", "P", "😀" * 65_535)


@pytest.mark.rule("N-4")
def test_what_was_sent_is_measured_before_it_is_stripped() -> None:
    hidden = evolve(DEFAULT_LIMITS, answer=10)
    assert fence.encode("p", "P", "\u200b" * 8, limits=hidden).splitlines()[1] == '""'
    with pytest.raises(TooLarge):
        fence.encode("p", "P", "\u200b" * 9, limits=hidden)
    # A control character is written as six.
    assert fence.encode("p", "P", "\x00", limits=hidden).splitlines()[1] == '""'
    with pytest.raises(TooLarge):
        fence.encode("p", "P", "\x00\x00", limits=hidden)


@pytest.mark.rule("N-4")
@pytest.mark.parametrize("special", ["<", "\u226e"])
def test_the_escaped_line_is_measured_as_well(special: str) -> None:
    small = evolve(DEFAULT_LIMITS, answer=14)
    fits = fence.encode("p", "P", special * 2, limits=small)
    escape = f"\\u{ord(special):04x}"
    assert fits.splitlines()[1] == f'"{escape}{escape}"'
    with pytest.raises(TooLarge):
        fence.encode("p", "P", special * 3, limits=small)


@pytest.mark.rule("N-4")
def test_escaped_marks_are_measured_as_well() -> None:
    small = evolve(DEFAULT_LIMITS, answer=14)
    fence.encode("p", "P", "<\u0327", limits=small)
    with pytest.raises(TooLarge):
        fence.encode("p", "P", "<\u0327\u0327", limits=small)


@pytest.mark.rule("N-4", "D-8")
def test_a_number_is_measured_as_it_is_written() -> None:
    assert fence.compact([1.0], 3) == "[1]"
    with pytest.raises(TooLarge):
        fence.compact([1.5], 4)


@pytest.mark.rule("N-4")
@pytest.mark.parametrize(
    "value", [{}, [], "", None, True, False, 0, 0.5, {"": ""}, {"a": None, "b": {}}, [1, [], {}]]
)
@pytest.mark.parametrize("beside", [None, 1.0], ids=["alone", "beside a float to rewrite"])
def test_the_smallest_values_fit_a_limit_of_just_their_length(
    value: object, beside: float | None
) -> None:
    value = value if beside is None else [value, beside]
    line = fence.compact(value, 99)
    assert fence.compact(value, len(line)) == line
    with pytest.raises(TooLarge):
        fence.compact(value, len(line) - 1)


@pytest.mark.rule("N-4")
@settings(deadline=None)
@given(JSON, st.booleans())
def test_a_line_is_written_when_it_just_fits_and_refused_when_it_does_not(
    value: object,
    rewritten: bool,
) -> None:
    if rewritten:
        value = [value, 1.0]
    line = fence.compact(value, 65_536)
    assert json.loads(line) == value
    assert fence.compact(value, len(line)) == line
    with pytest.raises(TooLarge):
        fence.compact(value, len(line) - 1)


def doubled(times: int) -> list[object]:
    """A small list whose line would be longer than any computer can hold."""
    value: list[object] = ["x"]
    for _ in range(times):
        value = [value, value]
    return value


@pytest.mark.rule("N-4")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "huge",
    [
        ["x" * 1_000] * 1_000_000,
        {str(number): "x" * 1_000_000 for number in range(1_000)},
        doubled(60),
        [3.0, doubled(60)],
        [[]] * 10_000_000,
    ],
    ids=["texts", "members", "shared", "numbers", "items"],
)
def test_the_line_of_a_huge_value_is_never_begun(
    huge: object, codec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    engine = find(codec)

    def dumps(value: object) -> bytes | None:
        begun.append(value)
        return engine.dumps(value)

    monkeypatch.setattr("deska_sdk._plain.find", lambda _: evolve(engine, dumps=dumps))
    assert fence.compact([3.0], 65_536) == "[3]"
    assert len(begun) == 1
    with pytest.raises(TooLarge):
        fence.compact(huge, 65_536)
    assert len(begun) == 1


@pytest.mark.rule("N-4")
def test_a_line_over_the_limit_is_not_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    escaped: list[object] = []

    def as_escape(found: re.Match[str]) -> str:
        escaped.append(found)
        return found[0]

    monkeypatch.setattr(fence, "_as_escape", as_escape)
    assert fence.escape('"\u226e"', 3) == '"\u226e"'
    assert len(escaped) == 1
    with pytest.raises(TooLarge):
        fence.escape('"\u226e\u226e"', 3)
    assert len(escaped) == 1


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


def nested(levels: int, inside: object = None) -> object:
    value = inside
    for number in range(levels):
        value = [value] if number % 2 else {"a": value}
    return value


def cyclic() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.rule("N-6", "D-8")
@pytest.mark.parametrize(
    ("value", "told"),
    [
        ((1, 2), "wrong_type at the root"),
        ([1, b"secret"], "wrong_type at /1"),
        ([[Text("secret")]], "wrong_type at /0/0"),
        (Whole(3), "wrong_type at the root"),
        ({1: "secret"}, "wrong_type at the root"),
        ([{Text("secret"): 1}], "wrong_type at /0"),
        ({"secret": [{1}]}, "wrong_type at the root"),
        ([float("nan")], "not_finite at /0"),
        ([float("-inf")], "not_finite at /0"),
        (2**53, "out_of_range at the root"),
        (-(2**53), "out_of_range at the root"),
        (10**400, "out_of_range at the root"),
        (9007199254740992.0, "out_of_range at the root"),
        (-1e300, "out_of_range at the root"),
        ([1, float("nan"), {"secret": {2}}], "not_finite at /1, wrong_type at /2"),
        ({"a": 1, "a\u200b": 2}, "wrong_type at the root"),
        ([{"secret": {"\u200b": 1, "": 2}}], "wrong_type at the root"),
    ],
    ids=ascii,
)
def test_what_is_no_json_value_is_refused_with_its_faults_and_none_of_its_words(
    value: object, told: str
) -> None:
    with pytest.raises(InvalidValue) as caught:
        fence.encode("p", "P", value)
    assert str(caught.value) == told
    assert not caught.value.more
    assert "secret" not in repr((caught.value.faults, caught.value))
    assert all("secret" not in fault.sentence for fault in caught.value.faults)
    assert caught.value.__context__ is None


@pytest.mark.rule("D-8")
def test_the_bounds_of_a_number_are_told_and_hold_for_floats_as_well() -> None:
    assert fence.compact([9007199254740991.0, -9007199254740991.0], 99) == (
        "[9007199254740991,-9007199254740991]"
    )
    with pytest.raises(InvalidValue) as caught:
        fence.compact([2**53, -1e300], 99)
    assert [fault.limit for fault in caught.value.faults] == [2**53 - 1, -(2**53) + 1]


@pytest.mark.rule("N-6")
def test_nesting_passes_up_to_its_limit_and_a_cycle_is_nested_too_deep() -> None:
    assert fence.compact(nested(64), 999) == json.dumps(nested(64), separators=(",", ":"))
    assert fence.compact(nested(64, 1.0), 999) == fence.compact(nested(64, 1), 999)
    for value in (nested(65), nested(64, []), nested(64, {}), cyclic()):
        with pytest.raises(InvalidValue) as caught:
            fence.compact(value, 999)
        assert [fault.rule for fault in caught.value.faults] == ["wrong_type"]


@pytest.mark.rule("N-6", "D-7")
def test_eight_faults_are_told_and_that_there_are_more_when_there_are() -> None:
    with pytest.raises(InvalidValue) as caught:
        fence.compact([float("nan")] * 8, 99)
    assert (len(caught.value.faults), caught.value.more) == (8, False)
    with pytest.raises(InvalidValue) as caught:
        fence.compact([float("nan")] * 9, 99)
    assert (len(caught.value.faults), caught.value.more) == (8, True)


@pytest.mark.rule("N-4", "N-6")
def test_a_fault_that_is_met_before_the_limit_wins_over_it() -> None:
    with pytest.raises(InvalidValue) as caught:
        fence.compact([float("nan"), "x" * 100], 50)
    assert caught.value.more


@pytest.mark.rule("D-9")
@settings(deadline=None)
@given(JSON)
def test_a_fenced_value_is_not_changed(value: object) -> None:
    before = repr(value)
    fence.encode("p", "P", value)
    assert repr(value) == before
