"""The tables of the store, and the two numbers in its head that say whose file it is."""

from __future__ import annotations

#: "DskS" in ASCII, at byte 68 of the file.
APPLICATION_ID = 0x44736B53

#: The version of the tables below. A file with a higher one is refused.
SCHEMA_VERSION = 1

# ``seq`` keeps the order in which things first came: the list of panels is in connection order
# (L-2), and ids of files are told in the order of putting. Large columns stand last, so that
# reading the small ones does not walk their pages.
# ``consent`` keeps every fingerprint that was agreed to, the latest last: the newest one counts,
# and what is loaded replays to the same state as what was applied.
# ``usage`` holds the sums of G-3's quotas, changed in the transaction that changes the rows.
TABLES = (
    """CREATE TABLE install (
        seq INTEGER PRIMARY KEY,
        panel TEXT NOT NULL UNIQUE,
        version TEXT NOT NULL,
        folder BLOB,
        manifest TEXT NOT NULL
    )""",
    "CREATE TABLE ledger (panel TEXT PRIMARY KEY) WITHOUT ROWID",
    """CREATE TABLE consent (
        seq INTEGER PRIMARY KEY,
        panel TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        UNIQUE (panel, fingerprint)
    )""",
    """CREATE TABLE connection (
        seq INTEGER PRIMARY KEY,
        task TEXT NOT NULL,
        panel TEXT NOT NULL,
        UNIQUE (task, panel)
    )""",
    """CREATE TABLE counter (
        task TEXT NOT NULL,
        panel TEXT NOT NULL,
        high INTEGER NOT NULL,
        PRIMARY KEY (task, panel)
    ) WITHOUT ROWID""",
    """CREATE TABLE switch (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        turned_on INTEGER NOT NULL
    )""",
    "CREATE TABLE pause (task TEXT PRIMARY KEY) WITHOUT ROWID",
    """CREATE TABLE storage (
        seq INTEGER PRIMARY KEY,
        panel TEXT NOT NULL,
        key TEXT NOT NULL,
        size INTEGER NOT NULL,
        value TEXT NOT NULL,
        UNIQUE (panel, key)
    )""",
    """CREATE TABLE file (
        seq INTEGER PRIMARY KEY,
        panel TEXT NOT NULL,
        id TEXT NOT NULL,
        size INTEGER NOT NULL,
        media_type TEXT NOT NULL,
        data BLOB NOT NULL,
        UNIQUE (panel, id)
    )""",
    """CREATE TABLE usage (
        panel TEXT PRIMARY KEY,
        storage INTEGER NOT NULL DEFAULT 0,
        files INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID""",
    """CREATE TABLE count (
        panel TEXT NOT NULL,
        action TEXT NOT NULL,
        code TEXT NOT NULL,
        count INTEGER NOT NULL,
        last REAL NOT NULL,
        PRIMARY KEY (panel, action, code)
    ) WITHOUT ROWID""",
)

#: What goes with a panel when it is uninstalled (G-3); the ledger and the counters stay.
LEAVES_WITH_A_PANEL = ("install", "consent", "connection", "storage", "file", "usage", "count")
