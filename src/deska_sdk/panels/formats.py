"""The shapes of the texts in panel.json, as patterns that Python and ECMAScript read alike (P-2).

Each pattern is for the whole text: match it with ``re.fullmatch``, or between ``^`` and ``$`` in a
JSON Schema. The checker and the schema for editors (P-8) use the same ones, so they cannot differ.
"""

from __future__ import annotations

import re

from deska_sdk.text import has_invisible

ID = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*"
ACTION_NAME = r"[a-z][a-z0-9_]*"

_NUMBER = r"(?:0|[1-9][0-9]*)"
_BEFORE = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
#: Semantic Versioning 2, as its own page writes it.
VERSION = (
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    rf"(?:-{_BEFORE}(?:\.{_BEFORE})*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)

# A last label that starts with a letter: 10.0.0.1 and 0x7f.1 are addresses and no host names.
_LABEL_END = r"(?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HOST = (
    r"(?=[A-Za-z0-9.-]{1,253}(?![A-Za-z0-9.-]))"
    rf"(?:[A-Za-z0-9]{_LABEL_END}\.)*[A-Za-z]{_LABEL_END}"
)
_PORT = r"(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
ORIGIN = rf"https://{HOST}(?::{_PORT})?"
HTTPS_URL = rf"{ORIGIN}(?:[/?#][A-Za-z0-9._~:/?#\[\]@!\x24&'()*+,;=%-]*)?"

# Inside the package and nowhere else, on every system: no "..", no leading slash, no back-slash,
# no drive or stream (":"), and a last part that can be a file.
_PART = r"(?!\.\.(?:/|$)|\.$)[^/\\:\u0000-\u001f\u007f]+"
PATH = rf"{_PART}(?:/{_PART})*"


def fits(pattern: str, text: str) -> bool:
    """Whether the whole of ``text`` has the shape; never only its start or its first line."""
    return re.fullmatch(pattern, text) is not None


def is_path(text: str) -> bool:
    """Whether ``text`` is a relative path inside the package that a person can read in full."""
    return fits(PATH, text) and not has_invisible(text)


def plain_path(path: str) -> str:
    """A relative path without its ``.`` parts: ``./index.html`` is ``index.html``."""
    return "/".join(part for part in path.split("/") if part != ".")
