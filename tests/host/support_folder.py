"""A task's folder with a secret next to it, and how its tests ask for refusals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deska_sdk.errors import AgentCode, Refused

if TYPE_CHECKING:
    from deska_host.folder import TaskFolder

PICTURE = b"\x89PNG a picture of the garden"
SECRET = b"the key of the house"


def make_root(base: Path) -> Path:
    """The task's folder."""
    inside = base / "task"
    (inside / "sub" / "deep").mkdir(parents=True)
    (inside / "pic.png").write_bytes(PICTURE)
    (inside / "sub" / "deep" / "pic.png").write_bytes(PICTURE)
    (base / "outside").mkdir()
    (base / "outside" / "pic.png").write_bytes(SECRET)
    return inside


def refusal(folder: TaskFolder, path: str) -> AgentCode:
    """The code of the refusal, which must say nothing but its sentence."""
    with pytest.raises(Refused) as caught:
        folder.read(path)
    assert type(caught.value) is Refused
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert str(caught.value) == str(Refused(caught.value.code))
    return AgentCode(caught.value.code)


def open_descriptors() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())
