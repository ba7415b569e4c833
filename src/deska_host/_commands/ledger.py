"""A publisher's ledger in a file: which panels of theirs ever worked with agents (P-6, K-12).

::

    {
      "deska-ledger": 1,
      "panels": [
        "nook"
      ]
    }

One id a line, in order, so that two ledgers are compared and merged like any other text.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deska_host._commands.files import write_whole
from deska_sdk.document import parse_document
from deska_sdk.errors import DeskaError
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.findings import as_array, as_object
from deska_sdk.panels.formats import ID, fits
from deska_sdk.panels.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Generator

_FORMAT: Final = "deska-ledger"
_VERSION: Final = 1
_KEYS: Final = (_FORMAT, "panels")
#: Some 200,000 panels; a file that is larger is no ledger of one publisher.
_LARGEST: Final = 16 * 1_048_576


class LedgerUnusable(DeskaError):
    """The ledger cannot be used. ``reason`` is one sentence, without a word of the file."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def read_ledger(path: Path) -> Ledger:
    """The ledger in this file.

    :raises LedgerUnusable: it is not there, cannot be read, or is no whole ledger.
    """
    data = b""
    why = ""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        why = "there is no such ledger; --new-ledger makes a publisher's first one"
    except OSError as error:
        why = error.strerror or "this cannot be read"
    if why:
        raise LedgerUnusable(why)
    return _parsed(data)


def _parsed(data: bytes) -> Ledger:
    document = parse_document(data, max_bytes=_LARGEST)
    if document.problems:
        problem = document.problems[0]
        raise LedgerUnusable(
            f"the ledger is damaged at line {problem.line}, column {problem.column}: "
            f"{problem.sentence}"
        )
    value = as_object(document.value)
    if value is None or _FORMAT not in value:
        raise LedgerUnusable(f'this is no ledger: a ledger is an object with the key "{_FORMAT}"')
    if type(value[_FORMAT]) is not int or value[_FORMAT] != _VERSION:
        raise LedgerUnusable(f'"{_FORMAT}" is {_VERSION}; this version of deska knows no other')
    if set(value) != set(_KEYS):
        raise LedgerUnusable(f"the ledger is damaged: it has the keys {' and '.join(_KEYS)}")
    panels = as_array(value["panels"])
    if panels is None:
        raise LedgerUnusable('the ledger is damaged: "panels" is an array of ids')
    ids: set[str] = set()
    for index, panel in enumerate(panels):
        place = document.place(f"/panels/{index}")
        assert place is not None, "what was read stands somewhere"
        if type(panel) is not str or not fits(ID, panel) or len(panel) > DEFAULT_LIMITS.panel_id:
            raise LedgerUnusable(f"the ledger is damaged at line {place[0]}: this is no panel's id")
        if panel in ids:
            raise LedgerUnusable(
                f"the ledger is damaged at line {place[0]}: this id stands here twice"
            )
        ids.add(panel)
    return Ledger(frozenset(ids))


def write_ledger(path: Path, ledger: Ledger) -> None:
    """Keep the ledger in this file, durably and whole.

    :raises LedgerUnusable: the file cannot be written; the ledger before is still there.
    """
    value = {_FORMAT: _VERSION, "panels": sorted(ledger.panels)}
    data = f"{json.dumps(value, indent=2)}\n".encode()
    why = ""
    try:
        write_whole(path, data)
    except OSError as error:
        why = error.strerror or "this cannot be written"
    if why:
        raise LedgerUnusable(f"nothing was recorded: {why}")


@contextlib.contextmanager
def recording(path: Path) -> Generator[None]:
    """Be the only one that records in ledgers of this folder, for as long as the block runs.

    Between reading a ledger and writing it nobody else may add to it. The file itself is replaced
    each time, so what is locked is its folder.

    :raises LedgerUnusable: there is no such folder, or no way to lock one.
    """
    if sys.platform == "win32":
        raise LedgerUnusable("recording needs a system that can lock a folder, such as Linux")
    import fcntl

    descriptor = -1
    why = ""
    try:
        descriptor = os.open(Path(os.path.realpath(path)).parent, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        why = error.strerror or "its folder cannot be locked"
    try:
        if why:
            raise LedgerUnusable(f"nothing was recorded: {why}")
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)
