"""What must be durable, as values: the host writes them, and gives them back at the next start.

The state of the desk is the replay of its records: the same function applies a record when the
host has committed it and when it is loaded again, so memory and store cannot disagree.
"""

from __future__ import annotations

from attrs import field, frozen


@frozen
class InstallRecord:
    """A version of a panel was installed, or took an earlier one's place."""

    panel: str
    version: str
    #: The manifest as JSON text. A package's own text: hidden from ``repr`` (B-2).
    manifest: str = field(repr=False)
    #: The folder the panel was installed from; ``None`` for a panel given as a value.
    folder: str | None


@frozen
class UninstallRecord:
    """A panel left: its storage, files, consent, connections and counts go with it (G-3)."""

    panel: str


@frozen
class LedgerRecord:
    """A version of this panel id declared ``agent`` (P-6). Nothing ever removes it."""

    panel: str


@frozen
class ConsentRecord:
    """The person agreed to what the panel's sheet said (C-2)."""

    panel: str
    #: SHA-256 in hexadecimal.
    fingerprint: str


@frozen
class ConnectionRecord:
    """The person connected the panel to the task (C-1)."""

    task: str
    panel: str


@frozen
class DisconnectionRecord:
    """The person disconnected the panel from the task (C-7)."""

    task: str
    panel: str


@frozen
class CounterBlockRecord:
    """Revision numbers up to ``high`` may have been given for this task and panel (R-2).

    It is never lowered and outlives disconnecting and uninstalling.
    """

    task: str
    panel: str
    high: int


@frozen
class SwitchRecord:
    """Panel actions were turned on or off for every task (C-6)."""

    on: bool


@frozen
class PauseRecord:
    """The task is paused for a panel's content, or is no longer (S-6)."""

    task: str
    paused: bool


Record = (
    InstallRecord
    | UninstallRecord
    | LedgerRecord
    | ConsentRecord
    | ConnectionRecord
    | DisconnectionRecord
    | CounterBlockRecord
    | SwitchRecord
    | PauseRecord
)
