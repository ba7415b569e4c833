"""Schemas as msgspec's types, for the codec ``speed``.

A type accepts less than its schema, never more: an integer written as ``3.0``, a text that fits
only once it is stripped, an enum value with something invisible in it are for the generated
checker to take. What a type has accepted is a JSON value that fits, but for two things: a
``TypedDict`` passes over unknown properties, and a float without a fraction is still a float.
"""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Required, TypedDict

from deska_sdk.schema.nodes import (
    ArrayNode,
    BooleanNode,
    EnumNode,
    Node,
    NumberNode,
    ObjectNode,
    StringNode,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def typable(node: Node) -> bool:
    """Whether there are types for ``node``: not for an enum none of whose values fits."""
    match node:
        case ObjectNode():
            return all(typable(member.node) for member in node.properties or ())
        case ArrayNode():
            return typable(node.items)
        case EnumNode():
            return bool(_fitting(node))
        case _:
            return True


def _fitting(node: EnumNode) -> tuple[str, ...]:
    longest = node.max_length
    return tuple(word for word in node.values if longest is None or len(word) <= longest)


class Types:
    """Makes the types of one kind. ``msgspec`` is the module."""

    def __init__(self, msgspec: Any) -> None:
        self._msgspec = msgspec

    def typed_dict(self, node: Node) -> Any:
        """The type that decodes to new dicts with their keys as they came."""
        return self._type(node, self._typed_dict)

    def struct(self, node: Node) -> Any:
        """The type that refuses unknown properties."""
        return self._type(node, self._struct)

    def _type(self, node: Node, an_object: Callable[[ObjectNode], Any]) -> Any:
        match node:
            case ObjectNode():
                return an_object(node)
            case ArrayNode():
                items: Any = list[self._type(node.items, an_object)]  # type: ignore[misc]
                return Annotated[items, self._msgspec.Meta(max_length=node.max_items)]
            case StringNode():
                return Annotated[str, self._msgspec.Meta(max_length=node.max_length)]
            case EnumNode():
                return Literal[_fitting(node)]
            case NumberNode():
                low, high = node.lowest, node.highest
                whole = Annotated[int, self._msgspec.Meta(ge=ceil(low), le=floor(high))]
                if node.whole:
                    return whole
                return whole | Annotated[float, self._msgspec.Meta(ge=low, le=high)]
            case BooleanNode():
                return bool

    def _typed_dict(self, node: ObjectNode) -> Any:
        required = node.required or ()
        members: dict[str, Any] = {}
        for member in node.properties or ():
            kind = self._type(member.node, self._typed_dict)
            members[member.name] = Required[kind] if member.name in required else NotRequired[kind]
        # Made by hand, as type checkers know no type whose members are not written out.
        make: Any = TypedDict
        return make("Value", members)

    def _struct(self, node: ObjectNode) -> Any:
        required = node.required or ()
        fields: list[Any] = []
        for number, member in enumerate(node.properties or ()):
            kind, name = self._type(member.node, self._struct), f"f{number}"
            if member.name in required:
                fields.append((name, kind))
            else:
                unset = self._msgspec.UNSET
                fields.append((name, kind | self._msgspec.UnsetType, unset))
        names = {f"f{number}": m.name for number, m in enumerate(node.properties or ())}
        return self._msgspec.defstruct(
            "Value", fields, rename=names, forbid_unknown_fields=True, kw_only=True, gc=False
        )
