"""Values held against a schema: the compiled or interpreted checker behind one small class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias

from deska_sdk.codec import Codec, find
from deska_sdk.errors import InvalidValue, PackageError
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.schema.checked import HIDING_ESCAPE, Checked
from deska_sdk.schema.compile import Given, compilable, compiled
from deska_sdk.schema.fast import reader
from deska_sdk.schema.interpret import interpreter
from deska_sdk.schema.nodes import LARGEST, ObjectNode
from deska_sdk.schema.objects import by_line
from deska_sdk.schema.parse import parse_schema
from deska_sdk.schema.sent import writable, writer
from deska_sdk.schema.source import asking, cannot_tell, has_images, has_lists
from deska_sdk.schema.tell import NOT_JSON, tell
from deska_sdk.strictjson import (
    REFUSED,
    NotJson,
    as_text,
    decode,
    decode_for_checking,
)
from deska_sdk.text import strip_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.schema.checked import Slot
    from deska_sdk.schema.compile import Check
    from deska_sdk.schema.nodes import Node, Side

#: ``compiled`` runs a generated function; ``interpreted`` is slower and never calls ``exec``.
Kind: TypeAlias = Literal["compiled", "interpreted"]

#: How many digits the largest integer has that a schema accepts (D-8).
_LONGEST: Final = len(str(LARGEST))

Quick: TypeAlias = "Callable[[Any], dict[str, Any] | None]"
JsonText: TypeAlias = "str | bytes | bytearray | memoryview"


def compile_schema(
    schema: object,
    side: Side = "input",
    *,
    limits: Limits = DEFAULT_LIMITS,
    checker: Kind = "compiled",
    codec: Codec = "auto",
) -> Checker:
    """The checker for ``schema``, which stands in an action's ``input`` or ``output``.

    :raises PackageError: where the schema is not one of the dialect; ``problems`` holds all that
        is wrong with it (D-1…D-6).
    :raises ImportError: ``codec`` is ``speed`` and its libraries are not installed.
    """
    node, problems = parse_schema(schema, side, limits=limits)
    if node is None:
        raise PackageError(problems)
    return Checker(node, side, limits=limits, checker=checker, codec=codec)


class Checker:
    """Checks values against one schema. Making one is cheap: code is generated at first use."""

    __slots__ = (
        "_copy", "_engine", "_functions", "_judges_later", "_kind", "_read", "check", "check_json",
        "limits", "line", "node", "side",
    )  # fmt: skip

    # The quick ways are made when they are first asked for, by ``__getattr__``, and then stand here
    # themselves: a method around them would cost a good part of a small call.

    #: A value as it is handed on: new, checked and stripped (T-3, D-8, D-9). Raises
    #: ``InvalidValue`` with at most ``limits.faults`` faults, in order (D-7).
    check: Callable[[object], dict[str, Any]]
    #: The same for JSON text, a ``str`` or UTF-8 (D-11). For what is not JSON the one fault is
    #: ``not_json``; for what is no text it raises ``TypeError``.
    check_json: Callable[[JsonText], dict[str, Any]]
    #: The compact JSON of an output's value in UTF-8, where that is all there is to do. ``None``
    #: means no more than that :meth:`examine` has to be asked: the value may not fit, have images
    #: or floats without a fraction, or be too large to be written before it is measured. A line
    #: may hold something invisible, and be longer than an answer may be.
    line: Callable[[object], bytes | None]
    _read: Quick
    #: The function for :attr:`Given.OBJECT`.
    _copy: Check

    def __init__(
        self,
        node: Node,
        side: Side,
        *,
        limits: Limits = DEFAULT_LIMITS,
        checker: Kind = "compiled",
        codec: Codec = "auto",
    ) -> None:
        if side not in ("input", "output") or checker not in ("compiled", "interpreted"):
            raise ValueError("a side is input or output, a checker is compiled or interpreted")
        self.node = node
        self.side: Side = side
        self.limits = limits
        self._kind: Kind = checker
        self._engine = find(codec)
        self._functions: dict[Given, Check] = {}
        # With these limits a schema accepts no deeper value and no longer integer than JSON text
        # may hold, so an accepted text was JSON. Other limits have every text judged first.
        self._judges_later = (
            limits.schema_levels <= limits.json_nesting and limits.integer_digits >= _LONGEST
        )

    def __repr__(self) -> str:
        return f"<Checker: {self.side}, {self._kind}>"

    def examine(self, value: object) -> Checked:
        """``value`` new and checked, with the places that are still to be filled.

        :raises InvalidValue: with at most ``limits.faults`` faults, in order (D-7).
        """
        images: list[Slot] = []
        counters: list[Slot] = []
        new = self._copy(value, images, counters)
        if new is None:
            self._refuse(value, None)
        return Checked(new, images, counters, self.side)

    def examine_json(self, text: JsonText) -> Checked:
        """The same for JSON text, a ``str`` or UTF-8 (D-11).

        :raises InvalidValue: as :meth:`examine`; for what is not JSON with the one fault
            ``not_json``.
        :raises TypeError: where ``text`` is no text at all.
        """
        new = self._read(text)
        if new is None:
            return self._examine_slowly(text)
        images: list[Slot] = []
        counters: list[Slot] = []
        # What was accepted is accepted again, and this time its places are noted.
        self._function(Given.CLEAN)(new, images, counters)
        return Checked(new, images, counters, self.side)

    def strip_line(self, data: bytes) -> bytes | None:
        """A line of :attr:`line` with its strings stripped (T-3), or ``None`` if it cannot tell."""
        value = self._engine.loads(data)
        return None if value is REFUSED else self._engine.dumps(strip_json(value))

    # -- the quick ways: they only accept, and leave all else to the long way ----------------------

    def __getattr__(self, name: str) -> Any:
        make = {
            "check": self._make_check,
            "check_json": self._make_check_json,
            "line": self._make_line,
            "_read": self._make_read,
            "_copy": self._make_copy,
        }.get(name)
        if make is None:
            raise AttributeError(name=name, obj=self)
        made: Any = make()
        setattr(self, name, made)
        return made

    def _make_check(self) -> Callable[[object], dict[str, Any]]:
        node, engine = self.node, self._engine
        if not self._is_quick or self.side != "input":
            return self._check_slowly
        plain = asking(compiled(node, "input", Given.OBJECT, places=False), self._check_slowly)
        if engine.msgspec and isinstance(node, ObjectNode) and has_lists(node) and writable(node):
            short = by_line(node, engine)
            return lambda value: short(value) or plain(value)
        return plain

    def _make_check_json(self) -> Callable[[JsonText], dict[str, Any]]:
        read = self._reader()
        return asking(read, self._check_json_slowly) if read else self._check_json_slowly

    def _make_copy(self) -> Check:
        return self._function(Given.OBJECT)

    def _make_read(self) -> Quick:
        return self._reader() or cannot_tell

    def _reader(self) -> Quick | None:
        node = self.node
        if not (self._is_quick and self._judges_later and self.side == "input"):
            return None
        if not isinstance(node, ObjectNode):
            return None
        return reader(node, self._engine, self.limits.call_text)

    def _make_line(self) -> Callable[[object], bytes | None]:
        node = self.node
        if not (self._is_quick and self.side == "output" and isinstance(node, ObjectNode)):
            return cannot_tell
        if has_images(node) or not writable(node):
            return cannot_tell
        return writer(node, self._engine)

    @property
    def _is_quick(self) -> bool:
        return self._kind == "compiled" and compilable(self.node)

    # -- the long way, which decides ---------------------------------------------------------------

    def _check_slowly(self, value: object) -> dict[str, Any]:
        checked = self.examine(value)
        checked.strip()
        return checked.value

    def _check_json_slowly(self, text: JsonText) -> dict[str, Any]:
        checked = self._examine_slowly(text)
        checked.strip()
        return checked.value

    def _examine_slowly(self, text: JsonText) -> Checked:
        plain: str | None = None
        value: object = None
        try:
            plain = as_text(text, self.limits)
            value = decode_for_checking(plain) if self._judges_later else decode(plain, self.limits)
        except NotJson:
            plain = None
        if plain is None:  # raised out here, so that no context comes along
            raise InvalidValue((NOT_JSON,))
        clean = self.side == "input" and _is_clean(plain)
        return self._accept(value, Given.CLEAN if clean else Given.PARSED, plain)

    def _accept(self, value: object, given: Given, text: str | None = None) -> Checked:
        function = self._function(given)
        images: list[Slot] = []
        counters: list[Slot] = []
        new = function(value, images, counters)
        if new is None:
            self._refuse(value, text)
        return Checked(new, images, counters, self.side)

    def _function(self, given: Given) -> Check:
        function = self._functions.get(given)
        if function is not None:
            return function
        if self._kind == "compiled" and compilable(self.node):
            function = compiled(self.node, self.side, given)
        else:
            function = interpreter(self.node, self.side)
        self._functions[given] = function
        return function

    def _refuse(self, value: object, text: str | None) -> NoReturn:
        if text is not None and not _is_json(text, self.limits):
            raise InvalidValue((NOT_JSON,))
        faults, more = tell(self.node, value, self.side, self.limits)
        if not faults:
            raise RuntimeError(
                "a checker refused a value in which no fault is found: a mistake in deska_sdk"
            )
        raise InvalidValue(faults, more=more)


def _is_json(text: str, limits: Limits) -> bool:
    try:
        decode(text, limits)
    except NotJson:
        return False
    return True


def _is_clean(text: str) -> bool:
    """Whether no string of this JSON text can hold something invisible (T-1).

    The text was decoded before, so a control character in a string of it is written as an escape.
    """
    return (
        text.isascii() and "\x7f" not in text and not ("\\" in text and HIDING_ESCAPE.search(text))
    )
