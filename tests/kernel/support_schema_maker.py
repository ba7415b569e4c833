"""Schemas, fitting values and planted faults, made at random.

Everything is drawn from a ``random.Random``, so that the same code serves hypothesis (which hands
in one whose choices it can shrink) and long runs with a seed.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

from tests.kernel.support_schema import LARGEST, bounds, is_a

if TYPE_CHECKING:
    from random import Random

NAMES = [
    "a",
    "b",
    "id",
    "r1",
    "text",
    "x-1",
    "A.b_c",
    "type",
    "key",
    "x0",
    "check",
    "None",
    "n" * 40,
]
KINDS = ["object", "array", "string", "enum", "image", "integer", "number", "boolean"]
VISIBLE = 'abc xyz\n\t"\\/{}[]<&é日😀~R1:,'
REMOVED = "\u200b\u00ad\ufeff\x7f\x00\u034f\ufe0f\U000e0041\u3164\u061c"
#: What looks like a counter, nearly looks like one, or does so once it is stripped.
COUNTERS = ["r1", "r12", "r9007199254740993", "r0", "r01", "r", "rx", "R1", "r1x", "r1 ", "r1\n"]
COUNTERS += ["r\u200b7", "\ufeffr3", "r３", "r1\u0661", "q1", "s1", "r:"]


class Text(str):
    """A subclass: a wrong type wherever it stands (D-8)."""

    __slots__ = ()


class Whole(int):
    pass


class Real(float):
    pass


class Table(dict):  # type: ignore[type-arg]
    pass


class Row(list):  # type: ignore[type-arg]
    pass


@dataclass
class Figures:
    """What a run has covered."""

    pairs: int = 0
    valid: int = 0
    #: Pairs with exactly one fault, by its rule.
    alone: Counter[str] = field(default_factory=Counter)
    #: How often a limit was met one below, exactly, and one above.
    limits: Counter[tuple[str, int]] = field(default_factory=Counter)
    #: Node kinds by level.
    nodes: Counter[tuple[str, int]] = field(default_factory=Counter)
    #: Pairs that the third opinion decided otherwise, by the reason found.
    explained: Counter[str] = field(default_factory=Counter)

    def add(self, other: Figures) -> None:
        self.pairs += other.pairs
        self.valid += other.valid
        for name in ("alone", "limits", "nodes", "explained"):
            getattr(self, name).update(getattr(other, name))


# -- schemas -------------------------------------------------------------------------------------


class Maker:
    """Draws schemas of one side and values for them."""

    def __init__(self, rng: Random, side: str, figures: Figures | None = None) -> None:
        self.rng = rng
        self.side = side
        self.figures = figures or Figures()

    def schema(self, level: int = 1) -> dict[str, Any]:
        kinds = KINDS if level < 4 else [*KINDS[2:], "object"]
        kind = "object" if level == 1 else self.rng.choice(kinds)
        if 1 < level < 4 and self.rng.random() < 0.35:
            kind = self.rng.choice(["object", "array"])
        self.figures.nodes[kind, level] += 1
        made: dict[str, Any] = getattr(self, f"_{kind}")(level)
        if self.rng.random() < 0.1:
            made["description"] = self.rng.choice(["What it is.", "d" * 200, "Zwei\nZeilen"])
        return made

    def _object(self, level: int) -> dict[str, Any]:
        most = 5 if level < 4 else 0
        names = self.rng.sample(NAMES, self.rng.randint(1 if level == 1 else 0, most))
        made: dict[str, Any] = {"type": "object"}
        if names or self.rng.random() < 0.5:
            made["properties"] = {name: self.schema(level + 1) for name in names}
        share = self.rng.choice([0, 0.5, 1])
        required = [name for name in names if self.rng.random() < share]
        self.rng.shuffle(required)
        if required or self.rng.random() < 0.2:
            made["required"] = required
        return made

    def _array(self, level: int) -> dict[str, Any]:
        return {
            "type": "array",
            "items": self.schema(level + 1),
            "maxItems": self.rng.choice([1, 2, 3, 4, 7, 1000]),
        }

    def _string(self, level: int) -> dict[str, Any]:
        return {
            "type": "string",
            "maxLength": self.rng.choice([1, 2, 3, 9, 40, 64, 65, 90, 262144]),
        }

    def _enum(self, level: int) -> dict[str, Any]:
        values = self.rng.sample([*NAMES, "r1", "r22", "done"][2:], self.rng.randint(1, 4))
        made: dict[str, Any] = {"type": "string", "enum": list(dict.fromkeys(values))}
        if self.rng.random() < 0.3:
            made["maxLength"] = self.rng.choice([1, 3, 4, 40])
        return made

    def _image(self, level: int) -> dict[str, Any]:
        if self.side == "input":
            return {
                "type": "string",
                "maxLength": self.rng.choice([4, 30]),
                "format": "deska-image",
            }
        return {"type": "string", "maxLength": self.rng.choice([36, 50]), "format": "deska-file"}

    def _integer(self, level: int) -> dict[str, Any]:
        return self._number(level, whole=True)

    def _number(self, level: int, *, whole: bool = False) -> dict[str, Any]:
        made: dict[str, Any] = {"type": "integer" if whole else "number"}
        low: float = self.rng.choice([0, -5, 1, -LARGEST, LARGEST - 4])
        high: float = low + self.rng.choice([0, 1, 3])
        if not whole and self.rng.random() < 0.5 and abs(low) < 9:
            low, high = low - 0.5, high + 0.25
        if self.rng.random() < 0.5:
            made["minimum"] = low
        if self.rng.random() < 0.5:
            made["maximum"] = high
        return made

    def _boolean(self, level: int) -> dict[str, Any]:
        return {"type": "boolean"}

    # -- values that fit -------------------------------------------------------------------------

    def value(self, schema: dict[str, Any]) -> Any:
        match schema:
            case {"type": "object"}:
                properties = list(schema.get("properties", {}).items())
                self.rng.shuffle(properties)
                required = schema.get("required", [])
                return {
                    name: self.value(child)
                    for name, child in properties
                    if name in required or self.rng.random() < 0.6
                }
            case {"type": "array", "items": items, "maxItems": most}:
                size = self.rng.choice([0, 1, 2, most - 1, most]) if most < 10 else 3
                self._met("maxItems", size, most)
                return [self.value(items) for _ in range(min(size, most))]
            case {"type": "string", "enum": values}:
                longest = schema.get("maxLength", 40)
                fits = [word for word in values if len(word) <= longest]
                return self._hide(self.rng.choice(fits or values))
            case {"type": "string", "maxLength": most, "format": form}:
                length = 36 if form == "deska-file" else self.rng.choice([most - 1, most, 2])
                self._met("maxLength", length, most)
                return self._visible(length)
            case {"type": "string", "maxLength": most}:
                return self.text(most)
            case {"type": "boolean"}:
                return self.rng.random() < 0.5
            case _:
                return self._fitting_number(schema)

    def text(self, most: int) -> str:
        if self.rng.random() < (0.4 if most < 19 else 0.15):
            counter = self.rng.choice(COUNTERS)
            if len(counter) <= most:
                return counter
        length = self.rng.choice([0, 1, most - 1, most]) if most < 100 else self.rng.randint(0, 80)
        self._met("maxLength", length, most)
        return self._hide(self._visible(length))

    def _visible(self, length: int) -> str:
        letters = VISIBLE if self.rng.random() < 0.4 else VISIBLE[:7]
        return "".join(self.rng.choices(letters, k=length))

    def _hide(self, text: str) -> str:
        """On the input side invisible characters may stand anywhere and count for nothing (T-3)."""
        if self.side == "output" or self.rng.random() < 0.8:
            return text
        at = self.rng.randint(0, len(text))
        return text[:at] + self.rng.choice(REMOVED) * self.rng.randint(1, 3) + text[at:]

    def _fitting_number(self, schema: dict[str, Any]) -> int | float:
        low, high = bounds(schema)
        exact = [math.ceil(low), math.ceil(low) + 1, math.floor(high), math.floor(high) - 1, 0]
        if schema["type"] == "number":
            exact += [low, high, (low + high) / 2, 0.5]
        number = self.rng.choice([one for one in exact if low <= one <= high] or [low])
        if number == low:
            self._met("minimum", 0, 0)
        if number == high:
            self._met("maximum", 0, 0)
        if number - 1 == low:
            self._met("minimum", 1, 0)
        if number + 1 == high:
            self._met("maximum", -1, 0)
        if self.rng.random() < 0.2 and abs(number) <= LARGEST:
            return -0.0 if number == 0 else float(number)
        return number

    def _met(self, name: str, size: int, limit: int) -> None:
        if -1 <= size - limit <= 1:
            self.figures.limits[name, size - limit] += 1

    # -- and values that do not ----------------------------------------------------------------

    def spoil(self, schema: dict[str, Any], value: Any, rule: str) -> Any:
        """``value`` with one fault of ``rule``, or as it is where it has no room for one."""
        root = [value]
        places = [*_places(schema, root, 0)]
        self.rng.shuffle(places)
        for node, container, key in places:
            if getattr(self, f"_spoil_{rule}")(node, container, key):
                break
        return root[0]

    def _spoil_unknown_property(self, node: Any, container: Any, key: Any) -> bool:
        if node["type"] != "object":
            return False
        items = list(container[key].items())
        unknown = ["zz", "not a token", "", "q" * 40, "q" * 41, "__proto__", "\ud800", "é", 7, None]
        name = self.rng.choice(unknown)
        if node.get("properties") and not node.get("required") and self.rng.random() < 0.2:
            name = Text(next(iter(node["properties"])))  # as good as the name, but no exact str
            items = [(other, item) for other, item in items if other != name]
        items.insert(self.rng.randint(0, len(items)), (name, self.rng.choice([1, "x", None, {}])))
        container[key] = dict(items)
        return True

    def _spoil_missing_property(self, node: Any, container: Any, key: Any) -> bool:
        if not node.get("required"):
            return False
        del container[key][self.rng.choice(node["required"])]
        return True

    def _spoil_wrong_type(self, node: Any, container: Any, key: Any) -> bool:
        old = container[key]
        alien = {dict: Table, list: Row, str: Text, int: Whole, float: Real}.get(type(old))
        new: list[Any] = [None, 1, True, "x", [], {}, 1.5, (), Decimal(1), b"x", '{"a": 1}', " {"]
        new += [alien(old)] if alien else []
        # These pass for what they are like in one library or the other.
        new += [member_like(old)] if type(old) in (str, int, float) else []
        new += [tuple(old), set(map(repr, old))] if type(old) is list else []
        wrong = [one for one in new if not is_a(node["type"], one)]
        container[key] = self.rng.choice(wrong)
        return True

    def _spoil_too_long(self, node: Any, container: Any, key: Any) -> bool:
        most = node.get("maxLength", 10**9)
        if "enum" in node and most > 100:
            return False
        # The largest texts are slow to make, so they are rare.
        if node["type"] != "string" or (most > 100 and self.rng.random() < 0.98):
            return False
        over = self.rng.choice([1, 1, 2, 30])
        self._met("maxLength", most + over, most)
        container[key] = self._hide("x" * (most + over))
        return True

    def _spoil_too_many_items(self, node: Any, container: Any, key: Any) -> bool:
        if node["type"] != "array" or node["maxItems"] > 100:
            return False
        over = self.rng.choice([1, 1, 2])
        self._met("maxItems", node["maxItems"] + over, node["maxItems"])
        container[key] = [self.value(node["items"]) for _ in range(node["maxItems"] + over)]
        return True

    def _spoil_not_in_enum(self, node: Any, container: Any, key: Any) -> bool:
        if "enum" not in node:
            return False
        word = self.rng.choice(node["enum"])
        others = [word + "x", word[:-1], word.swapcase(), "", word + "é", " " + word, "\u200b"]
        longest = node.get("maxLength", 10**9)
        wrong = [one for one in others if one not in node["enum"] and len(one) <= longest]
        if not wrong:
            return False
        container[key] = self.rng.choice(wrong)
        return True

    def _spoil_fraction(self, node: Any, container: Any, key: Any) -> bool:
        if node["type"] != "integer":
            return False
        container[key] = self.rng.choice([0.5, -1.25, 3.0000001, 1e-300])
        return True

    def _spoil_out_of_range(self, node: Any, container: Any, key: Any) -> bool:
        if node["type"] not in ("integer", "number"):
            return False
        low, high = bounds(node)
        beyond: list[Any] = [low - 1, high + 1, 2**53, -(2**53), 1e300, 10**19, -1e20]
        if node["type"] == "number":
            beyond += [math.nextafter(low, -math.inf), math.nextafter(high, math.inf)]
        wrong = [one for one in beyond if not low <= one <= high]
        number = self.rng.choice(wrong[:2] if self.rng.random() < 0.5 else wrong)
        self._met("minimum", -1 if number == low - 1 else 9, 0)
        self._met("maximum", 1 if number == high + 1 else 9, 0)
        container[key] = number
        return True

    def _spoil_not_finite(self, node: Any, container: Any, key: Any) -> bool:
        if node["type"] not in ("integer", "number"):
            return False
        container[key] = self.rng.choice([math.nan, math.inf, -math.inf])
        return True


RULES = [
    "unknown_property",
    "missing_property",
    "wrong_type",
    "too_long",
    "too_many_items",
    "not_in_enum",
    "fraction",
    "out_of_range",
    "not_finite",
]


def member_like(value: Any) -> Any:
    """A member of an ``Enum`` that is equal to ``value``, a text or a number."""
    return Enum("Like", {"IT": value}, type=type(value))["IT"]


def _places(schema: Any, container: Any, key: Any) -> Any:
    """Every place in a fitting value, with its schema."""
    yield schema, container, key
    value = container[key]
    if schema["type"] == "object":
        for name in value:
            yield from _places(schema["properties"][name], value, name)
    elif schema["type"] == "array":
        for index in range(len(value)):
            yield from _places(schema["items"], value, index)
