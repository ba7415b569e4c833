"""A value that fits its schema, and the places in it that whoever hands it on still has to fill."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from attrs import define, field

from deska_sdk.text import has_invisible, strip_invisible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deska_sdk.schema.nodes import Side

#: A place in the new value: its container there, and the key or index in it.
#: Types cannot say that a dict goes with a name and a list with an index.
Slot: TypeAlias = "tuple[Any, Any]"

# Escapes in compact JSON that stand for a character T-1 knows: all but \" \\ \/ \n \t. Where an
# escaped backslash comes before one of these letters the text is walked for nothing, no more.
HIDING_ESCAPE = re.compile(r"\\[bfru]")


@define(eq=False)
class Checked:
    """What :meth:`Checker.examine` hands on.

    ``value`` is new and belongs to the caller: every object and array in it may be written to.
    On the input side its strings are stripped (T-3). On the output side it is as it was sent, but
    for D-8's integers, until :meth:`strip` is called.
    """

    value: dict[str, Any] = field(repr=False)
    #: Each string with a format, every occurrence, in document order of the value (I-2, I-4).
    images: list[Slot] = field(repr=False)
    #: Inputs only: each plain string that is as a whole what a counter looks like (R-4). They come
    #: in no promised order.
    counters: list[Slot] = field(repr=False)
    side: Side

    def strip(self, sent: str | None = None) -> bool:
        """Strip every string of an output's ``value`` in place, but no ``deska-file`` id (T-3).

        ``sent`` is the compact JSON of this very ``value``, for a caller who has it at hand: where
        it shows that nothing in the value can be invisible, the value is not walked.

        Returns whether a string changed. An input was stripped before it was checked, so for an
        input this does nothing and returns ``False``.
        """
        if self.side == "input":
            return False
        if sent is not None and not has_invisible(sent) and not HIDING_ESCAPE.search(sent):
            return False
        kept = {(id(container), key) for container, key in self.images}
        return _strip(self.value, kept)


def _strip(container: dict[str, Any] | list[Any], kept: set[tuple[int, str | int]]) -> bool:
    """Strip what is in ``container``. It was checked, so it is as shallow as its schema."""
    changed = False
    members = container.items() if isinstance(container, dict) else enumerate(container)
    for key, item in cast("Iterable[tuple[Any, object]]", members):
        if type(item) is str:
            text = strip_invisible(item)
            if text is not item and (id(container), key) not in kept:
                container[key] = text
                changed = True
        elif type(item) is dict or type(item) is list:
            changed |= _strip(cast("dict[str, Any] | list[Any]", item), kept)
    return changed
