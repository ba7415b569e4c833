"""The side of the desk's own assistant: it may ask for much, and read nothing of a panel (S-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deska_sdk.router import Answer, Approved, ModeAsked, Who
from deska_sdk.tasks.view import Entry, for_assistant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deska_host.person import Asking


class Assistant:
    """What the assistant can do. While a pause stands it needs the person's confirmation."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def set_mode(self, task: str, mode: str) -> None:
        """Put a task into a mode. It never ends a pause (S-5).

        :raises Refused: ``unknown_task``, ``unknown_mode``, ``switch_failed``; ``not_confirmed``
            where a pause stands, the mode is a looser one, and the person said no.
        """
        await self._asking.ask(lambda ask: ModeAsked(ask, task, mode, Who.ASSISTANT))

    async def approve(self, request: str, answer: Answer | str) -> None:
        """Answer what an agent asked for.

        :raises Refused: ``unknown_request``; ``not_confirmed`` as :meth:`set_mode`.
        """
        await self._asking.ask(lambda ask: Approved(ask, request, Answer(answer), Who.ASSISTANT))

    def view(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        """A task's conversation without what came from a panel; all that the assistant reads."""
        return for_assistant(entries)
