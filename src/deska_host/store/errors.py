"""What can go wrong with a store. Each has one fixed sentence and holds no value and no path."""

from __future__ import annotations

from deska_sdk.errors import DeskaError


class StoreError(DeskaError):
    """The root of every error of a store."""

    sentence = "The store cannot be used."

    def __init__(self) -> None:
        super().__init__(self.sentence)


class StoreInUse(StoreError):
    """Another owner has the file: a store has one at a time."""

    sentence = (
        "This store is in use. Close the program, or the other store in this program, "
        "that has it open."
    )


class StoreTooNew(StoreError):
    """The file was written by a later version of the host."""

    sentence = (
        "This store was written by a newer version of the host. Nothing in it was changed; "
        "open it with that version."
    )


class NotAStore(StoreError):
    """The file is something else, and was not touched."""

    sentence = (
        "This is not a store: it must be a file that the host made, with one name and no link "
        "in its place. It was left as it is."
    )


class StoreClosed(StoreError):
    """The store was closed before it was asked."""

    sentence = "This store is closed."


class StoreFailed(StoreError):
    """The file could not be opened, read or written; what was there before is still there."""

    sentence = (
        "The store's file could not be read or written. What it held before is still there, "
        "and nothing of this change is."
    )
