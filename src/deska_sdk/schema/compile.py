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
    is_token,
)
from deska_sdk.text import has_invisible, strip_invisible

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.schema.checked import Slot

    Check: TypeAlias = Callable[[object, list[Slot], list[Slot]], dict[str, Any] | None]


class Given(Enum):
    """What is known about a value before it is checked; each has its own function."""

    #: Anything a caller passed. It is copied while it is checked, and never changed (D-9).
    OBJECT = "object"
    #: What strict JSON text was decoded to: plain, and ours to write to.
    PARSED = "parsed"
    #: The same, from a text in which nothing invisible can stand.
    CLEAN = "clean"


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
    "str": str,
    "type": type,
    "KeyError": KeyError,
    "strip": strip_invisible,
    "has_invisible": has_invisible,
    # what a counter looks like. Generated code asks only about texts from 'r1' to 'r:'.
    "is_counter": re.compile("r[1-9][0-9]*").fullmatch,
}


def compilable(node: Node) -> bool:
    """Whether :func:`compiled` should be asked for ``node``: it is no larger than pays."""
    return _levels(node) <= _MOST_LEVELS and _count(node) <= _MOST_NODES


@lru_cache(maxsize=512)
def compiled(node: Node, side: Side, given: Given) -> Check:
    """The generated checker for ``node``. Equal nodes share it.

    It takes the value and two lists, adds the places of images and counters to them, and returns
    the new value, or ``None`` where the value does not fit.
    """
    names = dict(_NAMES)
    exec(compile(source(node, side, given), "<deska schema>", "exec"), names)  # noqa: S102
    return cast("Check", names["check"])


def source(node: Node, side: Side, given: Given) -> str:
    """The text of the function that :func:`compiled` runs.

    :raises ValueError: where a hand-made node holds a name or number that :func:`parse_schema`
        would have refused.
    """
    writer = _Writer(side, given)
    writer.line("def check(x0, images, counters):")
    writer.depth = 1
    writer.line("try:")
    writer.depth = 2
    writer.value(node, "x0", None)
    writer.line("return x0")
    writer.depth = 1
    writer.line("except KeyError:")  # a required property is missing
    writer.line("    return None")
    return "\n".join(writer.lines) + "\n"


class _Place:
    """Where a value stands in the generated function: its container's variable and its key."""

    def __init__(self, container: str, key: str) -> None:
        self.target = f"{container}[{key}]"
        self.slot = f"({container}, {key})"


class _Writer:
    """Writes the statements that check one variable after the other."""

    def __init__(self, side: Side, given: Given) -> None:
        self.copies = given is Given.OBJECT
        # T-3: only inputs are stripped before the check, and a clean text needs no stripping.
        self.strips = side == "input" and given is not Given.CLEAN
        # only inputs carry counters.
        self.counts = side == "input"
        self.lines: list[str] = []
        self.depth = 0
        self.variables = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def refuse_if(self, condition: str) -> None:
        self.line(f"if {condition}: return None")

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
        self.refuse_if(f"type({x}) is not dict or {wrong_size}")
        if self.copies:
            self.line(f"{x} = {x}.copy()")
            if place is not None:
                self.line(f"{place.target} = {x}")
            # D-8: exact types, of keys too, and before any is looked up: the rest could lie.
            self.line(f"for key in {x}:")
            self.line("    if type(key) is not str: return None")
        if sum(_has_images(member.node) for member in members) > 1:
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
            name = _token(member.name)
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
            name = _token(member.name)
            self.line(f"{word} {key} == {name}:")
            self.depth += 1
            if member.name in required:
                self.line(f"{missing} -= 1")
            self.member(member.node, x, name)
            self.depth -= 1
            word = "elif"
        self.line("else: return None")
        self.depth -= 1
        self.refuse_if(f"{missing} != 0")

    def member(self, node: Node, x: str, name: str) -> None:
        item = self.variable("x")
        self.line(f"{item} = {x}[{name}]")
        self.value(node, item, _Place(x, name))

    # -- arrays --------------------------------------------------------------------------------

    def array(self, node: ArrayNode, x: str, place: _Place | None) -> None:
        most = _integer(node.max_items)
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
        self.line(f"for {index}, {item} in enumerate({x}):")
        self.depth += 1
        self.value(node, item, _Place(x, index))
        self.depth -= 1

    def strings(self, node: StringNode, x: str) -> None:
        """Many texts: types and lengths in a tight loop, and one look at all of them together."""
        item = self.variable("x")
        unfit = f"type({item}) is not str or len({item}) > {_integer(node.max_length)}"
        self.line(f"for {item} in {x}:")
        if not self.counts:
            self.line(f"    if {unfit}: return None")
            return
        one_by_one = self.variable("n")
        self.line(f"    if {unfit} or 'r1' <= {item} < 'r:':")
        self.line(f"        {one_by_one} = True")
        self.line("        break")
        self.line("else:")
        # Whether a text is clean is a matter of its single characters (T-1), so all are asked at
        # once.
        unclean = f"has_invisible(''.join({x}))" if self.strips else "False"
        self.line(f"    {one_by_one} = {unclean}")
        self.line(f"if {one_by_one}:")
        self.depth += 1
        self.items(node, x)
        self.depth -= 1

    # -- the leaves ----------------------------------------------------------------------------

    def string(self, node: StringNode, x: str, place: _Place) -> None:
        most = _integer(node.max_length)
        if node.format is not None:
            # T-3: an image's path or id is taken as it is.
            self.refuse_if(f"type({x}) is not str or len({x}) > {most}")
            self.line(f"images.append({place.slot})")
            return
        if self.strips:
            look = min(node.max_length, _SHORT)
            self.refuse_if(f"type({x}) is not str")
            self.line(f"if len({x}) > {look} or not ({x}.isascii() and {x}.isprintable()):")
            # A text that is too long only as it was sent fits (T-3).
            self.line(f"    {x} = strip({x})")
            self.line(f"    if len({x}) > {most}: return None")
            self.line(f"    {place.target} = {x}")
        else:
            self.refuse_if(f"type({x}) is not str or len({x}) > {most}")
        if self.counts:
            self.line(f"if 'r1' <= {x} < 'r:' and is_counter({x}): counters.append({place.slot})")

    def enum(self, node: EnumNode, x: str, place: _Place) -> None:
        longest = node.max_length
        values = [_token(word) for word in node.values if longest is None or len(word) <= longest]
        listed = f"{{{', '.join(values)}}}" if values else "()"
        if not self.strips:
            self.refuse_if(f"type({x}) is not str or {x} not in {listed}")
            return
        # A token is clean, so a text that is one as it was sent needs no stripping.
        self.refuse_if(f"type({x}) is not str")
        self.line(f"if {x} not in {listed}:")
        self.line(f"    {x} = strip({x})")
        self.line(f"    if {x} not in {listed}: return None")
        self.line(f"    {place.target} = {x}")

    def number(self, node: NumberNode, x: str, place: _Place) -> None:
        # NaN and the infinities are between no two bounds.
        outside = f"not {_bound(node.lowest)} <= {x} <= {_bound(node.highest)}"
        self.line(f"if type({x}) is int:")
        self.line(f"    if {outside}: return None")
        self.line(f"elif type({x}) is not float or {outside}: return None")
        # D-8: a number without a fraction is handed on as an int, on both kinds of node.
        self.line(f"elif {x}.is_integer(): {place.target} = int({x})")
        if node.whole:
            self.line("else: return None")


def _standing(place: _Place | None) -> _Place:
    if place is None:
        raise ValueError("the root of a schema is an object")  # D-1
    return place


def _has_images(node: Node) -> bool:
    match node:
        case StringNode():
            return node.format is not None
        case ArrayNode():
            return _has_images(node.items)
        case ObjectNode():
            return any(_has_images(member.node) for member in node.properties or ())
        case _:
            return False


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case ArrayNode():
            return (node.items,)
        case ObjectNode():
            return tuple(member.node for member in node.properties or ())
        case _:
            return ()


def _levels(node: Node) -> int:
    return 1 + max(map(_levels, _children(node)), default=0)


def _count(node: Node) -> int:
    return 1 + sum(map(_count, _children(node)))


# D-10: the three ways in which something of a schema becomes source text.


def _token(text: str) -> str:
    """A name or enum value as a literal, from characters that are looked at once more."""
    plain = str.encode(text, "ascii", "replace").decode("ascii")
    if not is_token(plain, len(plain)):
        raise ValueError("a name or an enum value is no token")
    return repr(plain)


def _integer(value: int) -> str:
    if type(value) is not int:
        raise ValueError("a limit is no integer")
    return repr(value)


def _bound(value: int | float) -> str:
    if type(value) is not int and (type(value) is not float or value - value != 0):
        raise ValueError("a bound is no finite number")
    return repr(value)
