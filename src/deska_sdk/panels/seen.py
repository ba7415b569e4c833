"""What an agent sees of one action, and what the person agrees to: one function for both (C-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from deska_sdk.panels.manifest import Action


def seen(action: Action) -> dict[str, Any]:
    """Name, kind, folded description, and the schemas without any ``description`` (L-2, C-2).

    A new value. The schemas are as the author wrote them and their keys stand in that order. The
    schemas of an action that is not usable (L-4) are taken too: the person is asked about every
    action of a panel.
    """
    shown: dict[str, Any] = {
        "name": action.name,
        "kind": action.kind,
        "description": action.folded_description,
        "input": _without_descriptions(action.input),
    }
    if action.output is not None:
        shown["output"] = _without_descriptions(action.output)
    return shown


def _without_descriptions(schema: object) -> object:
    """A schema without the ``description`` of any node. A property may have that name and stays."""
    if type(schema) is not dict:
        return schema
    node = cast("dict[str, object]", schema)
    made: dict[str, object] = {}
    for word, value in node.items():
        if word == "description":
            continue
        if word == "properties" and type(value) is dict:
            properties = cast("dict[str, object]", value)
            made[word] = {name: _without_descriptions(child) for name, child in properties.items()}
        else:
            made[word] = _without_descriptions(value) if word == "items" else value
    return made
