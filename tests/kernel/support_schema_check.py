"""Short ways to write schemas, to make both checkers of one, and to ask for faults."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from deska_sdk.errors import InvalidValue
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.problems import Fault, Rule
from deska_sdk.schema import Checker, compile_schema

FLAG = {"type": "boolean"}

both = pytest.mark.parametrize("kind", ["compiled", "interpreted"])


def text(most: int, **more: Any) -> dict[str, Any]:
    return {"type": "string", "maxLength": most, **more}


def array(items: Any, most: int = 3) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most}


def of(required: list[str] | None = None, /, **properties: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties}
    return made if required is None else {**made, "required": required}


def made(schema: Any, kind: Any, side: Any = "input", **changes: Any) -> Checker:
    limits = evolve(DEFAULT_LIMITS, **changes)
    return compile_schema(schema, side, limits=limits, checker=kind)


def faults(checker: Checker, value: Any, *, more: bool = False) -> list[Fault]:
    with pytest.raises(InvalidValue) as caught:
        checker.check(value)
    assert caught.value.more is more
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    return list(caught.value.faults)


def fault(where: str, rule: Rule, **more: Any) -> Fault:
    return Fault(where=where, rule=rule, **more)
