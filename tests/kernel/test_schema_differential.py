"""All opinions on one pair agree; the long run of the same is ``tests.byhand.differential``."""

from __future__ import annotations

import pytest

from tests.kernel.support_differential import run
from tests.kernel.support_schema_maker import RULES


@pytest.mark.rule("D-7", "D-8", "D-9", "D-10", "D-11", "T-3", "R-4", "I-4")
@pytest.mark.parametrize("seed", [1, 2])
def test_compiler_interpreter_teller_rules_and_a_third_opinion_agree_on_ten_thousand_pairs(
    seed: int,
) -> None:
    figures = run(seed, 10_000)

    assert figures.valid >= 0.4 * figures.pairs
    assert set(figures.alone) == {*RULES, "not_json"}
    assert min(figures.alone.values()) >= 0.01 * figures.pairs
    for name in ("maxLength", "maxItems", "minimum", "maximum"):
        assert all(figures.limits[name, step] > 0 for step in (-1, 0, 1)), name
    kinds = ["object", "array", "string", "enum", "image", "integer", "number", "boolean"]
    met = {(kind, level) for kind in kinds for level in (2, 3, 4)} | {("object", 1)}
    # D-1: an array in the fourth level would need a fifth for its items.
    assert set(figures.nodes) == met - {("array", 4)}
