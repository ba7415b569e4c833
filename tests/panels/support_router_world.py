"""What the model of the router knows: small limits, panels, a request, and what is durable."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field
from hypothesis import strategies as st

from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.check import check_panel
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
from tests.panels.support_router import (
    ADD_NOTE,
    manifest,
    notes_json,
    other_actions,
)

if TYPE_CHECKING:
    from deska_sdk.panels.manifest import Manifest
    from deska_sdk.router import (
        ImageHandle,
    )

LIMITS = evolve(
    DEFAULT_LIMITS,
    open_calls_per_connection=3,
    open_calls_per_panel=4,
    image_bytes_per_panel=100,
    images=2,
    png_bytes=100,
    answer=200,
    revisions_kept=3,
    counter_block=3,
)

#: What only an agent says, and what only a page says.
AGENT, PAGE = "AGENTMARK", "PAGEMARK"

#: The modes of a task, strictest first: only in the first may content enter (S-1).
MODES = ("supervised", "accept_edits", "automatic")

PANELS = ("notes", "sketches")
TASKS = ("task-1", "task-2")
ACTIONS = ("list_notes", "add_note", f"{AGENT}_action")
READS = ("list_notes",)

pick = st.integers(0, 11)


def online(panel: str) -> Manifest:
    """A version that reaches the network and so cannot work with agents."""
    value = notes_json(panel, network=["example.org"])
    del value["agent"], value["permissions"]
    made = check_panel(value).manifest
    assert made is not None
    return made


def stricter() -> dict[str, Any]:
    """Only one of the two actions, and that one takes less."""
    action = deepcopy(ADD_NOTE)
    action["input"]["properties"]["text"]["maxLength"] = 200
    return {"actions": [action]}


VERSIONS: dict[str, list[Manifest]] = {
    panel: [
        manifest(panel),
        manifest(panel, version="1.0.1"),
        manifest(panel, agent=other_actions()),
        manifest(panel, agent=stricter()),
        online(panel),
    ]
    for panel in PANELS
}


@define
class Call:
    """What the model knows of one request."""

    id: str
    task: str
    turn: str
    panel: str
    action: str
    input: dict[str, Any]
    version: str
    made: float
    phase: str = "preparing"
    deadline: float = 0.0
    instance: str | None = None
    answer: Any = None
    read: dict[str, ImageHandle] = field(factory=dict)
    encoded: dict[str, ImageHandle | None] = field(factory=dict)

    @property
    def is_read(self) -> bool:
        return self.action in READS

    @property
    def paths(self) -> list[str]:
        like = [self.input["like"]] if "like" in self.input else []
        return [*self.input.get("pictures", ()), *like]


@define
class Durable:
    """What a replay of the records gives; written apart from the engine's own replay."""

    installed: dict[str, Manifest] = field(factory=dict)
    consent: dict[str, str] = field(factory=dict)
    connected: dict[str, list[str]] = field(factory=dict)
    ledger: set[str] = field(factory=set)
    on: bool = True

    def take(self, record: Record) -> None:
        match record:
            case InstallRecord(panel=panel, manifest=text):
                (self.installed[panel],) = [one for one in VERSIONS[panel] if one.text == text]
            case UninstallRecord(panel=panel):
                self.installed.pop(panel, None)
                self.consent.pop(panel, None)
                for panels in self.connected.values():
                    if panel in panels:
                        panels.remove(panel)
            case LedgerRecord(panel=panel):
                self.ledger.add(panel)
            case ConsentRecord(panel=panel, fingerprint=mark):
                self.consent[panel] = mark
            case ConnectionRecord(task=task, panel=panel):
                panels = self.connected.setdefault(task, [])
                if panel not in panels:
                    panels.append(panel)
            case DisconnectionRecord(task=task, panel=panel):
                self.take_away(task, panel)
            case SwitchRecord(on=on):
                self.on = on
            case CounterBlockRecord() | PauseRecord():
                pass

    def take_away(self, task: str, panel: str) -> None:
        if panel in self.connected.get(task, ()):
            self.connected[task].remove(panel)
