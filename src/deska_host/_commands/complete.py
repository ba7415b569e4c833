"""What can come next in a line of ``deska try``: commands, names, and JSON by the schema (K-7).

::

    complete('call add_note {"te', panels)   # (Choice('"text": ', back=3, …),)

Pure: the line up to the cursor goes in, the choices come out.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from attrs import define, field, frozen

from deska_sdk.schema import (
    ArrayNode,
    BooleanNode,
    EnumNode,
    Node,
    ObjectNode,
    StringNode,
    parse_schema,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deska_sdk.panels.manifest import Action, Manifest


@frozen
class Choice:
    """One way to go on."""

    #: What is put in the place of the last ``back`` characters before the cursor.
    text: str
    back: int
    #: What it is, for a menu. It may be a panel's author's text.
    about: str = ""


COMMANDS: Final[dict[str, str]] = {
    "list": "the panels that are connected, and their actions",
    "call": "call an action",
    "help": "what can be typed here",
    "quit": "end",
}


def complete(line: str, panels: Mapping[str, Manifest]) -> tuple[Choice, ...]:
    """The choices at the end of ``line``, the part of a line that stands before the cursor.

    :param panels: the connected panels by id.
    """
    words = line.lstrip().split(None, 1)
    if len(words) == 0 or (len(words) == 1 and not line[-1:].isspace()):
        return _starting(words[0] if words else "", COMMANDS)
    rest = line.lstrip()[len(words[0]) :].lstrip()
    if words[0] != "call":
        return ()
    return _call(rest, panels)


def _starting(part: str, known: Mapping[str, str]) -> tuple[Choice, ...]:
    return tuple(
        Choice(f"{name} ", len(part), about)
        for name, about in known.items()
        if name.startswith(part)
    )


def _call(rest: str, panels: Mapping[str, Manifest]) -> tuple[Choice, ...]:
    only = next(iter(panels.values())) if len(panels) == 1 else None
    first, space, behind = rest.partition(" ")
    if not space:
        known = _actions(only) if only is not None else {}
        return _starting(first, known | {name: one.folded_name for name, one in panels.items()})
    behind = behind.lstrip()
    panel = panels.get(first)
    if panel is not None and (not behind or behind[0] not in "{["):
        name, space, behind = behind.partition(" ")
        if not space:
            return _starting(name, _actions(panel))
        first, behind = name, behind.lstrip()
    else:
        panel = panel or only
    action = next((one for one in panel.actions if one.name == first), None) if panel else None
    return () if action is None else _json(action, behind)


def _actions(panel: Manifest) -> dict[str, str]:
    return {action.name: action.folded_description for action in panel.actions if action.usable}


# --- inside the JSON

_TOKEN: Final = re.compile(
    r'(?P<space>\s+)|(?P<mark>[{}\[\]:,])|(?P<text>"(?:[^"\\]|\\.)*")'
    r'|(?P<open>"(?:[^"\\]|\\.)*\\?$)|(?P<word>[^\s{}\[\]:,"]+)'
)


@define
class _Inside:
    """An object or array that is not closed yet, and what may come next in it."""

    node: Node | None
    expects: str
    key: str | None = None
    used: set[str] = field(factory=set[str])

    def inner(self) -> Node | None:
        """The node of the next value."""
        match self.node:
            case ArrayNode(items=items):
                return items
            case ObjectNode(properties=properties):
                named = {one.name: one.node for one in properties or ()}
                return named.get(self.key or "")
            case _:
                return None


def _json(action: Action, text: str) -> tuple[Choice, ...]:
    root = parse_schema(action.input, "input")[0]
    # What holds the root is an array without an end.
    stack = [_Inside(None, "value")]
    part = ""
    for token in _TOKEN.finditer(text):
        at_end = token.end() == len(text)
        if token["open"] is not None or (token["word"] is not None and at_end):
            part = token[0]
            break
        if token["space"] is None and not _take(stack, token[0], root):
            return ()
    top = stack[-1]
    node = root if len(stack) == 1 else top.inner()
    if top.expects == "key":
        return tuple(_keys(top, part))
    if top.expects == "value" and node is not None:
        return tuple(_values(node, part))
    return ()


def _take(stack: list[_Inside], piece: str, root: Node | None) -> bool:
    """Follow one whole piece; false where it cannot stand here, so nothing can be said."""
    top = stack[-1]
    if piece in "{[" and top.expects == "value":
        node = root if len(stack) == 1 else top.inner()
        top.expects = "comma"
        stack.append(_Inside(node, "key" if piece == "{" else "value"))
    elif piece in "}]" and len(stack) > 1:
        stack.pop()
    elif piece == ":" and top.expects == "colon":
        top.expects = "value"
    elif piece == "," and top.expects == "comma" and len(stack) > 1:
        top.expects = "key" if isinstance(top.node, ObjectNode) else "value"
    elif piece[0] == '"' and top.expects == "key":
        top.key = piece[1:-1]
        top.used.add(top.key)
        top.expects = "colon"
    elif top.expects == "value" and piece[0] not in "{}[]:,":
        top.expects = "comma"
    else:
        return False
    return True


def _keys(inside: _Inside, part: str) -> Iterator[Choice]:
    if not isinstance(inside.node, ObjectNode):
        return
    required = inside.node.required or ()
    for one in inside.node.properties or ():
        key = f'"{one.name}"'
        if one.name not in inside.used and key.startswith(part):
            what = f"{one.node.type}, required" if one.name in required else one.node.type
            about = one.node.description
            yield Choice(f"{key}: ", len(part), f"{what}: {about}" if about else what)


def _values(node: Node, part: str) -> Iterator[Choice]:
    match node:
        case EnumNode(values=values):
            texts = [json.dumps(value) for value in values]
        case BooleanNode():
            texts = ["true", "false"]
        case ObjectNode():
            texts = ["{"]
        case ArrayNode():
            texts = ["["]
        case StringNode():
            texts = ['"'] if not part else []
        case _:
            texts = []
    for text in texts:
        if text.startswith(part):
            yield Choice(text, len(part), node.description or node.type)
