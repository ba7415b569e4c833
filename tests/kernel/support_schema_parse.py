"""Asking for the problems of a schema, or of one property of it."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.schema import parse_schema

LARGEST = 2**53 - 1
TEXT = {"type": "string", "maxLength": 5}
FLAG = {"type": "boolean"}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def array(items: Any, most: Any = 3) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most}


def problems(schema: Any, side: Any = "input", **changes: Any) -> list[tuple[str, str, str | None]]:
    node, found = parse_schema(schema, side, limits=evolve(DEFAULT_LIMITS, **changes))
    assert (node is None) == bool(found)
    assert all(problem.sentence and len(problem.sentence) < 400 for problem in found)
    return [(problem.code, problem.where, problem.quoted) for problem in found]


def about(member: Any, side: Any = "input", **changes: Any) -> list[tuple[str, str, str | None]]:
    """The problems of one property, with their places inside it."""
    prefix = "/properties/p"
    found = problems(of(p=member), side, **changes)
    assert all(where.startswith(prefix) for _, where, _ in found)
    return [(code, where.removeprefix(prefix), quoted) for code, where, quoted in found]
