"""What the person is asked before a panel is connected for the first time (C-1, C-2).

::

    sheet = sheet_of(manifest)
    print(sheet.text)
    connect(task, sheet.panel, consent=sheet.fingerprint)  # once the person has said yes
"""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from attrs import field, frozen

from deska_sdk.panels.seen import seen

if TYPE_CHECKING:
    from deska_sdk.panels.manifest import Manifest


@frozen
class SheetAction:
    """One action as the sheet shows it."""

    name: str
    kind: Literal["read", "write"]
    #: Folded (T-4): the very text that an agent reads.
    description: str = field(repr=False)


@frozen
class Sheet:
    """The host's own question to the person (C-1)."""

    #: The panel's id.
    panel: str
    #: The panel's name, folded (T-4).
    name: str = field(repr=False)
    #: All actions, in panel.json's order.
    actions: tuple[SheetAction, ...]
    #: What the person's yes is bound to (C-2).
    fingerprint: str

    @property
    def text(self) -> str:
        """The sheet in plain words, for a terminal. Nothing in it can move a cursor."""
        count = len(self.actions)
        lines = [
            f"Connect the panel “{self.name}” ({self.panel}) to this task?",
            "",
            f"The task's agent could then use {_counted(count)} of this panel:",
            "",
        ]
        for action in self.actions:
            lines.append(f"  {action.name} ({_KINDS[action.kind]})")
            lines.append(f"      {action.description}")
        lines += [
            "",
            "What a read gives the agent may hold words that anyone wrote. From then on the task",
            "is in Supervised until its turn ends.",
        ]
        return "\n".join(lines) + "\n"


_KINDS = {"read": "reads from the panel", "write": "changes the panel"}


def _counted(count: int) -> str:
    return "this one action" if count == 1 else f"these {count} actions"


def sheet_of(manifest: Manifest) -> Sheet:
    """The sheet of this version: the panel's name, and each action's name, kind and description.

    Names and descriptions are the folded ones that the agent's list holds too, so a person never
    agrees to another text than the agent gets (C-1).
    """
    return Sheet(
        panel=manifest.id,
        name=manifest.folded_name,
        actions=tuple(
            SheetAction(action.name, action.kind, action.folded_description)
            for action in manifest.actions
        ),
        fingerprint=fingerprint(manifest),
    )


@lru_cache(maxsize=256)
def fingerprint(manifest: Manifest) -> str:
    """What the person's consent is bound to: SHA-256 in lower-case hexadecimal (C-2).

    Over the canonical JSON of what the sheet shows and what calls need. Schema descriptions, the
    version and everything else in panel.json may change without a new question; any change of
    the id, the folded name, the order of the actions, or an action's name, kind, folded
    description or schemas gives another fingerprint.
    """
    shown = {
        "id": manifest.id,
        "name": manifest.folded_name,
        "actions": [seen(action) for action in manifest.actions],
    }
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return sha256(text.encode()).hexdigest()
