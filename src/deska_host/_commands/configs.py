"""What to paste into the configuration of common MCP clients (K-3).

::

    for snippet in stdio_snippets(["/usr/bin/python3", "-m", "deska_host", "serve", "…"]):
        print(snippet.where, snippet.text)
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from attrs import field, frozen

from deska_sdk.text import has_invisible

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What the server is called in a client.
NAME: Final = "deska"

_CLAUDE_DESKTOP = "Claude Desktop (claude_desktop_config.json)"
_CLAUDE_CODE = "Claude Code (.mcp.json)"
_CURSOR = "Cursor (.cursor/mcp.json)"
_VS_CODE = "VS Code (.vscode/mcp.json)"


@frozen
class Snippet:
    """A piece of JSON, and the clients and files that take it."""

    clients: tuple[str, ...]
    #: The token may be in it.
    config: dict[str, Any] = field(repr=False)

    @property
    def where(self) -> str:
        """The clients, each with its file."""
        return ", ".join(self.clients)

    @property
    def text(self) -> str:
        """The JSON, on several lines."""
        return _json(self.config, 2)

    @property
    def line(self) -> str:
        """The JSON, on one line."""
        return _json(self.config, None)


def stdio_snippets(command: Sequence[str]) -> tuple[Snippet, ...]:
    """For clients that start the server themselves.

    :param command: the program and its arguments.
    """
    program, *arguments = command
    server = {"command": program, "args": arguments}
    return (
        Snippet((_CLAUDE_DESKTOP, _CLAUDE_CODE, _CURSOR), {"mcpServers": {NAME: server}}),
        Snippet((_VS_CODE,), {"servers": {NAME: {"type": "stdio"} | server}}),
    )


def http_snippets(url: str, token: str) -> tuple[Snippet, ...]:
    """For clients that reach a server that runs.

    Claude Desktop is none of them: its file only knows programs to start.
    """
    server: dict[str, Any] = {"url": url, "headers": {"Authorization": f"Bearer {token}"}}
    typed = {"type": "http"} | server
    return (
        Snippet((_CLAUDE_CODE,), {"mcpServers": {NAME: typed}}),
        Snippet((_CURSOR,), {"mcpServers": {NAME: server}}),
        Snippet((_VS_CODE,), {"servers": {NAME: typed}}),
    )


def _json(config: dict[str, Any], indent: int | None) -> str:
    text = json.dumps(config, indent=indent, ensure_ascii=False)
    # What nobody sees in a path is written as JSON writes it: a terminal has its own way of
    # showing it, which no client could read.
    return json.dumps(config, indent=indent) if has_invisible(text) else text
