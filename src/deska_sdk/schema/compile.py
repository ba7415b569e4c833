"""Writing one Python function per schema, and running it (D-10).

The function only accepts: it returns the new value, or ``None`` where the value does not fit, and
``tell`` then words what is wrong. It holds nothing that an author wrote but property names, enum
values and numbers, each built anew from its checked characters or digits before it is written.

For ``{"id": string of 40, "tags": array of 20 strings of 9}``, both required, this is the text of
an input's function that takes a caller's object::

    def check(x0, images, counters):
        try:
            if type(x0) is not dict or len(x0) != 2: return None
            x0 = x0.copy()
            for key in x0:
                if type(key) is not str: return None
            x1 = x0['id']
            if type(x1) is not str: return None
            if len(x1) > 40 or not (x1.isascii() and x1.isprintable()):
                x1 = strip(x1)
                if len(x1) > 40: return None
                x0['id'] = x1
            ...
            return x0
        except KeyError:
            return None
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

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
from deska_sdk.schema.source import (
    cannot_tell,
    count,
    has_images,
    integer,
    levels,
    literal,
    outside,
)
from deska_sdk.text import has_invisible, strip_each, strip_invisible

if TYPE_CHECKING:
    from collections.abc import Callable

    Check: TypeAlias = Callable[..., dict[str, Any] | None]


class Given(Enum):
    """What is known about a value before it is checked; each has its own function."""

    # Looked up at every call, and an enumeration's own hash is a Python function.
    __hash__ = object.__hash__

    #: Anything a caller passed. It is copied while it is checked, and never changed (D-9).
    OBJECT = "object"
    #: What strict JSON text was decoded to: plain, and ours to write to.
    PARSED = "parsed"
    #: The same, from a text in which nothing invisible can stand.
    CLEAN = "clean"
    #: Anything a page passed, to be written as it is: it is neither copied nor changed. What could
    #: not be written as it is, a float without a fraction, does not fit.
    SENT = "sent"


#: Up to this many characters two built-in methods tell that a text is clean quicker than a call.
_SHORT: Final = 64

#: Beyond these a function would be longer than it is worth; the interpreter checks such a schema.
_MOST_NODES: Final = 1_000
_MOST_LEVELS: Final = 6

# All the names that a generated function can use.
_NAMES: Final[dict[str, object]] = {
    "__builtins__": {},
    "dict": dict,
    "enumerate": enumerate,
    "float": float,
    "int": int,
    "len": len,
    "list": list,
    "map": map,
    "max": max,
    "str": str,
    "type": type,
    "KeyError": KeyError,
    "TypeError": TypeError,
    "cannot_tell": cannot_tell,
    "strip": strip_invisible,
    "strip_each": strip_each,
    "has_invisible": has_invisible,
    # what a counter looks like. Generated code asks only about texts from 'r1' to 'r:'.
    "is_counter": re.compile("r[1-9][0-9]*").fullmatch,
}


def compilable(node: Node) -> bool:
    """Whether :func:`compiled` should be asked for ``node``: it is no larger than pays."""
    return levels(node) <= _MOST_LEVELS and count(node) <= _MOST_NODES


@lru_cache(maxsize=512)
def compiled(node: Node, side: Side, given: Given, *, places: bool = True) -> Check:
    """The generated checker for ``node``. Equal nodes share it.

    It takes the value and two lists, adds the places of images and counters to them, and returns
    the new value, or ``None`` where the value does not fit. Without ``places`` it takes the value
    alone and looks for none.
    """
    names = dict(_NAMES)
    text = source(node, side, given, places=places)
    exec(compile(text, "<deska schema>", "exec"), names)  # noqa: S102
    return cast("Check", names["check"])


def source(node: Node, side: Side, given: Given, *, places: bool = True) -> str:
    """The text of the function that :func:`compiled` runs.

    :raises ValueError: where a hand-made node holds a name or number that :func:`parse_schema`
        would have refused.
    """
    writer = _Writer(side, given, places=places)
    writer.line(f"def check(x0, {'images, counters' if places else 'refuse=cannot_tell'}):")
    writer.depth = 1
    if writer.copies and not places:
        writer.line("given = x0")
    writer.line("try:")
    writer.depth = 2
    writer.value(node, "x0", None)
    writer.line("return x0")
    writer.depth = 1
    # A required property is missing, or stands in what is no object. What is said about it is said
    # below, where the error is gone.
    writer.line(f"except {'KeyError' if writer.doubts else '(KeyError, TypeError)'}: pass")
    writer.line(writer.refusal)
    return "\n".join(writer.lines) + "\n"


class _Place:
    """Where a value stands in the generated function: its container's variable and its key."""

    def __init__(self, container: str, key: str) -> None:
        self.target = f"{container}[{key}]"
        self.slot = f"({container}, {key})"


class _Writer:
    """Writes the statements that check one variable after the other."""

    def __init__(self, side: Side, given: Given, *, places: bool) -> None:
        self.copies = given is Given.OBJECT
        self.mends = given is not Given.SENT
        # D-8: only decoded JSON has exact keys for sure.
        self.doubts = given is Given.OBJECT or given is Given.SENT
        # T-3: only inputs are stripped before the check, and a clean text needs no stripping.
        self.strips = side == "input" and given is not Given.CLEAN
        # only inputs carry counters.
        self.counts = places and side == "input"
        self.places = places
        self.refusal = "return None"
        if not places:
            self.refusal = f"return refuse({'given' if self.copies else 'x0'})"
        self.lines: list[str] = []
        self.depth = 0
        self.variables = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def refuse_if(self, condition: str) -> None:
        self.line(f"if {condition}: {self.refusal}")

    def variable(self, letter: str) -> str:
        self.variables += 1
        return f"{letter}{self.variables}"

    def value(self, node: Node, x: str, place: _Place | None) -> None:
        """Check variable ``x`` against ``node`` and put what is new about it in its place."""
        match node:
            case ObjectNode():
                self.object(node, x, place)
            case ArrayNode():
                self.array(node, x, place)
            case StringNode():
                self.string(node, x, _standing(place))
            case EnumNode():
                self.enum(node, x, _standing(place))
            case NumberNode():
                self.number(node, x, _standing(place))
            case BooleanNode():
                self.refuse_if(f"{x} is not True and {x} is not False")

    # -- objects -------------------------------------------------------------------------------

    def object(self, node: ObjectNode, x: str, place: _Place | None) -> None:
        members = node.properties or ()
        required = frozenset(node.required or ())
        least, most = len(required), len(members)
        # D-7: an object is closed. Its size is looked at before it is copied.
        wrong_size = f"len({x}) != {most}" if least == most else f"len({x}) > {most}"
        # What JSON was decoded to and is no object has no members: to look one up is an error.
        surely = not self.doubts and least and place is not None
        self.refuse_if(wrong_size if surely else f"type({x}) is not dict or {wrong_size}")
        if self.copies:
            self.line(f"{x} = {x}.copy()")
            if place is not None:
                self.line(f"{place.target} = {x}")
        if self.doubts:
            # D-8: exact types, of keys too, and before any is looked up: the rest could lie.
            self.line(f"for key in {x}:")
            self.line(f"    if type(key) is not str: {self.refusal}")
        if self.places and sum(has_images(member.node) for member in members) > 1:
            self.members_in_order(node, x, required)
        else:
            self.members_by_name(node, x, required)

    def members_by_name(self, node: ObjectNode, x: str, required: frozenset[str]) -> None:
        members = node.properties or ()
        # Where every property is required the right size and no missing name leave no unknown one.
        counts = len(required) < len(members)
        left = self.variable("n")
        if counts:
            self.line(f"{left} = len({x})" + (f" - {len(required)}" if required else ""))
        for member in members:
            name = literal(member.name)
            if member.name not in required:
                self.line(f"if {name} in {x}:")
                self.depth += 1
                self.line(f"{left} -= 1")
            self.member(member.node, x, name)
            if member.name not in required:
                self.depth -= 1
        if counts:
            self.refuse_if(f"{left} != 0")

    def members_in_order(self, node: ObjectNode, x: str, required: frozenset[str]) -> None:
        """The members in the order of the value, as I-4 numbers images in document order."""
        missing = self.variable("n")
        key = self.variable("k")
        self.line(f"{missing} = {len(required)}")
        self.line(f"for {key} in {x}:")
        self.depth += 1
        word = "if"
        for member in node.properties or ():
            name = literal(member.name)
            self.line(f"{word} {key} == {name}:")
            self.depth += 1
            if member.name in required:
                self.line(f"{missing} -= 1")
            self.member(member.node, x, name)
            self.depth -= 1
            word = "elif"
        self.line(f"else: {self.refusal}")
        self.depth -= 1
        self.refuse_if(f"{missing} != 0")

    def member(self, node: Node, x: str, name: str) -> None:
        item = self.variable("x")
        self.line(f"{item} = {x}[{name}]")
        self.value(node, item, _Place(x, name))

    # -- arrays --------------------------------------------------------------------------------

    def array(self, node: ArrayNode, x: str, place: _Place | None) -> None:
        most = integer(node.max_items)
        self.refuse_if(f"type({x}) is not list")
        if self.copies:
            # Enough of it to see that it is too long; a page may pass a list of any length.
            self.line(f"{x} = {x}[:{most} + 1]")
            self.line(f"{_standing(place).target} = {x}")
        self.refuse_if(f"len({x}) > {most}")
        if isinstance(node.items, StringNode) and node.items.format is None:
            self.strings(node.items, x)
        else:
            self.items(node.items, x)

    def items(self, node: Node, x: str) -> None:
        index, item = self.variable("i"), self.variable("x")
        if isinstance(node, (ObjectNode, BooleanNode)) and not self.copies:
            self.line(f"for {item} in {x}:")  # nothing is put back in its place
        else:
            self.line(f"for {index}, {item} in enumerate({x}):")
        self.depth += 1
        self.value(node, item, _Place(x, index))
        self.depth -= 1

    def strings(self, node: StringNode, x: str) -> None:
        """Many texts: types and lengths in a tight loop, and one look at all of them together."""
        item = self.variable("x")
        most = integer(node.max_length)
        unfit = f"type({item}) is not str or len({item}) > {most}"
        if not self.counts and not self.strips:
            self.line(f"for {item} in {x}:")
            self.line(f"    if {unfit}: {self.refusal}")
            return
        closer = self.variable("n")
        counter = f" or 'r1' <= {item} < 'r:'" if self.counts else ""
        self.line(f"for {item} in {x}:")
        self.line(f"    if {unfit}{counter}:")
        self.line(f"        {closer} = True")
        self.line("        break")
        self.line("else:")
        # Whether a text is clean is a matter of its single characters (T-1), so all are asked at
        # once.
        unclean = f"has_invisible(''.join({x}))" if self.strips else "False"
        self.line(f"    {closer} = {unclean}")
        self.line(f"if {closer}:")
        self.depth += 1
        if self.strips:
            self.line(f"for {item} in {x}:")
            self.line(f"    if type({item}) is not str: {self.refusal}")
            self.line(f"{x}[:] = strip_each({x})")
            # A text that is too long only as it was sent fits (T-3).
            unfit = f"len({item}) > {most}"
        if self.counts:
            index = self.variable("i")
            self.line(f"for {index}, {item} in enumerate({x}):")
            self.line(f"    if {unfit}: {self.refusal}")
            self.line(f"    {_counter(item, _Place(x, index))}")
        else:
            self.refuse_if(f"max(map(len, {x})) > {most}")
        self.depth -= 1

    # -- the leaves ----------------------------------------------------------------------------

    def string(self, node: StringNode, x: str, place: _Place) -> None:
        most = integer(node.max_length)
        if node.format is not None:
            # T-3: an image's path or id is taken as it is.
            self.refuse_if(f"type({x}) is not str or len({x}) > {most}")
            if self.places:
                self.line(f"images.append({place.slot})")
            return
        if self.strips:
            look = min(node.max_length, _SHORT)
            self.refuse_if(f"type({x}) is not str")
            self.line(f"if len({x}) > {look} or not ({x}.isascii() and {x}.isprintable()):")
            # A text that is too long only as it was sent fits (T-3).
            self.line(f"    {x} = strip({x})")
            self.line(f"    if len({x}) > {most}: {self.refusal}")
            self.line(f"    {place.target} = {x}")
        else:
            self.refuse_if(f"type({x}) is not str or len({x}) > {most}")
        if self.counts:
            self.line(_counter(x, place))

    def enum(self, node: EnumNode, x: str, place: _Place) -> None:
        longest = node.max_length
        values = [literal(word) for word in node.values if longest is None or len(word) <= longest]
        listed = f"{{{', '.join(values)}}}" if values else "()"
        if not self.strips:
            self.refuse_if(f"type({x}) is not str or {x} not in {listed}")
            return
        # A token is clean, so a text that is one as it was sent needs no stripping.
        self.refuse_if(f"type({x}) is not str")
        self.line(f"if {x} not in {listed}:")
        self.line(f"    {x} = strip({x})")
        self.line(f"    if {x} not in {listed}: {self.refusal}")
        self.line(f"    {place.target} = {x}")

    def number(self, node: NumberNode, x: str, place: _Place) -> None:
        self.line(f"if type({x}) is int:")
        self.line(f"    if {outside(node, x)}: {self.refusal}")
        self.line(f"elif type({x}) is not float or {outside(node, x, floats=True)}: {self.refusal}")
        # D-8: a number without a fraction is handed on as an int, on both kinds of node.
        mended = f"{place.target} = int({x})" if self.mends else self.refusal
        self.line(f"elif {x}.is_integer(): {mended}")
        if node.whole:
            self.line(f"else: {self.refusal}")


def _counter(x: str, place: _Place) -> str:
    return f"if 'r1' <= {x} < 'r:' and is_counter({x}): counters.append({place.slot})"


def _standing(place: _Place | None) -> _Place:
    if place is None:
        raise ValueError("the root of a schema is an object")  # D-1
    return place
