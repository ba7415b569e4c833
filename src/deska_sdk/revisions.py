"""Counters in place of a page's revisions (R-1 to R-4).

The agent must be able to tell one state of a panel from the next, but a revision is the page's
own text. So it reads a counter instead::

    from deska_sdk.revisions import RevisionCounter

    counter = RevisionCounter()
    assert counter.show("board-7f3a") == "r1"
    assert counter.revision("r1") == "board-7f3a"
    assert counter.show("board-7f3a") == "r1"
"""

from __future__ import annotations

import re

from deska_sdk.errors import InvalidValue
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.problems import Fault, Rule

_REVISION = re.compile(r"[A-Za-z0-9._-]+")


def is_revision(value: object, limit: int = DEFAULT_LIMITS.revision) -> bool:
    """Whether ``value`` is 1 to ``limit`` of ASCII letters, digits, ``.``, ``_``, ``-`` (W-1)."""
    return type(value) is str and len(value) <= limit and _REVISION.fullmatch(value) is not None


class RevisionCounter:
    """The counters of one task and one panel.

    :param given: the highest number that may have been given before (R-2). After a restart pass
        the end of the last reserved block: numbers are skipped, never given twice.
    :param reserved: numbers up to this one may be given; ``None`` is no bound, for programs that
        keep nothing across restarts.
    :param kept: how many revisions are remembered at a time.
    :param longest: how many characters a revision may have (W-1).
    """

    __slots__ = ("_kept", "_longest", "_numbers", "_revisions", "given", "reserved")

    def __init__(
        self,
        *,
        given: int = 0,
        reserved: int | None = None,
        kept: int = DEFAULT_LIMITS.revisions_kept,
        longest: int = DEFAULT_LIMITS.revision,
    ) -> None:
        #: The highest number given so far; it only grows.
        self.given = given
        self.reserved = reserved
        self._kept = kept
        self._longest = longest
        # Oldest first: a dict keeps the order in which keys were put in.
        self._numbers: dict[str, int] = {}
        self._revisions: dict[int, str] = {}

    def __repr__(self) -> str:
        # A revision is the page's text, so only numbers are shown (B-2).
        return f"RevisionCounter(given={self.given}, kept={len(self._numbers)})"

    def __len__(self) -> int:
        return len(self._numbers)

    def needs_block(self, revision: str) -> bool:
        """Whether :meth:`show` would need a number beyond the reserved ones."""
        return (
            self.reserved is not None
            and self.given >= self.reserved
            and revision not in self._numbers
        )

    def show(self, revision: str) -> str:
        """The counter for ``revision``, such as ``r1``; the same again for the same one (R-1).

        Being given again makes a revision the newest of those kept. One that fell out gets a new
        number when it comes again (R-3).

        :raises InvalidValue: ``revision`` is not 1 to ``longest`` of ASCII letters, digits, ``.``,
            ``_`` and ``-``.
        :raises OverflowError: every reserved number is given; reserve more first.
        """
        if not is_revision(revision, self._longest):
            raise InvalidValue((Fault(where="", rule=Rule.WRONG_TYPE, expected="revision"),))
        number = self._numbers.pop(revision, None)
        if number is None:
            if self.reserved is not None and self.given >= self.reserved:
                raise OverflowError("every reserved number is given")
            self.given = number = self.given + 1
            self._revisions[number] = revision
        self._numbers[revision] = number
        if len(self._numbers) > self._kept:
            oldest = next(iter(self._numbers))
            del self._revisions[self._numbers.pop(oldest)]
        return f"r{number}"

    def revision(self, counter: str) -> str | None:
        """The revision behind ``counter``, or ``None`` where it is no kept counter (R-4).

        Only the exact text counts: ``r01``, ``R1`` and ``" r1"`` are no counters.
        """
        digits = counter[1:]
        if counter[:1] != "r" or not digits.isascii() or not digits.isdigit():
            return None
        # A counter longer than any number given is plain text; int() never sees a long one.
        if digits[0] == "0" or len(digits) > len(str(self.given)):
            return None
        return self._revisions.get(int(digits))
