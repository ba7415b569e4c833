"""What the agent asked for and what the person allowed, with and without a pause (S-4)."""

from __future__ import annotations

from attrs import define, field

from deska_sdk.tasks.events import Answer


@define(eq=False)
class Approvals:
    """The approvals of one task in one session."""

    #: What may be done without asking, from *always allow this session*.
    _always: set[str] = field(factory=set[str], repr=False)
    #: Open requests: turn and key, by request.
    _open: dict[str, tuple[str, str]] = field(factory=dict[str, tuple[str, str]], repr=False)

    def __len__(self) -> int:
        return len(self._open)

    def request(self, request: str, turn: str, key: str, *, paused: bool) -> bool:
        """Whether ``key`` is allowed without asking; otherwise the request is open now.

        While a pause holds, what was always allowed before asks again.
        """
        if not paused and key in self._always:
            return True
        self._open[request] = (turn, key)
        return False

    def is_open(self, request: str) -> bool:
        """Whether this request waits for an answer."""
        return request in self._open

    def answer(self, request: str, answer: Answer, *, paused: bool) -> bool:
        """Whether the answered request is allowed; it is open no more.

        While a pause holds, *always* counts as *once*.
        """
        _, key = self._open.pop(request)
        if answer is Answer.ALWAYS and not paused:
            self._always.add(key)
        return answer is not Answer.DENY

    def end_turn(self, turn: str) -> tuple[str, ...]:
        """The requests of this turn, which nobody answers any more."""
        gone = tuple(request for request, (of, _) in self._open.items() if of == turn)
        for request in gone:
            del self._open[request]
        return gone
