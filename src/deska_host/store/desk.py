"""The engine's records as rows: each has one way in, and all of them one way out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, assert_never

from deska_host.store.schema import LEAVES_WITH_A_PANEL
from deska_sdk.records import (
    ConnectionRecord,
    ConsentRecord,
    CounterBlockRecord,
    DisconnectionRecord,
    InstallRecord,
    LedgerRecord,
    PauseRecord,
    Record,
    SwitchRecord,
    UninstallRecord,
)

if TYPE_CHECKING:
    import sqlite3


def apply(connection: sqlite3.Connection, record: Record) -> None:
    """Write one record inside the transaction that is open."""
    match record:
        case InstallRecord():
            # A folder's name need not be UTF-8, so it is kept as the system's bytes.
            folder = None if record.folder is None else os.fsencode(record.folder)
            connection.execute(
                "INSERT INTO install (panel, version, folder, manifest) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (panel) DO UPDATE SET version = excluded.version,"
                " folder = excluded.folder, manifest = excluded.manifest",
                (record.panel, record.version, folder, record.manifest),
            )
        case UninstallRecord():
            # G-3: "Uninstalling deletes storage, files, consent, connections and counts".
            for table in LEAVES_WITH_A_PANEL:
                connection.execute(
                    f"DELETE FROM {table} WHERE panel = ?",  # noqa: S608 - our own names
                    (record.panel,),
                )
        case LedgerRecord():
            connection.execute("INSERT OR IGNORE INTO ledger (panel) VALUES (?)", (record.panel,))
        case ConsentRecord():
            # Deleted first: one given again is the latest again.
            row = (record.panel, record.fingerprint)
            connection.execute("DELETE FROM consent WHERE panel = ? AND fingerprint = ?", row)
            connection.execute("INSERT INTO consent (panel, fingerprint) VALUES (?, ?)", row)
        case ConnectionRecord():
            connection.execute(
                "INSERT OR IGNORE INTO connection (task, panel) VALUES (?, ?)",
                (record.task, record.panel),
            )
        case DisconnectionRecord():
            connection.execute(
                "DELETE FROM connection WHERE task = ? AND panel = ?", (record.task, record.panel)
            )
        case CounterBlockRecord():
            # "A number once given never means another revision", so a lower mark than the
            # one that stands is no news.
            connection.execute(
                "INSERT INTO counter (task, panel, high) VALUES (?, ?, ?)"
                " ON CONFLICT (task, panel) DO UPDATE SET high = max(high, excluded.high)",
                (record.task, record.panel, record.high),
            )
        case SwitchRecord():
            connection.execute(
                "INSERT INTO switch (one, turned_on) VALUES (1, ?)"
                " ON CONFLICT (one) DO UPDATE SET turned_on = excluded.turned_on",
                (record.on,),
            )
        case PauseRecord(paused=True):
            connection.execute("INSERT OR IGNORE INTO pause (task) VALUES (?)", (record.task,))
        case PauseRecord():
            connection.execute("DELETE FROM pause WHERE task = ?", (record.task,))
        case _:
            assert_never(record)


def load(connection: sqlite3.Connection) -> tuple[Record, ...]:
    """All records that stand, in an order in which they can be replayed."""
    records: list[Record] = []
    for (turned_on,) in connection.execute("SELECT turned_on FROM switch"):
        records.append(SwitchRecord(bool(turned_on)))
    for (panel,) in connection.execute("SELECT panel FROM ledger ORDER BY panel"):
        records.append(LedgerRecord(panel))
    for task, panel, high in connection.execute(
        "SELECT task, panel, high FROM counter ORDER BY task, panel"
    ):
        records.append(CounterBlockRecord(task, panel, high))
    for panel, version, manifest, folder in connection.execute(
        "SELECT panel, version, manifest, folder FROM install ORDER BY seq"
    ):
        path = None if folder is None else os.fsdecode(folder)
        records.append(InstallRecord(panel, version, manifest, path))
    for panel, fingerprint in connection.execute(
        "SELECT panel, fingerprint FROM consent ORDER BY seq"
    ):
        records.append(ConsentRecord(panel, fingerprint))
    for task, panel in connection.execute("SELECT task, panel FROM connection ORDER BY seq"):
        records.append(ConnectionRecord(task, panel))
    for (task,) in connection.execute("SELECT task FROM pause ORDER BY task"):
        records.append(PauseRecord(task, paused=True))
    return tuple(records)
