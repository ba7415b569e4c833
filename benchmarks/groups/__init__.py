"""The groups, by the name that ``--only`` takes; each module is loaded when its group runs."""

from __future__ import annotations

from typing import Final

#: Name to module; in the order in which a run shows them.
GROUPS: Final = {
    "json": "benchmarks.groups.json_text",
    "unseen": "benchmarks.groups.unseen",
    "objects": "benchmarks.groups.objects",
    "answers": "benchmarks.groups.answers",
    "calls": "benchmarks.groups.calls",
    "images": "benchmarks.groups.images",
    "growth": "benchmarks.groups.growth",
}
