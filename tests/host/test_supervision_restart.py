"""A pause does not outlive the host; a task that was paused stays in Supervised (S-6)."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from deska_host import Blob, Host, ManualClock, StoreFailed
from deska_sdk import AgentCode
from deska_sdk.router import RowKind
from tests.host.support_host import Images, connect, later, picture
from tests.host.support_supervision import FENCED, NOTES, Mode, Turns, a_room, settle

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio

# Runs until it is killed, with a task that is paused.
PAUSING = """
import sys, anyio
from tests.host.support_supervision import Mode, a_room

async def main():
    async with a_room(sys.argv[1]) as room:
        # Another task that was paused, and is no more.
        other = Mode()
        task = room.host.attach_task("task-2", mode="automatic", on_switch=other.on_switch)
        await room.host.person.connect("task-2", "board")
        async with task.turn() as agent:
            assert (await room.read(agent)).code is None
        while other.now != "automatic":
            await anyio.sleep(0.01)
        agent = room.task.start_turn()
        assert (await room.read(agent)).code is None
        assert room.mode.now == "supervised"
        # The store has the end of the other pause as well as this one.
        await room.hands.deska.storage.set("done", 1)
        print("paused", flush=True)
        await anyio.sleep_forever()

anyio.run(main, backend=sys.argv[2])
"""


async def attached(host: Host, task: str, mode: Mode) -> tuple[list[RowKind], str | None]:
    """A task comes back in the mode its program keeps for it: its rows, and the mode it is in."""
    host.attach_task(task, mode=mode.now, on_switch=mode.on_switch)
    await settle()
    rows = host.person.rows(task)
    assert all("Supervised" in row.text for row in rows)
    return [row.kind for row in rows], host._engine.router.mode(task)


@pytest.mark.rule("S-6")
async def test_a_task_that_was_paused_when_its_host_was_killed_is_supervised_when_it_is_back(
    tmp_path: Path, anyio_backend_name: str
) -> None:
    path = tmp_path / "desk.db"
    process = await anyio.to_thread.run_sync(
        lambda: subprocess.Popen(
            [sys.executable, "-c", PAUSING, str(path), anyio_backend_name],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(entry or "." for entry in sys.path)},
        )
    )
    with process:
        assert process.stdout is not None
        assert await anyio.to_thread.run_sync(process.stdout.readline) == "paused\n"
        process.kill()
        await anyio.to_thread.run_sync(process.wait)
    # The program itself starts its agents in the mode that the person had chosen.
    mode, other = Mode(), Mode()
    async with Host(path, images=Images(), clock=ManualClock()) as host:
        assert await attached(host, "task-1", mode) == ([RowKind.RESTARTED], "supervised")
        assert mode.switched == ["supervised"]
        assert await attached(host, "task-2", other) == ([], "automatic")
        assert other.asked == []
        # Nothing of the pause comes back by itself.
        assert mode.now == "supervised"
        await host.person.set_mode("task-1", "automatic")
        assert mode.now == "automatic"
    async with Host(path, images=Images(), clock=ManualClock()) as host:
        assert await attached(host, "task-1", mode) == ([], "automatic")


@pytest.mark.rule("S-6")
async def test_closing_a_host_in_a_pause_is_as_good_as_killing_it(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    async with a_room(path) as room:
        await room.read(room.task.start_turn())
        mode = room.mode
    assert mode.now == "supervised"
    back = Mode("accept_edits")
    async with Host(path, images=Images(), clock=ManualClock()) as host:
        assert await attached(host, "task-1", back) == ([RowKind.RESTARTED], "supervised")
    # As long as the person changes nothing, it stays so.
    assert back.switched == ["supervised"]


@pytest.mark.rule("S-6")
async def test_a_task_that_cannot_be_supervised_after_a_restart_is_tried_again_at_the_next(
    tmp_path: Path,
) -> None:
    path = tmp_path / "desk.db"
    async with a_room(path) as room:
        await room.read(room.task.start_turn())

    async def says_no() -> bool:
        return False

    mode = Mode()
    mode.instead["supervised"] = says_no
    async with Host(path, images=Images(), clock=ManualClock()) as host:
        kinds, now = await attached(host, "task-1", mode)
        assert (kinds, now) == ([RowKind.STAYS], "automatic")
    del mode.instead["supervised"]
    async with Host(path, images=Images(), clock=ManualClock()) as host:
        assert await attached(host, "task-1", mode) == ([RowKind.RESTARTED], "supervised")
    assert mode.now == "supervised"


@pytest.mark.rule("S-6", "S-7", "O-4")
async def test_messages_deferred_reads_and_offers_do_not_outlive_the_host(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    async with a_room(path, switches="next_turn") as room:
        kept = (await room.hands.deska.files.put(Blob(picture())))["id"]
        agent = room.task.start_turn()
        assert (await agent.call_action("board", "read", {})).code is AgentCode.READ_DEFERRED
        await room.hands.answer({"images": [kept]})
        await room.hands.deska.agent.offer(text="x", files=[kept])
        await room.host.person.send_to_task("board")
        await room.task.send("x")
        host = room.host
    assert room.turns.all == []
    assert host.pending == 0
    async with Host(path, images=Images(), clock=ManualClock()) as host:
        turns = Turns(Mode())
        host.attach_task(
            "task-1", mode="automatic", on_switch=turns.mode.on_switch, on_turn=turns.on_turn
        )
        await settle()
        assert host.person.waiting("task-1") == ()
        assert host.person.offers() == {}
        assert turns.all == []
        assert turns.mode.asked == []
        assert host.pending == 0


@pytest.mark.rule("S-1", "S-6")
async def test_a_pause_that_the_store_cannot_keep_is_none_and_nothing_is_handed_over() -> None:
    async with a_room() as room:
        store = room.host._keeper.store

        def failing(_records: object) -> None:
            raise StoreFailed

        async with room.task.turn() as agent:
            store.apply = failing  # type: ignore[method-assign]
            async with anyio.create_task_group() as group:
                reply = later(group, agent.call_action, "board", "read", {})
                await room.hands.answer(NOTES)
                told = await reply.wait()
            assert told.code is AgentCode.PAUSE_FAILED
            assert "header" not in told.text
            await settle()
            assert room.mode.now == "automatic"
            del store.apply
            assert (await room.read(agent)).text == FENCED
        await settle()
        assert room.mode.now == "automatic"
        assert room.host.pending == 0


@pytest.mark.rule("S-6")
async def test_a_task_that_is_detached_and_back_in_one_run_leaves_no_pause_behind(
    tmp_path: Path,
) -> None:
    path = tmp_path / "desk.db"
    async with a_room(path) as room:
        await room.read(room.task.start_turn())
        room.host.detach_task("task-1")
        again = Mode()
        assert await attached(room.host, "task-1", again) == ([RowKind.RESTARTED], "supervised")
        room.host.detach_task("task-1")
        # The store's jobs run one after another: the end of the pause is in it now.
        await room.hands.deska.storage.set("done", 1)
        # It is said once: the task was put into Supervised, and the person knows.
        assert await attached(room.host, "task-1", Mode()) == ([], "automatic")
    async with Host(path, images=Images(), clock=ManualClock()) as host:
        assert await attached(host, "task-1", Mode()) == ([], "automatic")
        await connect(host, "task-1", "board")
