"""A call lives no longer than the connection that wants its answer (M-4)."""

from __future__ import annotations

from typing import Any, Final

import anyio

#: Where in an ASGI scope the connection's lifeline is.
KEY: Final = "deska.lifeline"


class Lifeline:
    """Hangs work that runs elsewhere on one HTTP request.

    In the handshake era the SDK runs a call in its session, which outlives the connection of the
    request. Nobody can come back for the answer, so the call ends with the connection.
    """

    def __init__(self) -> None:
        self._scopes: list[anyio.CancelScope] = []
        self._is_cut = False

    def hang(self) -> anyio.CancelScope:
        """A scope that is cancelled when the line is cut, or is already if it was."""
        scope = anyio.CancelScope()
        if self._is_cut:
            scope.cancel()
        self._scopes.append(scope)
        return scope

    def cut(self) -> None:
        """The client is gone, or is sent away."""
        self._is_cut = True
        for scope in self._scopes:
            scope.cancel()


def lifeline_of(request: Any) -> Lifeline:
    """The lifeline of the HTTP request that a call came with, or one that nobody cuts."""
    found = None if request is None else request.scope.get(KEY)
    return found if isinstance(found, Lifeline) else Lifeline()
