"""A change to the store that fails leaves what was there, and says nothing of what it held."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve

from deska_host.store import CountRow, Store, StoreFailed, open_store
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.records import (
    ConnectionRecord,
    CounterBlockRecord,
    InstallRecord,
    UninstallRecord,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SMALL = evolve(DEFAULT_LIMITS, storage_bytes=100, file_bytes=60, files_bytes=100)
PRIVATE = "what the page wrote"


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    path = None if request.param == "memory" else tmp_path / "desk.db"
    with open_store(path, limits=SMALL) as store:
        yield store


# --- changes that fail ------------------------------------------------------------------------


def snapshot(store: Store) -> tuple[Any, ...]:
    return (
        store.load(),
        store.storage_get("garden", "board"),
        store.file_ids("garden"),
        store.file_get("garden", "f1"),
        store.counts("garden"),
    )


def fill(store: Store) -> None:
    store.apply([InstallRecord("garden", "1.0.0", "{}", None), ConnectionRecord("t1", "garden")])
    store.storage_set("garden", "board", "1")
    store.file_put("garden", "f1", "image/png", b"first")
    store.counts_add([CountRow("garden", "add_note", "", 1, 1.0)])


def changes(store: Store, size: int) -> list[Callable[[], None]]:
    """Each changes several rows, and needs about ``size`` bytes."""
    text = PRIVATE + "x" * size
    return [
        lambda: store.apply(
            [UninstallRecord("garden"), InstallRecord("garden", "2.0.0", text, None)]
        ),
        lambda: store.storage_set("garden", "board", text),
        lambda: store.file_put("garden", "f2", "image/png", text.encode()),
        lambda: store.counts_add(
            [CountRow("garden", "add_note", "", 1, 2.0), CountRow("garden", text, "", 1, 2.0)]
        ),
    ]


def fails_and_changes_nothing(store: Store, change: Callable[[], None]) -> None:
    before = snapshot(store)
    with pytest.raises(StoreFailed) as caught:
        change()
    assert caught.value.__context__ is None
    assert str(caught.value) == StoreFailed.sentence
    assert snapshot(store) == before


def connection_of(store: Store) -> sqlite3.Connection:
    assert store._file is not None
    return store._file.connection


@pytest.mark.rule("G-3")
@pytest.mark.parametrize("place", [None, "desk.db"])
def test_a_full_disk_leaves_everything_as_it_was_and_the_store_usable(
    tmp_path: Path, place: str | None
) -> None:
    with open_store(None if place is None else tmp_path / place) as store:
        fill(store)
        (pages,) = connection_of(store).execute("PRAGMA page_count").fetchone()
        connection_of(store).execute(f"PRAGMA max_page_count = {pages + 2}")
        for change in changes(store, 100_000):
            fails_and_changes_nothing(store, change)
        connection_of(store).execute("PRAGMA max_page_count = 1000000")
        for change in changes(store, 100_000):
            change()
        assert store.file_ids("garden") == ("f2",)


class FailingConnection(sqlite3.Connection):
    """Fails at the statement that starts with ``fault``, as a disk can."""

    fault = ""
    error: BaseException = sqlite3.OperationalError("disk I/O error")

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        self.fail(sql)
        return super().execute(sql, *args)

    def executemany(self, sql: str, *args: Any) -> sqlite3.Cursor:
        self.fail(sql)
        return super().executemany(sql, *args)

    def fail(self, sql: str) -> None:
        if self.fault and sql.startswith(self.fault):
            raise self.error


@pytest.fixture
def failing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Store, FailingConnection]]:
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3,
        "connect",
        lambda *args, **named: connect(*args, **named, factory=FailingConnection),
    )
    with open_store(tmp_path / "desk.db") as store:
        connection = connection_of(store)
        assert isinstance(connection, FailingConnection)
        yield store, connection


@pytest.mark.rule("G-3")
@pytest.mark.parametrize("fault", ["BEGIN", "COMMIT", "INSERT"])
def test_a_commit_that_fails_leaves_everything_as_it_was(
    failing: tuple[Store, FailingConnection], tmp_path: Path, fault: str
) -> None:
    store, connection = failing
    fill(store)
    before = snapshot(store)
    for change in changes(store, 10):
        connection.fault = fault
        with pytest.raises(StoreFailed) as caught:
            change()
        connection.fault = ""
        assert caught.value.__context__ is None
        assert snapshot(store) == before
    store.close()
    with open_store(tmp_path / "desk.db") as again:
        assert snapshot(again) == before


@pytest.mark.rule("G-3")
def test_an_interrupt_in_the_middle_of_a_change_leaves_everything_as_it_was(
    failing: tuple[Store, FailingConnection],
) -> None:
    store, connection = failing
    fill(store)
    before = snapshot(store)
    connection.fault, connection.error = "COMMIT", KeyboardInterrupt()
    for change in changes(store, 10):
        with pytest.raises(KeyboardInterrupt):
            change()
    connection.fault = ""
    assert snapshot(store) == before


@pytest.mark.rule("G-3", "B-2")
def test_a_record_that_cannot_be_written_takes_the_whole_change_with_it_untold(
    store: Store,
) -> None:
    fill(store)
    for record in (
        CounterBlockRecord("t1", "garden", 2**63),
        InstallRecord("garden", "2.0.0", PRIVATE + "\ud800", None),
    ):
        fails_and_changes_nothing(
            store, lambda record=record: store.apply([UninstallRecord("garden"), record])
        )


@pytest.mark.rule("G-3")
def test_several_threads_may_use_one_store(store: Store) -> None:
    def counting() -> None:
        for _ in range(50):
            store.counts_add([CountRow("garden", "add_note", "", 1, 1.0)])

    threads = [threading.Thread(target=counting) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.counts("garden") == (CountRow("garden", "add_note", "", 200, 1.0),)


@pytest.mark.rule("G-3")
def test_what_is_committed_is_synced_with_the_disk(tmp_path: Path) -> None:
    with open_store(tmp_path / "desk.db") as store:
        connection = connection_of(store)
        # 2 is FULL: with a write-ahead log, every commit waits for the disk.
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA locking_mode").fetchone() == ("exclusive",)
