"""Supervision against a watcher that knows what really happened: anything, in any order.

By hand with more examples: ``python -m tests.byhand.models supervision --examples 5000``.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.tasks.support_supervision_rules import SupervisionMachine


@pytest.mark.rule(
    "S-1", "S-2", "S-3", "S-4", "S-5", "S-6", "S-7", "O-1", "O-2", "O-3", "O-4", "C-6", "C-7",
    "N-1", "A-6", "A-8", "B-2",
)  # fmt: skip
def test_whatever_happens_content_enters_only_a_supervised_turn_and_the_mode_comes_back():
    run_state_machine_as_test(
        SupervisionMachine,
        settings=settings(
            max_examples=120,
            stateful_step_count=50,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
