"""The scanner under :mod:`deska_sdk.document`: one text, left to right, with its own stack."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from deska_sdk.problems import Problem, pointer, quote

if TYPE_CHECKING:
    from deska_sdk.limits import Limits

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"-?[A-Za-z_][A-Za-z0-9_]*")
_HEX = re.compile(r"[0-9A-Fa-f]{4}")
_SURROGATE = re.compile("[\ud800-\udfff]")
LINE_END = re.compile(r"\r\n|\r|\n")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_NOT_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})


class Place:
    """Where one value (and the key before it) starts, and the places inside it.

    A tree and no table by pointer: pointers repeat their parents' keys, so a table of them could
    grow with the square of a hostile document.
    """

    __slots__ = ("at", "children", "key_at")

    def __init__(self, at: int, key_at: int) -> None:
        self.at = at
        self.key_at = key_at
        self.children: dict[str, Place] | None = None


def line_starts(text: str) -> tuple[int, ...]:
    return (0, *(match.end() for match in LINE_END.finditer(text)))


def line_and_column(starts: tuple[int, ...], at: int) -> tuple[int, int]:
    line = bisect_right(starts, at)
    return line, at - starts[line - 1] + 1


class _Syntax(Exception):  # never leaves this module
    """The text cannot be read on from ``at``. It carries our own sentence, not the text."""

    def __init__(self, at: int, sentence: str) -> None:
        super().__init__()
        self.at = at
        self.sentence = sentence


class _Frame:
    """One object or array that is still open."""

    __slots__ = ("index", "items", "key", "key_at", "members", "place")

    def __init__(self, place: Place | None, char: str, *, kept: bool) -> None:
        self.place = place
        self.members: dict[str, object] | None = {} if char == "{" else None
        #: ``None`` for an object, and for an array that is nested too deep to be kept.
        self.items: list[object] | None = [] if char == "[" and kept else None
        self.key = ""
        self.key_at = 0
        self.index = 0


class Scanner:
    """Reads one text from left to right with its own stack: no nesting can exhaust Python's."""

    def __init__(self, text: str, limits: Limits, *, budget: int) -> None:
        self._text = text
        self._limits = limits
        #: How many code points of pointers may still be given out: see ``_tell``.
        self._budget = budget
        self.starts = line_starts(text)
        self._frames: list[_Frame] = []
        self.problems: list[Problem] = []
        self.root: Place | None = None
        self.value: object = None
        self.complete = False

    def scan(self) -> None:
        """Read the text to its end, or to where it cannot be read on."""
        at = 0
        if self._text.startswith("\ufeff"):
            self._tell(0, "byte_order_mark", "the file starts with a byte order mark")
            at = 1
        failed: _Syntax | None = None
        try:
            self._run(at)
        except _Syntax as error:
            failed = error
        self.complete = failed is None
        if failed is not None:
            self.value = None
            quoted = self._text[failed.at : failed.at + 1] or None
            self._tell(failed.at, "syntax", failed.sentence, quoted=quoted, last=True)

    # -- problems

    def _tell(
        self,
        at: int,
        code: str,
        sentence: str,
        *,
        quoted: str | None = None,
        member: bool = False,
        last: bool = False,
    ) -> None:
        """Add a problem; ``member`` says that it is about what stands at the current key."""
        if not last and (self._too_deep() or self._budget < 0):
            return  # what is nested too deep is refused as a whole already
        where = self._where(member=member)
        if not last:
            # Every problem is told (P-7). But a pointer repeats the keys above it: a document made
            # to have thousands of problems under one very long key would take gigabytes to answer.
            self._budget -= len(where)
            if self._budget < 0:
                code, where, quoted = "too_many_problems", "", None
                sentence = "there are more problems than can be listed"
        line, column = line_and_column(self.starts, at)
        self.problems.append(
            Problem(
                code=code,
                where=where,
                sentence=sentence,
                quoted=None if quoted is None else quote(quoted, self._limits.quoted),
                line=line,
                column=column,
            )
        )

    def _too_deep(self) -> bool:
        return len(self._frames) > self._limits.json_nesting

    def _where(self, *, member: bool) -> str:
        frames = self._frames[: self._limits.json_nesting + 1]
        if not member:
            frames = frames[:-1]
        where = ""
        for frame in frames:
            where = pointer(where, frame.index if frame.members is None else frame.key)
        return where

    # -- structure

    def _run(self, at: int) -> None:
        """Read the whole text. A value is due at the top of the outer loop."""
        text = self._text
        at = self._skip(at)
        while True:
            char = text[at : at + 1]
            if char in ("{", "["):
                frame = self._open(char, at)
                at = self._skip(at + 1)
                if text[at : at + 1] != ("]" if frame.members is None else "}"):
                    if frame.members is not None:
                        at = self._key(frame, at)
                    continue
                at += 1
                self._frames.pop()
            else:
                at = self._scalar(char, at)
            following = self._after(at)
            if following is None:
                return
            at = following

    def _after(self, at: int) -> int | None:
        """After a value: where the next one starts, or ``None`` at the end of the text."""
        text = self._text
        while True:
            at = self._skip(at)
            char = text[at : at + 1]
            if not self._frames:
                if char:
                    raise _Syntax(at, "there is more text after the end of the JSON value")
                return None
            frame = self._frames[-1]
            close = "]" if frame.members is None else "}"
            if char == close:
                self._frames.pop()
                at += 1
                continue
            if char != ",":
                raise _Syntax(at, _expected(char, f'a comma or a closing "{close}"'))
            at = self._skip(at + 1)
            if text[at : at + 1] == close:
                raise _Syntax(at, f'a comma stands before the closing "{close}"')
            frame.index += 1
            return at if frame.members is None else self._key(frame, at)

    def _open(self, char: str, at: int) -> _Frame:
        kept = len(self._frames) < self._limits.json_nesting
        place: Place | None = None
        frame = _Frame(None, char, kept=kept)
        if kept:
            place = self._attach(frame.items if frame.members is None else frame.members, at)
            place.children = {}
            frame.place = place
        elif not self._too_deep():
            self._attach(None, at)
            deep = self._limits.json_nesting
            sentence = f"values are nested at most {deep} deep"
            self._tell(at, "nesting_too_deep", sentence, member=True)
        self._frames.append(frame)
        return frame

    def _attach(self, value: object, at: int) -> Place:
        """Put a value where it belongs in the tree of values and in the tree of places."""
        if not self._frames:
            self.value = value
            self.root = Place(at, at)
            return self.root
        frame = self._frames[-1]
        place = Place(at, at if frame.members is None else frame.key_at)
        if frame.place is None or frame.place.children is None:
            return place  # inside what is nested too deep nothing is kept
        if frame.members is not None:
            frame.members[frame.key] = value
            frame.place.children[frame.key] = place
        elif frame.items is not None:
            frame.items.append(value)
            frame.place.children[str(frame.index)] = place
        return place

    def _key(self, frame: _Frame, at: int) -> int:
        """Read a key and its colon; the value that follows starts at the result."""
        text = self._text
        if text[at : at + 1] != '"':
            raise _Syntax(at, _expected(text[at : at + 1], "a key in double quotes"))
        key, end, lone = self._string(at)
        frame.key, frame.key_at = key, at
        if lone:
            self._tell_lone(at, end)
        if frame.members is not None and key in frame.members:
            sentence = f'"{quote(key, self._limits.quoted)}" stands twice in one object'
            self._tell(at, "duplicate_key", sentence, quoted=key, member=True)
        at = self._skip(end)
        if text[at : at + 1] != ":":
            raise _Syntax(at, _expected(text[at : at + 1], "a colon after the key"))
        return self._skip(at + 1)

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return at if match is None else match.end()

    # -- scalars

    def _scalar(self, char: str, at: int) -> int:
        """Read a string, number or word, attach it, and give its end."""
        if char == '"':
            value, end, lone = self._string(at)
            if lone:
                self._tell_lone(at, end)
            self._attach(value, at)
            return end
        number = _NUMBER.match(self._text, at)
        if number is not None:
            self._attach(self._number(number), at)
            return number.end()
        word = _WORD.match(self._text, at)
        if word is None:
            raise _Syntax(at, _expected(char, "a value"))
        name = word.group()
        if name in _NOT_FINITE:
            sentence = f"{name} is no JSON number"
            self._tell(at, "not_finite", sentence, quoted=name, member=True)
            self._attach(None, at)
        elif name in _CONSTANTS:
            self._attach(_CONSTANTS[name], at)
        else:
            raise _Syntax(at, "a word stands where a value is due; text goes in double quotes")
        return word.end()

    def _number(self, match: re.Match[str]) -> int | float | None:
        text, at = match.group(), match.start()
        if match.group(1) is None and match.group(2) is None:
            most = self._limits.integer_digits
            if len(text.lstrip("-")) <= most:
                return int(text)
            sentence = f"an integer has at most {most} digits"
            self._tell(at, "integer_too_long", sentence, quoted=text, member=True)
            return None
        value = float(text)
        if math.isfinite(value):
            return value
        sentence = "this number is too large for a reader of JSON to hold"
        self._tell(at, "number_too_large", sentence, quoted=text, member=True)
        return None

    def _tell_lone(self, at: int, end: int) -> None:
        sentence = "this text holds half of a surrogate pair, which is no character"
        self._tell(at, "lone_surrogate", sentence, quoted=self._text[at:end], member=True)

    def _string(self, at: int) -> tuple[str, int, bool]:
        """The string that opens at ``at``, its end, and whether it held a lone surrogate."""
        text = self._text
        start, at = at, at + 1
        parts: list[str] = []
        lone = False
        while True:
            match = _PLAIN.match(text, at)
            if match is not None and match.end() > at:
                plain = match.group()
                if _SURROGATE.search(plain):
                    lone = True
                    plain = _SURROGATE.sub("\ufffd", plain)
                parts.append(plain)
                at = match.end()
            char = text[at : at + 1]
            if char == '"':
                return "".join(parts), at + 1, lone
            if char == "\\":
                part, at = self._escape(at)
                if _SURROGATE.match(part):
                    lone = True
                    part = "\ufffd"
                parts.append(part)
            elif char:
                raise _Syntax(at, "a control character in a text is written as an escape")
            else:
                raise _Syntax(start, "the closing double quote of this text is missing")

    def _escape(self, at: int) -> tuple[str, int]:
        """The character of the escape at ``at``, and its end."""
        text = self._text
        plain = _ESCAPES.get(text[at + 1 : at + 2])
        if plain is not None:
            return plain, at + 2
        digits = _HEX.match(text, at + 2) if text[at + 1 : at + 2] == "u" else None
        if digits is None:
            raise _Syntax(at, "a backslash stands before what is no JSON escape")
        code = int(digits.group(), 16)
        end = digits.end()
        if 0xD800 <= code < 0xDC00 and text[end : end + 2] == "\\u":
            second = _HEX.match(text, end + 2)
            low = 0 if second is None else int(second.group(), 16)
            if second is not None and 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), second.end()
        return chr(code), end


def _expected(char: str, what: str) -> str:
    """A sentence for what stands where ``what`` is due."""
    if not char:
        return f"the file ends where {what} is due"
    if char == "'":
        return f"a single quote stands where {what} is due; JSON uses double quotes"
    if char == "/" or char == "#":
        return f"something else stands where {what} is due; JSON has no comments"
    return f"something else stands where {what} is due"
