"""Nothing from outside is read while another process swaps files, folders and links (I-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deska_sdk.errors import AgentCode
from tests.byhand.race import race

if TYPE_CHECKING:
    from pathlib import Path

    from tests.byhand.race import Race

#: How often the reader that can be caught must have been caught, and in how many rounds at most:
#: even with both processes on one core it takes a sixth of them.
LEAKS = 20
ROUNDS = 400_000


@pytest.mark.rule("I-1")
def test_while_a_naive_reader_leaks_twenty_times_ours_reads_nothing_from_outside(
    tmp_path: Path,
) -> None:
    def over(figures: Race, rounds: int) -> bool:
        return rounds >= ROUNDS or (figures.naive.leaked >= LEAKS and rounds >= 2_000)

    figures = race(tmp_path, over)

    assert figures.naive.leaked >= LEAKS, "the swapping never caught the naive reader: no proof"
    assert figures.ours.leaked == 0
    assert figures.ours.inside > 0
    assert figures.codes <= {AgentCode.IMAGE_OUTSIDE_FOLDER, AgentCode.IMAGE_NOT_FOUND}
