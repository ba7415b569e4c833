"""What the tests of the command line can ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.support_desk import Commands, write_panel

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def deska(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """Runs ``deska`` for the task ``garden``."""
    return Commands(tmp_path, monkeypatch, capsys)


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    """The folder of a panel with a write and a read."""
    return write_panel(tmp_path / "echo")
