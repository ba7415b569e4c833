"""The JSON Schema of panel.json, for editors (P-8).

::

    print(json.dumps(panel_json_schema(), indent=2))

An editor checks with it, completes by it, and shows its titles and descriptions. It uses only words
that draft-07 and 2020-12 read alike, so old editors and new ones both take it; beside them stand
words that only editors know (``defaultSnippets``, ``enumDescriptions``, ``errorMessage``,
``patternErrorMessage``) and everybody else passes over.

What JSON Schema cannot say is left to the checker: the length of a text once it is folded, unique
names of actions, ``required`` listed in ``properties``, ``minimum`` up to ``maximum``, invisible
characters, duplicate keys, and that ``4.0`` is no whole number here.
"""

from __future__ import annotations

from typing import Any, Final

from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.panels import formats
from deska_sdk.panels._editor_nodes import node_definitions, root_name
from deska_sdk.panels._editor_words import (
    Schema,
    choice,
    shaped,
    snippet,
    text,
    titled,
    when,
)
from deska_sdk.panels.rules import DEFAULT_ENTRY, REQUIRED, SDK, way_out_sentence

_PERMISSIONS: Final = {
    "agent": 'The panel works with agents; it also needs the key "agent". Such a version stays on '
    "the computer.",
    "account": "The page may sign the person in. Not with actions for agents.",
    "open-url": "The page may open links. Not with actions for agents.",
    "clipboard-write": "The page may copy to the clipboard.",
    "notify": "The page may tell the person something.",
}
_KINDS: Final = {
    "read": "It answers with content of the panel. The agent gets that inside a fence, and its "
    "task is put into Supervised for the rest of the turn.",
    "write": "It changes the panel and answers only whether that worked.",
}
_SDKS: Final = f"1 to {SDK}; actions for agents need {SDK}."

_WRITE: Final[Schema] = {
    "name": "${1:add_note}",
    "description": "${2:Adds a note.}",
    "kind": "write",
    "input": {
        "type": "object",
        "properties": {"${3:text}": {"type": "string", "maxLength": "^${4:1000}"}},
        "required": ["${3:text}"],
    },
}
_READ: Final[Schema] = {
    "name": "${1:read_notes}",
    "description": "${2:Reads the notes.}",
    "kind": "read",
    "input": {"type": "object"},
    "output": {
        "type": "object",
        "properties": {
            "${3:notes}": {
                "type": "array",
                "maxItems": "^${4:50}",
                "items": {"type": "string", "maxLength": "^${5:1000}"},
            }
        },
        "required": ["${3:notes}"],
    },
}


def panel_json_schema(*, limits: Limits = DEFAULT_LIMITS) -> dict[str, Any]:
    """JSON Schema for panel.json as a new plain value, with a title and a description everywhere.

    A panel.json that :func:`deska_sdk.panels.check.check_panel` accepts is accepted; one that is
    refused is refused where JSON Schema has words for the rule.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "panel.json",
        "description": "The manifest of a panel: what it is, and what agents may do with it.",
        "type": "object",
        "properties": _properties(limits),
        "required": list(REQUIRED),
        "additionalProperties": False,
        "allOf": [_permission_needs_agent(), _agent_stays_here()],
        "defaultSnippets": [_whole_panel()],
        "$defs": {"action": _action(limits), **node_definitions(limits)},
    }


# --- the keys of the file


def _properties(limits: Limits) -> Schema:
    return {
        "$schema": text(
            "Schema",
            "The address of this schema, for editors; Deska passes over it.",
            examples=["./panel.schema.json"],
        ),
        "id": shaped(
            "Id",
            "Names the panel for good: lower-case words joined by single hyphens, at most "
            f"{limits.panel_id} characters.",
            formats.ID,
            "an id starts with a lower-case letter and is made of lower-case letters, digits and "
            "single hyphens between them",
            maxLength=limits.panel_id,
            examples=["reading-list"],
        ),
        "name": text(
            "Name",
            f"What people and agents read: 1 to {limits.panel_name} characters.",
            minLength=1,
            examples=["Reading list"],
        ),
        "version": shaped(
            "Version",
            "A semantic version, such as 1.0.0 or 2.0.0-beta.1.",
            formats.VERSION,
            "a version is a semantic version, such as 1.0.0",
            examples=["1.0.0"],
        ),
        "sdk": titled(
            "SDK",
            f"The SDK that the panel is written for: {_SDKS}",
            type="integer",
            minimum=1,
            maximum=SDK,
            default=SDK,
        ),
        "description": text(
            "Description",
            f"What the panel is for, at most {limits.panel_description} characters. Agents do not "
            "get it.",
            maxLength=limits.panel_description,
        ),
        "author": text(
            "Author",
            f"Who made the panel: 1 to {limits.author} characters.",
            minLength=1,
            maxLength=limits.author,
        ),
        "license": text(
            "License",
            f"Under which license it is given: 1 to {limits.author} characters.",
            minLength=1,
            maxLength=limits.author,
            examples=["MIT"],
        ),
        "homepage": shaped(
            "Homepage",
            "An https address.",
            formats.HTTPS_URL,
            "this is an https address, such as https://example.com/",
            examples=["https://example.com/"],
        ),
        "icon": _path("Icon", "An image inside the panel's folder.", examples=["icon.png"]),
        "entry": _path(
            "Entry",
            f"The page, inside the panel's folder: {DEFAULT_ENTRY} if it is not said, or a module "
            "in Python.",
            default=DEFAULT_ENTRY,
            examples=["page.py"],
        ),
        "permissions": titled(
            "Permissions",
            "What the panel asks to be allowed, each once.",
            type="array",
            uniqueItems=True,
            items=choice("Permission", "What the panel asks to be allowed.", _PERMISSIONS),
        ),
        "network": _list(
            "Network",
            "The hosts that the page reaches. None in a panel with actions for agents.",
            "Host",
            formats.HOST,
            "this is a host name alone, such as api.example.com",
            "api.example.com",
        ),
        "embeds": _origins(
            "Embeds",
            "The https origins of other sites that the page shows. None in a panel with actions "
            "for agents.",
        ),
        "signedInEmbeds": _origins(
            "Signed-in embeds",
            "The https origins of other sites that the page shows with the person signed in. None "
            "in a panel with actions for agents.",
        ),
        "agent": titled(
            "Agent",
            'What agents may do with the panel. It needs the permission "agent".',
            type="object",
            properties={
                "actions": titled(
                    "Actions",
                    f"1 to {limits.actions} actions with different names. Agents are told of them "
                    "in this order, as far as there is room: put the most useful ones first.",
                    type="array",
                    minItems=1,
                    maxItems=limits.actions,
                    items={"$ref": "#/$defs/action"},
                )
            },
            required=["actions"],
            additionalProperties=False,
            defaultSnippets=[
                snippet("actions", "A place for actions", {"actions": ["^$0"]}),
            ],
        ),
    }


def _path(title: str, description: str, /, **words: Any) -> Schema:
    otherwise = (
        "this is a relative path inside the package, without a leading slash, two dots, "
        "back-slash or colon"
    )
    return shaped(title, description, formats.PATH, otherwise, **words)


def _origins(title: str, description: str) -> Schema:
    otherwise = "this is an https origin, such as https://example.com, without a path"
    example = "https://example.com"
    return _list(title, description, "Origin", formats.ORIGIN, otherwise, example)


def _list(
    title: str, description: str, one: str, pattern: str, otherwise: str, example: str
) -> Schema:
    items = shaped(one, f"Such as {example}.", pattern, otherwise, examples=[example])
    return titled(title, description, type="array", items=items)


def _whole_panel() -> Schema:
    body = {
        "id": "${1:reading-list}",
        "name": "${2:Reading list}",
        "version": "0.1.0",
        "sdk": SDK,
        "entry": "page.py",
        "permissions": ["agent"],
        "agent": {"actions": ["^$0"]},
    }
    return snippet("panel", "A panel with actions for agents", body)


# --- what the keys ask of each other


def _permission_needs_agent() -> Schema:
    """P-3, one way; the other way is in :func:`_agent_stays_here`."""
    has_permission = {
        "properties": {"permissions": {"type": "array", "contains": {"const": "agent"}}},
        "required": ["permissions"],
    }
    return {"if": has_permission, "then": {"required": ["agent"]}}


def _agent_stays_here() -> Schema:
    """What ``agent`` asks of the rest of the file (P-3, P-5)."""
    has = {
        "contains": {"const": "agent"},
        "errorMessage": 'the key "agent" needs the permission "agent" here',
    }
    has_not: list[Schema] = [
        {"not": {"contains": {"const": name}}, "errorMessage": way_out_sentence(name, ever=False)}
        for name in ("account", "open-url")
    ]
    lists: Schema = {
        name: {"const": [], "errorMessage": way_out_sentence(name, ever=False)}
        for name in ("network", "embeds", "signedInEmbeds")
    }
    newest = {"const": SDK, "errorMessage": f'actions need "sdk": {SDK}'}
    return {
        "if": {"required": ["agent"]},
        "then": {
            "properties": {"sdk": newest, "permissions": {"allOf": [has, *has_not]}, **lists},
            "required": ["permissions"],
        },
    }


# --- actions


def _action(limits: Limits) -> Schema:
    no_output = {
        "properties": {"output": False},
        "errorMessage": "a write has no output: it answers only whether it worked",
    }
    return titled(
        "Action",
        "One thing that agents can do with the panel. Inputs and answers that do not fit its "
        "schemas are refused.",
        type="object",
        properties={
            "name": shaped(
                "Name",
                "What agents call it by: lower-case letters, digits and _, a letter first, at most "
                f"{limits.action_name} characters. No two actions have the same.",
                formats.ACTION_NAME,
                "the name of an action starts with a lower-case letter and is made of lower-case "
                "letters, digits and _",
                maxLength=limits.action_name,
                examples=["add_note"],
            ),
            "description": text(
                "Description",
                f"1 to {limits.action_description} characters. The person reads it on the sheet, "
                "and the agent in its list: say plainly what the action does, and give no orders.",
                minLength=1,
            ),
            "kind": choice("Kind", "Whether it reads the panel or changes it.", _KINDS),
            "input": titled(
                "Input",
                "What an agent sends. The page gets only what fits.",
                allOf=[{"$ref": f"#/$defs/{root_name('input')}"}],
            ),
            "output": titled(
                "Output",
                "What the page answers a read with. A write has none.",
                allOf=[{"$ref": f"#/$defs/{root_name('output')}"}],
            ),
        },
        required=["name", "description", "kind", "input"],
        additionalProperties=False,
        allOf=[when("kind", "read", {"required": ["output"]}), when("kind", "write", no_output)],
        defaultSnippets=[
            snippet("write", "An action that changes the panel", _WRITE),
            snippet("read", "An action that reads the panel", _READ),
        ],
    )
