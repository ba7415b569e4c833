"""T-1's table of invisible characters: plain data, the same on every Python version.

Ranges are inclusive. The Unicode database of the running Python is never asked: it knows other
characters in every release, and what an agent may read must not change with it.
"""

from __future__ import annotations

from typing import Final, TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]

#: Taken away without anything in their place: 4,321 characters.
REMOVED: Final[Ranges] = (
    # C0 and C1 controls and DEL, without tab and the line breaks 0A–0D and 85
    (0x0000, 0x0008),
    (0x000E, 0x001F),
    (0x007F, 0x0084),
    (0x0086, 0x009F),
    # Default_Ignorable_Code_Point, 4,174 characters in this and the blocks marked (DI)
    (0x00AD, 0x00AD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian selectors
    (0x200B, 0x200F),  # zero-width characters, bidi marks
    (0x202A, 0x202E),  # bidi embeddings and overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, bidi isolates
    (0x3164, 0x3164),  # Hangul filler
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFA0, 0xFFA0),  # halfwidth Hangul filler
    (0xFFF0, 0xFFF8),  # unassigned, ignorable
    (0x1BCA0, 0x1BCA3),  # shorthand format controls
    (0x1D173, 0x1D17A),  # musical format controls
    (0xE0000, 0xE0FFF),  # tags, variation selectors supplement (DI)
    # Format characters that show nothing and are not ignorable
    (0xFFF9, 0xFFFC),  # interlinear annotation, object replacement
    (0x13430, 0x1343F),  # Egyptian hieroglyph format controls
    (0x16FE4, 0x16FE4),  # Khitan small script filler
    (0x1D159, 0x1D159),  # musical null notehead
    # The 66 noncharacters
    (0xFDD0, 0xFDEF),
    (0xFFFE, 0xFFFF),
    (0x1FFFE, 0x1FFFF),
    (0x2FFFE, 0x2FFFF),
    (0x3FFFE, 0x3FFFF),
    (0x4FFFE, 0x4FFFF),
    (0x5FFFE, 0x5FFFF),
    (0x6FFFE, 0x6FFFF),
    (0x7FFFE, 0x7FFFF),
    (0x8FFFE, 0x8FFFF),
    (0x9FFFE, 0x9FFFF),
    (0xAFFFE, 0xAFFFF),
    (0xBFFFE, 0xBFFFF),
    (0xCFFFE, 0xCFFFF),
    (0xDFFFE, 0xDFFFF),
    (0xEFFFE, 0xEFFFF),
    (0xFFFFE, 0xFFFFF),
    (0x10FFFE, 0x10FFFF),
)

#: Each replaced by one line feed; CR LF together by one as well.
TO_LINE_FEED: Final[Ranges] = (
    (0x000B, 0x000D),
    (0x0085, 0x0085),
    (0x2028, 0x2029),
)

#: Lone halves of surrogate pairs, each replaced by U+FFFD.
TO_REPLACEMENT: Final[Ranges] = ((0xD800, 0xDFFF),)

#: Replaced by a space: the blank Braille pattern.
TO_SPACE: Final[Ranges] = ((0x2800, 0x2800),)

#: T-4's white space that is not in the table above already.
WHITE_SPACE: Final[Ranges] = (
    (0x0009, 0x000A),
    (0x0020, 0x0020),
    (0x00A0, 0x00A0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
)


def characters(ranges: Ranges) -> str:
    """The ranges as the inside of a regular expression's character class."""
    return "".join(f"\\U{first:08X}-\\U{last:08X}" for first, last in ranges)


def complement(ranges: Ranges) -> Ranges:
    """All characters outside the ranges, in order."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for first, last in sorted(ranges):
        if start < first:
            gaps.append((start, first - 1))
        start = last + 1
    return (*gaps, (start, 0x10FFFF)) if start <= 0x10FFFF else tuple(gaps)
