"""From an attrs class to its shape, or to the first reason why it has none (G-2).

::

    shape = derive(AddNote, "input", page=vars(module), place="add_note")
    shape.schema  # {"type": "object", "properties": {"text": …}, "required": ["text"]}

Whether a limit, a name or a text is one that the dialect allows is asked of the dialect's own
parser, so a typed panel and a written panel.json obey one set of rules.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args, get_origin

import attrs
from attrs import frozen

from deska_sdk.panels.typed.errors import PanelDefinitionError
from deska_sdk.panels.typed.hints import Hint, annotation_of, is_attrs_class, unwrap
from deska_sdk.panels.typed.marks import (
    Description,
    DeskaFile,
    DeskaImage,
    Mark,
    Maximum,
    MaxItems,
    MaxLength,
    Minimum,
)
from deska_sdk.panels.typed.shapes import Choice, Fields, Items, Plain, Schema, Shape
from deska_sdk.schema.parse import parse_schema

if TYPE_CHECKING:
    from deska_sdk.limits import Limits
    from deska_sdk.schema.nodes import Side

_NUMBERS: Final[dict[Any, tuple[str, frozenset[type]]]] = {
    int: ("integer", frozenset({int})),
    # D-8: a number without a fraction is handed on as an int, also where a fraction may stand.
    float: ("number", frozenset({int, float})),
}

#: What authors reach for and the dialect does not have, each with what to write instead.
_INSTEAD: Final[dict[Any, str]] = {
    dict: "an object in the dialect names its properties; write an attrs class",
    Mapping: "an object in the dialect names its properties; write an attrs class",
    tuple: "an array in the dialect has one kind of item and any order; write list[…]",
    set: "an array in the dialect may hold a value twice; write list[…]",
    frozenset: "an array in the dialect may hold a value twice; write list[…]",
    bytes: "the dialect has no bytes; an image is a Blob with DeskaImage, or an id with DeskaFile",
    type(None): "the dialect has no null; leave the property out with `| None = None`",
    Any: "a value has one type in the dialect, and this allows any",
    object: "a value has one type in the dialect, and this allows any",
}
_ELSE: Final = (
    "the dialect has no such type; there are str, int, float, bool, list[…], Literal, StrEnum, "
    "attrs classes, and Blobs with DeskaImage"
)


def derive(
    annotation: Any, side: Side, *, page: Mapping[str, Any], place: str, limits: Limits
) -> Fields:
    """The shape of an action's input or output.

    :param annotation: an attrs class, or ``Annotated`` of one with a ``Description``.
    :param page: the namespace of the module that the action is in.
    :param place: what to call the annotation itself, where it is the annotation that is wrong.
    :raises PanelDefinitionError: the class is not one that the dialect can express; it names the
        class and the field (D-1…D-6).
    """
    hint = unwrap(annotation, place)
    # D-1: the root is an object.
    if hint.optional or not is_attrs_class(hint.type):
        raise PanelDefinitionError(place, f"the {side} of an action is an attrs class")
    return _Deriver(side, page, limits).fields(hint, place, ())


@frozen
class _Deriver:
    side: Side
    page: Mapping[str, Any]
    limits: Limits

    def shape(self, hint: Hint, place: str, inside: tuple[type[Any], ...], level: int) -> Shape:
        """The shape of a property's or an item's annotation. ``inside`` are the classes around."""
        if level > self.limits.schema_levels:
            most = self.limits.schema_levels
            reason = f"a schema has at most {most} levels, and this is one more"
            raise PanelDefinitionError(place, reason)
        kind, origin = hint.type, get_origin(hint.type)
        if DeskaImage in hint.marks:
            return _image(hint, place)
        if is_attrs_class(kind):
            return self.fields(hint, place, inside, level)
        if origin is list:
            return self._items(hint, place, inside, level)
        if origin is Literal:
            return _choice(hint, {value: value for value in get_args(kind)}, place)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return _choice(hint, {member.value: member for member in kind}, place)
        if kind is str:
            return _text(hint, place)
        if kind is bool:
            return Plain(schema=_schema("boolean", hint, place), types=frozenset({bool}))
        if kind is int or kind is float:
            name, types = _NUMBERS[kind]
            return Plain(schema=_schema(name, hint, place, Minimum, Maximum), types=types)
        raise PanelDefinitionError(place, _why_not(kind, origin))

    def _items(self, hint: Hint, place: str, inside: tuple[type[Any], ...], level: int) -> Items:
        schema = _schema("array", hint, place, MaxItems)
        if MaxItems not in hint.marks:
            reason = "a list says how many items it may have: Annotated[list[…], MaxItems(…)]"
            raise PanelDefinitionError(place, reason)
        inner = unwrap(get_args(hint.type)[0], place)
        if inner.optional:
            raise PanelDefinitionError(place, "an item of a list cannot be None")
        item = self.shape(inner, place, inside, level + 1)
        return Items(schema={**schema, "items": item.schema}, item=item)

    def fields(
        self, hint: Hint, place: str, inside: tuple[type[Any], ...], level: int = 1
    ) -> Fields:
        made: type[Any] = hint.type
        if made in inside:
            # D-1: without references a schema that contains itself would have no end.
            reason = f"{made.__name__} contains itself, and a schema has an end"
            raise PanelDefinitionError(place, reason)
        schema = _schema("object", hint, place)
        fields: list[tuple[attrs.Attribute[Any], Shape]] = []
        for attribute in attrs.fields(made):
            where = f"{made.__name__}.{attribute.name}"
            inner = unwrap(annotation_of(made, attribute, self.page, where), where)
            _check_attribute(attribute, inner, where)
            fields.append((attribute, self.shape(inner, where, (*inside, made), level + 1)))
        properties = {attribute.name: shape.schema for attribute, shape in fields}
        required = [one.name for one, _ in fields if one.default is attrs.NOTHING]
        if properties:
            schema["properties"] = properties
        if required:
            schema["required"] = required
        self._judge(schema, made)
        return Fields(schema=schema, made=made, fields=tuple(fields))

    def _judge(self, schema: Schema, made: type[Any]) -> None:
        """Let the dialect's parser say what it thinks; classes further in were judged before."""
        _, problems = parse_schema(schema, self.side, limits=self.limits)
        if problems:
            problem = problems[0]
            match problem.where.split("/"):
                case ["", "properties", name, *_]:
                    place = f"{made.__name__}.{name}"
                case _:
                    place = made.__name__
            raise PanelDefinitionError(place, problem.sentence)


def _check_attribute(attribute: attrs.Attribute[Any], hint: Hint, place: str) -> None:
    """What attrs may do with a field that a property cannot."""
    if not attribute.init:
        raise PanelDefinitionError(place, "it has init=False, so no call could give it")
    if cast("Any", attribute).converter is not None:
        # D-9: nothing is coerced.
        raise PanelDefinitionError(place, "it has a converter, and a value is never converted")
    # ``None`` stands for a property that is not there, and for nothing else.
    if hint.optional and attribute.default is not None:
        reason = "it may be None, which means that it is left out, so its default is None"
        raise PanelDefinitionError(place, reason)
    if attribute.default is None and not hint.optional:
        raise PanelDefinitionError(place, "its default is None, so its type needs `| None`")


def _image(hint: Hint, place: str) -> Plain:
    schema = _schema("string", hint, place, DeskaImage)
    if not isinstance(hint.type, type) or hint.type in (str, object):
        reason = "an image of an input arrives as a Blob, so that is the type to annotate"
        raise PanelDefinitionError(place, reason)
    return Plain(schema=schema, types=frozenset({hint.type}))


def _text(hint: Hint, place: str) -> Plain:
    if DeskaFile in hint.marks:
        return Plain(schema=_schema("string", hint, place, DeskaFile), types=frozenset({str}))
    schema = _schema("string", hint, place, MaxLength)
    if MaxLength not in hint.marks:
        reason = "a text says how long it may be: Annotated[str, MaxLength(…)]"
        raise PanelDefinitionError(place, reason)
    return Plain(schema=schema, types=frozenset({str}))


def _choice(hint: Hint, members: dict[Any, Any], place: str) -> Choice:
    if not all(type(value) is str for value in members):
        raise PanelDefinitionError(place, "the values of an enum are strings")
    if not all(isinstance(member, str) for member in members.values()):
        raise PanelDefinitionError(place, "an enum of the dialect is a StrEnum or a Literal")
    schema = _schema("string", hint, place, MaxLength)
    return Choice(schema={"type": "string", "enum": list(members), **schema}, members=members)


def _schema(kind: str, hint: Hint, place: str, *allowed: type[Mark]) -> Schema:
    """The type and what the marks say.

    :raises PanelDefinitionError: a mark has no meaning on this type.
    """
    schema: Schema = {"type": kind}
    for mark in sorted(hint.marks.values(), key=lambda one: _ORDER.index(type(one))):
        if type(mark) is not Description and type(mark) not in allowed:
            reason = f"{type(mark).__name__} says nothing about a {_PYTHON[kind]}"
            raise PanelDefinitionError(place, reason)
        schema.update(_keywords(mark))
    return schema


#: The order in which a schema is written, so that panel.json is the same byte for byte.
_ORDER: Final = (MaxLength, DeskaImage, DeskaFile, MaxItems, Minimum, Maximum, Description)
_PYTHON: Final = {
    "object": "class",
    "array": "list",
    "string": "string of this kind",
    "integer": "whole number",
    "number": "number",
    "boolean": "bool",
}


def _keywords(mark: Mark) -> Schema:
    match mark:
        case MaxLength(limit):
            return {"maxLength": limit}
        case MaxItems(limit):
            return {"maxItems": limit}
        case Minimum(bound):
            return {"minimum": bound}
        case Maximum(bound):
            return {"maximum": bound}
        case Description(text):
            return {"description": text}
        case DeskaImage(length):
            return {"maxLength": length, "format": "deska-image"}
        case DeskaFile(length):
            return {"maxLength": length, "format": "deska-file"}


def _why_not(kind: Any, origin: Any) -> str:
    """Why this type has no place in a schema."""
    if kind is list:
        return "a list says what its items are: list[…]"
    named = kind if origin is None else origin
    try:
        return _INSTEAD.get(named, _ELSE)
    except TypeError:  # what is no type need not be hashable
        return _ELSE
