"""Whose file the store's file is, and what happens to it when the owner dies."""

# The system calls themselves are what is looked at here.

from __future__ import annotations

import os
import random
import sqlite3
from typing import TYPE_CHECKING

import pytest

from deska_host.store import (
    NotAStore,
    StoreError,
    StoreFailed,
    StoreTooNew,
    open_store,
)
from deska_sdk.records import LedgerRecord
from tests.host.support_store import child, mode, refused

if TYPE_CHECKING:
    from pathlib import Path


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
