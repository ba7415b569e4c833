"""A model-based test with as many examples as there is time for.

``python -m tests.byhand.models router --examples 5000 --steps 100``
``python -m tests.byhand.models supervision --examples 5000``
"""

from __future__ import annotations

import argparse
import time

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.panels.support_router_model import RouterMachine
from tests.tasks.support_supervision_rules import SupervisionMachine

MODELS = {"router": RouterMachine, "supervision": SupervisionMachine}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--examples", type=int, default=2_000)
    parser.add_argument("--steps", type=int, default=80)
    given = parser.parse_args()
    start = time.monotonic()
    run_state_machine_as_test(
        MODELS[given.model],
        settings=settings(
            max_examples=given.examples,
            stateful_step_count=given.steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    print(f"{given.examples} examples held in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
