"""What removes invisible characters for a peer that has nothing of the kind.

No JSON Schema library strips text, so a comparison with one depends on the strip that is added to
it more than on the library. Three are shown, and every claim names its own:

* none: the peer does less work than the engine;
* guard: one line in front of a regular expression, as a program would add it in an afternoon;
* tuned: this project's own :func:`deska_sdk.text.strip_json`, given to the peer for nothing.
"""

from __future__ import annotations

import re
from typing import Any, Final

from deska_sdk import _text_table as table
from deska_sdk.text import strip_json as tuned

__all__ = ["guard", "guard_exact", "none", "tuned"]


def _class(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"\\U{first:08X}-\\U{last:08X}" for first, last in ranges)


_INSTEAD: Final = {
    **{chr(at): "\n" for first, last in table.TO_LINE_FEED for at in range(first, last + 1)},
    **{chr(at): "\ufffd" for first, last in table.TO_REPLACEMENT for at in range(first, last + 1)},
    **{chr(at): " " for first, last in table.TO_SPACE for at in range(first, last + 1)},
}
_INVISIBLE: Final = re.compile(
    "\r\n|["
    + _class((*table.REMOVED, *table.TO_LINE_FEED, *table.TO_REPLACEMENT, *table.TO_SPACE))
    + "]"
)


def _replace(found: re.Match[str]) -> str:
    return "\n" if found[0] == "\r\n" else _INSTEAD.get(found[0], "")


def _clean(text: str) -> str:
    return _INVISIBLE.sub(_replace, text)


def none(value: Any) -> Any:
    """The value as it is."""
    return value


def guard(value: Any) -> Any:
    """The value stripped; a text of printable ASCII is let through by two quick questions."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() and value.isprintable() else _clean(value)
    if kind is dict:
        return {key: guard(item) for key, item in value.items()}
    if kind is list:
        return [guard(item) for item in value]
    return value


def guard_exact(value: Any) -> Any:
    """The same for a peer that takes tuples, sets and Decimals: exact types or an error (D-8)."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() and value.isprintable() else _clean(value)
    if kind is dict:
        return {key: guard_exact(item) for key, item in value.items()}
    if kind is list:
        return [guard_exact(item) for item in value]
    if kind is int or kind is float or kind is bool:
        return value
    raise TypeError("not one of the exact types")
