"""What a schema of the dialect is after parsing: six frozen kinds of node (section "schemas").

A node holds only what the rules allow, so whoever has one need not doubt it: names and enum
values are tokens (D-2), limits are exact and inside their range (D-3), formats stand on the side
they belong to (D-4).

Two nodes that differ only in ``description`` are equal: a description is for the package's author
and decides nothing (D-5).
"""

from __future__ import annotations

import re
from typing import ClassVar, Literal, TypeAlias

from attrs import field, frozen

#: D-8: the largest whole number that every JSON reader keeps exactly.
LARGEST = 2**53 - 1

#: D-2: names a JavaScript page could trip over, so no property may have them.
RESERVED = frozenset({"__proto__", "constructor", "prototype"})

_TOKEN = re.compile(r"[A-Za-z0-9_.\-]+")

Side: TypeAlias = Literal["input", "output"]


def is_token(text: str, limit: int) -> bool:
    """Whether ``text`` is a token of at most ``limit`` characters (D-2)."""
    return len(text) <= limit and _TOKEN.fullmatch(text) is not None


@frozen(kw_only=True)
class StringNode:
    """Free text of at most ``max_length`` code points; with a format, the place of an image."""

    type: ClassVar[str] = "string"
    max_length: int
    format: Literal["deska-image", "deska-file"] | None = None
    description: str | None = field(default=None, eq=False, repr=False)


@frozen(kw_only=True)
class EnumNode:
    """A string that is one of ``values``, in the order the schema lists them."""

    type: ClassVar[str] = "string"
    values: tuple[str, ...]
    max_length: int | None = None
    description: str | None = field(default=None, eq=False, repr=False)


@frozen(kw_only=True)
class NumberNode:
    """A number; ``whole`` tells an ``integer`` node from a ``number`` node."""

    whole: bool
    minimum: int | float | None = None
    maximum: int | float | None = None
    description: str | None = field(default=None, eq=False, repr=False)

    @property
    def type(self) -> str:
        """The type's name in the schema."""
        return "integer" if self.whole else "number"

    @property
    def lowest(self) -> int | float:
        """The bound that holds below: the schema's, or D-8's where it gives none."""
        return -LARGEST if self.minimum is None else self.minimum

    @property
    def highest(self) -> int | float:
        """The bound that holds above: the schema's, or D-8's where it gives none."""
        return LARGEST if self.maximum is None else self.maximum


@frozen(kw_only=True)
class BooleanNode:
    """``true`` or ``false``."""

    type: ClassVar[str] = "boolean"
    description: str | None = field(default=None, eq=False, repr=False)


@frozen(kw_only=True)
class ArrayNode:
    """At most ``max_items`` values, each of which fits ``items``."""

    type: ClassVar[str] = "array"
    items: Node
    max_items: int
    description: str | None = field(default=None, eq=False, repr=False)


@frozen
class Property:
    """One named property of an object."""

    name: str
    node: Node


@frozen(kw_only=True)
class ObjectNode:
    """A closed object (D-7).

    ``properties`` and ``required`` are ``None`` where the schema does not have the keyword, so
    that an exported schema says what the author wrote.
    """

    type: ClassVar[str] = "object"
    properties: tuple[Property, ...] | None = None
    required: tuple[str, ...] | None = None
    description: str | None = field(default=None, eq=False, repr=False)


Node: TypeAlias = ObjectNode | ArrayNode | StringNode | EnumNode | NumberNode | BooleanNode
