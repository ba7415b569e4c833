"""The installed panels: checked, installed, loaded, started (P-6, G-3, G-4).

:class:`deska_host.host.Host` says what each of these is for its users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.abc
import anyio.to_thread

from deska_host.cancelling import is_theirs
from deska_host.package import PackageFolder, PageNotLoaded
from deska_sdk.errors import PackageError, PersonCode, Refused
from deska_sdk.panels.check import check_panel
from deska_sdk.router import InstallAsked, UninstallAsked

if TYPE_CHECKING:
    import os

    from deska_host.activity import Counts
    from deska_host.engine import Engine
    from deska_host.pages import PageErrorHook, PageMain, Pages, RunningPage
    from deska_host.person import Asking
    from deska_sdk.limits import Limits
    from deska_sdk.panels.events import PageKind
    from deska_sdk.panels.manifest import Manifest

    #: A panel's folder, or its manifest as a value.
    PanelSource = str | os.PathLike[str] | dict[str, Any]


class Installs:
    """What is installed, and where the code of its pages comes from."""

    def __init__(
        self,
        engine: Engine,
        asking: Asking,
        pages: Pages,
        counts: Counts,
        group: anyio.abc.TaskGroup,
        limits: Limits,
        on_page_error: PageErrorHook | None,
    ) -> None:
        self._engine = engine
        self._asking = asking
        self._pages = pages
        self._counts = counts
        self._group = group
        self._limits = limits
        self._on_page_error = on_page_error
        #: Page code given as a value, by panel: it cannot be read again from a folder.
        self._mains: dict[str, PageMain] = {}

    def manifest(self, panel: str) -> Manifest | None:
        """The manifest of an installed panel."""
        installed = self._engine.router.installed().get(panel)
        return None if installed is None else installed[0]

    def all(self) -> dict[str, Manifest]:
        """The installed panels by id."""
        return {name: manifest for name, (manifest, _) in self._engine.router.installed().items()}

    async def install(self, source: PanelSource, page: PageMain | None) -> Manifest:
        """Check and install, then start the pages again that ran."""
        return await self._install(source, await self._check(source, page), page)

    async def update(self, source: PanelSource, page: PageMain | None) -> Manifest:
        """The same, for a panel that is installed."""
        manifest = await self._check(source, page)
        self._installed(manifest.id)
        return await self._install(source, manifest, page)

    async def reload(self, panel: str) -> Manifest:
        """Install again from the folder as it is now."""
        _, folder = self._installed(panel)
        if folder is None:
            raise PageNotLoaded("the panel was not installed from a folder")
        return await self.install(folder, self._mains.get(panel))

    async def uninstall(self, panel: str) -> None:
        """Stop the pages, then remove everything."""
        self._installed(panel)
        for page in self._pages.of(panel):
            # Before the store is asked, so that nothing of the page is written after it.
            await self.close_page(page)
        self._counts.flush()
        await self._asking.ask(lambda ask: UninstallAsked(ask, panel))
        self._mains.pop(panel, None)

    async def _check(self, source: PanelSource, page: PageMain | None) -> Manifest:
        if isinstance(source, dict):
            report = check_panel(source, limits=self._limits)
        else:
            folder = PackageFolder(source)
            text = await anyio.to_thread.run_sync(folder.manifest, self._limits.manifest_bytes)
            report = check_panel(text, limits=self._limits, files=folder if page is None else None)
        if report.manifest is None:
            raise PackageError(report.problems)
        return report.manifest

    async def _install(
        self, source: PanelSource, manifest: Manifest, page: PageMain | None
    ) -> Manifest:
        folder = None if isinstance(source, dict) else str(PackageFolder(source).path)
        before = self._pages.of(manifest.id)
        main = page
        if before and main is None and folder is not None:
            # Before anything changes: what cannot be loaded takes nobody's place.
            main = self._load(manifest, folder)
        await self._asking.ask(lambda ask: InstallAsked(ask, manifest, folder))
        if page is not None:
            self._mains[manifest.id] = page
        elif folder is not None:
            self._mains.pop(manifest.id, None)
        for old in before:
            await old.wait_closed()
            again = self._mains.get(manifest.id) if main is None else main
            await self._run(manifest, again, folder, old.kind)
        return manifest

    def _installed(self, panel: str) -> tuple[Manifest, str | None]:
        installed = self._engine.router.installed().get(panel)
        if installed is None:
            raise Refused(PersonCode.UNKNOWN_PANEL)
        return installed

    # --- pages

    async def start_page(self, panel: str, page: PageMain | None, kind: PageKind) -> RunningPage:
        """Start a page; it may hear calls from when this returns."""
        if page is not None and not callable(page):
            raise TypeError("a page is an async function of one argument")
        manifest, folder = self._installed(panel)
        if page is not None:
            self._mains[panel] = page
        return await self._run(manifest, self._mains.get(panel), folder, kind)

    async def _run(
        self, manifest: Manifest, main: PageMain | None, folder: str | None, kind: PageKind
    ) -> RunningPage:
        if main is None:
            main = self._load(manifest, folder)
        started: RunningPage = await self._group.start(self._pages.run, manifest.id, main, kind)
        return started

    async def close_page(self, page: RunningPage) -> None:
        """Stop a page and wait for its end."""
        self._pages.close(page)
        await page.wait_closed()

    def _load(self, manifest: Manifest, folder: str | None) -> PageMain:
        if folder is None:
            raise PageNotLoaded("the panel was installed without a folder: pass its page")
        try:
            return PackageFolder(folder).main(manifest.entry)
        except PageNotLoaded:
            raise
        except BaseException as error:
            # A page's module may raise anything, also SystemExit.
            if not is_theirs(error):
                raise
            if self._on_page_error is not None:
                self._on_page_error(manifest.id, error)
        raise PageNotLoaded("the page's module raised an error while it was loaded")
