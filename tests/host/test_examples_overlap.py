"""The boards of the examples under calls that overlap, on a store that takes its time."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from deska_host import Host

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.anyio


@pytest.mark.rule("A-4", "R-1")
@pytest.mark.parametrize("name", ["nook", "nook_typed"])
async def test_a_board_loses_no_note_to_calls_that_overlap(name: str, tmp_path: Path) -> None:
    counters: list[str] = []
    async with Host(tmp_path / "desk.db") as host:
        await host.install(EXAMPLES / name)
        await host.start_page("nook")
        task = host.attach_task("task-1")
        consent = host.person.sheet("nook").fingerprint
        await host.person.connect("task-1", "nook", consent=consent)
        async with task.turn() as agent:

            async def add(number: int) -> None:
                reply = await agent.call_action("nook", "add_note", {"text": f"note {number}"})
                counters.append(json.loads(reply.text)["revision"])

            async with anyio.create_task_group() as group:
                for number in range(8):
                    group.start_soon(add, number)
            read = await agent.call_action("nook", "read_board", {})
    notes = json.loads(read.text.splitlines()[1])["notes"]
    assert sorted(notes) == sorted(f"note {number}" for number in range(8))
    assert len(set(counters)) == 8
