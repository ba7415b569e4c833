"""Looking at a value before anything about it is known."""

from __future__ import annotations

from math import isfinite
from typing import TypeAlias, cast

from deska_sdk.schema.nodes import LARGEST

#: The members of a schema object whose key is a string; the others are problems.
Members: TypeAlias = dict[str, object]


def members(value: object) -> Members:
    """The members of an object by exact string keys; empty for what is no object.

    A key of another type could answer for a keyword it is not, so none is ever looked up.
    """
    if type(value) is not dict:
        return {}
    items = cast("dict[object, object]", value).items()
    return {key: member for key, member in items if type(key) is str}


def in_range(value: object) -> int | float | None:
    """``value`` where it is a finite number that D-8 allows, else ``None``."""
    if type(value) is int or (type(value) is float and isfinite(value)):
        return value if -LARGEST <= value <= LARGEST else None
    return None


def shown(value: object) -> str:
    """``value`` as an author would recognise it; the whole of a container is never written."""
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        # Python refuses to write very long integers in decimal, and nobody would read one.
        bits = value.bit_length()
        return str(value) if bits <= 256 else f"an integer of {bits} bits"
    if type(value) is float:
        return repr(value)
    if value is None:
        return "null"
    if type(value) is dict:
        return "{…}"
    if type(value) is list:
        return "[…]"
    return type(value).__name__
