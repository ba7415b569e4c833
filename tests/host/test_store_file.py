"""Whose file the store's file is, and what happens to it when the owner dies."""

# The system calls themselves are what is looked at here.
# ruff: noqa: PTH116, PTH208

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from deska_host.store import (
    NotAStore,
    Store,
    StoreClosed,
    StoreError,
    StoreFailed,
    StoreInUse,
    StoreTooNew,
    open_store,
)
from deska_sdk.errors import DeskaError
from deska_sdk.records import ConnectionRecord, CounterBlockRecord, LedgerRecord

if TYPE_CHECKING:
    from pathlib import Path


def mode(path: Path) -> int:
    return os.stat(path).st_mode & 0o777


def refused(path: Path | str, kind: type[StoreError]) -> None:
    """Opening fails with just this kind of error, which says its sentence and nothing else."""
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(StoreError) as caught:
        open_store(path)
    assert type(caught.value) is kind
    assert isinstance(caught.value, DeskaError)
    assert str(caught.value) == kind.sentence
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert len(os.listdir("/proc/self/fd")) == before


def child(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Another process that runs ``code`` over the same package."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


# --- the file ---------------------------------------------------------------------------------


@pytest.mark.rule("G-3")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_new_store_and_what_stands_next_to_it_are_the_owners_alone(
    tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        with open_store(tmp_path / "desk.db") as store:
            store.storage_set("garden", "key", "1")
            files = list(tmp_path.iterdir())
            assert len(files) > 1
            assert {mode(file) for file in files} == {0o600}
    finally:
        os.umask(before)


@pytest.mark.rule("G-3")
def test_a_store_with_a_wider_mode_is_narrowed_and_so_is_the_log_of_a_crash(
    tmp_path: Path,
) -> None:
    path = tmp_path / "desk.db"
    code = (
        "import sys\nfrom deska_host.store import open_store\n"
        "open_store(sys.argv[1]).storage_set('garden', 'key', '1')\n"
        "print('kept', flush=True)\nsys.stdin.read()"
    )
    with child(code, str(path)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "kept\n"
        process.kill()
    log = tmp_path / "desk.db-wal"
    assert log.stat().st_size > 0
    path.chmod(0o666)
    log.chmod(0o666)
    with open_store(path) as store:
        assert store.storage_get("garden", "key") == "1"
        assert mode(path) == 0o600
        assert not log.exists() or mode(log) == 0o600


@pytest.mark.rule("G-3")
def test_what_was_kept_is_there_when_the_store_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    with open_store(path) as store:
        store.apply([LedgerRecord("garden")])
        store.file_put("garden", "f1", "image/png", b"\x00\xff")
        store.storage_set("garden", "board", '{"notes":[]}')
    with open_store(os.fspath(path)) as store:
        assert store.load() == (LedgerRecord("garden"),)
        assert store.file_get("garden", "f1") == ("image/png", b"\x00\xff")
        assert store.storage_get("garden", "board") == '{"notes":[]}'
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.rule("G-3")
def test_a_relative_path_means_the_folder_of_the_moment_of_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("desk.db") as store:
        monkeypatch.chdir("/")
        store.storage_set("garden", "key", "1")
    with open_store(tmp_path / "desk.db") as store:
        assert store.storage_get("garden", "key") == "1"


@pytest.mark.rule("G-3")
@pytest.mark.parametrize("name", [":memory:", "file:desk.db?mode=memory", "desk%20.db?x=1"])
def test_a_name_that_means_something_to_sqlite_is_still_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store(name):
        assert (tmp_path / name).exists()


@pytest.mark.rule("G-3")
def test_an_empty_file_becomes_a_store_of_the_right_mode(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    path.touch(0o644)
    with open_store(path) as store:
        store.storage_set("garden", "key", "1")
    assert mode(path) == 0o600


@pytest.mark.rule("G-3")
def test_a_store_whose_making_was_cut_off_by_a_loss_of_power_is_made_anew(tmp_path: Path) -> None:
    half = tmp_path / "half.db"
    making = sqlite3.connect(half, isolation_level=None)
    # A cache this small is written to the file before the transaction ends.
    making.execute("PRAGMA cache_size = 1")
    making.execute("BEGIN")
    making.execute("CREATE TABLE half (data)")
    making.executemany("INSERT INTO half VALUES (?)", [(bytes(4000),)] * 50)
    path, journal = tmp_path / "desk.db", tmp_path / "desk.db-journal"
    content = half.read_bytes()
    assert len(content) > 4096
    path.write_bytes(bytes(4096) + content[4096:])
    journal.write_bytes((tmp_path / "half.db-journal").read_bytes())
    making.close()
    assert journal.stat().st_size > 0
    with open_store(path) as store:
        assert store.load() == ()
        store.storage_set("garden", "key", "1")
    assert not journal.exists()


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.rule("G-3")
def test_a_link_is_refused_wherever_it_leads_and_nothing_is_made_behind_it(
    tmp_path: Path,
) -> None:
    real = tmp_path / "real.db"
    open_store(real).close()
    before = real.read_bytes()
    (tmp_path / "live").symlink_to(real)
    (tmp_path / "dead").symlink_to(tmp_path / "nothing.db")
    refused(tmp_path / "live", NotAStore)
    refused(tmp_path / "dead", NotAStore)
    assert real.read_bytes() == before
    assert not (tmp_path / "nothing.db").exists()


@pytest.mark.rule("G-3")
def test_a_link_in_the_place_of_a_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    open_store(path).close()
    other = tmp_path / "other"
    other.write_bytes(b"somebody's")
    other.chmod(0o644)
    (tmp_path / "desk.db-wal").symlink_to(other)
    refused(path, StoreFailed)
    assert (other.read_bytes(), mode(other)) == (b"somebody's", 0o644)


@pytest.mark.rule("G-3")
def test_a_store_with_a_second_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    open_store(path).close()
    (tmp_path / "second.db").hardlink_to(path)
    refused(path, NotAStore)
    (tmp_path / "second.db").unlink()
    open_store(path).close()


@pytest.mark.rule("G-3")
def test_folders_and_fifos_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    refused(tmp_path / "fifo", NotAStore)
    refused(tmp_path, NotAStore)


@pytest.mark.rule("G-3")
def test_a_file_of_another_kind_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE storage (panel, key, size, value)")
    connection.close()
    wal = tmp_path / "wal.db"
    owner = sqlite3.connect(wal)
    owner.execute("PRAGMA journal_mode = WAL")
    owner.execute("CREATE TABLE ours (a)")
    owner.commit()
    (tmp_path / "text.db").write_text("dear diary")
    (tmp_path / "zeros.db").write_bytes(bytes(8192))
    (tmp_path / "short.db").write_bytes(b"SQLite format 3\0")
    (tmp_path / "noise.db").write_bytes(random.Random(7).randbytes(5000))
    everything = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for path in everything:
        path.chmod(0o644)
    for path in everything:
        if not path.name.endswith("-shm"):
            refused(path, NotAStore)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == everything
    assert {mode(path) for path in everything} == {0o644}
    owner.close()


@pytest.mark.rule("G-3")
def test_an_empty_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 3")
    connection.close()
    refused(path, NotAStore)


@pytest.mark.rule("G-3")
@pytest.mark.parametrize(
    ("version", "kind"), [(2, StoreTooNew), (999, StoreTooNew), (0, NotAStore)]
)
def test_a_store_of_a_newer_version_is_refused_and_keeps_what_it_holds(
    tmp_path: Path, version: int, kind: type[StoreError]
) -> None:
    path = tmp_path / "desk.db"
    with open_store(path) as store:
        store.storage_set("garden", "key", "1")
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    refused(path, kind)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    assert connection.execute("SELECT value FROM storage").fetchall() == [("1",)]
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    with open_store(path) as store:
        assert store.storage_get("garden", "key") == "1"


@pytest.mark.rule("G-3")
@pytest.mark.parametrize("path", ["nothing/desk.db", "nu\0l.db"])
def test_a_place_where_no_file_can_be_made_is_a_failure_without_its_name(
    tmp_path: Path, path: str
) -> None:
    refused(f"{tmp_path}/{path}", StoreFailed)


@pytest.mark.rule("G-3")
def test_a_system_without_posix_modes_keeps_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deska_host.store.file._POSIX", False)
    refused(tmp_path / "desk.db", StoreFailed)
    assert list(tmp_path.iterdir()) == []
    with open_store(None) as store:
        store.storage_set("garden", "key", "1")


@pytest.mark.rule("G-3")
def test_a_file_that_is_exchanged_while_it_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "desk.db"
    open_store(path).close()
    open_store(tmp_path / "other.db").close()
    connect = sqlite3.connect

    def exchanging(*args: object, **named: object) -> sqlite3.Connection:
        os.replace(tmp_path / "other.db", path)  # noqa: PTH105
        return connect(*args, **named)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(sqlite3, "connect", exchanging)
    refused(path, NotAStore)


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
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            sqlite3.connect(path, timeout=0).execute("SELECT * FROM storage")
        store.storage_set("garden", "key", "1")
    assert _try_in_child(path) == "opened"


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
def test_a_store_owned_by_another_process_is_refused_until_that_process_is_killed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "desk.db"
    with child(OWNER, str(path)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "owned\n"
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
from deska_host.store import StoreInUse, open_store
print("ready", flush=True)
sys.stdin.readline()
try:
    store = open_store(sys.argv[1])
    print("owner", flush=True)
except StoreInUse:
    print("in use", flush=True)
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
    assert answers == ["in use\n"] * 3 + ["owner\n"]


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

def write(path, panel):
    store = open_store(path)
    number = 0
    while True:
        number += 1
        store.apply([
            CounterBlockRecord("task", panel, number),
            ConnectionRecord(f"task-{number}", panel),
        ])
        print("records", number, flush=True)
        store.storage_set(panel, "number", str(number) * 50)
        print("storage", number, flush=True)
        store.file_put(panel, f"file-{number}", "image/png", bytes([number % 256]) * 9_000)
        print("file", number, flush=True)

for line in sys.stdin:
    writer = os.fork()
    if not writer:
        try:
            write(sys.argv[1], line.strip())
        finally:
            os._exit(1)
    print("writer", writer, flush=True)
    os.waitpid(writer, 0)
    print("dead", 0, flush=True)
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
