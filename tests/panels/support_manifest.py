"""Manifests that are right, for tests to break."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deska_sdk.panels.check import check_panel

if TYPE_CHECKING:
    from deska_sdk.panels.manifest import Manifest

VECTORS = Path(__file__).parent / "vectors"

READ: dict[str, Any] = {
    "name": "read_notes",
    "description": "Reads the notes.",
    "kind": "read",
    "input": {"type": "object"},
    "output": {
        "type": "object",
        "properties": {
            "notes": {"type": "array", "maxItems": 9, "items": {"type": "string", "maxLength": 80}}
        },
    },
}
WRITE: dict[str, Any] = {
    "name": "add_note",
    "description": "Adds a note.",
    "kind": "write",
    "input": {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 80}},
        "required": ["text"],
    },
}


def plain(**keys: Any) -> dict[str, Any]:
    """A manifest that does not work with agents, with these keys changed or added."""
    return {"id": "notes", "name": "Notes", "version": "1.0.0", "sdk": 4, **copy.deepcopy(keys)}


def working(*actions: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A manifest with these actions, or with a read and a write."""
    agent = {"actions": list(actions or (READ, WRITE))}
    return plain(**{"permissions": ["agent"], "agent": agent, **keys})


def checked(value: dict[str, Any]) -> Manifest:
    """The manifest of a value that has no problem."""
    report = check_panel(value)
    assert report.problems == ()
    assert report.manifest is not None
    return report.manifest


def vectors() -> list[Any]:
    """Every vector of every file, as ``pytest`` parameters."""
    found: list[Any] = []
    for file in sorted(VECTORS.glob("*.json")):
        group = json.loads(file.read_text(encoding="utf-8"))
        for vector in group["vectors"]:
            found.append(pytest.param(vector, id=f"{file.stem}-{vector['name']}"))
    return found
