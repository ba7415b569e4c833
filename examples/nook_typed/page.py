"""Nook as a typed panel: the same board as in ``examples/nook``, with classes for its schemas.

``panel.json`` beside this file is made from it: ``deska manifest --write page.py``.
"""

from typing import Annotated, Any

import anyio
from attrs import frozen

from deska_host import Blob, Deska
from deska_sdk.panels.typed import (
    Description,
    DeskaFile,
    DeskaImage,
    Maximum,
    MaxItems,
    MaxLength,
    Minimum,
    Nothing,
    Panel,
    WriteAnswer,
)

panel = Panel(
    id="nook",
    name="Nook",
    version="1.0.0",
    description="A small board for notes and pictures.",
    license="MIT",
)

NoteText = Annotated[str, MaxLength(2000)]
Caption = Annotated[str, MaxLength(280)]

EMPTY: dict[str, Any] = {"notes": [], "images": [], "revision": 0}

#: Calls may overlap, and two changes of one board must not.
changing = anyio.Lock()


@frozen
class AddNote:
    text: NoteText


@frozen
class EditNote:
    note: Annotated[
        int,
        Minimum(1),
        Maximum(100),
        Description("Counted from 1, in the order of the board."),
    ]
    text: NoteText
    revision: Annotated[str, MaxLength(20)]


@frozen
class AddImage:
    image: Annotated[Blob, DeskaImage(max_length=1000)]
    caption: Caption = ""


@frozen
class Picture:
    file: Annotated[str, DeskaFile()]
    caption: Caption


@frozen
class Board:
    notes: Annotated[list[NoteText], MaxItems(100)]
    images: Annotated[list[Picture], MaxItems(10)]


@panel.write("Adds a note to the end of the board.")
async def add_note(deska: Deska, given: AddNote) -> WriteAnswer:
    async with changing:
        now = await board(deska)
        if len(now["notes"]) == 100:
            return WriteAnswer(ok=False, error="invalid")
        return await change(deska, now, notes=[*now["notes"], given.text])


@panel.write(
    "Replaces the text of a note. Give the revision you last saw; if the board has changed since, "
    "nothing is replaced and the answer is conflict."
)
async def edit_note(deska: Deska, given: EditNote) -> WriteAnswer:
    async with changing:
        now = await board(deska)
        # The agent names a counter such as "r1"; what arrives here is this page's own revision.
        if given.revision != revision_of(now):
            return WriteAnswer(ok=False, error="conflict", revision=revision_of(now))
        if given.note > len(now["notes"]):
            return WriteAnswer(ok=False, error="not_found")
        notes = list(now["notes"])
        notes[given.note - 1] = given.text
        return await change(deska, now, notes=notes)


@panel.write("Adds an image from the task's folder to the board, with an optional caption.")
async def add_image(deska: Deska, given: AddImage) -> WriteAnswer:
    # The agent gave a path; what arrives here is a Blob that Deska read and checked.
    kept = await deska.files.put(given.image)
    image = {"file": kept["id"], "caption": given.caption}
    async with changing:
        now = await board(deska)
        return await change(deska, now, images=[*now["images"], image])


@panel.read("Reads the notes, and the images with their captions, that are on the board.")
async def read_board(deska: Deska, given: Nothing) -> Board:  # noqa: ARG001
    now = await board(deska)
    return Board(
        notes=now["notes"],
        images=[Picture(image["file"], image["caption"]) for image in now["images"][-10:]],
    )


async def board(deska: Deska) -> dict[str, Any]:
    return await deska.storage.get("board") or EMPTY


async def change(deska: Deska, before: dict[str, Any], **changed: Any) -> WriteAnswer:
    after = {**before, **changed, "revision": before["revision"] + 1}
    await deska.storage.set("before", before)
    await deska.storage.set("board", after)
    return WriteAnswer(ok=True, revision=revision_of(after))


def revision_of(board: dict[str, Any]) -> str:
    return f"board-{board['revision']}"


main = panel.main
