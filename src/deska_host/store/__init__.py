"""What the host keeps across restarts: one SQLite file, or memory behind the same interface.

Example::

    from deska_host.store import open_store
    from deska_sdk.records import LedgerRecord

    with open_store("desk.db") as store:
        store.apply([LedgerRecord("garden")])
        print(store.load())
"""

from deska_host.store.errors import (
    NotAStore,
    StoreClosed,
    StoreError,
    StoreFailed,
    StoreInUse,
    StoreTooNew,
)
from deska_host.store.store import CountRow, Store, open_store

__all__ = [
    "CountRow",
    "NotAStore",
    "Store",
    "StoreClosed",
    "StoreError",
    "StoreFailed",
    "StoreInUse",
    "StoreTooNew",
    "open_store",
]
