"""The five cases every group knows: schemas of the dialect, and values that fit them.

They were there while the engine was tuned, so its thresholds may suit them. ``generator`` draws
payloads that nothing was tuned on.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

from attrs import field, frozen

_WORDS = (
    "water the fern before noon and turn it to the window then note how many new leaves there are "
    "ask about the soil order two bags move the table to the left paint the small shelf in blue"
).split()


@frozen
class Case:
    """A schema and a value that fits it, also as compact JSON text in UTF-8."""

    name: str
    about: str
    schema: dict[str, Any] = field(repr=False)
    value: dict[str, Any] = field(repr=False)
    data: bytes = field(repr=False)


def case(name: str, about: str, schema: dict[str, Any], value: dict[str, Any]) -> Case:
    """A case with its JSON text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Case(name, about, schema, value, text.encode())


def text(most: int) -> dict[str, Any]:
    """A string's schema."""
    return {"type": "string", "maxLength": most}


def an_object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object's schema; all is required but ``optional``."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def an_array(items: dict[str, Any], most: int) -> dict[str, Any]:
    """An array's schema."""
    return {"type": "array", "items": items, "maxItems": most}


def sentence(rng: Random, length: int) -> str:
    """Plain English words, cut to exactly ``length`` characters."""
    made: list[str] = []
    size = 0
    while size <= length:
        word = rng.choice(_WORDS)
        made.append(word)
        size += len(word) + 1
    return " ".join(made)[:length]


def _identifier(rng: Random) -> str:
    return "".join(rng.choices("0123456789abcdef", k=36))


def _notes(name: str, each: int, about: str) -> Case:
    rng = Random(name)
    schema = an_object(
        {"notes": an_array(text(1_000), 200), "ids": an_array(text(36), 20)},
    )
    value = {
        "notes": [sentence(rng, each) for _ in range(100)],
        "ids": [_identifier(rng) for _ in range(10)],
    }
    return case(name, about, schema, value)


def _board() -> Case:
    rng = Random("c")
    kinds = ["note", "list", "picture", "link"]
    column = an_object(
        {
            "title": text(60),
            "kind": {"type": "string", "enum": kinds},
            "width": {"type": "integer", "minimum": 1, "maximum": 12},
            "open": {"type": "boolean"},
            "tags": text(80),
        }
    )
    schema = an_object(
        {
            "board": text(80),
            "revision": text(20),
            "scale": {"type": "number", "minimum": 0, "maximum": 4},
            "columns": an_array(column, 24),
        }
    )
    value = {
        "board": "The garden, this year",
        "revision": "r65",
        "scale": 1.25,
        "columns": [
            {
                "title": sentence(rng, 30),
                "kind": rng.choice(kinds),
                "width": rng.randint(1, 12),
                "open": rng.random() < 0.5,
                "tags": sentence(rng, 20),
            }
            for _ in range(8)
        ],
    }
    return case("c", "a board of 4 levels", schema, value)


def _rows() -> Case:
    rng = Random("e")
    row = an_object(
        {
            "id": {"type": "integer", "minimum": 0},
            "name": text(60),
            "done": {"type": "boolean"},
            "hours": {"type": "number", "minimum": 0, "maximum": 1_000},
            "count": {"type": "integer", "minimum": 0, "maximum": 9_999},
        }
    )
    value = {
        "rows": [
            {
                "id": 10_000 + place,
                "name": sentence(rng, 31),
                "done": rng.random() < 0.5,
                "hours": rng.randint(0, 99) + 0.25,
                "count": rng.randint(100, 999),
            }
            for place in range(620)
        ]
    }
    return case("e", "620 small objects", an_object({"rows": an_array(row, 1_000)}), value)


def _call() -> Case:
    schema = an_object({"note": {"type": "integer", "minimum": 1}, "text": text(2_000)})
    value = {"note": 12, "text": "Water the fern today"}
    return case("a", "one small call", schema, value)


#: The cases by letter, as the claims name them.
CASES: tuple[Case, ...] = (
    _call(),
    _notes("b", 200, "100 notes of 200, and 10 ids"),
    _board(),
    _notes("d", 600, "100 notes of 600, and 10 ids"),
    _rows(),
)
