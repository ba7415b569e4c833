"""What a page sent straight to its compact line, where it can be written as it is.

The value is not copied. It is checked, written once, and the line shows whether anything in it is
invisible; only then would there be something to strip.

With msgspec the check has two halves. ``convert`` knows everything about a value but whether its
types are exact (D-8): it takes subclasses, sets, tuples and Decimals for what they are like. Of
these orjson writes tuples and the members of an ``Enum``, and refuses the rest. So a generated
function looks for what both would let pass: at each list whether it is one, at each text and number
whether it is no member of an ``Enum``. Members of an ``Enum`` have a ``__dict__``, so the collector
of cycles tracks them, and every dict that holds one. It tracks no text, no number and (up to Python
3.13) no dict of only such, which one question to it for each object tells.

For ``{"rows": array of {"id": integer, "tags": array of string}}`` this is that function::

    def line(x0):
        try:
            convert(x0, struct)
            x1 = x0['rows']
            if type(x1) is not list: return None
            for x2 in x1:
                x3 = x2['id']
                if type(x3) is not int: return None
                ...
            data = dumps(x0)
        except Refusal:
            return None
        return data
"""

from __future__ import annotations

import re
from functools import lru_cache
from gc import is_tracked
from typing import TYPE_CHECKING, Any, Final, cast

from deska_sdk.schema.compile import Given, compiled
from deska_sdk.schema.nodes import (
    ArrayNode,
    BooleanNode,
    EnumNode,
    Node,
    NumberNode,
    ObjectNode,
    StringNode,
)
from deska_sdk.schema.source import literal
from deska_sdk.schema.typed import Types, typable

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.codec import Engine

    Line = Callable[[object], bytes | None]

#: A schema whose largest value would be longer than this is measured before it is written (N-4).
_MOST_TEXT: Final = 2_097_152

# How orjson ends a float without a fraction, which has to be written as an int (D-8).
_WHOLE: Final = re.compile(rb"\.0[,\]}]")

_NAMES: Final[dict[str, object]] = {
    "__builtins__": {},
    "any": any,
    "float": float,
    "int": int,
    "is_tracked": is_tracked,
    "list": list,
    "map": map,
    "str": str,
    "type": type,
}


def writable(node: ObjectNode) -> bool:
    """Whether a value of ``node`` may be written before it is measured."""
    return _longest(node) <= _MOST_TEXT


@lru_cache(maxsize=512)
def writer(node: ObjectNode, engine: Engine) -> Line:
    """A function from an output's value to its compact line in UTF-8, or ``None``.

    ``None`` where it cannot tell, or where the value does not fit or cannot be written as it is.
    """
    dumps = engine.dumps
    if engine.msgspec is None or not typable(node):
        fits = compiled(node, "output", Given.SENT, places=False)

        def plain_line(value: object) -> bytes | None:
            return None if fits(value) is None else dumps(value)

        return plain_line

    names: dict[str, Any] = {
        **_NAMES,
        "convert": engine.msgspec.convert,
        "dumps": engine.write,
        "Refusal": (engine.msgspec.MsgspecError, ValueError, KeyError, TypeError),
        "struct": Types(engine.msgspec).struct(node),
        "whole": _WHOLE.search,
    }
    exec(compile(source(node), "<deska schema>", "exec"), names)  # noqa: S102
    return cast("Line", names["line"])


_LINE: Final = """\
def line(x0):
    try:
        convert(x0, struct)
        {exact}
        data = dumps(x0)
    except Refusal:
        return None
    return {told}
"""


def source(node: ObjectNode) -> str:
    """The text of the function that :func:`writer` makes, see above."""
    made = _Exact()
    made.object(node, "x0")
    exact = "\n".join(made.lines).lstrip() or "pass"
    # Floats in a long list are not looked at one by one, but found in the line.
    told = "None if whole(data) else data" if _lists_fractions(node) else "data"
    return _LINE.format(exact=exact, told=told)


class _Exact:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 2
        self.variables = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def object(self, node: ObjectNode, x: str) -> None:
        required = node.required or ()
        for member in node.properties or ():
            if isinstance(member.node, BooleanNode):
                continue  # a bool can have no subclass
            name, depth = literal(member.name), self.depth
            if member.name not in required:
                self.line(f"if {name} in {x}:")
                self.depth += 1
            self.variables += 1
            item = f"x{self.variables}"
            self.line(f"{item} = {x}[{name}]")
            self.value(member.node, item)
            self.depth = depth

    def value(self, node: Node, x: str) -> None:
        match node:
            case ObjectNode():
                self.object(node, x)
            case ArrayNode():
                self.array(node, x)
            case StringNode() | EnumNode():
                self.line(f"if type({x}) is not str: return None")
            case NumberNode():
                if node.whole:
                    self.line(f"if type({x}) is not int: return None")
                else:
                    fraction = f"type({x}) is float and not {x}.is_integer()"
                    self.line(f"if not (type({x}) is int or {fraction}): return None")
            case BooleanNode():
                pass

    def array(self, node: ArrayNode, x: str) -> None:
        self.line(f"if type({x}) is not list: return None")
        items = node.items
        if isinstance(items, BooleanNode):
            return
        depth = self.depth
        if not isinstance(items, ArrayNode) and _is_flat(items):
            # One question for each item, and a closer look only where that does not settle it.
            self.line(f"if any(map(is_tracked, {x})):")
            self.depth += 1
        self.variables += 1
        item = f"x{self.variables}"
        self.line(f"for {item} in {x}:")
        self.depth += 1
        before = len(self.lines)
        self.value(items, item)
        if len(self.lines) == before:
            self.line("pass")
        self.depth = depth


def _is_flat(node: Node) -> bool:
    """Whether a value of ``node`` holds no array or object within an object."""
    if isinstance(node, ObjectNode):
        inner = (member.node for member in node.properties or ())
        return not any(isinstance(one, (ArrayNode, ObjectNode)) for one in inner)
    return True


def _lists_fractions(node: Node, *, listed: bool = False) -> bool:
    """Whether there may be floats inside of an array in ``node``."""
    match node:
        case NumberNode():
            return listed and not node.whole
        case ArrayNode():
            return _lists_fractions(node.items, listed=True)
        case ObjectNode():
            inner = node.properties or ()
            return any(_lists_fractions(member.node, listed=listed) for member in inner)
        case _:
            return False


def _longest(node: Node) -> int:
    """About how many characters the longest value of ``node`` is written in."""
    match node:
        case ObjectNode():
            members = node.properties or ()
            return sum(len(member.name) + 4 + _longest(member.node) for member in members) + 2
        case ArrayNode():
            return node.max_items * (_longest(node.items) + 1) + 2
        case StringNode():
            return node.max_length + 2
        case EnumNode():
            return max(map(len, node.values)) + 2
        case _:
            return 24
