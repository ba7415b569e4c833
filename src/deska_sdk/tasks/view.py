"""What the desk's own assistant sees of a task: nothing that a panel said (S-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable


@frozen
class Entry:
    """One entry of a task's conversation. ``panel`` marks what came from a panel."""

    text: str = field(repr=False)
    #: The panel whose message or answer it is; empty for everything else.
    panel: str = ""


def for_assistant(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries that the assistant may read: all but those marked as a panel's."""
    return tuple(entry for entry in entries if not entry.panel)
