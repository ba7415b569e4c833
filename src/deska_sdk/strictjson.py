"""Strict JSON: what another JSON reader would refuse, or read as something else, is refused here.

::

    from deska_sdk.strictjson import NotJson, loads

    loads('{"limit": 3}')  # {'limit': 3}
    try:
        loads('{"limit": NaN}')
    except NotJson:
        ...
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from deska_sdk import _utf8
from deska_sdk.errors import DeskaError
from deska_sdk.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Callable

_BLANKS: Final = " \t\n\r"

# D-11, lone surrogates: every escape of the text in turn, so that the second half of an escaped
# backslash never counts as the start of one. Only the middle branch has a group.
_ESCAPES: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F])|.)",
    re.DOTALL,
)
# What T-1 puts in the place of a character, as it is written in a string of JSON. Control
# characters stand only between its values, where CR is a blank.
_IN_TEXT: Final = {"\x85": r"\n", "\u2028": r"\n", "\u2029": r"\n", "\u2800": " ", "\r": " "}

# Escapes that stand for a character T-1 knows: all but \" \\ \/ \n \t. Where an escaped backslash
# comes before one of these letters it is a false alarm.
_HIDING: Final = re.compile(rb"\\[bfru]")
# Control characters as an encoder writes them that has a letter of its own for those that stay.
_CONTROL: Final = re.compile(rb"\\u00(?:0[0-8bef]|1[0-9a-f])")
_STRING: Final = re.compile(rb'"[^"]*"')

# Deletes all that says nothing about nesting, and writes both kinds of bracket alike: whether they
# match is the decoder's to judge, and one that does not match is refused there.
_AS_SQUARE: Final = bytes.maketrans(b"{}", b"[]")
_NO_SHAPE: Final = bytes(sorted(set(range(256)) - set(b'{}[]"')))
_NO_OPENING: Final = bytes(sorted(set(range(256)) - set(b"{[")))
_AS_ZERO: Final = bytes.maketrans(b"123456789", b"000000000")


class NotJson(DeskaError):
    """The text is not JSON that this engine reads. It says no more and holds nothing of it."""

    def __init__(self) -> None:
        super().__init__("this is not JSON text that can be read")


def loads(text: str | bytes | bytearray | memoryview, *, limits: Limits = DEFAULT_LIMITS) -> object:
    """The value of a JSON text: dict, list, str, bool, int, float or None (D-11).

    ``text`` is a ``str``, or bytes of UTF-8 without BOM, of at most ``limits.call_text`` code
    points. The last of duplicate keys counts.

    :raises NotJson: for a longer text and for anything that is not strict JSON: ``NaN``,
        ``Infinity``, a number that overflows, an integer of more than ``limits.integer_digits``
        digits, nesting over ``limits.json_nesting``, a lone surrogate, escaped or not.
    :raises TypeError: where ``text`` is none of the four types (a subclass is none of them).
    """
    return decode(as_text(text, limits), limits)


def as_text(text: str | bytes | bytearray | memoryview, limits: Limits = DEFAULT_LIMITS) -> str:
    """The text of a call as ``str``, inside the size limit and free of lone surrogates.

    :raises NotJson: where it is longer, or its bytes are not UTF-8.
    :raises TypeError: where ``text`` is none of the four types.
    """
    decoded: str | None
    if type(text) is str:
        decoded = text
    elif type(text) is bytes or type(text) is bytearray or type(text) is memoryview:
        decoded = _from_utf8(text, limits.call_text)
    else:
        raise TypeError("JSON text is a str, bytes, bytearray or memoryview")
    if decoded is None or len(decoded) > limits.call_text or not _encodable(decoded):
        raise NotJson
    return decoded


def decode(text: str, limits: Limits = DEFAULT_LIMITS) -> object:
    """The value of ``text``, which :func:`as_text` has passed.

    :raises NotJson: see :func:`loads`.
    """
    if not _shallow(text, limits.json_nesting):
        raise NotJson
    value = _judged(text, limits.integer_digits)
    if value is REFUSED:
        raise NotJson
    return value


def decode_for_checking(text: str) -> object:
    """The value of ``text``, which :func:`as_text` has passed, before it is fully judged.

    It may be nested deeper, hold longer integers and infinite numbers than :func:`decode` allows.
    No closed schema accepts any of that, so a caller who checks the value against one has to ask
    :func:`decode` only where the schema refused, to learn whether the text was JSON at all. What a
    key held before its last duplicate is in no value, so it may go unjudged here (D-11).

    :raises NotJson: for what is no JSON, and for lone surrogates, which a schema could accept.
    """
    value = _codec(text, _CHECKING)
    if value is REFUSED:
        raise NotJson
    return value


def read(data: bytes) -> object:
    """The value of UTF-8 text as :func:`decode_for_checking` gives it, or ``REFUSED``.

    This is the short way of texts that begin and end with a brace; it refuses all others.
    """
    try:
        text = data.decode()
        if "\\" in text and not _paired(text):
            return REFUSED
        value, end = scan(text, 0)
    except (ValueError, StopIteration, RecursionError):
        return REFUSED
    return value if end == len(text) else REFUSED


def shows_all(data: bytes, text: str | None = None) -> bool:
    """Whether no string of the JSON text ``data`` can hold something invisible (T-1).

    False may be a false alarm. Control characters are not looked for: in the strings of JSON they
    only stand as escapes, and between its values they hide nothing. ``text`` is the text of which
    ``data`` is the UTF-8, for a caller who has it.

    :raises UnicodeDecodeError: ``data`` is no UTF-8, though that is not always looked at.
    """
    # In a pair of backslashes the second begins no escape, whatever comes next.
    if (92 in data and _HIDING.search(data)) and _HIDING.search(data.replace(b"\\\\", b"")):
        return False
    # A str knows whether it is ASCII; bytes have to be looked through.
    if data.isascii() if text is None else text.isascii():
        return 127 not in data
    return not _utf8.has_invisible(data, text)


def strip_text(data: bytes) -> bytes | None:
    """JSON text of the value of ``data`` with its strings stripped (T-1), or ``None``.

    It may only be asked about what some reader has taken for JSON without invisible characters in
    its keys, and is a guess, to be read again: ``None`` and what is still not clean by
    :func:`shows_all` mean that the strings have to be stripped one by one.

    :raises UnicodeDecodeError: ``data`` is no UTF-8.
    """
    if 92 in data and _HIDING.search(data):
        if b"\\\\" in data:
            return None
        # First the pairs, as in text.strip_invisible.
        data = data.replace(rb"\r\n", rb"\n").replace(rb"\r", rb"\n")
        data = data.replace(rb"\f", rb"\n").replace(rb"\u000b", rb"\n").replace(rb"\b", b"")
        data = _CONTROL.sub(b"", data)
    text = data.decode()
    for character in _utf8.invisible_in(data, text):
        text = text.replace(character, _IN_TEXT.get(character, ""))
    data = text.encode()
    return data if shows_all(data) else None


# -- what is judged on the whole text, before anything is decoded -------------------------------


def _from_utf8(data: bytes | bytearray | memoryview, limit: int) -> str | None:
    try:
        # A code point has at most four bytes: what is longer is not decoded at all.
        if memoryview(data).nbytes > 4 * limit:
            return None
        return bytes(data).decode() if isinstance(data, memoryview) else data.decode()
    except ValueError:  # no UTF-8; the error holds the bytes
        return None


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:  # only a lone surrogate has no UTF-8
        return False
    return True


def _shallow(text: str, limit: int) -> bool:
    """Whether the nesting stays within ``limit``, told without recursion."""
    data = text.encode()
    if len(data.translate(None, _NO_OPENING)) <= limit:
        return True
    if b"\\" in data:
        # An escaped quote ends no string. Pairs go first: the second of two escapes nothing.
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    shape = data.translate(_AS_SQUARE, _NO_SHAPE)
    shape = shape.replace(b'""', b"")
    if b'"' in shape:
        shape = _STRING.sub(b"", shape)
    # Each round takes away the innermost pairs, that is exactly one level everywhere. What is left
    # at the end is too deep, or its brackets do not match; both are refused.
    for _ in range(limit):
        if not shape:
            return True
        shape = shape.replace(b"[]", b"")
    return not shape


def _paired(text: str) -> bool:
    """Whether every escaped surrogate has its other half."""
    # The first test is by far the quickest, and enough for most texts.
    if "\\" not in text or ("\\ud" not in text and "\\uD" not in text):
        return True
    return not any(escape.lastindex for escape in _ESCAPES.finditer(text))


def _judged(text: str, digits: int) -> object:
    """The value of ``text``, with its numbers judged, or ``REFUSED``."""
    # A run of digits that is too long covers at least so many of every few characters, hence most
    # texts need not be looked at as a whole.
    step = max(1, (digits + 1) // 3)
    seen = b"0" * ((digits + 1) // step)
    if seen in text[step - 1 :: step].encode().translate(_AS_ZERO):
        run = b"0" * (digits + 1)
        if run in text.encode().translate(_AS_ZERO):
            return _codec(text, _careful(digits))
    return _codec(text, _STRICT)


# -- the codec: the one place where another JSON decoder can be put ------------------------------

#: What stands for the value of a text that is refused.
REFUSED: Final = object()


class _UnreadableError(ValueError):
    """Ends decoding from inside a hook; it never leaves this module."""


def _codec(text: str, decoder: json.JSONDecoder) -> object:
    """The value of ``text``, or ``REFUSED``.

    The decoder's own error holds the whole text, so it is dropped here and never chained.
    """
    if not _paired(text):
        return REFUSED
    body = text.strip(_BLANKS)
    try:
        value, end = decoder.raw_decode(body)
    except (ValueError, RecursionError):
        return REFUSED
    return value if end == len(body) else REFUSED


def _finite(digits: str) -> float:
    number = float(digits)
    if isfinite(number):
        return number
    raise _UnreadableError


def _constant(_word: str) -> object:
    raise _UnreadableError


def _careful(limit: int) -> json.JSONDecoder:
    """A decoder that counts digits, for a text that holds a long run of them somewhere."""

    def whole(digits: str) -> int:
        if len(digits) - digits.startswith("-") > limit:
            raise _UnreadableError
        return int(digits)

    return json.JSONDecoder(parse_float=_finite, parse_int=whole, parse_constant=_constant)


_STRICT: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_constant)
_CHECKING: Final = json.JSONDecoder(parse_constant=_constant)
#: The value at a place of a text without escapes, and where it ends. It raises ``StopIteration`` as
#: well as ``ValueError``, which hold the text. (The types of the standard library do not know it.)
scan: Final[Callable[[str, int], tuple[Any, int]]] = getattr(_CHECKING, "scan_once")  # noqa: B009
