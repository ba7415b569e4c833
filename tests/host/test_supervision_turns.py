"""Five hundred random turns: nothing is left after any, and memory stays flat (A-8, S-6)."""

from __future__ import annotations

import pytest

from tests.byhand.turns import measured


@pytest.mark.rule("A-8", "S-1", "S-6", "S-7", "O-4")
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_after_each_of_many_random_turns_nothing_is_left_and_memory_does_not_grow(
    backend: str,
) -> None:
    figures = measured(500, seed=7, backend=backend, trace=False)
    # Enough of everything happened for that to mean something.
    for kind in (
        "panel's turns",
        "read: came",
        "read: read_deferred",
        "reads given up",
        "modes set",
        "approvals",
        "write: done",
    ):
        assert figures.kinds[kind] > 30, kind
    assert figures.kinds["read: pause_failed"] > 0
    # From 20 % of the run to its end: 400 turns that left one object each would be over this.
    grown = figures.objects[-1] - figures.objects[1]
    assert grown < 200, figures.objects
