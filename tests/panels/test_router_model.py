"""The router against a model of it: anything in any order, with restarts, kills and late work.

By hand with more examples: ``python -m tests.byhand.models router --examples 5000``.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.panels.support_router_model import RouterMachine


@pytest.mark.rule(
    "A-1", "A-3", "A-5", "A-6", "A-7", "A-8", "A-9", "C-2", "C-5", "C-6", "C-7", "S-1", "W-2",
    "R-1", "R-2", "R-3", "R-4", "N-1", "N-4", "I-4", "B-2", "P-6",
)  # fmt: skip
def test_whatever_happens_the_router_keeps_its_promises():
    run_state_machine_as_test(
        RouterMachine,
        settings=settings(
            max_examples=150,
            stateful_step_count=80,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
