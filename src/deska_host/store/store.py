"""The store's interface: the engine's records, what pages keep, and the counts."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import frozen

from deska_host.store import desk
from deska_host.store.errors import StoreClosed, StoreFailed
from deska_host.store.file import OpenFile, open_file, open_memory
from deska_sdk.errors import PageCode, PageError
from deska_sdk.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from deska_sdk.records import Record

_Result = TypeVar("_Result")


@frozen
class CountRow:
    """How often something happened to a panel on this computer (B-1)."""

    panel: str
    #: The declared action; ``""`` where the call named none. Never a name an agent chose.
    action: str
    #: The code of a refusal; ``""`` for a call of the action.
    code: str
    #: How often: what to add, or the sum so far.
    count: int
    #: When last, in seconds of the wall clock.
    last: float


def open_store(path: str | os.PathLike[str] | None, *, limits: Limits = DEFAULT_LIMITS) -> Store:
    """Open the store at ``path``, or one in memory for ``None``.

    A new file gets mode 0600, an old one with a wider mode is narrowed. The caller owns the file
    alone until :meth:`Store.close` or the end of the process, however it ends.

    :param limits: ``storage_bytes``, ``files_bytes`` and ``file_bytes`` hold here (G-3).
    :raises StoreInUse: at once, when another owner has the file, in this process or another.
    :raises StoreTooNew: when a later version of the host wrote it.
    :raises NotAStore: when it is another kind of file, a link, or has several names; untouched.
    :raises StoreFailed: when it cannot be opened, or on a system without POSIX file modes.
    """
    return Store(open_memory() if path is None else open_file(path), limits)


class Store:
    """What the host keeps. Made by :func:`open_store`.

    Every method is one transaction, on disk when it returns, and waits for the disk: call it
    from a worker thread. Any thread may; they take turns.

    Every method but :meth:`close` raises :class:`StoreClosed` after it, and
    :class:`StoreFailed`, with nothing of the change kept, when the file cannot be read or
    written.
    """

    def __init__(self, file: OpenFile, limits: Limits) -> None:
        self._file: OpenFile | None = file
        self._limits = limits
        self._lock = threading.Lock()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file free. Closing again does nothing."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                file.close()

    # --- the engine's records ---------------------------------------------------------------

    def apply(self, records: Iterable[Record]) -> None:
        """Write ``records`` in their order, all of them or none."""
        rows = tuple(records)

        def work(connection: sqlite3.Connection) -> None:
            for record in rows:
                desk.apply(connection, record)

        self._transaction(work)

    def load(self) -> tuple[Record, ...]:
        """The records whose replay is the desk as it was left.

        The switch, the ledger, the counter blocks, then installs, consents (per panel the one
        that counts last) and connections, each of these in the order they came.
        """
        return self._transaction(desk.load)

    # --- what a page keeps in storage (G-3) -------------------------------------------------

    def storage_get(self, panel: str, key: str) -> str | None:
        """The JSON text kept under ``key``, or ``None``."""
        _check_texts(panel, key)

        def work(connection: sqlite3.Connection) -> str | None:
            query = "SELECT value FROM storage WHERE panel = ? AND key = ?"
            value: str | None = _one(connection, query, (panel, key))
            return value

        return self._transaction(work)

    def storage_set(self, panel: str, key: str, text: str | None) -> None:
        """Keep the JSON ``text`` under ``key`` in place of what was there; ``None`` removes it.

        The key counts with its text, both in bytes of UTF-8.

        :raises PageError: ``quota_exceeded`` when the panel would keep more than
            ``storage_bytes``; what was there stays. ``invalid_args`` for a lone surrogate.
        """
        _check_texts(panel, key, text or "")
        size = 0 if text is None else len(key.encode()) + len(text.encode())
        limit = self._limits.storage_bytes

        def work(connection: sqlite3.Connection) -> None:
            query = "SELECT size FROM storage WHERE panel = ? AND key = ?"
            before: int = _one(connection, query, (panel, key)) or 0
            _use_storage(connection, panel, size - before, limit)
            if text is None:
                connection.execute("DELETE FROM storage WHERE panel = ? AND key = ?", (panel, key))
            else:
                connection.execute(
                    "INSERT INTO storage (panel, key, size, value) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (panel, key) DO UPDATE"
                    " SET size = excluded.size, value = excluded.value",
                    (panel, key, size, text),
                )

        self._transaction(work)

    # --- what a page keeps in files (G-3) ---------------------------------------------------

    def file_put(self, panel: str, file_id: str, media_type: str, data: bytes) -> None:
        """Keep ``data`` under ``file_id``, which must be new to this panel.

        :raises PageError: ``quota_exceeded`` when ``data`` is over ``file_bytes`` or the panel
            would keep more than ``files_bytes``; ``invalid_args`` for a lone surrogate.
        :raises ValueError: when the panel keeps a file with this id.
        """
        _check_texts(panel, file_id, media_type)
        limits = self._limits
        if len(data) > limits.file_bytes:
            raise PageError(PageCode.QUOTA_EXCEEDED)

        def work(connection: sqlite3.Connection) -> None:
            if _one(connection, _FILE_SIZE, (panel, file_id)) is not None:
                raise ValueError("this panel keeps a file with this id")
            _use_files(connection, panel, len(data), limits.files_bytes)
            connection.execute(
                "INSERT INTO file (panel, id, size, media_type, data) VALUES (?, ?, ?, ?, ?)",
                (panel, file_id, len(data), media_type, data),
            )

        self._transaction(work)

    def file_get(self, panel: str, file_id: str) -> tuple[str, bytes] | None:
        """The media type and the bytes kept under ``file_id``, or ``None``."""
        _check_texts(panel, file_id)

        def work(connection: sqlite3.Connection) -> tuple[str, bytes] | None:
            kept: tuple[str, bytes] | None = connection.execute(
                "SELECT media_type, data FROM file WHERE panel = ? AND id = ?", (panel, file_id)
            ).fetchone()
            return kept

        return self._transaction(work)

    def file_ids(self, panel: str) -> tuple[str, ...]:
        """The ids of the panel's files, in the order of putting."""
        _check_texts(panel)

        def work(connection: sqlite3.Connection) -> tuple[str, ...]:
            rows = connection.execute("SELECT id FROM file WHERE panel = ? ORDER BY seq", (panel,))
            return tuple(row[0] for row in rows)

        return self._transaction(work)

    def file_delete(self, panel: str, file_id: str) -> bool:
        """Forget the file; whether there was one."""
        _check_texts(panel, file_id)
        limit = self._limits.files_bytes

        def work(connection: sqlite3.Connection) -> bool:
            size: int | None = _one(connection, _FILE_SIZE, (panel, file_id))
            if size is None:
                return False
            _use_files(connection, panel, -size, limit)
            connection.execute("DELETE FROM file WHERE panel = ? AND id = ?", (panel, file_id))
            return True

        return self._transaction(work)

    # --- what it did on this computer (B-1) -------------------------------------------------

    def counts_add(self, rows: Iterable[CountRow]) -> None:
        """Add each row's count to what stands for its panel, action and code."""
        added = tuple((row.panel, row.action, row.code, row.count, row.last) for row in rows)

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT INTO count (panel, action, code, count, last) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (panel, action, code) DO UPDATE"
                " SET count = count + excluded.count, last = max(last, excluded.last)",
                added,
            )

        self._transaction(work)

    def counts(self, panel: str) -> tuple[CountRow, ...]:
        """The panel's counts, by action and code; calls (code ``""``) before refusals."""
        _check_texts(panel)

        def work(connection: sqlite3.Connection) -> tuple[CountRow, ...]:
            rows = connection.execute(
                "SELECT panel, action, code, count, last FROM count WHERE panel = ?"
                " ORDER BY action, code",
                (panel,),
            )
            return tuple(CountRow(*row) for row in rows)

        return self._transaction(work)

    # ----------------------------------------------------------------------------------------

    def _transaction(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        with self._lock:
            if self._file is None:
                raise StoreClosed
            connection = self._file.connection
            try:
                with suppress(sqlite3.Error, UnicodeError, OverflowError):
                    connection.execute("BEGIN IMMEDIATE")
                    result = work(connection)
                    connection.execute("COMMIT")
                    return result
            finally:
                # Whatever ended the work, nothing of it stays; a full disk may have undone it
                # already.
                if connection.in_transaction:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
        # Raised out here so that no error with a value in it is its context.
        raise StoreFailed


_FILE_SIZE = "SELECT size FROM file WHERE panel = ? AND id = ?"


def _one(connection: sqlite3.Connection, query: str, values: tuple[str, ...]) -> Any:
    row = connection.execute(query, values).fetchone()
    return None if row is None else row[0]


def _use_storage(connection: sqlite3.Connection, panel: str, more: int, limit: int) -> None:
    used: int = _one(connection, "SELECT storage FROM usage WHERE panel = ?", (panel,)) or 0
    _check_quota(used, more, limit)
    connection.execute(
        "INSERT INTO usage (panel, storage) VALUES (?, ?)"
        " ON CONFLICT (panel) DO UPDATE SET storage = excluded.storage",
        (panel, used + more),
    )


def _use_files(connection: sqlite3.Connection, panel: str, more: int, limit: int) -> None:
    used: int = _one(connection, "SELECT files FROM usage WHERE panel = ?", (panel,)) or 0
    _check_quota(used, more, limit)
    connection.execute(
        "INSERT INTO usage (panel, files) VALUES (?, ?)"
        " ON CONFLICT (panel) DO UPDATE SET files = excluded.files",
        (panel, used + more),
    )


def _check_quota(used: int, more: int, limit: int) -> None:
    # A panel that is over a limit which was lowered since can still shrink.
    if more > 0 and used + more > limit:
        raise PageError(PageCode.QUOTA_EXCEEDED)


def _check_texts(*texts: str) -> None:
    """SQLite keeps UTF-8, which has no lone surrogates."""
    for text in texts:
        encodes = False
        with suppress(UnicodeEncodeError):
            text.encode()
            encodes = True
        if not encodes:
            raise PageError(PageCode.INVALID_ARGS)
