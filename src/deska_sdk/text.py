"""Text without invisible characters, and names folded to one line.

::

    from deska_sdk.text import fold, strip_invisible

    strip_invisible("pay\\u200bload\\r\\n")  # 'payload\\n'
    fold("  Two\\n lines ")  # 'Two lines'

An agent reads every character; a person sees only some. What a person cannot see is taken away
before either of the two is handed a text, by one frozen table (T-1). ``str`` in, ``str`` out;
lengths are Unicode code points; nothing here raises for any ``str``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from deska_sdk import _text_table as table

if TYPE_CHECKING:
    from collections.abc import Callable

# ``type`` for values of which nothing is known yet.
_type_of: Callable[[Any], type[Any]] = type

_Ranges = tuple[tuple[int, int], ...]

_REPLACED: Final[_Ranges] = (*table.TO_LINE_FEED, *table.TO_REPLACEMENT, *table.TO_SPACE)
_INVISIBLE: Final[_Ranges] = (*table.REMOVED, *_REPLACED)


def _characters(ranges: _Ranges) -> str:
    """The ranges as the inside of a character class."""
    return "".join(f"\\U{first:08X}-\\U{last:08X}" for first, last in ranges)


def _lead_bytes(ranges: _Ranges) -> set[int]:
    """Every byte that the UTF-8 of one of the characters can start with."""
    leads: set[int] = set()
    for first, last in ranges:
        leads.update(range(chr(first).encode()[0], chr(last).encode()[0] + 1))
    return leads


def _complement(ranges: _Ranges) -> _Ranges:
    """All characters outside the ranges, in order."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for first, last in sorted(ranges):
        if start < first:
            gaps.append((start, first - 1))
        start = last + 1
    return (*gaps, (start, 0x10FFFF)) if start <= 0x10FFFF else tuple(gaps)


# The classes that run over whole texts are written by what is clean: common characters are then
# decided at the first look, where the short list of the invisible would be searched to its end.
_CLEAN: Final = _characters(_complement(_INVISIBLE))
_CLEAN_RUN: Final = re.compile(f"[{_CLEAN}]*")
_UNCLEAN: Final = re.compile(f"[^{_CLEAN}]")
_FOLDED: Final = re.compile(f"[{_characters((*_INVISIBLE, *table.WHITE_SPACE))}]+")
_HIDDEN: Final = re.compile(f"[\t\n{_characters(_INVISIBLE)}]")

_REPLACEMENTS: Final[dict[str, str]] = {
    chr(point): instead
    for ranges, instead in (
        (table.TO_LINE_FEED, "\n"),
        (table.TO_REPLACEMENT, "\ufffd"),
        (table.TO_SPACE, " "),
    )
    for first, last in ranges
    for point in range(first, last + 1)
}
_ASCII_STRIP: Final[dict[int, str | None]] = {
    point: _REPLACEMENTS.get(chr(point))
    for first, last in _INVISIBLE
    for point in range(first, min(last, 0x7F) + 1)
}

# Long texts are looked at as UTF-8. Most bytes prove nothing against a text: continuation bytes,
# and the lead bytes under which the table has no character. A text of only these is clean, which
# one pass over its bytes tells far faster than a look at each character. Surrogates have no
# UTF-8, so they are no part of it. Three characters are searched for by themselves: each is the
# only one under the lead byte of a script (Arabic, kana) or of common marks.
_ALONE: Final = "\u034f\u061c\u3164"
_CONTINUATION: Final = set(range(0x80, 0xC0))
_SUSPECT: Final = _lead_bytes(
    tuple(
        (first, last)
        for first, last in (*table.REMOVED, *table.TO_LINE_FEED, *table.TO_SPACE)
        if chr(first) not in _ALONE
    )
)
_HARMLESS: Final = bytes(sorted(set(range(256)) - _SUSPECT | _CONTINUATION))

# Up to this many characters a look at each is no slower than a pass over the bytes.
_SHORT: Final = 64


def has_invisible(text: str) -> bool:
    """Whether T-1 would remove or replace something in ``text``.

    Tab and line feed are not invisible (D-5, P-4).
    """
    if text.isascii():
        if len(text) <= _SHORT and text.isprintable():
            return False
        return bool(text.encode().translate(None, _HARMLESS))
    if len(text) > _SHORT:
        try:
            if not text.encode().translate(None, _HARMLESS):
                return "\u034f" in text or "\u061c" in text or "\u3164" in text
        except UnicodeEncodeError:
            return True  # only a lone surrogate has no UTF-8, and it is in T-1's table
    found = _CLEAN_RUN.match(text)
    return found is None or found.end() != len(text)


def strip_invisible(text: str) -> str:
    """``text`` without invisible characters (T-1).

    Characters that show nothing are removed; CR LF and the other line breaks become one line feed
    each, a lone surrogate U+FFFD, the blank Braille pattern a space. Tab, line feed, wide spaces
    and private use characters stay. The result is never longer, and stripping it again changes
    nothing (T-2). A clean text is handed back as the same object.
    """
    if text.isascii() and len(text) <= _SHORT and text.isprintable():
        return text  # most strings, decided without another call
    if not has_invisible(text):
        return text
    # First the pairs, then the rest in one pass: what is removed there can bring no CR to an LF
    # and no half of a surrogate pair to the other, since both are replaced where they stand.
    paired = text.replace("\r\n", "\n") if "\r" in text else text
    if paired.isascii():
        return paired.translate(_ASCII_STRIP)
    return _UNCLEAN.sub(_replacement, paired)


def _replacement(found: re.Match[str]) -> str:
    return _REPLACEMENTS.get(found[0], "")


def fold(text: str, limit: int = 300) -> str:
    """``text`` as one line of at most ``limit`` code points, for names and descriptions (T-4).

    Invisible characters and all white space become spaces, runs are one space, the ends are
    trimmed, also after the cut. Folding a folded text changes nothing.
    """
    return _FOLDED.sub(" ", text).strip(" ")[:limit].rstrip(" ")


def escape_invisible(text: str) -> str:
    r"""``text`` for a sentence that quotes it: all that is invisible as ``\u{200B}`` (P-7).

    Tab and line feed are written this way too, so the result is one line that hides nothing.
    """
    return _HIDDEN.sub(lambda found: f"\\u{{{ord(found[0]):04X}}}", text)


def strip_json(value: Any) -> object:
    """``value``, a JSON value, with every string value stripped as by :func:`strip_invisible`.

    Keys are left alone (T-3). Every object and array of the result is new; the rest is handed on
    as is. ``value`` is one that was checked before: finite nesting, exact types.
    """
    kind = _type_of(value)
    if kind is str:
        return strip_invisible(value)
    if kind is dict:
        return {key: strip_json(item) for key, item in value.items()}
    if kind is list:
        return [strip_json(item) for item in value]
    return value
