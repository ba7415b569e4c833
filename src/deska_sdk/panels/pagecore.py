"""The page's side of the port, without I/O (G-1, A-4).

It turns messages of the host into what the page hears and what its promises become. Whoever runs
the page gives it a way to send messages and to wait.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from attrs import field, frozen

from deska_sdk.errors import PageCode, PageError
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.panels.port import Direction, Message, check_message

#: The names a page can listen to.
EVENTS = ("agent.action", "agent.connected")


@frozen
class Hear:
    """Call the page's listeners of ``event`` with ``payload``."""

    event: str
    payload: dict[str, Any] = field(repr=False)


@frozen
class Started:
    """``ready()`` resolves to ``init``."""

    init: dict[str, Any]


@frozen
class Settled:
    """A promise resolves to ``value``, or fails with ``code``."""

    ticket: int
    value: object = field(default=None, repr=False)
    code: PageCode | None = None


class PageCore:
    """What a page knows of its port."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        # the latest calls until the first listener; what falls out ends at its own deadline.
        self._early: deque[Hear] = deque(maxlen=limits.buffered_calls)
        self._listening: set[str] = set()
        self._tickets: set[int] = set()
        self._last_ticket = 0
        self._asked_ready = False
        self.init: dict[str, Any] | None = None

    def listen(self, event: str) -> tuple[Hear, ...]:
        """The page has a listener for ``event`` now; what waited for it is heard in order.

        :raises PageError: ``invalid_args``: there is no such event.
        """
        if event not in EVENTS:
            raise PageError(PageCode.INVALID_ARGS)
        self._listening.add(event)
        if event != "agent.action":
            return ()
        early = tuple(self._early)
        self._early.clear()
        return early

    def ready(self) -> Message | None:
        """The message to send when the page is ready; ``None`` when it was sent before."""
        if self._asked_ready:
            return None
        self._asked_ready = True
        return {"type": "ready"}

    def ask(self, kind: str, **fields: object) -> tuple[int, Message]:
        """The ticket of a new promise, and the message to send for it."""
        self._last_ticket = ticket = self._last_ticket + 1
        self._tickets.add(ticket)
        return ticket, {"type": kind, "id": ticket, **fields}

    def forget(self, ticket: int) -> None:
        """The page no longer waits for this promise."""
        self._tickets.discard(ticket)

    def receive(self, message: object) -> Hear | Started | Settled | None:
        """What a message of the host means to the page; ``None`` where it means nothing now.

        :raises PageError: ``invalid_args``: the port has no such message.
        """
        checked = check_message(message, Direction.TO_PAGE)
        match checked["type"]:
            case "agent.action":
                call_id, action, given = checked["callId"], checked["action"], checked["input"]
                heard = Hear("agent.action", {"callId": call_id, "action": action, "input": given})
                if "agent.action" in self._listening:
                    return heard
                self._early.append(heard)
                return None
            case "agent.connected":
                if "agent.connected" not in self._listening:
                    return None
                return Hear("agent.connected", {"tasks": checked["tasks"]})
            case "init":
                self.init = {"agent": checked["agent"]}
                return Started(self.init)
            case kind:
                ticket = checked["id"]
                if ticket not in self._tickets:
                    return None
                self._tickets.discard(ticket)
                if kind == "settled":
                    return Settled(ticket, checked["value"])
                return Settled(ticket, code=PageCode(checked["code"]))
