"""Annotations read: a type, the marks on it, and whether ``None`` may stand in its place (G-2)."""

from __future__ import annotations

import sys
import types
import typing
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import attrs
from attrs import frozen

from deska_sdk.panels.typed.errors import PanelDefinitionError
from deska_sdk.panels.typed.marks import Mark

if TYPE_CHECKING:
    from collections.abc import Mapping

_NONE = type(None)


@frozen
class Hint:
    """One annotation without its wrapping."""

    #: What is annotated: a class, ``list[…]``, ``Literal[…]``, or something the dialect lacks.
    type: Any
    #: Each kind of mark at most once.
    marks: Mapping[type[Mark], Mark]
    #: Whether ``| None`` was said.
    optional: bool


def unwrap(annotation: Any, place: str) -> Hint:
    """``annotation`` without ``Annotated`` and ``| None``, in whatever order they are nested.

    What others put into ``Annotated`` is theirs and is passed over.

    :raises PanelDefinitionError: at ``place``: a mark stands there twice or without its value, or
        there are several types to choose from.
    """
    marks: dict[type[Mark], Mark] = {}
    optional = False
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation, *beside = get_args(annotation)
            for mark in beside:
                _take(mark, marks, place)
        elif origin is Union or origin is types.UnionType:
            several = [one for one in get_args(annotation) if one is not _NONE]
            if len(several) != 1:
                # D-6: the dialect has no oneOf and no list of types.
                reason = "a value has one type in the dialect, and here are several to choose from"
                raise PanelDefinitionError(place, reason)
            annotation, optional = several[0], True
        else:
            return Hint(annotation, marks, optional)


def _take(mark: object, marks: dict[type[Mark], Mark], place: str) -> None:
    if isinstance(mark, type) and mark in get_args(Mark):
        reason = f"{mark.__name__} stands here without its value; write {mark.__name__}(…)"
        raise PanelDefinitionError(place, reason)
    if isinstance(mark, Mark):
        kind = type(mark)
        if kind in marks:
            raise PanelDefinitionError(place, f"{kind.__name__} is given twice")
        marks[kind] = mark


def is_attrs_class(annotation: Any) -> bool:
    """Whether this very class was made by attrs. A bare subclass of one has unread fields."""
    return isinstance(annotation, type) and "__attrs_attrs__" in vars(annotation)


def resolve(annotation: Any, names: Mapping[str, Any], place: str) -> Any:
    """``annotation``, with text in it evaluated where ``names`` are known.

    :raises PanelDefinitionError: at ``place``: there is none, or a name in it is not known there.
    """
    # Each annotation alone: what stands under TYPE_CHECKING for another one does no harm.
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    with suppress(Exception):  # evaluating may raise anything; what it means is told below
        return typing.get_type_hints(holder, dict(names), include_extras=True)["it"]
    reason = (
        "its annotation cannot be read: the names in it have to be known at the top of its module "
        "while the program runs, not only under TYPE_CHECKING"
    )
    raise PanelDefinitionError(place, reason)


def annotation_of(
    made: type[Any], attribute: attrs.Attribute[Any], page: Mapping[str, Any], place: str
) -> Any:
    """The annotation of one field of an attrs class, evaluated.

    ``page`` is the namespace of the page's module, which a host does not keep in ``sys.modules``.

    :raises PanelDefinitionError: as :func:`resolve`.
    """
    if attribute.type is None:
        raise PanelDefinitionError(place, "it has no annotation that says a type")
    # The field of a base class was written where that class was.
    home = next(
        base
        for base in made.__mro__
        if is_attrs_class(base)
        and any(one.name == attribute.name and not one.inherited for one in attrs.fields(base))
    )
    return resolve(attribute.type, _namespace(home, page), place)


def _namespace(made: type[Any], page: Mapping[str, Any]) -> Mapping[str, Any]:
    if made.__module__ == page.get("__name__"):
        return page
    module = sys.modules.get(made.__module__)
    return page if module is None else vars(module)
