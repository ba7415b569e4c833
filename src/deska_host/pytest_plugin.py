"""The pytest plugin: a fixture with a desk, for suites that test a panel or wire a fake agent.

It is loaded into every test run of an environment that has Deska, so it imports nothing heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from deska_host.testing import Desk


@pytest.fixture
def deska_desk(tmp_path: Path) -> Generator[Desk]:
    """A :class:`deska_host.testing.Desk`: a host in memory, on a clock that the test moves."""
    from deska_host.testing import Desk

    folder = tmp_path / "deska"
    folder.mkdir()
    with Desk(folder) as desk:
        yield desk
