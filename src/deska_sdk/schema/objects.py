"""Objects of a caller checked and stripped with msgspec, where they hold arrays.

The value is copied first, so what is checked is what is handed on (D-9). Then its compact line is
made as in :mod:`deska_sdk.schema.sent`, which is a full check of the copy, and shows whether
anything in it is invisible. Where it is, or where the copy would have to be changed for another
reason, the generated checker has to do it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from deska_sdk.schema.nodes import ArrayNode, ObjectNode
from deska_sdk.schema.sent import writer
from deska_sdk.schema.source import integer, literal
from deska_sdk.strictjson import shows_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.codec import Engine

_NAMES: Final[dict[str, object]] = {
    "__builtins__": {},
    "copy": dict[object, object].copy,
    "dict": dict,
    "enumerate": enumerate,
    "list": list,
    "map": map,
    "only_dicts": frozenset((dict,)).issuperset,
    "type": type,
}


@lru_cache(maxsize=512)
def by_line(node: ObjectNode, engine: Engine) -> Callable[[Any], dict[str, Any] | None]:
    """A function from an input's object to its new value, or ``None`` if it cannot tell."""
    names = dict(_NAMES)
    exec(compile(source(node), "<deska schema>", "exec"), names)  # noqa: S102
    copied: Any = names["copied"]
    line = writer(node, engine)

    def check(value: Any) -> dict[str, Any] | None:
        try:
            new = copied(value)
        except (KeyError, TypeError):
            return None
        if new is None:
            return None
        data = line(new)
        return new if data is not None and shows_all(data) else None

    return check


def source(node: ObjectNode) -> str:
    """The text of the function ``copied``: the value anew, or ``None`` where its types differ."""
    made = _Copy()
    made.line("if type(x0) is not dict: return None")
    made.line("x0 = x0.copy()")
    made.members(node, "x0")
    return "\n".join(["def copied(x0):", *made.lines, "    return x0"]) + "\n"


class _Copy:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.variables = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def variable(self, letter: str) -> str:
        self.variables += 1
        return f"{letter}{self.variables}"

    def members(self, node: ObjectNode, x: str) -> None:
        """Copy the objects and arrays in ``x``, which is a copy already."""
        for member in node.properties or ():
            if not isinstance(member.node, (ArrayNode, ObjectNode)):
                continue
            name, depth, item = literal(member.name), self.depth, self.variable("x")
            if member.name not in (node.required or ()):
                self.line(f"if {name} in {x}:")
                self.depth += 1
            self.line(f"{item} = {x}[{name}]")
            self.value(member.node, item, f"{x}[{name}]")
            self.depth = depth

    def value(self, node: ArrayNode | ObjectNode, x: str, target: str) -> None:
        if isinstance(node, ObjectNode):
            self.line(f"if type({x}) is not dict: return None")
            self.line(f"{target} = {x} = {x}.copy()")
            self.members(node, x)
            return
        # Enough of it to see that it is too long; a page may pass a list of any length.
        self.line(f"if type({x}) is not list: return None")
        self.line(f"{x} = {x}[:{integer(node.max_items)} + 1]")
        items = node.items
        if isinstance(items, ObjectNode):
            self.line(f"if not only_dicts(map(type, {x})): return None")
            self.line(f"{x} = list(map(copy, {x}))")
        self.line(f"{target} = {x}")
        item, index = self.variable("x"), self.variable("i")
        before, depth = len(self.lines), self.depth
        self.depth += 1
        if isinstance(items, ObjectNode):
            self.members(items, item)
            head = f"for {item} in {x}:"
        elif isinstance(items, ArrayNode):
            self.value(items, item, f"{x}[{index}]")
            head = f"for {index}, {item} in enumerate({x}):"
        else:
            head = ""
        self.depth = depth
        if len(self.lines) > before:
            self.lines.insert(before, "    " * depth + head)
