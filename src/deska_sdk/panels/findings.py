"""What the checks of one panel.json have found so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attrs import evolve

from deska_sdk.problems import Problem, quote

if TYPE_CHECKING:
    from deska_sdk.document import Document
    from deska_sdk.limits import Limits

# A reader put something else in the place of these, so what a rule says about it is no news.
_REPLACED = frozenset(
    {
        "not_finite",
        "number_too_large",
        "integer_too_long",
        "nesting_too_deep",
        "lone_surrogate",
    }
)


class Findings:
    """Problems and warnings, gathered in any order and given out in document order (P-7)."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._problems: list[tuple[Problem, bool]] = []
        self._warnings: list[tuple[Problem, bool]] = []

    def problem(
        self, code: str, where: str, sentence: str, quoted: str | None = None, *, key: bool = False
    ) -> None:
        """Add a problem; ``key`` says that it is about the key at ``where``, not its value."""
        self._problems.append((self._made(code, where, sentence, quoted), key))

    def warning(self, code: str, where: str, sentence: str, quoted: str | None = None) -> None:
        """Add a warning."""
        self._warnings.append((self._made(code, where, sentence, quoted), False))

    def add(self, problem: Problem, *, key: bool = False) -> None:
        """Add a problem that another part made."""
        self._problems.append((problem, key))

    def _made(self, code: str, where: str, sentence: str, quoted: str | None) -> Problem:
        cut = None if quoted is None else quote(quoted, self.limits.quoted)
        return Problem(code=code, where=where, sentence=sentence, quoted=cut)

    def problems(self, document: Document) -> tuple[Problem, ...]:
        """The document's own problems and these, in document order, each with its place."""
        replaced = {one.where for one in document.problems if one.code in _REPLACED}
        mine = [(one, key) for one, key in self._problems if one.where not in replaced]
        placed = [*document.problems, *_placed(mine, document)]
        return tuple(sorted(placed, key=_order))

    def warnings(self, document: Document) -> tuple[Problem, ...]:
        """The warnings in document order, each with its place."""
        return tuple(sorted(_placed(self._warnings, document), key=_order))


def _placed(found: list[tuple[Problem, bool]], document: Document) -> list[Problem]:
    placed: list[Problem] = []
    for problem, key in found:
        line, column = document.place(problem.where, key=key) or (1, 1)
        placed.append(evolve(problem, line=line, column=column))
    return placed


def _order(problem: Problem) -> tuple[int, int]:
    return problem.line or 0, problem.column or 0


def as_object(value: object) -> dict[str, object] | None:
    """``value`` if it is a JSON object, else ``None``."""
    return cast("dict[str, object]", value) if type(value) is dict else None


def as_array(value: object) -> list[object] | None:
    """``value`` if it is a JSON array, else ``None``."""
    return cast("list[object]", value) if type(value) is list else None
