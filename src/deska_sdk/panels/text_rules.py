"""What the rules of panel.json say about any text and any key (P-2, P-4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deska_sdk.problems import quote
from deska_sdk.schema.raw import shown
from deska_sdk.text import fold, has_invisible

if TYPE_CHECKING:
    from deska_sdk.panels.findings import Findings


def a_text(found: Findings, value: object, where: str) -> str | None:
    """``value`` if it is a string; else ``None``, and a problem."""
    if type(value) is str:
        return value
    found.problem("wrong_type", where, "this is a string", shown(value))
    return None


def check_length(found: Findings, text: str, where: str, limit: int, *, least: int = 0) -> None:
    """Tell a text that is shorter than ``least`` or longer than ``limit`` code points."""
    if len(text) < least:
        found.problem("empty", where, "there is nothing to read in this text")
    elif len(text) > limit:
        sentence = f"this text has at most {limit} characters, and it has {len(text)}"
        found.problem("too_long", where, sentence, text)


def check_folded(found: Findings, text: str, where: str, limit: int) -> None:
    """Check a name or description by what is left of it after folding (P-2, P-4, T-4)."""
    # Folded without a limit: a cut would hide that the text is too long.
    check_length(found, fold(text, len(text)), where, limit, least=1)
    warn_invisible(found, text, where)


def warn_invisible(found: Findings, text: str, where: str) -> None:
    """Warn of characters that nobody sees: they are accepted, and folded into spaces (P-4)."""
    if has_invisible(text):
        sentence = "this text holds invisible characters, which are shown as spaces"
        found.warning("invisible_characters", where, sentence, text)


def unknown_key(found: Findings, key: str, where: str, known: tuple[str, ...]) -> None:
    """Tell a key that no rule knows, and the known one it was meant to be if that is plain."""
    bare = _bare(key)
    meant = next((f'; it is written "{name}"' for name in known if _bare(name) == bare), "")
    named = quote(key, found.limits.quoted)
    found.problem("unknown_key", where, f'"{named}" is not a key here{meant}', key, key=True)


def _bare(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()
