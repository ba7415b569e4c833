"""Opening a store's file so that it is ours alone: mode 0600, no link, one owner at a time."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
import threading
from typing import Final

from attrs import frozen

from deska_host.store.errors import (
    NotAStore,
    StoreError,
    StoreFailed,
    StoreInUse,
    StoreTooNew,
)
from deska_host.store.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES

if sys.platform != "win32":
    import fcntl

#: Seconds SQLite may try for its lock, in case another program looks into the file just now.
#: Other owners never come so far: see ``_claim``.
_PATIENCE = 0.1

#: The head of an SQLite file: its magic, and the place of the application id (big endian).
_MAGIC: Final = b"SQLite format 3\0"
_HEAD = 100
_ID_AT = slice(68, 72)

#: What SQLite keeps next to the file while it is in use.
_COMPANIONS = ("-wal", "-journal", "-shm")

_POSIX: bool = hasattr(os, "O_NOFOLLOW") and hasattr(os, "fchmod")

# The files this process has open, by device and inode. The locks are POSIX record locks:
# closing any descriptor of a file drops every lock the process has on it, so a second opener in
# this process must be turned away before it opens the file at all.
_held_lock = threading.Lock()
_held: set[tuple[int, int]] = set()


@frozen
class OpenFile:
    """A connection that owns its file, and what must be let go of with it."""

    connection: sqlite3.Connection
    #: The descriptor that made sure of the file, and the file's device and inode.
    guard: tuple[int, tuple[int, int]] | None

    def close(self) -> None:
        """Close the connection, then give the file free for the next owner."""
        try:
            self.connection.close()
        finally:
            _let_go(self.guard)


def open_memory() -> OpenFile:
    """The same tables in memory, gone when closed."""
    connection = _connect(":memory:")
    _own(connection)
    return OpenFile(connection, None)


def open_file(path: str | os.PathLike[str]) -> OpenFile:
    """Open the store at ``path``, made new where there is no file or an empty one.

    :raises StoreInUse: when somebody, here or in another process, has it open.
    :raises StoreTooNew: when a later version of the host wrote it.
    :raises NotAStore: when it is something else; it is left as it is.
    :raises StoreFailed: when it cannot be opened, or the system has no POSIX file modes.
    """
    problem: type[StoreError] = StoreFailed
    if _POSIX:
        # Made absolute here: the path must mean the same file for the checks and for SQLite.
        full = os.path.join(os.getcwd(), os.fspath(path))  # noqa: PTH109, PTH118
        try:
            return _open(full)
        except StoreError as error:
            problem = type(error)
        except (OSError, ValueError):
            problem = StoreFailed
        except sqlite3.Error as error:
            problem = _meaning(error)
    # Raised out here so that no error of the system is its context.
    raise problem


def _open(path: str) -> OpenFile:
    guard = _take(path)
    try:
        _narrow(path, guard[0])
        connection = _connect(path)
        try:
            _own(connection)
            # SQLite opened the file by its name, so the name must still be the file we checked.
            _check_name(path, guard[1])
        except BaseException:
            connection.close()
            raise
    except BaseException:
        _let_go(guard)
        raise
    return OpenFile(connection, guard)


def _take(path: str) -> tuple[int, tuple[int, int]]:
    """A descriptor of our file at ``path``, and the claim on it inside this process."""
    with _held_lock:
        descriptor = _create(path)
        made = descriptor is not None
        if descriptor is None:
            descriptor = _open_old(path)
        status = os.fstat(descriptor)
        identity = status.st_dev, status.st_ino
        if identity in _held:
            # Swapped between the two looks. Not closed: that would drop the owner's lock.
            raise StoreInUse
        try:
            _claim(descriptor)
            if made:
                _make_durable(path)
            else:
                _check_ours(path, descriptor, status)
        except BaseException:
            os.close(descriptor)
            raise
        _held.add(identity)
    return descriptor, identity


def _create(path: str) -> int | None:
    """A descriptor of a new file, or None when something stands there, were it a dead link."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return None


def _open_old(path: str) -> int:
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        raise NotAStore
    if (status.st_dev, status.st_ino) in _held:
        raise StoreInUse
    return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _check_name(path: str, identity: tuple[int, int]) -> None:
    status = os.lstat(path)
    if (status.st_dev, status.st_ino) != identity:
        raise NotAStore


def _claim(descriptor: int) -> None:
    """Lock the file's first byte, which SQLite leaves alone, for as long as the process has it.

    One of many that open at the same moment gets it, at once. SQLite's own lock is taken in
    steps, and two that take the first one together can each keep the other from the last.
    """
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
    except (BlockingIOError, PermissionError):
        taken = True
    else:
        taken = False
    if taken:
        raise StoreInUse


def _let_go(guard: tuple[int, tuple[int, int]] | None) -> None:
    if guard is not None:
        with _held_lock:
            os.close(guard[0])
            _held.discard(guard[1])


def _check_ours(path: str, descriptor: int, status: os.stat_result) -> None:
    """Whether this is a store, or nothing yet: SQLite never sees any other file.

    :raises NotAStore: also for a file with a second name, because SQLite could look for a
        crash's log under the wrong one.
    """
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise NotAStore
    head = os.pread(descriptor, _HEAD, 0)
    if head.startswith(_MAGIC) and head[_ID_AT] == APPLICATION_ID.to_bytes(4, "big"):
        return
    # A head of zeros is what a loss of power can leave of a file that was being made; then the
    # log is there from which SQLite undoes it.
    if head.strip(b"\0") or (head and not os.path.lexists(path + "-journal")):
        raise NotAStore


def _make_durable(path: str) -> None:
    """Sync the folder, or a loss of power could take the new file's name."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_CLOEXEC)  # noqa: PTH120
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _narrow(path: str, descriptor: int) -> None:
    """Take every right but the owner's from the file and from what SQLite keeps next to it.

    New companions get the mode of the file itself.
    """
    os.fchmod(descriptor, 0o600)
    for suffix in _COMPANIONS:
        try:
            companion = os.open(
                path + suffix, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            )
        except FileNotFoundError:
            continue
        try:
            if not stat.S_ISREG(os.fstat(companion).st_mode):
                raise NotAStore
            os.fchmod(companion, 0o600)
        finally:
            os.close(companion)


def _connect(path: str) -> sqlite3.Connection:
    # One worker thread at a time uses a store, but not always the one that opened it; the
    # store's own lock keeps the uses apart.
    return sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)


def _own(connection: sqlite3.Connection) -> None:
    """Lock the file for the life of the connection; make or check what is in it."""
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("BEGIN EXCLUSIVE")
    try:
        _make_or_check_tables(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("PRAGMA journal_mode = WAL")
    # After a large write the log is cut back to this many bytes.
    connection.execute("PRAGMA journal_size_limit = 16777216")


def _make_or_check_tables(connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if (application, version, tables) == (0, 0, 0):
        for table in TABLES:
            connection.execute(table)
        # In the same transaction as the tables, and before the change to a write-ahead log:
        # so every file of ours shows the id in its head.
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    elif application != APPLICATION_ID or version < 1:
        raise NotAStore
    elif version > SCHEMA_VERSION:
        raise StoreTooNew


def _meaning(error: sqlite3.Error) -> type[StoreError]:
    # The low byte is the kind; the rest says more than anybody needs.
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if kind in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return StoreInUse
    if kind == sqlite3.SQLITE_NOTADB:
        return NotAStore
    return StoreFailed
