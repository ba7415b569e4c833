"""Values held against a schema: the compiled or interpreted checker behind one small class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias

from deska_sdk.errors import InvalidValue, PackageError
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.schema.checked import HIDING_ESCAPE, Checked
from deska_sdk.schema.compile import Given, compilable, compiled
from deska_sdk.schema.interpret import interpreter
from deska_sdk.schema.nodes import LARGEST
from deska_sdk.schema.parse import parse_schema
from deska_sdk.schema.tell import NOT_JSON, tell
from deska_sdk.strictjson import NotJson, as_text, decode, decode_for_checking

if TYPE_CHECKING:
    from deska_sdk.schema.checked import Slot
    from deska_sdk.schema.compile import Check
    from deska_sdk.schema.nodes import Node, Side

#: ``compiled`` runs a generated function; ``interpreted`` is slower and never calls ``exec``.
Kind: TypeAlias = Literal["compiled", "interpreted"]

#: How many digits the largest integer has that a schema accepts (D-8).
_LONGEST: Final = len(str(LARGEST))

JsonText: TypeAlias = "str | bytes | bytearray | memoryview"


def compile_schema(
    schema: object,
    side: Side = "input",
    *,
    limits: Limits = DEFAULT_LIMITS,
    checker: Kind = "compiled",
) -> Checker:
    """The checker for ``schema``, which stands in an action's ``input`` or ``output``.

    :raises PackageError: where the schema is not one of the dialect; ``problems`` holds all that
        is wrong with it (D-1…D-6).
    """
    node, problems = parse_schema(schema, side, limits=limits)
    if node is None:
        raise PackageError(problems)
    return Checker(node, side, limits=limits, checker=checker)


class Checker:
    """Checks values against one schema. Making one is cheap: code is generated at first use."""

    __slots__ = ("_functions", "_judges_later", "_kind", "limits", "node", "side")

    def __init__(
        self,
        node: Node,
        side: Side,
        *,
        limits: Limits = DEFAULT_LIMITS,
        checker: Kind = "compiled",
    ) -> None:
        if side not in ("input", "output") or checker not in ("compiled", "interpreted"):
            raise ValueError("a side is input or output, a checker is compiled or interpreted")
        self.node = node
        self.side: Side = side
        self.limits = limits
        self._kind: Kind = checker
        self._functions: dict[Given, Check] = {}
        # With these limits a schema accepts no deeper value and no longer integer than JSON text
        # may hold, so an accepted text was JSON. Other limits have every text judged first.
        self._judges_later = (
            limits.schema_levels <= limits.json_nesting and limits.integer_digits >= _LONGEST
        )

    def __repr__(self) -> str:
        return f"<Checker: {self.side}, {self._kind}>"

    def check(self, value: object) -> dict[str, Any]:
        """``value`` as it is handed on: new, checked and stripped (T-3, D-8, D-9).

        :raises InvalidValue: with at most ``limits.faults`` faults, in order (D-7).
        """
        checked = self.examine(value)
        checked.strip()
        return checked.value

    def check_json(self, text: JsonText) -> dict[str, Any]:
        """The same for JSON text, a ``str`` or UTF-8 (D-11).

        :raises InvalidValue: as :meth:`check`; for what is not JSON with the one fault
            ``not_json``.
        """
        checked = self.examine_json(text)
        checked.strip()
        return checked.value

    def examine(self, value: object) -> Checked:
        """``value`` new and checked, with the places that are still to be filled.

        :raises InvalidValue: with at most ``limits.faults`` faults, in order (D-7).
        """
        return self._accept(value, Given.OBJECT)

    def examine_json(self, text: JsonText) -> Checked:
        """The same for JSON text, a ``str`` or UTF-8 (D-11).

        :raises InvalidValue: as :meth:`examine`; for what is not JSON with the one fault
            ``not_json``.
        :raises TypeError: where ``text`` is no text at all.
        """
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
        function = self._functions.get(given) or self._prepare(given)
        images: list[Slot] = []
        counters: list[Slot] = []
        new = function(value, images, counters)
        if new is None:
            self._refuse(value, text)
        return Checked(new, images, counters, self.side)

    def _prepare(self, given: Given) -> Check:
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
