"""Where the package under test was found: installed as users have it, or in the source tree."""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from pathlib import Path

import deska_host

#: The folder that a process of its own has to look in.
PLACE = Path(deska_host.__file__).parents[1]

#: Whether pytest finds the plugin by itself.
KNOWN_TO_PYTEST = any(one.name == "deska" for one in entry_points(group="pytest11"))


def python_path(*also: object) -> str:
    """A ``PYTHONPATH`` for it. An empty part would be the folder a process starts in."""
    parts = [str(PLACE), *map(str, also), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return os.pathsep.join(filter(None, parts))
