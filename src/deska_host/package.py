"""A panel's folder: its panel.json, the files it names, and the page's code (G-4)."""

from __future__ import annotations

import errno
import importlib.util
import inspect
import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast

from deska_sdk.errors import DeskaError

if TYPE_CHECKING:
    from types import ModuleType

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

        :raises OSError: it is no file inside the folder, or cannot be read.
        """
        path = self._inside("panel.json")
        if path is None:
            raise FileNotFoundError(errno.ENOENT, "the folder has no panel.json inside it")
        with path.open("rb") as file:
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
        module = load_module(path)
        main = getattr(module, "main", None)
        if not inspect.iscoroutinefunction(main):
            raise PageNotLoaded("the page has no `async def main(deska)`")
        return cast("PageMain", main)


def load_module(path: Path) -> ModuleType:
    """Run the Python file at ``path`` as it is now; each load is a new module.

    Its name is the file's own, so two panels whose files have the same name do not meet. It is a
    package of its own, so that a page can import what stands beside it: ``from . import helper``.

    :raises BaseException: whatever the module raised.
    """
    name = f"deska_page_{sha256(os.fsencode(path)).hexdigest()[:16]}"
    for known in [known for known in sys.modules if known.partition(".")[0] == name]:
        del sys.modules[known]
    spec = importlib.util.spec_from_file_location(
        name, path, submodule_search_locations=[str(path.parent)]
    )
    assert spec is not None, "a .py file has a loader"
    assert spec.loader is not None, "a .py file has a loader"
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
