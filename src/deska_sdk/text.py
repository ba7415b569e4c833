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
from deska_sdk import _utf8

if TYPE_CHECKING:
    from collections.abc import Callable

# ``type`` for values of which nothing is known yet.
_type_of: Callable[[Any], type[Any]] = type

_REPLACED: Final[table.Ranges] = (*table.TO_LINE_FEED, *table.TO_REPLACEMENT, *table.TO_SPACE)
_INVISIBLE: Final[table.Ranges] = (*table.REMOVED, *_REPLACED)


# The classes that run over whole texts are written by what is clean: common characters are then
# decided at the first look, where the short list of the invisible would be searched to its end.
_CLEAN: Final = table.characters(table.complement(_INVISIBLE))
_CLEAN_RUN: Final = re.compile(f"[{_CLEAN}]*")
_UNCLEAN: Final = re.compile(f"[^{_CLEAN}]")
_FOLDED: Final = re.compile(f"[{table.characters((*_INVISIBLE, *table.WHITE_SPACE))}]+")
_HIDDEN: Final = re.compile(f"[\t\n{table.characters(_INVISIBLE)}]")

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

# Up to this many characters a look at each is no slower than a pass over the bytes.
_SHORT: Final = 64

# What may stand between texts that are stripped as one: it stays (T-1), and joins nothing on its
# two sides. The first keeps ASCII what is ASCII; the second, for private use, is in hardly any.
_BETWEEN: Final = ("\t", "\ue000")

# Longer than this, many texts are not put together: one text may stand among them many times.
_MOST: Final = 4_194_304

# More different characters than this are not taken out one after the other.
_FEW: Final = 8


def has_invisible(text: str) -> bool:
    """Whether T-1 would remove or replace something in ``text``.

    Tab and line feed are not invisible (D-5, P-4).
    """
    if text.isascii():
        if len(text) <= _SHORT and text.isprintable():
            return False
        return _utf8.has_suspects(text.encode())
    if len(text) <= _SHORT:
        run = _CLEAN_RUN.match(text)
        return run is None or run.end() != len(text)
    try:
        return _utf8.has_invisible(text.encode(), text)
    except UnicodeEncodeError:
        return True  # only a lone surrogate has no UTF-8, and it is in T-1's table


def strip_invisible(text: str) -> str:
    """``text`` without invisible characters (T-1).

    Characters that show nothing are removed; CR LF and the other line breaks become one line feed
    each, a lone surrogate U+FFFD, the blank Braille pattern a space. Tab, line feed, wide spaces
    and private use characters stay. The result is never longer, and stripping it again changes
    nothing (T-2). A clean text is handed back as the same object.
    """
    if text.isascii() and len(text) <= _SHORT and text.isprintable():
        return text  # most strings, decided without another call
    if text.isascii():
        data = text.encode()
        if not _utf8.has_suspects(data):
            return text
        if b"\r\n" in data:
            text = text.replace("\r\n", "\n")
        return text.translate(_ASCII_STRIP)
    if not has_invisible(text):
        return text
    return _strip(text, _invisible_in(text) if len(text) > _SHORT else None)


def _strip(text: str, found: set[str] | None) -> str:
    """``text`` without what is invisible in it: the characters ``found``, or any."""
    # First the pairs, then the rest one by one: what is removed there can bring no CR to an LF
    # and no half of a surrogate pair to the other, since both are replaced where they stand.
    paired = text.replace("\r\n", "\n") if "\r" in text else text
    if found is None or len(found) > _FEW:
        return _UNCLEAN.sub(_replacement, paired)
    for character in found:
        paired = paired.replace(character, _REPLACEMENTS.get(character, ""))
    return paired


def strip_each(texts: list[str]) -> list[str]:
    """Each of ``texts`` without invisible characters, as by :func:`strip_invisible`.

    Many short ones are stripped as one text, which is far quicker; where only few of them can have
    something to strip, just these are looked at.
    """
    if sum(map(len, texts)) > _MOST:
        return [strip_invisible(text) for text in texts]
    found = _invisible_in("".join(texts))
    if found is not None and not any(character.isascii() for character in found):
        dirty = [at for at, text in enumerate(texts) if not text.isascii()]
        if len(dirty) * _FEW <= len(texts):
            stripped = texts.copy()
            for at in dirty:
                stripped[at] = strip_invisible(texts[at])
            return stripped
    for between in _BETWEEN:
        joined = between.join(texts)
        if joined.count(between) == len(texts) - 1:  # none of the texts has one itself
            return _strip(joined, found).split(between)
    return [strip_invisible(text) for text in texts]


def _invisible_in(text: str) -> set[str] | None:
    """The different invisible characters in ``text``, or ``None`` where it has no UTF-8."""
    try:
        return _utf8.invisible_in(text.encode(), text)
    except UnicodeEncodeError:  # a lone surrogate
        return None


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
