"""Where a door is, and what opens it."""

from __future__ import annotations

from typing import Final

from attrs import field, frozen

#: The one path of a door.
PATH: Final = "/mcp"


@frozen
class HttpAddress:
    """Where a door is, and what opens it."""

    #: What clients are given, such as ``http://127.0.0.1:8765/mcp``.
    url: str
    port: int
    #: What they send as ``Authorization: Bearer …``.
    token: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """The headers that a client sends with each request."""
        return {"Authorization": f"Bearer {self.token}"}
