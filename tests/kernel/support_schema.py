"""What the engine should say about a schema and a value, read off the rules once more.

It works on the raw schema and shares no line with the engine but the stripping of text, which has
tests of its own.
"""

from __future__ import annotations

import json
import math
from typing import Any

from deska_sdk.text import strip_invisible

TOKEN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
LARGEST = 2**53 - 1


def bounds(schema: Any) -> tuple[Any, Any]:
    return max(schema.get("minimum", -LARGEST), -LARGEST), min(
        schema.get("maximum", LARGEST), LARGEST
    )


_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
}


def is_a(name: str, value: Any) -> bool:
    return type(value) in _TYPES[name]


def expected_faults(schema: Any, value: Any, side: str, where: str = "") -> list[tuple[Any, ...]]:
    """All faults in order, each as (where, rule, limit, expected, name, text for an object)."""
    kind = schema["type"]
    if not is_a(kind, value):
        text = type(value) is str and (strip_invisible(value) if side == "input" else value)
        for_object = kind == "object" and text is not False and text.lstrip()[:1] == "{"
        return [(where, "wrong_type", None, kind, None, for_object)]

    def one(rule: str, limit: Any = None, name: str | None = None) -> list[tuple[Any, ...]]:
        return [(where, rule, limit, None, name, False)]

    found: list[tuple[Any, ...]] = []
    if kind == "object":
        properties = schema.get("properties", {})
        names = [name for name in value if type(name) is str]
        for name, item in value.items():
            if type(name) is str and name in properties:
                found += expected_faults(properties[name], item, side, f"{where}/{name}")
            else:
                token = type(name) is str and 0 < len(name) <= 40 and set(name) <= set(TOKEN)
                found += one("unknown_property", name=name if token else None)
        for name in schema.get("required", []):
            found += [] if name in names else one("missing_property", name=name)
    elif kind == "array":
        most = schema["maxItems"]
        found += one("too_many_items", most) if len(value) > most else []
        for index, item in enumerate(value[:most]):
            found += expected_faults(schema["items"], item, side, f"{where}/{index}")
    elif kind == "string":
        text = strip_invisible(value) if side == "input" and "format" not in schema else value
        if len(text) > schema.get("maxLength", 10**9):
            found += one("too_long", schema["maxLength"])
        elif "enum" in schema and text not in schema["enum"]:
            found += one("not_in_enum")
    elif kind in ("integer", "number"):
        low, high = bounds(schema)
        if value != value or value in (math.inf, -math.inf):
            found += one("not_finite")
        elif kind == "integer" and value % 1 != 0:
            found += one("fraction")
        elif value < low:
            found += one("out_of_range", low)
        elif value > high:
            found += one("out_of_range", high)
    return found


def expected_value(schema: Any, value: Any, side: str) -> Any:
    """What a fitting value is handed on as."""
    kind = schema["type"]
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: expected_value(properties[name], item, side) for name, item in value.items()}
    if kind == "array":
        return [expected_value(schema["items"], item, side) for item in value]
    if kind == "string":
        return strip_invisible(value) if side == "input" and "format" not in schema else value
    if type(value) is float and value % 1 == 0:
        return int(value)
    return value


def expected_slots(schema: Any, value: Any, side: str, where: str = "") -> Any:
    """The places of images and of counters in what is handed on, as JSON Pointers."""
    images: list[str] = []
    counters: list[str] = []
    kind = schema["type"]
    children: list[tuple[Any, Any]] = []
    if kind == "object":
        children = [(name, schema["properties"][name]) for name in value]
    elif kind == "array":
        children = [(index, schema["items"]) for index in range(len(value))]
    elif kind == "string" and "format" in schema:
        images = [where]
    elif kind == "string" and "enum" not in schema and side == "input":
        number = value[1:]
        plain = set(number) <= set("0123456789")
        if value[:1] == "r" and number and plain and number[0] != "0":
            counters = [where]
    for key, child in children:
        more_images, more_counters = expected_slots(child, value[key], side, f"{where}/{key}")
        images += more_images
        counters += more_counters
    return images, counters


# -- looking at results --------------------------------------------------------------------------


def exactly(value: Any) -> str:
    """A text that tells apart whatever two handed-on values can differ in, also key order."""
    return json.dumps(value)


def told(fault: Any) -> tuple[Any, ...]:
    rule = str(fault.rule.value)
    return (fault.where, rule, fault.limit, fault.expected, fault.name, fault.text_for_object)


def pointers(value: Any, slots: Any) -> list[str]:
    """Slots as JSON Pointers into ``value``; fails for one that is not in it."""
    places = {id(value): ""}

    def walk(container: Any, where: str) -> None:
        items = container.items() if type(container) is dict else enumerate(container)
        for key, item in items:
            if type(item) in (dict, list):
                places[id(item)] = f"{where}/{key}"
                walk(item, f"{where}/{key}")

    walk(value, "")
    return [f"{places[id(container)]}/{key}" for container, key in slots]
