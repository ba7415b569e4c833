"""Which libraries read and write JSON: the standard one, or msgspec and orjson where they are.

::

    from deska_sdk.codec import find

    find("stdlib").dumps({"a": 1})  # b'{"a":1}'
    find("speed")  # the other one; it needs the extra deska-sdk[speed]

A codec only accepts. What it has no answer for (``REFUSED``, ``None``) may be fine nonetheless:
whoever asked then reads or writes it with :mod:`deska_sdk.strictjson` and
:mod:`deska_sdk._plain`, which decide what is wrong and say so. So both codecs give the same
values and the same refusals, but for the spelling of floats below 0.0001, and for what a duplicate
key held before it was overwritten (D-11).
"""

from __future__ import annotations

import json
from functools import cache, partial
from importlib import import_module
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from attrs import field, frozen

from deska_sdk.strictjson import REFUSED, read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: ``auto`` is ``speed`` where its libraries can be imported, else ``stdlib``.
Codec: TypeAlias = Literal["auto", "stdlib", "speed"]

_LIBRARIES: Final = ("msgspec", "orjson")


@frozen
class Engine:
    """One codec. Both have the same members."""

    name: Literal["stdlib", "speed"]
    #: From UTF-8 JSON to its value, or ``REFUSED``. Never laxer than strict JSON, but that an
    #: integer of more than 64 bits may come as a float, which no schema accepts (D-8).
    loads: Callable[[bytes], Any] = field(repr=False)
    #: From a JSON value that was checked to its compact line in UTF-8, or ``None``. Objects of
    #: other types than the six are refused or written, so they have to be kept out before.
    dumps: Callable[[Any], bytes | None] = field(repr=False)
    #: orjson's own ``loads``, for ``speed``: it raises ``ValueError`` where it refuses.
    parse: Any = field(default=None, repr=False)
    #: orjson's ``dumps`` for ``speed``: it raises ``TypeError`` where it refuses.
    write: Any = field(default=None, repr=False)
    #: The module msgspec, for ``speed``.
    msgspec: Any = field(default=None, repr=False)


def find(codec: Codec = "auto") -> Engine:
    """The codec of that name. Its libraries are imported here, when one is first asked for.

    :raises ValueError: there is no codec of that name.
    :raises ImportError: for ``speed``, where msgspec or orjson cannot be imported.
    """
    if codec not in ("auto", "stdlib", "speed"):
        raise ValueError("a codec is auto, stdlib or speed")
    if codec == "stdlib":
        return STDLIB
    engine = _speed()
    if engine is not None:
        return engine
    if codec == "speed":
        raise ImportError('the codec "speed" needs msgspec and orjson: install deska-sdk[speed]')
    return STDLIB


# All that the encoder would look out for was looked at before it runs.
_encoder: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
)
#: From a JSON value that was checked to its compact line, whatever it holds.
encode: Final = _encoder.encode


def _dumps(value: Any) -> bytes | None:
    if _write is None or _write_long is None:
        encoded = encode(value)
    else:
        encoded = "".join((_write_long if _is_wordy(value) else _write)(value, 0))
    try:
        return encoded.encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8
        return None


# The standard encoder looks at each character twice. Most long texts need no escape, which one
# pass over their bytes tells much quicker; short ones are better left to it.
_LONG: Final = 128
_NO_ESCAPE: Final = bytes(sorted(set(range(256)) - {*range(0x20), 0x22, 0x5C}))


def _quoted(text: str) -> str:
    if len(text) > _LONG:
        data = text.encode("utf-8", "surrogatepass")
        if not data.translate(None, _NO_ESCAPE):
            return f'"{text}"'
    return encode_basestring(text)


def _is_wordy(value: Any) -> bool:
    """Whether there is a long text at the beginning of some part of ``value``."""
    if type(value) is str:
        return len(value) > 2 * _LONG
    if type(value) is list:
        items = cast("Sequence[Any]", value)
        return len(items) > 0 and _is_wordy(items[0])
    return isinstance(value, dict) and any(map(_is_wordy, cast("dict[str, Any]", value).values()))


def _refuse(_value: object) -> Any:
    raise TypeError("no JSON value")


# The part of the encoder that is written in C, made once and not for each value, and once more
# with another way to write a text. What cannot be had on every Python is done without.
_make: Any = getattr(import_module("json.encoder"), "c_make_encoder", None)


def _writer(quoted: Callable[[str], str]) -> Callable[[Any, int], tuple[str, ...]] | None:
    if _make is None:
        return None
    made: Callable[[Any, int], tuple[str, ...]] = _make(
        markers=None, default=_refuse, encoder=quoted, indent=None, key_separator=":",
        item_separator=",", sort_keys=False, skipkeys=False, allow_nan=False,
    )  # fmt: skip
    return made


_write: Final = _writer(encode_basestring)
_write_long: Final = _writer(_quoted)


STDLIB: Final = Engine("stdlib", read, _dumps)


@cache
def _speed() -> Engine | None:
    try:
        msgspec, orjson = (import_module(library) for library in _LIBRARIES)
    except ImportError:
        return None
    parse: Callable[[bytes], Any] = orjson.loads
    # Of a subclass orjson would write what it takes it for; it is refused instead (D-8).
    exact: int = (
        orjson.OPT_PASSTHROUGH_SUBCLASS
        | orjson.OPT_PASSTHROUGH_DATACLASS
        | orjson.OPT_PASSTHROUGH_DATETIME
    )

    def loads(data: bytes) -> Any:
        try:
            return parse(data)
        except ValueError:
            return REFUSED

    write: Callable[[Any], bytes] = partial(orjson.dumps, option=exact)

    def dumps(value: Any) -> bytes | None:
        try:
            return write(value)
        except TypeError:
            return None

    return Engine("speed", loads, dumps, parse, write, msgspec)
