"""The desk of a command: its panels installed, agreed to and connected, their pages started.

::

    async with open_desk(place, folders, consent, out, errors.hear) as desk:
        async with desk.task.turn() as agent:
            print((await agent.list_panels()).text)
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from attrs import frozen

from deska_host._commands.place import Place, Stop
from deska_host.host import Host
from deska_host.package import PackageFolder, PageNotLoaded
from deska_host.person import ConsentNeeded
from deska_host.store import StoreError, StoreInUse
from deska_sdk.errors import PackageError, Refused, sentence

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from pathlib import Path

    from deska_host._commands.consent import Consent
    from deska_host._commands.terminal import Terminal
    from deska_host.pages import PageErrorHook
    from deska_host.tasks import Task
    from deska_sdk.panels.manifest import Manifest
    from deska_sdk.router import Switches

IN_USE = "another deska has this task's desk open; end it first, or choose another with --desk FILE"


@frozen
class Desk:
    """An open desk with one task."""

    task: Task
    #: The panels that are connected to the task, by id, in the order in which they were given.
    panels: dict[str, Manifest]


@asynccontextmanager
async def open_desk(
    place: Place,
    folders: Iterable[Path],
    consent: Consent,
    out: Terminal,
    on_page_error: PageErrorHook,
    *,
    switches: Switches | str = "mid_turn",
    pages: bool = True,
) -> AsyncGenerator[Desk]:
    """A desk on which the task has the panels in ``folders`` that the person agrees to.

    :param out: hears what is wrong with a panel.
    :param switches: as in :meth:`deska_host.Host.attach_task`.
    :param pages: whether their pages are started.
    :raises Stop: as :func:`open_host`, :func:`install`, :func:`connect` and :func:`start_pages`.
    """
    async with open_host(place, on_page_error) as host:
        installed = await install(host, folders, out)
        task = _attach(host, place, switches)
        panels = await connect(host, task.id, installed, consent)
        if pages:
            await start_pages(host, panels)
        yield Desk(task, panels)


@asynccontextmanager
async def open_host(place: Place, on_page_error: PageErrorHook) -> AsyncGenerator[Host]:
    """The host with the desk's file.

    :raises Stop: instead of an error of the store, whenever there is one.
    """
    problem = ""
    try:
        async with Host(place.desk, on_page_error=on_page_error) as host:
            yield host
    except StoreInUse:
        problem = IN_USE
    except StoreError as error:
        problem = f"{place.desk}: {error.sentence}"
    if problem:
        raise Stop(problem)


async def install(host: Host, folders: Iterable[Path], out: Terminal) -> dict[str, Manifest]:
    """Install the panels in these folders; by id, in their order.

    :raises Stop: one cannot be installed, or two have the same id.
    """
    installed: dict[str, Manifest] = {}
    for folder in folders:
        manifest = await _install(host, folder, out)
        if manifest.id in installed:
            raise Stop(f"{folder}: another of the panels has the same id, {manifest.id}")
        installed[manifest.id] = manifest
    return installed


async def connect(
    host: Host, task: str, installed: Mapping[str, Manifest], consent: Consent
) -> dict[str, Manifest]:
    """Connect the panels that the person agrees to, and no others; these.

    Panels of an earlier run are disconnected. What the person agreed to is kept.

    :raises Stop: the person cannot be asked, agreed to none, or a panel has nothing to connect.
    """
    agreed = {
        name: manifest
        for name, manifest in installed.items()
        if await _connect(host, task, name, consent)
    }
    for other in host.person.connected(task):
        if other not in agreed:
            await host.person.disconnect(task, other)
    if not agreed:
        raise Stop("the person agreed to no panel, so there is nothing to connect")
    return agreed


async def start_pages(host: Host, panels: Iterable[str]) -> None:
    """Start the pages of these panels.

    :raises Stop: one cannot be loaded.
    """
    problem = ""
    for panel in panels:
        try:
            await host.start_page(panel)
        except PageNotLoaded as error:
            problem = f"{panel}: {error.reason}"
        if problem:
            raise Stop(problem)


async def _install(host: Host, folder: Path, out: Terminal) -> Manifest:
    if not PackageFolder(folder).path.is_dir():
        raise Stop(f"{folder}: there is no such folder of a panel")
    problem = ""
    try:
        return await host.install(folder)
    except PackageError as error:
        for found in error.problems:
            line, column = found.line or 1, found.column or 1
            at = f"{folder / 'panel.json'}:{line}:{column}"
            out.line((at, "place"), f": {found.sentence} [{found.code}]")
        count = len(error.problems)
        problem = f"its panel.json has {count} problem{'' if count == 1 else 's'}"
    except Refused as refused:
        problem = sentence(refused.code)
    except OSError as error:
        problem = error.strerror or "its panel.json cannot be read"
    raise Stop(f"{folder}: {problem}")


def _attach(host: Host, place: Place, switches: Switches | str) -> Task:
    problem = ""
    try:
        return host.attach_task(place.task, place.folder, switches=switches)
    except ValueError as error:
        problem = str(error)
    raise Stop(f"{place.folder}: {problem}")


async def _connect(host: Host, task: str, panel: str, consent: Consent) -> bool:
    """Whether the panel is connected; it is not where the person says no."""
    problem, sheet = "", None
    try:
        await host.person.connect(task, panel)
    except ConsentNeeded as needed:
        sheet = needed.sheet
    except Refused as refused:
        problem = sentence(refused.code)
    if problem:
        raise Stop(f"{panel}: {problem}")
    if sheet is None:
        return True
    if not await consent.agrees(sheet):
        return False
    # To the sheet that they saw: this host is the desk's only owner, so no other took its place.
    await host.person.connect(task, panel, consent=sheet.fingerprint)
    return True
