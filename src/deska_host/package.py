"""A panel's folder: its panel.json, the files it names, and the page's code (G-4)."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, cast

from deska_sdk.errors import DeskaError

if TYPE_CHECKING:
    import os

    from deska_host.pages import PageMain


class PageNotLoaded(DeskaError):
    """The page's code could not be loaded. ``reason`` is one of the host's own sentences.

    What the code itself raised goes to ``on_page_error`` and nowhere else (B-2).
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class PackageFolder:
    """A folder with a panel.json in it.

    As a container it holds the relative paths of the files inside it; one that a link leads out
    of the folder is not inside.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()

    def manifest(self, limit: int) -> bytes:
        """The bytes of panel.json, at most ``limit`` and one more, so that too many are seen.

        :raises OSError: it cannot be read.
        """
        with (self.path / "panel.json").open("rb") as file:
            return file.read(limit + 1)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._inside(name) is not None

    def _inside(self, name: str) -> Path | None:
        try:
            root = self.path.resolve(strict=True)
            path = (root / name).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            return None
        return path if path.is_relative_to(root) and path.is_file() else None

    def main(self, entry: str) -> PageMain:
        """The page's ``async def main(deska)``, its module run anew.

        :raises PageNotLoaded: there is no such file, it is no Python, or it has no such function.
        :raises Exception: whatever the module raised.
        """
        path = self._inside(entry)
        if path is None:
            raise PageNotLoaded("the panel's entry file is not in its folder")
        if path.suffix != ".py":
            raise PageNotLoaded("this host runs pages written in Python; the entry is no .py file")
        # Never in sys.modules: each start runs the file as it is now, and two panels whose files
        # have the same name do not meet.
        spec = importlib.util.spec_from_file_location(f"deska_page_{path.stem}", path)
        assert spec is not None, "a .py file has a loader"
        assert spec.loader is not None, "a .py file has a loader"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        main = getattr(module, "main", None)
        if not inspect.iscoroutinefunction(main):
            raise PageNotLoaded("the page has no `async def main(deska)`")
        return cast("PageMain", main)
