"""``deska manifest``: the panel.json of a typed panel (G-2)."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deska_host._commands.arguments import Arguments
from deska_host._commands.errors import traceback_lines
from deska_host._commands.files import write_whole
from deska_host._commands.streams import no_pipe
from deska_host.package import PageNotLoaded, load_module
from deska_sdk.errors import DeskaError
from deska_sdk.panels.typed import Panel, PanelDefinitionError
from deska_sdk.text import escape_invisible

if TYPE_CHECKING:
    from types import ModuleType

MADE, STALE, FAILED = 0, 1, 2

_NAME = "panel.json"


def run(argv: list[str]) -> int:
    """Make the panel.json of the module in ``argv``.

    0 when it was made, or is fresh; 1 when the one to check is stale; 2 when the module cannot be
    loaded, has not exactly one panel, or a file cannot be read or written.
    """
    parser = Arguments(
        prog="deska manifest",
        description="Print the panel.json of a typed panel. The module is run to find its panel.",
        epilog="The exit status is 0 when it is made or fresh, 1 when stale, 2 if neither can be "
        "said.",
    )
    parser.add_argument("module", metavar="MODULE", help="a file such as page.py, or a.dotted.name")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", metavar="FILE", type=Path, help="say whether this file is fresh")
    what.add_argument("--write", action="store_true", help=f"write {_NAME} beside the module")
    given = parser.read(argv)
    try:
        # What the module prints is no part of the file.
        with no_pipe():
            module = _load(given.module)
        made = _panel(module).manifest_text().encode()
        if given.check is not None:
            return _check(given.check, made, given.module)
        if given.write:
            write_whole(_beside(module), made)
        else:
            _print(made)
    except (PageNotLoaded, PanelDefinitionError) as error:
        return _fail(given.module, str(error))
    except OSError as error:
        return _fail(error.filename or given.module, error.strerror or "this cannot be used")
    return MADE


def _fail(what: object, sentence: str) -> int:
    sys.stderr.write(f"deska manifest: {escape_invisible(f'{what}: {sentence}')}\n")
    return FAILED


def _check(file: Path, made: bytes, module: str) -> int:
    if file.read_bytes() == made:
        return MADE
    sentence = f"{file}: stale; make it anew with: deska manifest {module}"
    sys.stderr.write(f"deska manifest: {escape_invisible(sentence)}\n")
    return STALE


def _print(made: bytes) -> None:
    """Write the file's very bytes: no terminal's encoding and no platform's line ends."""
    sys.stdout.flush()
    buffer: Any = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(made.decode())
    else:
        buffer.write(made)
        buffer.flush()


def _panel(module: ModuleType) -> Panel:
    panels = {id(one): one for one in vars(module).values() if isinstance(one, Panel)}
    if len(panels) != 1:
        count = "no Panel" if not panels else f"{len(panels)} Panels"
        raise PageNotLoaded(f"a page has one Panel at the top of its module, and here is {count}")
    return next(iter(panels.values()))


def _beside(module: ModuleType) -> Path:
    if module.__file__ is None:
        raise PageNotLoaded("this module has no file, so there is no place beside it")
    return Path(module.__file__).with_name(_NAME)


def _load(name: str) -> ModuleType:
    """Run the module.

    :raises PageNotLoaded: there is none, or it raised; what it raised was written to stderr.
    :raises PanelDefinitionError: what it defines is no panel.
    """
    load = _from_file if name.endswith(".py") or Path(name).exists() else _by_name
    raised: BaseException
    try:
        return load(name)
    except DeskaError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the author's module raised
        raised = error
    # The module's author is who runs this, and needs all of it.
    for line in traceback_lines(raised):
        sys.stderr.write(f"{line}\n")
    raise PageNotLoaded(f"the module raised {type(raised).__name__}")


def _from_file(name: str) -> ModuleType:
    path = Path(name).absolute()
    if not path.is_file() or path.suffix != ".py":
        raise PageNotLoaded("there is no such .py file")
    # As a host does it, so what works here works there.
    return load_module(path)


def _by_name(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise PageNotLoaded("there is no such file, and this is no module's name")
    # As ``python -m`` does it: names start in the folder where the command is run.
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove("")
