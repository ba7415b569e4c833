"""What holds for every schema and every value (D-7…D-10, T-3)."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deska_sdk.errors import InvalidValue
from deska_sdk.schema import compile_schema
from tests.kernel.support_differential import outcome
from tests.kernel.support_schema import exactly, expected_faults
from tests.kernel.support_schema_maker import NAMES, RULES, Maker

SIDES = st.sampled_from(["input", "output"])
RANDOM = st.randoms(use_true_random=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.rule("D-7", "D-8", "D-10", "R-4", "I-4")
@given(RANDOM, SIDES, st.sampled_from([None, *RULES]))
@settings(deadline=None, max_examples=60)
def test_compiled_and_interpreted_say_the_same_of_fitting_and_of_spoilt_values(
    rng: Any, side: Any, rule: str | None
) -> None:
    maker = Maker(rng, side)
    schema = maker.schema()
    value = maker.value(schema)
    if rule is not None and not expected_faults(schema, value, side):
        value = maker.spoil(schema, value, rule)
    before = repr(value)
    compiled = outcome(compile_schema(schema, side), value)
    interpreted = outcome(compile_schema(schema, side, checker="interpreted"), value)
    assert compiled == interpreted
    assert repr(value) == before


@pytest.mark.rule("D-7", "D-8", "D-10")
@given(RANDOM, SIDES, JSON)
@settings(deadline=None, max_examples=60)
def test_compiled_and_interpreted_say_the_same_of_any_value(
    rng: Any, side: Any, drawn: Any
) -> None:
    schema = Maker(rng, side).schema()
    names = list(schema.get("properties", {}))
    compiled = compile_schema(schema, side)
    interpreted = compile_schema(schema, side, checker="interpreted")
    for value in (drawn, dict.fromkeys(names, drawn), {name: [drawn, drawn] for name in names}):
        assert outcome(compiled, copy.copy(value)) == outcome(interpreted, copy.copy(value))


@pytest.mark.rule("T-3", "D-8")
@given(RANDOM, SIDES)
@settings(deadline=None, max_examples=30)
def test_what_was_handed_on_is_handed_on_unchanged_once_more(rng: Any, side: Any) -> None:
    maker = Maker(rng, side)
    schema = maker.schema()
    value = maker.value(schema)
    checker = compile_schema(schema, side)
    if expected_faults(schema, value, side):
        return  # an enum of values that are all too long has no fitting value
    once = checker.check(value)
    try:
        again = checker.check(once)
    except InvalidValue:
        raise AssertionError("a checked value was refused") from None
    assert exactly(again) == exactly(once)
    assert exactly(checker.check_json(exactly(once))) == exactly(once)
