"""Finding T-1's invisible characters in the UTF-8 of a text, faster than character by character.

Most bytes prove nothing against a text: continuation bytes, and the lead bytes under which the
table has no character. One pass deletes them all; a text of which nothing is left is clean. What is
left names the lead bytes to look for, and each of those has a pattern of its own that jumps from
one such byte to the next.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deska_sdk import _text_table as table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Surrogates have no UTF-8, so what a text is replaced by for them is no matter here.
_INVISIBLE: Final = (*table.REMOVED, *table.TO_LINE_FEED, *table.TO_SPACE)
# The class of the clean is written out, for common characters are then decided at the first look,
# where the list of the invisible would be searched to its end.
_CLEAN: Final = table.characters(table.complement((*_INVISIBLE, *table.TO_REPLACEMENT)))
_CLEAN_RUN: Final = re.compile(f"[{_CLEAN}]*")

# Two characters are each the only one under the lead byte of a whole script (Arabic, kana). To
# look at every letter of it would be slow, so they are searched for by themselves.
_ALONE: Final = "\u061c\u3164"
_ALONE_LEADS: Final = {character.encode()[0] for character in _ALONE}

# Up to so many bytes a look at each character is quicker than all else.
_SHORT: Final = 160

# Where more than one byte in so many is suspect, one look at each character is quicker than a jump
# to each suspect.
_RARE: Final = 48


def _classes(first: bytes, last: bytes) -> Iterator[bytes]:
    """Patterns for all UTF-8 from ``first`` to ``last``, which are of one length.

    Continuation bytes run from 80 to BF, as digits do from 0 to 9.
    """
    if len(first) == 1:
        yield b"[\\x%02x-\\x%02x]" % (first[0], last[0])
        return
    if first[0] == last[0]:
        for rest in _classes(first[1:], last[1:]):
            yield b"\\x%02x%s" % (first[0], rest)
        return
    lowest, highest = b"\x80" * (len(first) - 1), b"\xbf" * (len(first) - 1)
    start, end = first[0], last[0]
    if first[1:] != lowest:
        yield from _classes(first, bytes([start]) + highest)
        start += 1
    if last[1:] != highest:
        yield from _classes(bytes([end]) + lowest, last)
        end -= 1
    if start <= end:
        yield b"[\\x%02x-\\x%02x]" % (start, end) + b"[\\x80-\\xbf]" * (len(first) - 1)


def _by_lead() -> dict[int, re.Pattern[bytes]]:
    """For each lead byte of invisible characters the pattern of all of them."""
    found: dict[int, list[bytes]] = {}
    for first, last in _INVISIBLE:
        at = first
        while at <= last:
            lead = chr(at).encode()[0]
            # The last character that shares the lead byte: at most all continuation bytes.
            low, high = at, last
            while low < high:
                middle = (low + high + 1) // 2
                if chr(middle).encode()[0] == lead:
                    low = middle
                else:
                    high = middle - 1
            if lead >= 0x80 and lead not in _ALONE_LEADS:
                found.setdefault(lead, []).extend(_classes(chr(at).encode(), chr(low).encode()))
            at = low + 1
    # A pattern that begins with one plain byte is searched for at the speed of memory.
    return {lead: re.compile(_merged(patterns)) for lead, patterns in found.items()}


def _merged(patterns: Iterable[bytes]) -> bytes:
    """One pattern for all, which looks at the last byte once for each beginning."""
    lasts: dict[bytes, bytes] = {}
    for pattern in patterns:
        # Every pattern ends with the class of its last byte: [\x80-\xbf].
        lasts[pattern[:-11]] = lasts.get(pattern[:-11], b"") + pattern[-10:-1]
    lead = next(iter(lasts))[:4]
    return lead + b"(?:%s)" % b"|".join(b"%s[%s]" % (p[4:], last) for p, last in lasts.items())


_PATTERNS: Final = _by_lead()
_SUSPECT: Final = frozenset(_PATTERNS) | {
    point for first, last in _INVISIBLE for point in range(first, min(last, 0x7F) + 1)
}
_HARMLESS: Final = bytes(sorted(set(range(256)) - _SUSPECT))


def has_suspects(data: bytes) -> bool:
    """Whether a byte in ``data`` could be of an invisible character.

    In ASCII text such a byte is one.
    """
    return bool(data.translate(None, _HARMLESS))


def has_invisible(data: bytes, text: str | None = None) -> bool:
    """Whether the text of which ``data`` is the UTF-8 holds what T-1 removes or replaces.

    ``text`` is that text, for a caller who has it.

    :raises UnicodeDecodeError: there is no such text, though that is not always looked at.
    """
    suspects = b"" if len(data) <= _SHORT else data.translate(None, _HARMLESS)
    if len(data) <= _SHORT or len(suspects) * _RARE > len(data):
        text = data.decode() if text is None else text
        run = _CLEAN_RUN.match(text)
        return run is None or run.end() != len(text)
    for lead in set(suspects):
        pattern = _PATTERNS.get(lead)
        if pattern is None or pattern.search(data):
            return True
    if not any(lead in data for lead in _ALONE_LEADS):
        return False
    text = data.decode() if text is None else text
    return any(character in text for character in _ALONE)


def invisible_in(data: bytes, text: str) -> set[str]:
    """Each character of ``text`` that T-1 removes or replaces; ``data`` is its UTF-8."""
    found = {character for character in _ALONE if character in text}
    for lead in set(data.translate(None, _HARMLESS)):
        pattern = _PATTERNS.get(lead)
        if pattern is None:
            found.add(chr(lead))
        else:
            found.update(one.decode() for one in set(pattern.findall(data)))
    return found
