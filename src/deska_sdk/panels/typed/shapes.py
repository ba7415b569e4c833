"""What a class became: its schema, and which Python values stand for it (G-2).

A shape is made once, when an action is defined. Two shapes are the same only when they are one:
they are looked up by identity, never compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import Attribute, field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

Schema: TypeAlias = dict[str, Any]


@frozen(kw_only=True, eq=False)
class Plain:
    """Values that stay as they are: texts, numbers, booleans, Blobs, ids of kept images."""

    schema: Schema = field(repr=False)
    #: The exact types that fit; a subclass is another type (D-8).
    types: frozenset[type]


@frozen(kw_only=True, eq=False)
class Choice:
    """A string with ``enum``."""

    schema: Schema = field(repr=False)
    #: What stands in Python for each value: the text itself, or a member of a ``StrEnum``.
    members: Mapping[str, str] = field(repr=False)


@frozen(kw_only=True, eq=False)
class Items:
    """An array."""

    schema: Schema = field(repr=False)
    item: Shape


@frozen(kw_only=True, eq=False)
class Fields:
    """An object: an attrs class."""

    schema: Schema = field(repr=False)
    made: type[Any]
    #: One for each property, with its shape, in the order of the class.
    fields: tuple[tuple[Attribute[Any], Shape], ...]

    @property
    def required(self) -> frozenset[str]:
        """The names of the properties that have no default."""
        return frozenset(self.schema.get("required", ()))


Shape: TypeAlias = Plain | Choice | Items | Fields
