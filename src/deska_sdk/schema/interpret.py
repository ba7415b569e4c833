"""The slow checker: the dialect read out rule by rule, without generated code (D-10).

It is the choice of embedders who forbid ``exec``, and the oracle that the generated checkers are
held against. So it shares nothing with them but the nodes, and prefers the plainest way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from deska_sdk.schema.nodes import (
    ArrayNode,
    BooleanNode,
    EnumNode,
    Node,
    NumberNode,
    ObjectNode,
    Side,
    StringNode,
)
from deska_sdk.text import strip_invisible

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.schema.checked import Slot


class _RefusedError(Exception):
    """The value does not fit. It never leaves this module."""


def interpreter(
    node: Node, side: Side
) -> Callable[[object, list[Slot], list[Slot]], dict[str, Any] | None]:
    """A checker of values against ``node``.

    It takes the value and two lists, adds the places of images and counters to them, and returns
    the new value, or ``None`` where the value does not fit.
    """

    def check(value: object, images: list[Slot], counters: list[Slot]) -> dict[str, Any] | None:
        try:
            return cast("dict[str, Any]", _Walk(side, images, counters).new(node, value))
        except _RefusedError:
            return None

    return check


class _Walk:
    def __init__(self, side: Side, images: list[Slot], counters: list[Slot]) -> None:
        self.side = side
        self.images = images
        self.counters = counters

    def new(self, node: Node, value: object) -> object:
        match node:
            case ObjectNode():
                return self.of_object(node, value)
            case ArrayNode():
                return self.of_array(node, value)
            case StringNode():
                return self.of_string(node, value)
            case EnumNode():
                return self.of_enum(node, value)
            case NumberNode():
                return self.of_number(node, value)
            case BooleanNode():
                _need(type(value) is bool)
                return value

    def of_object(self, node: ObjectNode, value: object) -> dict[str, Any]:
        _need(type(value) is dict)
        nodes = {member.name: member.node for member in node.properties or ()}
        made: dict[str, Any] = {}
        for key, item in cast("dict[Any, object]", value).items():
            _need(type(key) is str and key in nodes)
            made[key] = self.new(nodes[key], item)
            self.note(nodes[key], made, key)
        _need(all(name in made for name in node.required or ()))
        return made

    def of_array(self, node: ArrayNode, value: object) -> list[Any]:
        _need(type(value) is list)
        items = cast("list[object]", value)
        _need(len(items) <= node.max_items)
        made: list[Any] = []
        for index, item in enumerate(items):
            made.append(self.new(node.items, item))
            self.note(node.items, made, index)
        return made

    def note(self, node: Node, container: dict[str, Any] | list[Any], key: Any) -> None:
        """Remember the place of an image, or of what may be a counter."""
        if not isinstance(node, StringNode):
            return
        if node.format is not None:
            self.images.append((container, key))
        elif self.side == "input" and _looks_like_counter(container[key]):
            self.counters.append((container, key))

    def of_string(self, node: StringNode, value: object) -> str:
        _need(type(value) is str)
        text = cast("str", value)
        if self.side == "input" and node.format is None:
            text = strip_invisible(text)
        _need(len(text) <= node.max_length)
        return text

    def of_enum(self, node: EnumNode, value: object) -> str:
        _need(type(value) is str)
        text = cast("str", value)
        if self.side == "input":
            text = strip_invisible(text)
        _need(node.max_length is None or len(text) <= node.max_length)
        _need(text in node.values)
        return text

    def of_number(self, node: NumberNode, value: object) -> int | float:
        _need(type(value) is int or type(value) is float)
        number = cast("int | float", value)
        _need(node.lowest <= number <= node.highest)  # NaN and the infinities are never between
        if type(number) is float and number.is_integer():
            return int(number)
        _need(type(number) is int or not node.whole)
        return number


def _need(holds: bool) -> None:
    if not holds:
        raise _RefusedError


def _looks_like_counter(text: str) -> bool:
    digits = text[1:]
    return text[:1] == "r" and digits.isascii() and digits.isdigit() and digits[0] != "0"
