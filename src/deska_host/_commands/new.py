"""``deska new``: the folder of a new panel, with a page and a test that pass at once (K-10).

The panels it copies are ``examples/starter`` and ``examples/starter_typed``. They are panels like
any other, so what a newcomer gets is what the test suite runs.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

from deska_host._commands.arguments import Arguments
from deska_host._commands.schema import schema_text
from deska_host._commands.terminal import Terminal
from deska_host._examples import example_folder
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels import formats
from deska_sdk.text import escape_invisible

MADE, FAILED = 0, 2

_FILES: Final = ("panel.json", "page.py", "test_starter.py", "README.md")
_SCHEMA: Final = "panel.schema.json"
_EDITORS: Final = """
Editors that know JSON Schema complete and explain `panel.json` while you type: it names
`panel.schema.json`, which `deska schema --write {name}/panel.schema.json` renews.
"""


def run(argv: list[str]) -> int:
    """Make the panel that ``argv`` names: 0 when it is there, 2 when nothing was made."""
    parser = Arguments(
        prog="deska new",
        description="Make a folder with a small panel that works: a manifest, a page and a test.",
        epilog="The exit status is 0 when it is made, and 2 when it is not; then nothing is left.",
    )
    parser.add_argument("name", metavar="NAME", help="the panel's id, and the folder's name")
    parser.add_argument(
        "--typed", action="store_true", help="write the schemas as classes, in Python"
    )
    parser.add_argument(
        "--in",
        metavar="FOLDER",
        type=Path,
        default=Path(),
        dest="folder",
        help="make it in this folder instead of the current one",
    )
    given = parser.read(argv)
    name: str = given.name
    if not formats.fits(formats.ID, name) or len(name) > DEFAULT_LIMITS.panel_id:
        return _fail(
            f"{name}: a panel's name here is its id: at most {DEFAULT_LIMITS.panel_id} lower-case "
            "letters, digits and single hyphens between them, and a letter first, such as "
            "reading-list"
        )
    place: Path = given.folder / name
    if os.path.lexists(place):
        return _fail(f"{place}: this is there already, and nothing was changed")
    if not given.folder.is_dir():
        return _fail(f"{given.folder}: there is no such folder")
    try:
        _put(_skeleton(name, typed=given.typed), place)
    except OSError as error:
        return _fail(f"{place}: {error.strerror or 'this cannot be written'}")
    _tell(place, typed=given.typed)
    return MADE


def _fail(sentence: str) -> int:
    sys.stderr.write(f"deska new: {escape_invisible(sentence)}\n")
    return FAILED


def _skeleton(name: str, *, typed: bool) -> dict[str, bytes]:
    """The starter panel under another name: its files by their names."""
    source = example_folder("starter_typed" if typed else "starter")
    module = name.replace("-", "_")
    title = name.replace("-", " ").capitalize()

    def renamed(text: str) -> str:
        # The test's name first: it is a module's, and a module's name has no hyphen.
        text = text.replace("test_starter", f"test_{module}")
        return text.replace("starter", name).replace("Starter", title)

    files = {
        renamed(file): renamed((source / file).read_text(encoding="utf-8")).encode()
        for file in _FILES
    }
    if not typed:
        # Every editor that knows JSON Schema follows this; a typed panel's file is not edited.
        head = f'{{\n  "$schema": "./{_SCHEMA}",\n'.encode()
        files["panel.json"] = head + files["panel.json"].removeprefix(b"{\n")
        files[_SCHEMA] = schema_text().encode()
        files["README.md"] += _EDITORS.format(name=name).encode()
    return files


def _put(files: dict[str, bytes], place: Path) -> None:
    """Make the whole folder, or nothing.

    :raises OSError: it could not be made, or something is there by now.
    """
    # Written beside its place and moved there at the end: nobody finds half a panel, whatever
    # happens in between. Moving never replaces what is there, but for an empty folder.
    draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    draft.mkdir()
    try:
        for name, data in files.items():
            (draft / name).write_bytes(data)
        draft.rename(place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _tell(place: Path, *, typed: bool) -> None:
    out = Terminal(sys.stdout)
    out.line((str(place), "place"), " is a panel that works. What next:")
    out.line()
    panel = _pasted(place)
    steps = [
        (f"deska check {panel}", "tell everything that is wrong with panel.json"),
        (f"pytest {panel}", "run its tests (pip install pytest)"),
        (f"deska try {panel} --task .", "call its actions yourself"),
        (f"deska serve {panel} --task FOLDER", "let the agent in FOLDER call them, over MCP"),
    ]
    if typed:
        page = _pasted(place / "page.py")
        again = (f"deska manifest --write {page}", "make panel.json anew when the page changed")
        steps.insert(0, again)
    out.table([[(f"  {command}", "strong"), what] for command, what in steps])


def _pasted(path: Path) -> str:
    """The path as a word of a command."""
    text = str(path)
    # What begins with a hyphen would be taken for an option.
    return shlex.quote(f".{os.sep}{text}" if text.startswith("-") else text)
