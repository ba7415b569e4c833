"""Many pairs of a schema and a value, each judged by everyone who has an opinion on it."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import fastjsonschema

from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.schema import compile_schema, to_json_schema
from deska_sdk.schema.tell import tell
from tests.kernel.support_codec import Shortened, outcome
from tests.kernel.support_schema import (
    exactly,
    expected_faults,
    expected_slots,
    expected_value,
    told,
)
from tests.kernel.support_schema_maker import RULES, Figures, Maker

VALUES_PER_SCHEMA = 80


class Disagreement(AssertionError):
    """Two opinions on one pair."""


def run(seed: int, pairs: int) -> Figures:
    """Judge ``pairs`` pairs drawn with ``seed``; raises at the first disagreement."""
    figures = Figures()
    rng = Random(seed)
    while figures.pairs < pairs:
        side = rng.choice(["input", "input", "output"])
        maker = Maker(rng, side, figures)
        schema = maker.schema()
        judge = Judge(schema, side, figures)
        for _ in range(min(VALUES_PER_SCHEMA, pairs - figures.pairs)):
            value = maker.value(schema)
            for _ in range(rng.choice([0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 12])):
                if not (faults := expected_faults(schema, value, side)):
                    value = maker.spoil(schema, value, rng.choice(RULES))
                elif not {fault[1] for fault in faults} & {"wrong_type", "unknown_property"}:
                    # What is left of a fitting value still has the places to spoil.
                    value = _spoil_more(maker, schema, value, rng)
            judge.judge(value)
            if rng.random() < 0.02:
                judge.judge_broken_text(value, rng)
    return figures


def _spoil_more(maker: Maker, schema: Any, value: Any, rng: Random) -> Any:
    try:
        return maker.spoil(schema, value, rng.choice(RULES))
    except (KeyError, TypeError, AttributeError, ValueError):
        return value  # an earlier fault stands where this one would have gone


class Judge:
    """All opinions on one schema."""

    def __init__(self, schema: Any, side: Any, figures: Figures) -> None:
        self.schema = schema
        self.side = side
        self.figures = figures
        self.compiled = compile_schema(schema, side)
        self.interpreted = compile_schema(schema, side, checker="interpreted")
        self.shortened = Shortened(schema, side)
        self.third = fastjsonschema.compile(to_json_schema(self.compiled.node))

    def judge(self, value: Any) -> None:
        schema, side = self.schema, self.side
        before = repr(value)
        faults = expected_faults(schema, value, side)
        said = tell(self.compiled.node, value, side, DEFAULT_LIMITS)
        self.same("the teller", value, [told(fault) for fault in said[0]], faults[:8])
        self.same("more", value, said[1], len(faults) > 8)
        expected: Any = (faults[:8], len(faults) > 8)
        if not faults:
            new = expected_value(schema, value, side)
            images, counters = expected_slots(schema, new, side)
            expected = (exactly(new), images, sorted(counters))
        self.same("compiled", value, outcome(self.compiled, value), expected)
        self.same("interpreted", value, outcome(self.interpreted, value), expected)
        for who, result, awaited in self.shortened.of_object(value, expected, self.figures.pairs):
            self.same(who, value, result, awaited)
        self.same("the value itself", value, repr(value), before)
        self.as_text(value, faults, expected)
        self.ask_third(value, faults)
        self.count(faults)

    def as_text(self, value: Any, faults: Any, expected: Any) -> None:
        """The value once more as JSON text, where it can be written as such."""
        if not _plain(value):
            return  # JSON text would make something else of it
        escaped = self.figures.pairs % 2 == 0
        try:
            text = json.dumps(value, ensure_ascii=escaped, allow_nan=False)
            text.encode()
        except ValueError:  # not finite, or a lone surrogate
            return
        if "\\ud800" in text or len(text) > DEFAULT_LIMITS.call_text:
            expected = ([("", "not_json", None, None, None, False)], False)
        sent = text if self.figures.pairs % 3 else text.encode()
        self.same("as text", value, outcome(self.compiled, sent, json=True), expected)
        for who, result, awaited in self.shortened.of_text(text, expected, self.figures.pairs):
            self.same(f"{who} of {text!r:.500}", value, result, awaited)
        if self.figures.pairs % 8 == 0:  # it takes the same way to the same walk
            self.same("read", value, outcome(self.interpreted, sent, json=True), expected)

    def judge_broken_text(self, value: Any, rng: Random) -> None:
        """Text that is not JSON is one fault, whatever else is wrong with it (D-11)."""
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            return
        at = rng.randrange(len(text))
        bad = rng.choice(["}", "\x00", "'", "NaN,", '"\\ud800"', "1e999,", "\ufeff"])
        broken = rng.choice([text[:-1], text + bad, text[:at] + "\x00" + text[at:], bad + text, ""])
        for checker in (self.compiled, self.interpreted):
            result = outcome(checker, broken, json=True)
            self.same("broken", value, result, ([("", "not_json", None, None, None, False)], False))
        expected = ([("", "not_json", None, None, None, False)], False)
        for who, result, awaited in self.shortened.of_text(broken, expected, self.figures.pairs):
            self.same(f"{who} of {broken!r:.500}", value, result, awaited)
        self.figures.pairs += 1
        self.figures.alone["not_json"] += 1

    def ask_third(self, value: Any, faults: Any) -> None:
        """What fastjsonschema says, and why it may say something else."""
        if not faults:
            # Handed on, a value fits for everyone: it is stripped and its integers are integers.
            if not self.agrees(self.compiled.examine(value).value):
                raise Disagreement(f"a third opinion refuses {value!r:.2000} for {self.schema!r}")
            if not self.agrees(value):
                self.figures.explained["fits only once it is stripped"] += 1
        elif self.agrees(value):
            # It takes tuples, Decimals and subclasses, and compares NaN with every bound in vain.
            rules = {fault[1] for fault in faults}
            if "not_finite" in rules:
                self.figures.explained["not finite"] += 1
            elif rules & {"wrong_type", "unknown_property"} and not _plain(value):
                self.figures.explained["no exact type"] += 1
            else:
                raise Disagreement(f"a third opinion accepts {value!r:.2000} for {self.schema!r}")

    def agrees(self, value: Any) -> bool:
        try:
            self.third(value)
        except (fastjsonschema.JsonSchemaException, TypeError):
            return False  # it compares a key that is no string with names it sorts
        return True

    def count(self, faults: Any) -> None:
        self.figures.pairs += 1
        if not faults:
            self.figures.valid += 1
        if len(faults) == 1:
            self.figures.alone[faults[0][1]] += 1

    def same(self, who: str, value: Any, got: Any, expected: Any) -> None:
        if got != expected:
            shown = [repr(one)[:2000] for one in (got, expected, self.schema, value)]
            raise Disagreement(
                "{}, {}:\n{}, but expected\n{}\nschema {}\nvalue {}".format(who, self.side, *shown)
            )


def _plain(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) is str and _plain(item) for key, item in value.items())
    if type(value) is list:
        return all(map(_plain, value))
    return type(value) in (str, int, float, bool, type(None))
