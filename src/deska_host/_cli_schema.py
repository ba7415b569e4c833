"""``deska schema``: the JSON Schema of panel.json (P-8)."""

from __future__ import annotations

import argparse
import json
import sys

from deska_sdk.panels.editor_schema import panel_json_schema


def run(argv: list[str]) -> int:
    """Write the schema to standard output as indented JSON; the exit status is 0."""
    parser = argparse.ArgumentParser(
        prog="deska schema",
        description="Print the JSON Schema of panel.json. Name it in your editor, or in $schema.",
    )
    parser.parse_args(argv)
    sys.stdout.write(json.dumps(panel_json_schema(), indent=2) + "\n")
    return 0
