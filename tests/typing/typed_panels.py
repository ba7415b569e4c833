"""Typed panels, for the type checkers only: nothing here runs (G-2).

Each line marked ``type: ignore`` has to be an error for mypy, and ``pyright: ignore`` for pyright,
or the checker says that the mark is not needed. That a class was made by attrs only mypy can see.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, assert_type

from attrs import frozen

from deska_host import Blob, Deska
from deska_sdk.panels.manifest import Manifest
from deska_sdk.panels.typed import (
    DeskaImage,
    MaxItems,
    MaxLength,
    Nothing,
    Panel,
    WriteAnswer,
)

if TYPE_CHECKING:
    from deska_host.pages import PageMain

panel = Panel(id="notes", name="Notes", version="1.0.0")


@frozen
class AddNote:
    text: Annotated[str, MaxLength(2000)]
    image: Annotated[Blob, DeskaImage()] | None = None


@frozen
class Notes:
    texts: Annotated[list[str], MaxItems(100)]


@panel.write("Adds a note.")
async def add_note(deska: Deska, given: AddNote) -> WriteAnswer:
    assert_type(given.text, str)
    assert_type(given.image, Blob | None)
    assert_type(await deska.ready(), dict[str, Any])
    return WriteAnswer(ok=True)


@panel.read("Reads the notes.")
async def read_notes(deska: Deska, given: Nothing) -> Notes:
    return Notes([])


assert_type(add_note, Callable[[Deska, AddNote], Coroutine[Any, Any, WriteAnswer]])
assert_type(read_notes, Callable[[Deska, Nothing], Coroutine[Any, Any, Notes]])
assert_type(panel.manifest(), Manifest)
assert_type(panel.manifest_text(), str)

main: PageMain = panel.main


async def a_main_of_its_own(deska: Deska) -> None:
    panel.listen(deska)
    assert_type(await add_note(deska, AddNote("x")), WriteAnswer)


async def gives_text(deska: Deska, given: AddNote) -> str:
    return given.text


async def takes_text(deska: Deska, given: str) -> WriteAnswer:
    return WriteAnswer(ok=True)


def not_async(deska: Deska, given: AddNote) -> WriteAnswer:
    return WriteAnswer(ok=True)


panel.write("A write that tells a text.")(gives_text)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
panel.read("A read that tells no class.")(gives_text)  # type: ignore[type-var]
panel.write("A write of no class.")(takes_text)  # type: ignore[type-var]
panel.write("A write that cannot be awaited.")(not_async)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
