"""The port between a page and the host: a closed table of messages of plain values (G-5).

There is no other way through. None of the messages calls a tool, reads or writes the
conversation, says which task or agent called, or reaches the person's side.
"""

from __future__ import annotations

from typing import Any, cast

from attrs import frozen

from deska_sdk._words import Word
from deska_sdk.errors import PageCode, PageError


class Direction(Word):
    """Who sends a message."""

    TO_HOST = "to host"
    TO_PAGE = "to page"


@frozen
class MessageKind:
    """What a message must hold besides its ``type``: these keys, all of them and no other."""

    direction: Direction
    keys: frozenset[str]
    #: Whether the host answers it with ``settled`` or ``refused`` under the same ``id``.
    answered: bool = False


def _ask(*keys: str) -> MessageKind:
    return MessageKind(Direction.TO_HOST, frozenset({"id", *keys}), answered=True)


def _tell(*keys: str) -> MessageKind:
    return MessageKind(Direction.TO_PAGE, frozenset(keys))


PORT: dict[str, MessageKind] = {
    "ready": MessageKind(Direction.TO_HOST, frozenset()),
    "agent.respond": _ask("callId", "answer"),
    "agent.offer": _ask("text", "files"),
    "storage.get": _ask("key"),
    "storage.set": _ask("key", "value"),
    "files.put": _ask("blob"),
    "files.get": _ask("file"),
    "files.ids": _ask(),
    "files.delete": _ask("file"),
    "save": _ask("name", "blob"),
    "copy": _ask("text"),
    "notify": _ask("text"),
    "init": _tell("agent"),
    "agent.connected": _tell("tasks"),
    "agent.action": _tell("callId", "action", "input"),
    "settled": _tell("id", "value"),
    "refused": _tell("id", "code"),
}

Message = dict[str, Any]

# All the keys of each message, by direction: every call passes here three times.
_ALLOWED: dict[Direction, dict[str, frozenset[str]]] = {
    direction: {
        name: kind.keys | {"type"} for name, kind in PORT.items() if kind.direction is direction
    }
    for direction in Direction
}


def check_message(message: object, direction: Direction) -> Message:
    """``message`` itself, when the table allows it in this direction.

    :raises PageError: ``invalid_args``: it is not in the table, or has other keys.
    """
    if type(message) is dict:
        checked = cast("Message", message)
        kind_name = checked.get("type")
        if type(kind_name) is str and checked.keys() == _ALLOWED[direction].get(kind_name):
            return checked
    raise PageError(PageCode.INVALID_ARGS)
