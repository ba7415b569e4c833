"""The JSON Schema of panel.json, for editors (P-8).

::

    print(json.dumps(panel_json_schema(), indent=2))

It uses only words that draft-07 and 2020-12 read alike, so old editors and new ones both take it.
What JSON Schema cannot say is left to the checker: the length of a text once it is folded, unique
names of actions, ``required`` listed in ``properties``, ``minimum`` up to ``maximum``, invisible
characters, duplicate keys, and that ``4.0`` is no whole number here.
"""

from __future__ import annotations

from typing import Any

from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.panels import formats
from deska_sdk.panels.action_rules import KINDS
from deska_sdk.panels.rules import DEFAULT_ENTRY, PERMISSIONS, REQUIRED, SDK
from deska_sdk.schema.nodes import LARGEST, RESERVED, Side

_Schema = dict[str, Any]


def panel_json_schema(*, limits: Limits = DEFAULT_LIMITS) -> _Schema:
    """JSON Schema for panel.json as a new plain value, with a title and a description everywhere.

    A panel.json that :func:`deska_sdk.panels.check.check_panel` accepts is accepted; one that is
    refused is refused where JSON Schema has words for the rule.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "panel.json",
        "description": "The manifest of a panel.",
        "type": "object",
        "properties": _properties(limits),
        "required": list(REQUIRED),
        "additionalProperties": False,
        "allOf": [_permission_needs_agent(), _agent_stays_here()],
        "$defs": {
            "action": _action(limits),
            **_levels("input", limits),
            **_levels("output", limits),
        },
    }


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"


def _titled(title: str, description: str, schema: _Schema) -> _Schema:
    return {"title": title, "description": description, **schema}


def _text(title: str, description: str, **words: Any) -> _Schema:
    return _titled(title, description, {"type": "string", **words})


def _shaped(title: str, description: str, pattern: str, **words: Any) -> _Schema:
    return _text(title, description, pattern=_whole(pattern), **words)


def _list(title: str, description: str, pattern: str) -> _Schema:
    items = {"type": "string", "pattern": _whole(pattern)}
    return _titled(title, description, {"type": "array", "items": items})


def _properties(limits: Limits) -> _Schema:
    return {
        "$schema": _text("Schema", "The address of this schema, for editors; Deska ignores it."),
        "id": _shaped(
            "Id",
            "Names the panel for good: lower-case letters, digits and single hyphens.",
            formats.ID,
            maxLength=limits.panel_id,
        ),
        "name": _text(
            "Name",
            f"What people and agents call the panel, at most {limits.panel_name} characters.",
            minLength=1,
        ),
        "version": _shaped("Version", "A semantic version such as 1.0.0.", formats.VERSION),
        "sdk": _titled(
            "SDK",
            f"The SDK the panel is written for; actions need {SDK}.",
            {"type": "integer", "minimum": 1, "maximum": SDK},
        ),
        "description": _text(
            "Description", "What the panel is for.", maxLength=limits.panel_description
        ),
        "author": _text("Author", "Who made the panel.", minLength=1, maxLength=limits.author),
        "license": _text(
            "License", "Under which license it is given.", minLength=1, maxLength=limits.author
        ),
        "homepage": _shaped("Homepage", "An https address.", formats.HTTPS_URL),
        "icon": _shaped("Icon", "An image inside the package.", formats.PATH),
        "entry": _shaped(
            "Entry",
            f"The page the panel starts with, or a Python module; {DEFAULT_ENTRY} if not given.",
            formats.PATH,
            default=DEFAULT_ENTRY,
        ),
        "permissions": _titled(
            "Permissions",
            "What the panel asks to be allowed.",
            {"type": "array", "uniqueItems": True, "items": {"enum": list(PERMISSIONS)}},
        ),
        "network": _list("Network", "The hosts the page may reach.", formats.HOST),
        "embeds": _list("Embeds", "The https origins the page may show.", formats.ORIGIN),
        "signedInEmbeds": _list(
            "Signed-in embeds",
            "The https origins the page may show with the person signed in.",
            formats.ORIGIN,
        ),
        "agent": _titled(
            "Agent",
            "What agents can do with the panel.",
            {
                "type": "object",
                "properties": {
                    "actions": _titled(
                        "Actions",
                        "Agents are told of them in this order; put the most useful ones first.",
                        {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": limits.actions,
                            "items": {"$ref": "#/$defs/action"},
                        },
                    )
                },
                "required": ["actions"],
                "additionalProperties": False,
            },
        ),
    }


def _permission_needs_agent() -> _Schema:
    """P-3, one way; the other way is in :func:`_agent_stays_here`."""
    has_permission = {
        "properties": {"permissions": {"type": "array", "contains": {"const": "agent"}}},
        "required": ["permissions"],
    }
    return {"if": has_permission, "then": {"required": ["agent"]}}


def _agent_stays_here() -> _Schema:
    """What ``agent`` asks of the rest of the file (P-3, P-5)."""
    way_out = {"enum": ["account", "open-url"]}
    empty = {"maxItems": 0}
    return {
        "if": {"required": ["agent"]},
        "then": {
            "properties": {
                "sdk": {"const": SDK},
                "permissions": {
                    "allOf": [{"contains": {"const": "agent"}}, {"not": {"contains": way_out}}]
                },
                "network": empty,
                "embeds": empty,
                "signedInEmbeds": empty,
            },
            "required": ["permissions"],
        },
    }


def _action(limits: Limits) -> _Schema:
    kind = _titled("Kind", "Whether it reads the panel or changes it.", {"enum": list(KINDS)})
    first = {side: {"$ref": f"#/$defs/{side}1"} for side in ("input", "output")}
    return {
        "type": "object",
        "properties": {
            "name": _shaped(
                "Name",
                "Lower-case letters, digits and _; what agents call it.",
                formats.ACTION_NAME,
                maxLength=limits.action_name,
            ),
            "description": _text(
                "Description",
                "What it does, for the person who connects the panel and for the agent; at most "
                f"{limits.action_description} characters.",
                minLength=1,
            ),
            "kind": kind,
            "input": first["input"],
            "output": first["output"],
        },
        "required": ["name", "description", "kind", "input"],
        "additionalProperties": False,
        "if": {"properties": {"kind": {"const": "read"}}},
        "then": {"required": ["output"]},
        "else": {"properties": {"output": False}},
    }


def _levels(side: Side, limits: Limits) -> _Schema:
    """One definition for each level of a schema (D-1): the last one has nothing below it."""
    levels: _Schema = {}
    for level in range(1, limits.schema_levels + 1):
        nodes = [_object(side, level, limits)]
        if level > 1:
            nodes += _others(side, level, limits)
        levels[f"{side}{level}"] = {"anyOf": nodes} if level > 1 else nodes[0]
    return levels


def _node(
    kind: str, limits: Limits, wanted: tuple[str, ...], /, **words: _Schema | bool
) -> _Schema:
    description = {"type": "string", "minLength": 1, "maxLength": limits.schema_description}
    return {
        "type": "object",
        "properties": {"type": {"const": kind}, **words, "description": description},
        "required": ["type", *wanted],
        "additionalProperties": False,
    }


def _below(side: Side, level: int, limits: Limits) -> _Schema | bool:
    return {"$ref": f"#/$defs/{side}{level + 1}"} if level < limits.schema_levels else False


def _object(side: Side, level: int, limits: Limits) -> _Schema:
    return _node(
        "object",
        limits,
        (),
        properties={
            "type": "object",
            "maxProperties": limits.properties,
            "propertyNames": {**_token(limits), "not": {"enum": sorted(RESERVED)}},
            "additionalProperties": _below(side, level, limits),
        },
        required={"type": "array", "uniqueItems": True, "items": {"type": "string"}},
    )


def _others(side: Side, level: int, limits: Limits) -> list[_Schema]:
    limit = {"type": "integer", "minimum": 1}
    length = {**limit, "maximum": limits.max_length}
    items = _below(side, level, limits)
    enum = {
        "type": "array",
        "minItems": 1,
        "maxItems": limits.enum_values,
        "uniqueItems": True,
        "items": _token(limits),
    }
    whole = {"type": "integer", "minimum": -LARGEST, "maximum": LARGEST}
    number = {"type": "number", "minimum": -LARGEST, "maximum": LARGEST}
    if side == "input":
        image, image_path = "deska-image", length
    else:
        # D-4: the id of a kept image has 36 characters.
        image, image_path = "deska-file", {**length, "minimum": 36}
    words = ("maxLength", "format")
    kept = _node("string", limits, words, maxLength=image_path, format={"const": image})
    count = {**limit, "maximum": limits.max_items}
    array = _node("array", limits, ("items", "maxItems"), items=items, maxItems=count)
    return [
        array,
        _node("string", limits, ("maxLength",), maxLength=length),
        kept,
        _node("string", limits, ("enum",), enum=enum, maxLength=length),
        _node("integer", limits, (), minimum=whole, maximum=whole),
        _node("number", limits, (), minimum=number, maximum=number),
        _node("boolean", limits, ()),
    ]


def _token(limits: Limits) -> _Schema:
    return {"type": "string", "pattern": "^[A-Za-z0-9_.-]+$", "maxLength": limits.token}
