"""Random attrs classes of the dialect, each with values that fit its schema."""

from __future__ import annotations

import enum
import string
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
from attrs import frozen
from hypothesis import strategies as st

from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.typed import Maximum, MaxItems, MaxLength, Minimum, WriteAnswer
from deska_sdk.panels.typed.derive import derive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deska_sdk.panels.typed.shapes import Fields
    from deska_sdk.schema.nodes import Side


class Mood(enum.StrEnum):
    """A ``StrEnum`` with a value that is no identifier."""

    CALM = "calm"
    WILD = "not-calm"


#: Text that is handed on as it is: nothing in it is invisible (T-3).
TEXT = st.text(string.ascii_letters + "é<&\"' \n", max_size=12)
#: Names that cattrs and attrs have as parameters of their own are among them.
NAMES = st.sampled_from(
    ["text", "note", "cl", "attrs", "converter", "o", "res", "instance", "_x", "kwargs"]
)


@frozen
class Example:
    """An annotation, and a strategy for values as they come in and go out."""

    annotation: Any
    values: st.SearchStrategy[Any]


@st.composite
def leaves(draw: st.DrawFn) -> Example:
    match draw(st.integers(0, 5)):
        case 0:
            return Example(Annotated[str, MaxLength(12)], TEXT)
        case 1:
            low = draw(st.integers(-9, 9))
            return Example(Annotated[int, Minimum(low)], st.integers(low, 2**53 - 1))
        case 2:
            floats = st.floats(-1e6, 0.5, allow_nan=False).filter(lambda one: one % 1 != 0)
            return Example(Annotated[float, Maximum(0.5)], floats | st.integers(-9, 0))
        case 3:
            return Example(bool, st.booleans())
        case 4:
            return Example(Literal["a", "b.c"], st.sampled_from(["a", "b.c"]))
        case _:
            return Example(Mood, st.sampled_from(["calm", "not-calm"]))


@st.composite
def examples(draw: st.DrawFn, levels: int) -> Example:
    """What may stand in a property or an item that has ``levels`` below the root."""
    kind = draw(st.sampled_from(["leaf", "list", "class"] if levels > 1 else ["leaf"]))
    if kind == "leaf":
        return draw(leaves())
    if kind == "class":
        return draw(classes(levels - 1))
    item = draw(examples(levels - 1))
    annotation = Annotated[list[item.annotation], MaxItems(3)]  # type: ignore[name-defined]
    return Example(annotation, st.lists(item.values, max_size=3))


@st.composite
def classes(draw: st.DrawFn, levels: int = 3) -> Example:
    """A frozen attrs class with required and optional fields, and dicts that fit it."""
    names = draw(st.lists(NAMES, max_size=4, unique=True))
    fields: dict[str, Any] = {}
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for name in names:
        one = draw(examples(levels))
        # attrs has no field without a default after one that has it, unless all are by keyword.
        if draw(st.booleans()):
            fields[name] = attrs.field(type=one.annotation)
            required[name] = one.values
        else:
            fields[name] = attrs.field(type=one.annotation | None, default=None)
            optional[name] = one.values
    made = attrs.make_class("Made", fields, frozen=True, kw_only=True)
    return Example(made, st.fixed_dictionaries(required, optional=optional))


def shape_of(made: Any, side: Side = "input", page: Mapping[str, Any] | None = None) -> Fields:
    """The shape of ``made``, as an action of this name would get it."""
    names = {} if page is None else page
    return derive(made, side, page=names, place="act", limits=DEFAULT_LIMITS)


def handler_of(given: Any, answered: Any = WriteAnswer, name: str = "act") -> Any:
    """A handler whose annotations are these."""

    async def handler(deska: Any, given: Any) -> Any:
        return None

    handler.__name__ = name
    handler.__annotations__.update({"given": given, "return": answered})
    return handler
