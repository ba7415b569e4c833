"""Values of a shape, in and out, by cattrs with hooks that never coerce (G-2, D-9).

By default cattrs would make 5 of ``"5"``, ``"None"`` of ``None`` and a list of ``"abc"``. Here
every place has a hook of its own, found by its shape and never by its type, that takes the exact
types of the dialect and nothing else.

Limits are not asked again: the host has held the call against panel.json, and a page's own
revision that was put back for a counter may be longer than ``maxLength`` (R-4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias, cast, get_args, get_origin

from cattrs import Converter, gen
from cattrs.errors import ForbiddenExtraKeysError

from deska_sdk.panels.typed.errors import StaleManifest
from deska_sdk.panels.typed.shapes import Choice, Fields, Items, Plain, Shape

_Structure: TypeAlias = Callable[[Any, Any], Any]
_Unstructure: TypeAlias = Callable[[Any], Any]

#: Its functions are typed too loosely for a strict checker.
_GEN: Any = gen


def structurer(shape: Fields) -> Callable[[object], Any]:
    """A function from an input as a page hears it to an instance of the class.

    It raises :class:`StaleManifest` for what does not fit the class, and whatever a validator of
    the class itself raises.
    """
    hook = _converter().get_structure_hook(_told(shape))

    def structure(value: object) -> Any:
        try:
            return hook(value, None)
        except ForbiddenExtraKeysError:
            pass
        # Out here: the error of cattrs holds the keys (B-2).
        raise StaleManifest

    return structure


def unstructurer(shape: Fields) -> Callable[[object], Any]:
    """A function from an answer to plain values, without what is ``None``.

    What is not of its class, or not of its type, is handed on as it is: the host refuses such an
    answer by its own rule, as it does for any page (A-5).
    """
    return _converter().get_unstructure_hook(_told(shape))


def _told(shape: Shape) -> Any:
    """A type that says its shape, for cattrs to find the hooks by."""
    return Annotated[object, shape]


def _shape(told: Any) -> Shape:
    return cast("Shape", get_args(told)[1])


def _tells(kind: Any) -> bool:
    return get_origin(kind) is Annotated and isinstance(
        get_args(kind)[1], (Plain, Choice, Items, Fields)
    )


def _converter() -> Converter:
    # Without detailed validation: its errors would hold the values.
    converter = Converter(forbid_extra_keys=True, detailed_validation=False)
    converter.register_structure_hook_factory(_tells, _structure_hook)
    converter.register_unstructure_hook_factory(_tells, _unstructure_hook)
    return converter


def _attributes(shape: Fields) -> list[Any]:
    return [attribute.evolve(type=_told(inner)) for attribute, inner in shape.fields]


# -- in


def _structure_hook(told: Any, converter: Converter) -> _Structure:
    shape = _shape(told)
    match shape:
        case Plain(types=types):

            def plain(value: Any, _: Any) -> Any:
                if type(value) not in types:
                    raise StaleManifest
                return value

            return plain
        case Choice(members=members):

            def choice(value: Any, _: Any) -> Any:
                if type(value) is not str or value not in members:
                    raise StaleManifest
                return members[value]

            return choice
        case Items(item=item):
            hook = converter.get_structure_hook(_told(item))

            def items(value: Any, _: Any) -> Any:
                if type(value) is not list:
                    raise StaleManifest
                return [hook(one, None) for one in cast("Any", value)]

            return items
        case Fields(made=made, required=required):
            build = _GEN.make_dict_structure_fn_from_attrs(_attributes(shape), made, converter)

            def fields(value: Any, _: Any) -> Any:
                # cattrs would say a missing name by a KeyError, as a validator might, too.
                if type(value) is not dict or not required <= cast("Any", value).keys():
                    raise StaleManifest
                return build(cast("dict[str, Any]", value), made)

            return fields


# -- out


def _unstructure_hook(told: Any, converter: Converter) -> _Unstructure:
    shape = _shape(told)
    match shape:
        case Plain():
            return _as_it_is
        case Choice(members=members):
            texts = {type(member) for member in members.values()} - {str}

            def choice(value: Any) -> Any:
                return value.value if type(value) in texts else value

            return choice
        case Items(item=item):
            hook = converter.get_unstructure_hook(_told(item))

            def items(value: Any) -> Any:
                if type(value) is not list:
                    return value
                return [hook(one) for one in cast("Any", value)]

            return items
        case Fields(made=made):
            take = _GEN.make_dict_unstructure_fn_from_attrs(_attributes(shape), made, converter)

            def fields(value: Any) -> Any:
                if type(value) is not made:
                    return value
                return {key: one for key, one in take(value).items() if one is not None}

            return fields


def _as_it_is(value: Any) -> Any:
    return value
