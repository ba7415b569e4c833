"""Counting the properties of a typed value, and mending its floats (D-8), on one walk.

For ``{"rows": array of {"id": string, "hours": number}}``, all required, this is the function::

    def finish(x0):
        n = 1
        x1 = x0['rows']
        n += 2 * len(x1)
        for x2 in x1:
            x3 = x2['hours']
            if type(x3) is float and x3.is_integer(): x2['hours'] = int(x3)
        return n
"""

from __future__ import annotations

from typing import Final

from deska_sdk.schema.nodes import ArrayNode, Node, NumberNode, ObjectNode
from deska_sdk.schema.source import literal

#: All the names that the function can use.
NAMES: Final[dict[str, object]] = {
    "__builtins__": {},
    "enumerate": enumerate,
    "float": float,
    "int": int,
    "len": len,
    "map": map,
    "sum": sum,
    "type": type,
}


def steps(node: ObjectNode) -> tuple[list[str], int]:
    """Statements that mend ``x0`` and add to ``n``, and how many properties ``x0`` surely has."""
    writer = _Finish()
    return writer.lines, writer.object(node, "x0")


def source(node: ObjectNode) -> str:
    """The text of the function ``finish``, see above."""
    lines, surely = steps(node)
    body = [f"n = {surely}", *lines, "return n"]
    return "\n".join(["def finish(x0):", *("    " + line for line in body)]) + "\n"


class _Finish:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0
        self.variables = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def variable(self) -> str:
        self.variables += 1
        return f"x{self.variables}"

    def object(self, node: ObjectNode, x: str) -> int:
        """Write what has to be done about ``x``; return how many properties it surely has."""
        properties, required = node.properties or (), node.required or ()
        least = len(properties)
        if len(required) < len(properties):
            least = 0
            self.line(f"n += len({x})")
        for member in properties:
            name = literal(member.name)
            if not _matters(member.node):
                continue
            item, depth = self.variable(), self.depth
            if member.name in required:
                self.line(f"{item} = {x}[{name}]")
            else:
                self.line(f"if {name} in {x}:")
                self.depth += 1
                self.line(f"{item} = {x}[{name}]")
            static = self.value(member.node, item, f"{x}[{name}]")
            if self.depth == depth:
                least += static
            elif static:
                self.line(f"n += {static}")
            self.depth = depth
        return least

    def value(self, node: Node, x: str, target: str) -> int:
        match node:
            case ObjectNode():
                return self.object(node, x)
            case ArrayNode():
                self.array(node, x)
            case NumberNode():
                # D-8: a number without a fraction is handed on as an int.
                self.line(f"if type({x}) is float and {x}.is_integer(): {target} = int({x})")
            case _:
                pass
        return 0

    def array(self, node: ArrayNode, x: str) -> None:
        items, inner = node.items, _Finish()
        inner.variables, inner.depth = self.variables + 2, self.depth + 1
        item, index = f"x{self.variables + 1}", f"i{self.variables + 2}"
        static = inner.value(items, item, f"{x}[{index}]")
        self.variables = inner.variables
        # What every item has in common is counted once for all of them.
        if static:
            self.line(f"n += {static} * len({x})")
        counted = "    " * inner.depth + f"n += len({item})"
        if inner.lines == [counted]:
            self.line(f"n += sum(map(len, {x}))")
            return
        if not inner.lines:
            return
        if isinstance(items, NumberNode):
            self.line(f"for {index}, {item} in enumerate({x}):")
        else:
            self.line(f"for {item} in {x}:")
        self.lines += inner.lines


def _matters(node: Node) -> bool:
    """Whether there is anything to count or to mend in a value of ``node``."""
    match node:
        case ObjectNode():
            return True
        case ArrayNode():
            return _matters(node.items)
        case NumberNode():
            return not node.whole
        case _:
            return False
