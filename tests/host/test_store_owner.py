"""A store has one owner at a time, and what it acknowledged outlives any end of the owner."""

# The system calls themselves are what is looked at here.
# ruff: noqa: PTH116

from __future__ import annotations

import os
import random
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deska_host.store import (
    Store,
    StoreClosed,
    StoreInUse,
    open_store,
)
from deska_sdk.records import ConnectionRecord, CounterBlockRecord
from tests.host.support_store import child, refused

if TYPE_CHECKING:
    from pathlib import Path


# --- one owner --------------------------------------------------------------------------------


@pytest.mark.rule("G-3")
def test_a_second_owner_in_the_same_process_is_refused_and_the_first_keeps_its_lock(
    tmp_path: Path,
) -> None:
    path = tmp_path / "desk.db"
    with open_store(path) as store:
        refused(path, StoreInUse)
        (tmp_path / "folder").symlink_to(tmp_path)
        refused(tmp_path / "folder" / "desk.db", StoreInUse)
        (tmp_path / "second.db").hardlink_to(path)
        refused(tmp_path / "second.db", StoreInUse)
        (tmp_path / "second.db").unlink()
        # POSIX locks go with the first descriptor that is closed, whoever closed it.
        assert _try_in_child(path) == "StoreInUse"
        assert locked_for_sqlite(path)
        store.storage_set("garden", "key", "1")
    assert _try_in_child(path) == "opened"


@pytest.mark.rule("G-3")
def test_a_name_that_is_exchanged_for_our_own_store_costs_that_store_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "desk.db"
    (tmp_path / "other").touch()
    other = os.stat(tmp_path / "other")
    with open_store(path):
        with monkeypatch.context() as patch:
            # The look at the name saw another file than the opening after it got.
            patch.setattr(os, "lstat", lambda _path: other)
            with pytest.raises(StoreInUse):
                open_store(path)
        assert _try_in_child(path) == "StoreInUse"
        assert locked_for_sqlite(path)


def locked_for_sqlite(path: Path) -> bool:
    """Whether a connection that knows nothing of our own locks is kept out."""
    with closing(sqlite3.connect(path, timeout=0)) as connection:
        try:
            connection.execute("SELECT * FROM storage")
        except sqlite3.OperationalError as error:
            return "locked" in str(error)
    return False


def _try_in_child(path: Path) -> str:
    code = (
        "import sys\nfrom deska_host.store import StoreError, open_store\n"
        "try: open_store(sys.argv[1]).close(); print('opened')\n"
        "except StoreError as error: print(type(error).__name__)"
    )
    with child(code, str(path)) as process:
        out, _ = process.communicate(timeout=60)
    return out.strip()


OWNER = """
import sys
from deska_host.store import open_store
store = open_store(sys.argv[1])
print("owned", flush=True)
sys.stdin.readline()
"""


@pytest.mark.rule("G-3")
def test_a_store_owned_by_another_process_is_refused_at_once_until_that_process_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "desk.db"
    with child(OWNER, str(path)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "owned\n"
        with monkeypatch.context() as patch:
            # SQLite could wait, or stand in the way of another that opens; it is not asked.
            patch.setattr(sqlite3, "connect", None)
            refused(path, StoreInUse)
            refused(path, StoreInUse)
        process.kill()
    open_store(path).close()


@pytest.mark.rule("G-3")
def test_of_many_threads_that_open_a_new_store_at_once_one_becomes_the_owner(
    tmp_path: Path,
) -> None:
    def opening(_number: int) -> Store | None:
        try:
            return open_store(tmp_path / "desk.db")
        except StoreInUse:
            return None

    with ThreadPoolExecutor(8) as pool:
        stores = [store for store in pool.map(opening, range(32)) if store is not None]
    assert len(stores) == 1
    stores[0].close()


@pytest.mark.rule("G-3")
def test_of_several_processes_that_open_a_new_store_at_once_one_becomes_the_owner(
    tmp_path: Path,
) -> None:
    code = """
import sys
from deska_host.store import StoreError, open_store
print("ready", flush=True)
sys.stdin.readline()
try:
    store = open_store(sys.argv[1])
    print("owner", flush=True)
except StoreError as error:
    print(type(error).__name__, flush=True)
sys.stdin.readline()
"""
    processes = [child(code, str(tmp_path / "desk.db")) for _ in range(4)]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = sorted(process.stdout.readline() for process in processes if process.stdout)
    finally:
        for process in processes:
            process.kill()
            with process:
                pass
    assert answers == ["StoreInUse\n"] * 3 + ["owner\n"]


# --- the end ----------------------------------------------------------------------------------


@pytest.mark.rule("G-3")
@pytest.mark.parametrize("place", [None, "desk.db"])
def test_a_closed_store_says_so_and_can_be_closed_again(tmp_path: Path, place: str | None) -> None:
    store = open_store(None if place is None else tmp_path / place)
    store.close()
    store.close()
    for use in (
        lambda: store.apply([]),
        store.load,
        lambda: store.storage_get("garden", "key"),
        lambda: store.storage_set("garden", "key", "1"),
        lambda: store.file_put("garden", "f", "image/png", b""),
        lambda: store.file_get("garden", "f"),
        lambda: store.file_ids("garden"),
        lambda: store.file_delete("garden", "f"),
        lambda: store.counts_add([]),
        lambda: store.counts("garden"),
    ):
        with pytest.raises(StoreClosed, match=r"^This store is closed\.$"):
            use()


# For each line it reads it forks a writer, says its number, and says when it is dead. A fork,
# because twenty starts of Python would take longer than all the rest.
WRITERS = """
import os, sys
from deska_host.store import open_store
from deska_sdk.records import ConnectionRecord, CounterBlockRecord

def say(what, number):
    # In one piece: a kill must not come between the parts of a line.
    os.write(1, f"{what} {number}\\n".encode())

def write(path, panel):
    store = open_store(path)
    number = 0
    while True:
        number += 1
        store.apply([
            CounterBlockRecord("task", panel, number),
            ConnectionRecord(f"task-{number}", panel),
        ])
        say("records", number)
        store.storage_set(panel, "number", str(number) * 50)
        say("storage", number)
        store.file_put(panel, f"file-{number}", "image/png", bytes([number % 256]) * 9_000)
        say("file", number)

for line in sys.stdin:
    writer = os.fork()
    if not writer:
        try:
            # First of all, so that whoever kills it knows whom.
            say("writer", os.getpid())
            write(sys.argv[1], line.strip())
        finally:
            os._exit(1)
    os.waitpid(writer, 0)
    say("dead", 0)
"""


@pytest.mark.rule("G-3", "R-2")
def test_whatever_was_acknowledged_before_a_kill_is_there_and_nothing_is_half_there(
    tmp_path: Path,
) -> None:
    path = tmp_path / "desk.db"
    chance = random.Random(20)
    with child(WRITERS, str(path)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for panel in (f"panel-{number}" for number in range(20)):
            process.stdin.write(f"{panel}\n")
            process.stdin.flush()
            said = {"records": 0, "storage": 0, "file": 0, "writer": 0, "dead": -1}
            left = chance.randrange(2, 50)
            # Read on after the kill: what it had said by then was acknowledged too.
            while said["dead"]:
                kind, number = process.stdout.readline().split()
                said[kind] = int(number)
                left -= 1
                if not left:
                    os.kill(said["writer"], signal.SIGKILL)
            assert left <= 0, "the writer died before it was killed"
            with open_store(path) as store:
                check_kept(store, panel, said)
        process.stdin.close()


def check_kept(store: Store, panel: str, said: dict[str, int]) -> None:
    """All that was said to be done is there; at most one thing more, and that whole."""
    records = store.load()
    counter = max(
        (
            record.high
            for record in records
            if isinstance(record, CounterBlockRecord) and record.panel == panel
        ),
        default=0,
    )
    tasks = [
        record.task
        for record in records
        if isinstance(record, ConnectionRecord) and record.panel == panel
    ]
    assert said["records"] <= counter <= said["records"] + 1
    assert tasks == [f"task-{number}" for number in range(1, counter + 1)]

    text = store.storage_get(panel, "number")
    assert text in {
        str(number) * 50 if number else None for number in (said["storage"], said["storage"] + 1)
    }

    ids = store.file_ids(panel)
    assert said["file"] <= len(ids) <= said["file"] + 1
    assert ids == tuple(f"file-{number}" for number in range(1, len(ids) + 1))
    for number, file_id in enumerate(ids, 1):
        assert store.file_get(panel, file_id) == ("image/png", bytes([number % 256]) * 9_000)
