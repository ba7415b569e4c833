"""What can go wrong with a typed panel (G-2)."""

from __future__ import annotations

from deska_sdk.errors import DeskaError
from deska_sdk.problems import quote


class PanelDefinitionError(DeskaError):
    """A typed panel says something that panel.json cannot say.

    ``place`` is where: ``Class.field``, a class, an action, or a key of the panel. ``reason`` is
    one sentence. Both come from the author's own code and from Deska, never from a call.
    """

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"{quote(place, len(place))}: {reason}")


class StaleManifest(DeskaError):
    """A call that panel.json allows does not fit the page's classes.

    The host has checked the call by panel.json already, so panel.json was not made from this page
    as it is now. Nothing of the call is in here.
    """

    def __init__(self) -> None:
        super().__init__(
            "panel.json was not made from this page as it is now; make it anew with deska manifest"
        )
