"""Starter, a panel that keeps notes. Replace them with what your panel is about.

``panel.json`` is made from these classes: ``deska manifest --write page.py``.
"""

from typing import Annotated

import anyio
from attrs import frozen

from deska_host import Deska
from deska_sdk.panels.typed import MaxItems, MaxLength, Nothing, Panel, WriteAnswer

panel = Panel(
    id="starter",
    name="Starter",
    version="0.1.0",
    description="Keeps notes.",
)

NoteText = Annotated[str, MaxLength(1000)]

# Calls may overlap, and two changes must not.
changing = anyio.Lock()


@frozen
class NewNote:
    text: NoteText


@frozen
class Notes:
    notes: Annotated[list[NoteText], MaxItems(50)]


@panel.write("Adds a note to the end of the list.")
async def add_note(deska: Deska, given: NewNote) -> WriteAnswer:
    async with changing:
        notes: list[str] = await deska.storage.get("notes") or []
        if len(notes) == 50:  # as many as read_notes may answer
            return WriteAnswer(ok=False, error="invalid")
        await deska.storage.set("notes", [*notes, given.text])
    # The agent sees a counter such as r1, the same one for the same revision.
    return WriteAnswer(ok=True, revision=f"notes-{len(notes) + 1}")


@panel.read("Reads all notes, the oldest first.")
async def read_notes(deska: Deska, _given: Nothing) -> Notes:
    notes: list[str] = await deska.storage.get("notes") or []
    return Notes(notes)


main = panel.main
