"""JSON text straight to its checked and stripped value, for the texts that allow a short way.

What is quick is decided on the bytes: a text in which nothing invisible can stand needs no strip,
and then a decoder does the rest. With the standard library that is its scanner and the generated
checker. With msgspec it is one of two ways:

* many small values: a decoder of typed dicts. It passes over properties that it does not know, so
  they are counted. Each property of a text has a colon; where the text has as many colons as the
  value has properties, none was passed over and none came twice. Else a second decoder, which
  refuses unknown properties, has to accept as well.
* few values with much text, where counting colons would be slow: orjson, then ``convert``, which
  refuses unknown properties.

Both leave floats without a fraction as they are (D-8), which :mod:`deska_sdk.schema.finish` mends.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from deska_sdk.schema import finish
from deska_sdk.schema.compile import Given, compiled
from deska_sdk.schema.source import cannot_tell, has_images, has_lists, has_rows, integer
from deska_sdk.schema.typed import Types, typable
from deska_sdk.strictjson import REFUSED, scan, shows_all, strip_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.codec import Engine
    from deska_sdk.schema.compile import Check
    from deska_sdk.schema.nodes import ObjectNode

    Value = dict[str, Any]
    #: From a text to its value. What it cannot tell it asks the second argument, which by default
    #: knows nothing: see :func:`deska_sdk.schema.source.asking`.
    Read = Callable[..., Value | None]

#: Up to so many bytes colons are counted, whatever the text is made of.
_SMALL: Final = 512

#: More quotes than this among the first bytes make a text of many small values.
_MANY: Final = 32


@lru_cache(maxsize=512)
def reader(
    node: ObjectNode, engine: Engine, most: int, *, small: int = _SMALL, many: int = _MANY
) -> Read:
    """A function from the JSON text of an input to its new value, or ``None`` if it cannot tell.

    It takes a ``str`` or bytes of UTF-8, and refuses all else and what is longer than ``most``.
    """
    if engine.msgspec is not None and typable(node):
        return _by_types(node, engine, most, small, many)
    return _by_standard(node, engine, most)


class _Rest:
    """The texts that are not of plain ASCII."""

    def __init__(
        self, node: ObjectNode, engine: Engine, most: int, clean: Callable[[bytes], Value | None]
    ) -> None:
        self.node = node
        self.engine = engine
        self.most = most
        #: Reads a text in which nothing invisible can stand.
        self.clean = clean
        self.fits = compiled(node, "input", Given.CLEAN, places=False)
        self.strips: Check | None = None
        self.rows, self.lists = has_rows(node), has_lists(node)
        self.images = has_images(node)

    def other(self, text: Any, refuse: Callable[[Any], Any]) -> Value | None:
        """For what is no bytes."""
        new: Value | None = None
        if type(text) is str and len(text) <= self.most:
            try:
                new = self.read(text.encode())
            except UnicodeEncodeError:  # a lone surrogate, which is for the long way to refuse
                new = None
        return refuse(text) if new is None else new

    def read(self, data: bytes) -> Value | None:
        """For all other bytes."""
        if len(data) > self.most:
            return None
        try:
            # Where there are escapes but few values, these are looked at; else the whole text.
            if (self.rows or 92 not in data) and shows_all(data):
                return self.clean(data)
        except UnicodeDecodeError:
            return None
        value = self.engine.loads(data)
        if value is REFUSED:
            return None
        if not self.images and (self.rows or (self.lists and 92 not in data)):
            new = self.as_one(data, value)
            if new is not None:
                return new
        if self.strips is None:
            self.strips = compiled(self.node, "input", Given.PARSED, places=False)
        return self.strips(value)

    def as_one(self, data: bytes, value: Any) -> Value | None:
        """``value``, of which ``data`` is the text, stripped by stripping the whole text."""
        # Escapes hide what they stand for; in the value as it is written they are few.
        line = self.engine.dumps(value) if rb"\u" in data else data
        if line is None or self.fits(value) is None:
            return None
        if shows_all(line):
            new: Value = value
            return new
        # It fits as it was sent, so its keys are as they should be (T-3).
        line = strip_text(line)
        return None if line is None else self.clean(line)


# -- with the standard library -------------------------------------------------------------------


def _by_standard(node: ObjectNode, engine: Engine, most: int) -> Read:
    fits = compiled(node, "input", Given.CLEAN, places=False)

    def clean(data: bytes) -> Value | None:
        value = engine.loads(data)
        return None if value is REFUSED else fits(value)

    rest = _Rest(node, engine, most, clean)

    def read(data: Any, refuse: Callable[[Any], Any] = cannot_tell) -> Value | None:
        if type(data) is not bytes:
            return rest.other(data, refuse)
        new: Value | None = None
        if len(data) <= most and data.isascii() and 92 not in data and 127 not in data:
            text = data.decode()
            try:
                value, end = scan(text, 0)
            except (ValueError, StopIteration, RecursionError):
                value, end = None, -1
            if end == len(text):
                new = fits(value)
        else:
            new = rest.read(data)
        return refuse(data) if new is None else new

    return read


# -- with msgspec --------------------------------------------------------------------------------

_BY_TYPES: Final = """\
def read(data, refuse=cannot_tell):
    if type(data) is not bytes: return other(data, refuse)
    if len(data) <= most and data.isascii() and 92 not in data and 127 not in data:
        try:
            if len(data) <= {small} or data.count(b'"', 0, {first}) > {many}:
                x0 = typed(data)
                {count}
                return x0
            x0 = parse(data)
            convert(x0, struct)
            {mend}
            return x0
        except Refusal: pass
        return refuse(data)
    x0 = rest(data)
    return refuse(data) if x0 is None else x0
def clean(data):
    try:
        if 92 not in data and (len(data) <= {small} or data.count(b'"', 0, {first}) > {many}):
            x0 = typed(data)
            if data.count(b':') != finish(x0): closed(data)
            return x0
        x0 = parse(data)
        convert(x0, struct)
        {mend}
        return x0
    except Refusal: return None
"""


def source(node: ObjectNode, small: int = _SMALL, many: int = _MANY) -> str:
    """The text of the functions ``read``, ``clean`` and ``finish``."""
    lines, surely = finish.steps(node)
    count = [f"n = {surely}", *lines] if lines else []
    count.append(f"if data.count(b':') != {'n' if lines else surely}: closed(data)")
    return _BY_TYPES.format(
        count=("\n" + " " * 16).join(count),
        mend="finish(x0)" if lines else "pass",
        small=integer(small),
        many=integer(many),
        first=integer(_SMALL),
    ) + finish.source(node)


def _by_types(node: ObjectNode, engine: Engine, most: int, small: int, many: int) -> Read:
    msgspec: Any = engine.msgspec
    types = Types(msgspec)
    struct = types.struct(node)
    names: dict[str, Any] = {
        **finish.NAMES,
        "bytes": bytes,
        "cannot_tell": cannot_tell,
        "closed": msgspec.json.Decoder(struct).decode,
        "convert": msgspec.convert,
        "most": most,
        "parse": engine.parse,
        "Refusal": (msgspec.MsgspecError, ValueError),
        "struct": struct,
        "typed": msgspec.json.Decoder(types.typed_dict(node)).decode,
    }
    exec(compile(source(node, small, many), "<deska schema>", "exec"), names)  # noqa: S102
    rest = _Rest(node, engine, most, names["clean"])
    # A ``str`` is read as its UTF-8, by the same function.
    names.update(rest=rest.read, other=rest.other)
    read: Read = names["read"]
    return read
