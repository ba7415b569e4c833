"""What a host had acknowledged when it was killed, and how one ends when it is asked to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.byhand.sigkill import kill_often, what_is_kept

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.rule("R-2", "G-3", "P-6", "C-2")
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_after_ten_kills_all_that_was_acknowledged_is_there_whole_and_no_counter_means_two_things(
    tmp_path: Path, backend: str
) -> None:
    truth = kill_often(tmp_path / "desk.db", kills=10, seed=6, backend=backend)
    # Enough happened for the comparison to mean something.
    assert truth.acknowledged > 60
    assert len(truth.meaning) > 10
    kinds = {"storage", "file", "install", "ledger", "connection", "consent", "on"}
    assert truth.kinds.keys() == kinds


SERVING = """
import sys, anyio
from deska_host import Host, Blob
from tests.byhand.sigkill import bytes_of
from tests.host.support_host import Hands, a_panel

async def main():
    async with Host(sys.argv[1]) as host:
        hands = Hands()
        await host.install(a_panel())
        await host.start_page("board", page=hands.main)
        await hands.up.wait()
        await hands.deska.files.put(Blob(bytes_of("test/a-b-10"), "test/a-b-10"))
        async with anyio.create_task_group() as group:
            group.start_soon(host.serve)
            await anyio.wait_all_tasks_blocked()
            print("up", flush=True)
        print("asked to end", flush=True)
    print("closed", flush=True)

anyio.run(main, backend=sys.argv[2])
"""


@pytest.mark.rule("G-3")
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_host_that_serves_closes_and_exits_with_zero_when_it_is_asked_to_end(
    tmp_path: Path, backend: str, number: signal.Signals
) -> None:
    path = tmp_path / "desk.db"
    with subprocess.Popen(
        [sys.executable, "-c", SERVING, str(path), backend],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry or "." for entry in sys.path)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        out, errors = process.communicate(timeout=30)
    assert (process.returncode, out, errors) == (0, "asked to end\nclosed\n", "")
    # A host that closed has nothing left in its log.
    assert not (tmp_path / "desk.db-wal").exists()
    assert list(what_is_kept(path).values()) == [True, "test/a-b-10"]
