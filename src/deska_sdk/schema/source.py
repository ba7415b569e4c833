"""What generated code is written of: literals from checked characters and digits (D-10)."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from deska_sdk.schema.nodes import (
    ArrayNode,
    Node,
    NumberNode,
    ObjectNode,
    StringNode,
    is_token,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def has_images(node: Node) -> bool:
    match node:
        case StringNode():
            return node.format is not None
        case ArrayNode():
            return has_images(node.items)
        case ObjectNode():
            return any(has_images(member.node) for member in node.properties or ())
        case _:
            return False


def has_rows(node: Node) -> bool:
    """Whether there is an array of objects in ``node``."""
    match node:
        case ArrayNode():
            return isinstance(node.items, ObjectNode) or has_rows(node.items)
        case ObjectNode():
            return any(has_rows(member.node) for member in node.properties or ())
        case _:
            return False


def has_lists(node: Node) -> bool:
    """Whether there is an array in ``node``."""
    return isinstance(node, ArrayNode) or any(map(has_lists, _children(node)))


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case ArrayNode():
            return (node.items,)
        case ObjectNode():
            return tuple(member.node for member in node.properties or ())
        case _:
            return ()


def levels(node: Node) -> int:
    return 1 + max(map(levels, _children(node)), default=0)


def count(node: Node) -> int:
    return 1 + sum(map(count, _children(node)))


# D-10: the three ways in which something of a schema becomes source text.


def literal(text: str) -> str:
    """A name or enum value as a literal, from characters that are looked at once more."""
    plain = str.encode(text, "ascii", "replace").decode("ascii")
    if not is_token(plain, len(plain)):
        raise ValueError("a name or an enum value is no token")
    return repr(plain)


def integer(value: int) -> str:
    if type(value) is not int:
        raise ValueError("a limit is no integer")
    return repr(value)


def bound(value: int | float) -> str:
    if type(value) is not int and (type(value) is not float or value - value != 0):
        raise ValueError("a bound is no finite number")
    return repr(value)


def outside(node: NumberNode, x: str, *, floats: bool = False) -> str:
    """The condition that variable ``x`` is out of range, as NaN and the infinities are.

    The comparisons stand one by one, which Python runs quicker than a chain of them; numbers of one
    kind and small integers are compared quicker too.
    """
    low, high = bound(node.lowest), bound(node.highest)
    if floats:
        low, high = _as_float(node.lowest, low), _as_float(node.highest, high)
    least, most = f"{x} >= {low}", f"{x} <= {high}"
    if not floats and node.lowest < -_SMALL:
        least = f"({x} >= -{_SMALL} or {least})"
    if not floats and node.highest > _SMALL:
        most = f"({x} <= {_SMALL} or {most})"
    return f"not ({least} and {most})"


#: The largest integer that Python keeps in one digit.
_SMALL = 2**30 - 1


def _as_float(value: int | float, written: str) -> str:
    """``value`` as a float, where that is the same number, or as it is ``written``."""
    return repr(float(value)) if -(2**53) <= value <= 2**53 else written


def cannot_tell(_given: Any) -> None:
    """What a quick way asks by default where it cannot tell."""
    return


def asking(function: Callable[..., Any], refuse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``function``, made without places, so that it asks ``refuse`` where it would return ``None``.

    One call less for each value than a function around it would cost.
    """
    given = cast("FunctionType", function)
    return FunctionType(
        given.__code__, given.__globals__, given.__name__, (refuse,), given.__closure__
    )
