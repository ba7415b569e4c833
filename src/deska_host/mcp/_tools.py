"""The two tools as MCP says them, and a reply as MCP carries it (M-1, M-2)."""

from __future__ import annotations

from base64 import b64encode
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

import mcp_types as types
from attrs import frozen

from deska_host.agents import AgentReply
from deska_sdk.errors import AgentCode, InvalidValue
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.catalog import TOOLS
from deska_sdk.panels.refusals import refusal_text
from deska_sdk.problems import Fault, Rule, pointer
from deska_sdk.schema.nodes import is_token

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@frozen
class Heard:
    """One call, or one list, as it ended; for a terminal or a log.

    No word of an agent or of a page is in it: ``panel`` and ``action`` are names from an installed
    panel.json, or empty.
    """

    #: ``"list_panels"`` or ``"call_action"``.
    tool: str
    #: The id of an installed panel, and the name of one of its actions.
    panel: str = ""
    action: str = ""
    #: An :class:`~deska_sdk.errors.AgentCode`; empty when nothing was refused.
    code: str = ""
    #: How many images came with the reply.
    images: int = 0
    #: Whether a panel's content was handed over with nothing paused (M-5).
    unpaused: bool = False

    @property
    def is_error(self) -> bool:
        """Whether the call was refused."""
        return self.code != ""


#: Clients show these to people, and some ask before a call by them. A write may replace what a
#: panel holds. What a read gives may come from anyone, so the world of call_action is open.
_ANNOTATIONS: Final = {
    "list_panels": types.ToolAnnotations(
        title="List panels",
        read_only_hint=True,
        destructive_hint=False,
        idempotent_hint=True,
        open_world_hint=False,
    ),
    "call_action": types.ToolAnnotations(
        title="Call an action of a panel",
        read_only_hint=False,
        destructive_hint=True,
        idempotent_hint=False,
        open_world_hint=True,
    ),
}

#: The schemas of the two tools, made once; the SDK only reads them.
SCHEMAS: Final[dict[str, dict[str, Any]]] = {tool.name: tool.input_schema for tool in TOOLS}


def tools() -> list[types.Tool]:
    """The two tools, as a fresh list (M-1)."""
    return [
        types.Tool(
            name=tool.name,
            title=_ANNOTATIONS[tool.name].title,
            description=tool.description,
            input_schema=tool.input_schema,
            annotations=_ANNOTATIONS[tool.name],
        )
        for tool in TOOLS
    ]


def misfit(tool: str, arguments: Mapping[str, Any]) -> AgentReply | None:
    """The refusal of arguments that do not fit the tool's own schema, or ``None`` (M-3).

    The SDK does not look at them, and what the host would make of a text where an object is due
    is not for this door to try.
    """
    most = DEFAULT_LIMITS.faults
    found = list(islice(_faults(SCHEMAS[tool], arguments), most + 1))
    if not found:
        return None
    invalid = InvalidValue(tuple(found[:most]), more=len(found) > most)
    text = refusal_text(AgentCode.INVALID_INPUT, DEFAULT_LIMITS, invalid=invalid)
    return AgentReply(text, code=AgentCode.INVALID_INPUT)


def _faults(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[Fault]:
    known: dict[str, dict[str, str]] = schema["properties"]
    for key, value in arguments.items():
        if key not in known:
            told = key if is_token(key, DEFAULT_LIMITS.token) else None
            yield Fault(where="", rule=Rule.UNKNOWN_PROPERTY, name=told)
        elif type(value) is not _TYPES[known[key]["type"]]:
            yield Fault(
                where=pointer("", key),
                rule=Rule.WRONG_TYPE,
                expected=known[key]["type"],
                text_for_object=known[key]["type"] == "object" and type(value) is str,
            )
    for key in cast("list[str]", schema.get("required", [])):
        if key not in arguments:
            yield Fault(where="", rule=Rule.MISSING_PROPERTY, name=key)


_TYPES: Final[dict[str, type]] = {"string": str, "object": dict}


def as_result(reply: AgentReply) -> types.CallToolResult:
    """A reply as MCP carries it: its text as it is, then its images, and nothing twice (M-2)."""
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=reply.text)]
    content += [
        types.ImageContent(
            type="image", data=b64encode(image.data).decode("ascii"), mime_type=image.media_type
        )
        for image in reply.images
    ]
    return types.CallToolResult(content=content, is_error=reply.is_error)
