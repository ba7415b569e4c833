"""Typed panels: actions as functions over attrs classes, and the panel.json they make (G-2).

::

    from typing import Annotated

    from attrs import frozen
    from deska_host import Deska
    from deska_sdk.panels.typed import MaxLength, Panel, WriteAnswer

    panel = Panel(id="notes", name="Notes", version="1.0.0")

    @frozen
    class AddNote:
        text: Annotated[str, MaxLength(2000)]

    @panel.write("Adds a note.")
    async def add_note(deska: Deska, given: AddNote) -> WriteAnswer:
        await deska.storage.set("note", given.text)
        return WriteAnswer(ok=True)

    main = panel.main

``panel.manifest_text()`` is its panel.json; ``deska manifest page.py`` prints it. A class that
the dialect cannot express is a :class:`PanelDefinitionError` where it is first used.
"""

from deska_sdk.panels.answers import WriteAnswer
from deska_sdk.panels.typed.errors import PanelDefinitionError, StaleManifest
from deska_sdk.panels.typed.marks import (
    Description,
    DeskaFile,
    DeskaImage,
    Maximum,
    MaxItems,
    MaxLength,
    Minimum,
)
from deska_sdk.panels.typed.panel import Nothing, Panel

__all__ = [
    "Description",
    "DeskaFile",
    "DeskaImage",
    "MaxItems",
    "MaxLength",
    "Maximum",
    "Minimum",
    "Nothing",
    "Panel",
    "PanelDefinitionError",
    "StaleManifest",
    "WriteAnswer",
]
