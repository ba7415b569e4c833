"""A schema written out again: for an agent's list, and as JSON Schema for other programs."""

from __future__ import annotations

from typing import Any

from deska_sdk.schema.nodes import (
    ArrayNode,
    BooleanNode,
    EnumNode,
    Node,
    NumberNode,
    ObjectNode,
    StringNode,
)


def without_descriptions(node: Node) -> dict[str, Any]:
    """The schema of ``node`` as new plain values, without any ``description`` (L-2, D-5).

    Only what the author wrote is in it, always in the same order of keys, so that equal schemas
    give equal text (C-2 puts a fingerprint on it).
    """
    match node:
        case ObjectNode():
            made: dict[str, Any] = {"type": node.type}
            if node.properties is not None:
                made["properties"] = {
                    member.name: without_descriptions(member.node) for member in node.properties
                }
            if node.required is not None:
                made["required"] = list(node.required)
            return made
        case ArrayNode():
            items = without_descriptions(node.items)
            return {"type": node.type, "items": items, "maxItems": node.max_items}
        case EnumNode():
            made = {"type": node.type, "enum": list(node.values)}
            return made if node.max_length is None else {**made, "maxLength": node.max_length}
        case StringNode():
            made = {"type": node.type, "maxLength": node.max_length}
            return made if node.format is None else {**made, "format": node.format}
        case NumberNode():
            bounds = {"minimum": node.minimum, "maximum": node.maximum}
            given = {word: bound for word, bound in bounds.items() if bound is not None}
            return {"type": node.type, **given}
        case BooleanNode():
            return {"type": node.type}


def to_json_schema(node: Node) -> dict[str, Any]:
    """``node`` as JSON Schema (draft-07 and 2020-12 alike) for programs that know no dialect.

    It has no ``description`` either: it may well end up where an agent reads it (D-5). What the
    dialect takes for granted is said: objects are closed (D-7), numbers stay within ±(2^53
    - 1) (D-8). What JSON Schema cannot say is missing: stripping before the check, and that a
    format's text is an image.
    """
    match node:
        case ObjectNode():
            made: dict[str, Any] = {
                "type": node.type,
                "properties": {
                    member.name: to_json_schema(member.node) for member in node.properties or ()
                },
                "additionalProperties": False,
            }
            if node.required:
                made["required"] = list(node.required)
        case ArrayNode():
            made = {
                "type": node.type,
                "items": to_json_schema(node.items),
                "maxItems": node.max_items,
            }
        case NumberNode():
            made = {
                "type": node.type,
                "minimum": node.lowest,
                "maximum": node.highest,
            }
        case _:
            made = without_descriptions(node)
    return made
