"""What is wrong with a package (:class:`Problem`) and with a value (:class:`Fault`).

Both are data: a code or rule, a place as a JSON Pointer, and one sentence made from them.
"""

from __future__ import annotations

from attrs import field, frozen

from deska_sdk._words import Word
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.text import escape_invisible


@frozen(kw_only=True)
class Problem:
    """One thing wrong with a package, or one warning about it (P-7)."""

    #: A stable word for programs, such as ``unknown_key``.
    code: str
    #: JSON Pointer (RFC 6901) of the offending value; ``""`` is the root.
    where: str
    #: One sentence an author can fix the package by.
    sentence: str
    #: The offending keyword or value, cut and escaped; ``None`` where there is none.
    quoted: str | None = None
    #: One-based line and column (in code points), when the source was text.
    line: int | None = None
    column: int | None = None


class Rule(Word):
    """The kinds of fault a value can have (D-7, D-8, D-11)."""

    UNKNOWN_PROPERTY = "unknown_property"
    MISSING_PROPERTY = "missing_property"
    WRONG_TYPE = "wrong_type"
    TOO_LONG = "too_long"
    TOO_MANY_ITEMS = "too_many_items"
    NOT_IN_ENUM = "not_in_enum"
    FRACTION = "fraction"
    OUT_OF_RANGE = "out_of_range"
    NOT_FINITE = "not_finite"
    NOT_JSON = "not_json"


@frozen(kw_only=True)
class Fault:
    """One way in which a value does not fit its schema; it never holds the value (D-7)."""

    #: JSON Pointer; for an unknown or missing property, the object that holds or lacks it.
    where: str
    rule: Rule
    #: ``maxLength``, ``maxItems``, or the bound that was passed.
    limit: int | float | None = None
    #: The type the schema wants, where the type is wrong.
    expected: str | None = None
    #: The missing property's name, or the unknown one's where it is a token (D-2). Hidden from
    #: ``repr``: an unknown key is the agent's own text.
    name: str | None = field(default=None, repr=False)
    #: True where JSON text stands in the place of an object.
    text_for_object: bool = False

    @property
    def sentence(self) -> str:
        """The fault in the host's words, for the agent (A-9)."""
        place = f"at {self.where}" if self.where else "at the root"
        match self.rule:
            case Rule.UNKNOWN_PROPERTY if self.name is None:
                return f"unknown property {place}"
            case Rule.UNKNOWN_PROPERTY:
                return f"unknown property {self.name!r} {place}"
            case Rule.MISSING_PROPERTY:
                return f"missing required property {self.name!r} {place}"
            case Rule.WRONG_TYPE if self.text_for_object:
                return f"expected an object {place}: send an object, not text"
            case Rule.WRONG_TYPE:
                return f"expected {_ARTICLE.get(self.expected or '', self.expected)} {place}"
            case Rule.TOO_LONG:
                return f"text longer than {self.limit} characters {place}"
            case Rule.TOO_MANY_ITEMS:
                return f"more than {self.limit} items {place}"
            case Rule.NOT_IN_ENUM:
                return f"not one of the schema's enum values {place}"
            case Rule.FRACTION:
                return f"a fraction where an integer is due {place}"
            case Rule.OUT_OF_RANGE:
                return f"number out of range (limit {self.limit}) {place}"
            case Rule.NOT_FINITE:
                return f"a number that is not finite {place}"
            case Rule.NOT_JSON:
                return "the input is not JSON text that can be read"


_ARTICLE = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
}


def pointer(where: str, key: str | int) -> str:
    """The JSON Pointer of ``key`` inside the value at ``where`` (RFC 6901)."""
    return f"{where}/{str(key).replace('~', '~0').replace('/', '~1')}"


def quote(text: str, limit: int = DEFAULT_LIMITS.quoted) -> str:
    """``text`` cut to ``limit`` code points, then with invisible characters escaped (P-7)."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return escape_invisible(cut)
