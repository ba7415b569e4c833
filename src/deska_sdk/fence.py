"""The fence: a page's answer as one block of text that an agent can tell from the host's words.

::

    from deska_sdk import fence

    print(fence.encode("notes", "Notes", {"notes": ["Make the <header> blue"]}))
    # <panel_content package="notes" panel="Notes" trust="untrusted">
    # {"notes":["Make the \\u003cheader\\u003e blue"]}
    # </panel_content>

Whatever the value holds, the block parses as XML to one element, whose text parses as JSON to the
stripped value; that stays so when someone on the way brings the text into a Unicode normal form
(N-5). :func:`encode` does all of it. The pieces it is made of, :func:`compact`, :func:`may_hide`,
:func:`escape` and :func:`wrap`, are there for a caller that has a step of its own between them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from deska_sdk import _text_table as table
from deska_sdk._plain import checked, compact, strip_all, written
from deska_sdk.codec import find
from deska_sdk.errors import TooLarge
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.text import fold, has_invisible

if TYPE_CHECKING:
    from deska_sdk.codec import Codec

__all__ = ["compact", "encode", "escape", "may_hide", "wrap"]

# N-2: what becomes one of < > & " \ under a normal form, and what looks like an angle bracket.
_BECOMES: Final = "\u226e\u226f\ufe60\ufe64\ufe65\ufe68\uff02\uff06\uff1c\uff1e\uff3c"
_LOOKS_ALIKE: Final = (
    "\u2039\u203a\u02c2\u02c3\u1433\u1438\u276c\u276d\u276e\u276f\u2770\u2771"
    "\u29fc\u29fd\u2329\u232a\u27e8\u27e9\u3008\u3009\ufe3f\ufe40"
)
_ESCAPED: Final = f"<>&{_BECOMES}{_LOOKS_ALIKE}"
# N-2: the marks that a normal form joins to the last character of an escape, as the cedilla that
# follows "\u003c" would make its "c" another letter and the escape no escape.
_MARKS: Final = (
    "\u0300-\u0304\u0306-\u030a\u030c\u030f\u0311\u0323\u0325-\u0328\u032d\u0330\u0331"
    "\u0340\u0341\u0344"
)
# N-3: what ends an attribute, or becomes something that does.
_IN_ATTRIBUTE: Final = "&<>\"'\u226e\u226f\ufe60\ufe64\ufe65\uff02\uff06\uff07\uff1c\uff1e"


def _ranges() -> table.Ranges:
    """All characters that are ever escaped, as ranges."""
    one_by_one = re.compile(f"[{_ESCAPED}{_MARKS}]")
    return tuple((at, at) for at in range(0x10000) if one_by_one.match(chr(at)))


_ESCAPE: Final = re.compile(f"[{_ESCAPED}]")
_MARK: Final = re.compile(f"[{_MARKS}]")
# Lines in which there is nothing to escape, written by what is plain: see text.py.
_PLAIN_RUN: Final = re.compile(f"[{table.characters(table.complement(_ranges()))}]*")
# One escape of the line with all that follows it up to the next ASCII character. Every backslash
# of compact JSON begins an escape, so all of them are walked through, in order.
_AFTER_ESCAPE: Final = re.compile(r"(\\(?:u[0-9a-f]{4}|[^u]))([^\x00-\x7f]*)")
_ATTRIBUTE: Final = re.compile(f"[{_IN_ATTRIBUTE}]")
# Escapes that stand for a control character, or an escaped backslash before one of their letters.
_MAY_HIDE: Final = re.compile(r"\\[bfru]")


def encode(
    panel_id: str,
    panel_name: str,
    value: object,
    *,
    limits: Limits = DEFAULT_LIMITS,
    codec: Codec = "auto",
) -> str:
    """``value`` inside the fence of the panel (N-1, N-2, N-3), without invisible characters (T-1).

    ``value`` is any JSON value of exactly the types ``dict`` (with ``str`` keys), ``list``,
    ``str``, ``bool``, ``int``, ``float`` and ``None``; it is not changed. A float without a
    fraction is written as an int, ``-0.0`` as 0 (D-8). Keys are stripped as strings are.

    :raises InvalidValue: ``value`` is no such value, holds a number that is not finite or beyond
        ±(2^53 − 1), is cyclic or nested deeper than ``limits.json_nesting``, or has two keys in
        one object that differ only in invisible characters (N-6). A fault's ``where`` ends at the
        first object on the way, for keys are the page's own text.
    :raises TooLarge: the compact JSON of ``value``, as it came or as escaped, is longer than
        ``limits.answer`` code points (N-4).
    :raises ImportError: ``codec`` is ``speed`` and its libraries are not installed.
    """
    engine = find(codec)
    value = checked(value, limits.answer, limits=limits)
    line = written(value, limits.answer, engine)
    if may_hide(line):
        line = written(strip_all(value), limits.answer, engine)
    return wrap(panel_id, panel_name, escape(line, limits.answer), limits=limits)


def may_hide(line: str) -> bool:
    """Whether the value of a line of :func:`compact` may hold something that T-1 strips.

    False is a proof that stripping changes nothing; true may be a false alarm.
    """
    return ("\\" in line and _MAY_HIDE.search(line) is not None) or has_invisible(line)


def escape(line: str, limit: int) -> str:
    """A line of :func:`compact` with N-2's characters as ``\\uXXXX``; it parses to the same value.

    :raises TooLarge: the escaped line is longer than ``limit`` code points (N-4).
    """
    if len(line) > limit:
        raise TooLarge(limit)
    if line.isascii():
        if "<" in line or ">" in line or "&" in line:
            # Bytes, because there a search for one byte runs at the speed of memory.
            data = line.encode().replace(b"<", b"\\u003c").replace(b">", b"\\u003e")
            line = data.replace(b"&", b"\\u0026").decode("ascii")
            if len(line) > limit:
                raise TooLarge(limit)
        return line
    plain = _PLAIN_RUN.match(line)
    if plain is None or plain.end() != len(line):
        line = _ESCAPE.sub(_as_escape, line)
        if "\\" in line and _MARK.search(line) is not None:
            line = _AFTER_ESCAPE.sub(_escape_marks, line)
        if len(line) > limit:
            raise TooLarge(limit)
    return line


def wrap(
    panel_id: str, panel_name: str, escaped_line: str, *, limits: Limits = DEFAULT_LIMITS
) -> str:
    """An escaped line between the two tags, without a line feed after the closing one (N-1).

    The name is folded and cut to ``limits.panel_name`` code points (N-3). The id is folded too,
    which changes no id that P-2 allows, and never cut.
    """
    few = len(panel_id) + len(panel_name) <= _FEW
    opening = (_opening if few else _opening.__wrapped__)(panel_id, panel_name, limits.panel_name)
    return f"{opening}{escaped_line}\n</panel_content>"


# One panel answers many times, so its tag is kept; what is too long to keep is written each time.
_FEW: Final = 512


@lru_cache(maxsize=256)
def _opening(panel_id: str, panel_name: str, limit: int) -> str:
    package = _attribute(fold(panel_id, len(panel_id)))
    panel = _attribute(fold(panel_name, limit))
    return f'<panel_content package="{package}" panel="{panel}" trust="untrusted">\n'


def _as_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _escape_marks(found: re.Match[str]) -> str:
    return found[1] + _MARK.sub(_as_escape, found[2])


def _attribute(text: str) -> str:
    return _ATTRIBUTE.sub(lambda found: f"&#{ord(found[0])};", text)
