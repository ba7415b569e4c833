"""Other processes, and files that cannot be opened, for the tests of the store's file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deska_host.store import StoreError, open_store
from deska_sdk.errors import DeskaError


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def refused(path: Path | str, kind: type[StoreError]) -> None:
    """Opening fails with just this kind of error, which says its sentence and nothing else."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(StoreError) as caught:
        open_store(path)
    assert type(caught.value) is kind
    assert isinstance(caught.value, DeskaError)
    assert str(caught.value) == kind.sentence
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def child(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Another process that runs ``code`` over the same package."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
