"""Wording the faults of a value that was refused (D-7).

Both checkers only accept; what is wrong is told here, in one walk that both share. So a refusal
reads the same whichever checker found it, and the quick path carries no words.
"""

from __future__ import annotations

from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, TypeAlias, cast

from deska_sdk.problems import Fault, Rule, pointer
from deska_sdk.schema.nodes import (
    ArrayNode,
    BooleanNode,
    EnumNode,
    Node,
    NumberNode,
    ObjectNode,
    Side,
    StringNode,
    is_token,
)
from deska_sdk.text import strip_invisible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deska_sdk.limits import Limits

#: Where a value stands: its parent's place and its key, or nothing for the root. A JSON Pointer is
#: made from it only for what is told.
_Place: TypeAlias = "tuple[_Place, str | int] | None"

NOT_JSON = Fault(where="", rule=Rule.NOT_JSON)


def tell(node: Node, value: object, side: Side, limits: Limits) -> tuple[tuple[Fault, ...], bool]:
    """At most ``limits.faults`` faults of ``value``, and whether there are more (D-7).

    Their order is the value's, depth first; what an object lacks follows what it holds. Of an
    array that is too long only the items that would have been allowed are looked at.
    """
    most = limits.faults
    found = list(islice(_Teller(side, limits.token).faults(node, value, None), most + 1))
    return tuple(found[:most]), len(found) > most


class _Teller:
    def __init__(self, side: Side, token: int) -> None:
        self.side: Side = side
        self.token = token

    def faults(self, node: Node, value: object, place: _Place) -> Iterator[Fault]:
        match node:
            case ObjectNode():
                if type(value) is dict:
                    yield from self.in_object(node, cast("dict[object, object]", value), place)
                else:
                    yield Fault(
                        where=_pointer(place),
                        rule=Rule.WRONG_TYPE,
                        expected=node.type,
                        text_for_object=_is_object_text(value, self.side),
                    )
            case ArrayNode():
                if type(value) is list:
                    yield from self.in_array(node, cast("list[object]", value), place)
                else:
                    yield _wrong_type(node, place)
            case StringNode() | EnumNode():
                yield from self.in_string(node, value, place)
            case NumberNode():
                yield from self.in_number(node, value, place)
            case BooleanNode():
                if type(value) is not bool:
                    yield _wrong_type(node, place)

    def in_object(
        self, node: ObjectNode, value: dict[object, object], place: _Place
    ) -> Iterator[Fault]:
        known = {member.name: member.node for member in node.properties or ()}
        seen: set[str] = set()
        for key, item in value.items():
            if type(key) is not str or key not in known:
                # D-7: an unknown key is quoted only if it is a token; it is the agent's own text.
                told = type(key) is str and is_token(key, self.token)
                yield Fault(
                    where=_pointer(place),
                    rule=Rule.UNKNOWN_PROPERTY,
                    name=cast("str", key) if told else None,
                )
                continue
            seen.add(key)
            yield from self.faults(known[key], item, (place, key))
        for name in node.required or ():
            if name not in seen:
                yield Fault(where=_pointer(place), rule=Rule.MISSING_PROPERTY, name=name)

    def in_array(self, node: ArrayNode, value: list[object], place: _Place) -> Iterator[Fault]:
        if len(value) > node.max_items:
            yield Fault(where=_pointer(place), rule=Rule.TOO_MANY_ITEMS, limit=node.max_items)
        for index, item in enumerate(islice(value, node.max_items)):
            yield from self.faults(node.items, item, (place, index))

    def in_string(
        self, node: StringNode | EnumNode, value: object, place: _Place
    ) -> Iterator[Fault]:
        if type(value) is not str:
            yield _wrong_type(node, place)
            return
        text = value
        # T-3: an input is checked as the page will get it, stripped, but a path stays as given.
        if self.side == "input" and not (isinstance(node, StringNode) and node.format):
            text = strip_invisible(value)
        if node.max_length is not None and len(text) > node.max_length:
            yield Fault(where=_pointer(place), rule=Rule.TOO_LONG, limit=node.max_length)
        elif isinstance(node, EnumNode) and text not in node.values:
            yield Fault(where=_pointer(place), rule=Rule.NOT_IN_ENUM)

    def in_number(self, node: NumberNode, value: object, place: _Place) -> Iterator[Fault]:
        if type(value) is not int and type(value) is not float:
            yield _wrong_type(node, place)
            return
        number = value
        if type(number) is float and not isfinite(number):
            yield Fault(where=_pointer(place), rule=Rule.NOT_FINITE)
        elif type(number) is float and node.whole and not number.is_integer():
            yield Fault(where=_pointer(place), rule=Rule.FRACTION)
        elif number < node.lowest:
            yield Fault(where=_pointer(place), rule=Rule.OUT_OF_RANGE, limit=node.lowest)
        elif number > node.highest:
            yield Fault(where=_pointer(place), rule=Rule.OUT_OF_RANGE, limit=node.highest)


def _wrong_type(node: Node, place: _Place) -> Fault:
    return Fault(where=_pointer(place), rule=Rule.WRONG_TYPE, expected=node.type)


def _is_object_text(value: object, side: Side) -> bool:
    """Whether an object was sent as its JSON text, which an agent can put right by itself."""
    if type(value) is not str:
        return False
    text = strip_invisible(value) if side == "input" else value
    return text.lstrip().startswith("{")


def _pointer(place: _Place) -> str:
    if place is None:
        return ""
    parent, key = place
    return pointer(_pointer(parent), key)
