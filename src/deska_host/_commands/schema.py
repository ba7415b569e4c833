"""``deska schema``: the JSON Schema of panel.json, for editors (P-8)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from deska_host._commands.arguments import Arguments
from deska_host._commands.files import write_whole
from deska_sdk.panels.editor_schema import panel_json_schema
from deska_sdk.text import escape_invisible

MADE, FAILED = 0, 2


def run(argv: list[str]) -> int:
    """Write the schema as indented JSON: 0 when it is written, 2 when a file cannot be."""
    parser = Arguments(
        prog="deska schema",
        description="Print the JSON Schema of panel.json. Name it in your editor, or in $schema.",
        epilog="The exit status is 0, and 2 when the file cannot be written.",
    )
    parser.add_argument(
        "--write", metavar="FILE", type=Path, help="write it into this file instead"
    )
    file: Path | None = parser.read(argv).write
    if file is None:
        sys.stdout.write(schema_text())
        return MADE
    try:
        write_whole(file, schema_text().encode())
    except OSError as error:
        why = error.strerror or "this cannot be written"
        sys.stderr.write(f"deska schema: {escape_invisible(str(file))}: {why}\n")
        return FAILED
    return MADE


def schema_text() -> str:
    """The schema as it is printed: the same text from the same version, ending in a line feed."""
    return f"{json.dumps(panel_json_schema(), indent=2)}\n"
