"""A panel.json that was checked, as a value (section "panel.json").

::

    manifest = load_stored(record.manifest)
    manifest.folded_name                            # what a person and an agent read
    [action.name for action in manifest.actions]
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, cast

from attrs import field, frozen

from deska_sdk.document import parse_document
from deska_sdk.errors import PackageError
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.panels.action_rules import STALE
from deska_sdk.panels.findings import Findings
from deska_sdk.panels.rules import DEFAULT_ENTRY, check_manifest, ways_out
from deska_sdk.text import fold

if TYPE_CHECKING:
    from collections.abc import Collection


@frozen(kw_only=True)
class Action:
    """One action that a panel declares (P-4)."""

    name: str
    #: As the author wrote it.
    description: str = field(repr=False)
    #: As a person and an agent read it (T-4).
    folded_description: str = field(repr=False)
    kind: Literal["read", "write"]
    #: The schemas as given; not to be changed. ``output`` is ``None`` for a write.
    input: dict[str, Any] = field(repr=False)
    output: dict[str, Any] | None = field(repr=False)
    #: False where the tokens of a stored manifest break D-2: the action is not listed, its schemas
    #: are never compiled, and a call to it is ``unknown_action`` (L-4).
    usable: bool = True


@frozen(kw_only=True, eq=False)
class Manifest:
    """A panel.json without a problem. Two are equal when their ``text`` is."""

    id: str
    #: As the author wrote it.
    name: str = field(repr=False)
    #: As a person and an agent read it (T-4).
    folded_name: str = field(repr=False)
    version: str
    sdk: int
    description: str | None = field(repr=False)
    author: str | None = field(repr=False)
    license: str | None = field(repr=False)
    homepage: str | None = field(repr=False)
    icon: str | None = field(repr=False)
    #: A relative path inside the package.
    entry: str = field(repr=False)
    permissions: tuple[str, ...]
    network: tuple[str, ...] = field(repr=False)
    embeds: tuple[str, ...] = field(repr=False)
    signed_in_embeds: tuple[str, ...] = field(repr=False)
    #: In panel.json's order; empty for a panel that does not work with agents.
    actions: tuple[Action, ...]
    #: Whether this version says that it works with agents (P-3).
    declares_agent: bool
    #: The whole manifest as given, as compact JSON: what a host stores.
    text: str = field(repr=False)

    def reaches(self) -> tuple[str, ...]:
        """Which of the five it declares: network, embeds, signedInEmbeds, account, open-url (P-5).

        Always empty for a version that declares ``agent``.
        """
        return tuple(name for name, _ in self.ways_out())

    def ways_out(self) -> tuple[tuple[str, str], ...]:
        """The same, each with its JSON Pointer in panel.json (P-6)."""
        return ways_out(
            {
                "network": list(self.network),
                "embeds": list(self.embeds),
                "signedInEmbeds": list(self.signed_in_embeds),
                "permissions": list(self.permissions),
            }
        )

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Manifest) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)


def load_stored(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Manifest:
    """The manifest of a panel that is installed already, from :attr:`Manifest.text`.

    Stored manifests are lenient in one thing: an action whose property names or enum values break
    D-2 is kept and is not ``usable`` (L-4). P-1's size is that of panel.json and does not hold
    for the stored text, which may write a number longer.

    :raises PackageError: any other rule is broken; ``problems`` holds all of them.
    """
    room = max(limits.manifest_bytes, 4 * len(text))
    document = parse_document(text, limits=limits, max_bytes=room)
    found = Findings(limits)
    if document.complete:
        check_manifest(document.value, found)
    problems = found.problems(document)
    stale = {problem.where for problem in problems if problem.code in STALE}
    others = tuple(problem for problem in problems if problem.code not in STALE)
    if others:
        raise PackageError(others)
    return manifest_of(cast("dict[str, Any]", document.value), stale_places=stale)


def manifest_of(value: dict[str, Any], *, stale_places: Collection[str] = ()) -> Manifest:
    """The manifest of a value that has passed every check, but for D-2 at ``stale_places``."""
    agent: dict[str, Any] = value.get("agent", {})
    stale = {int(place.split("/")[3]) for place in stale_places}
    name = value["name"]
    return Manifest(
        id=value["id"],
        name=name,
        folded_name=fold(name, len(name)),
        version=value["version"],
        sdk=value["sdk"],
        description=value.get("description"),
        author=value.get("author"),
        license=value.get("license"),
        homepage=value.get("homepage"),
        icon=value.get("icon"),
        entry=value.get("entry", DEFAULT_ENTRY),
        permissions=tuple(value.get("permissions", ())),
        network=tuple(value.get("network", ())),
        embeds=tuple(value.get("embeds", ())),
        signed_in_embeds=tuple(value.get("signedInEmbeds", ())),
        actions=tuple(
            _action(action, usable=index not in stale)
            for index, action in enumerate(agent.get("actions", ()))
        ),
        declares_agent="agent" in value,
        text=json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    )


def _action(value: dict[str, Any], *, usable: bool) -> Action:
    description = value["description"]
    return Action(
        name=value["name"],
        description=description,
        # Its folded length was checked, so nothing is cut here.
        folded_description=fold(description, len(description)),
        kind=value["kind"],
        input=value["input"],
        output=value.get("output"),
        usable=usable,
    )
