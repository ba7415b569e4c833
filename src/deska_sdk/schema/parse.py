"""From a schema as it was read to nodes, or to every problem that keeps it from being one.

The dialect is small on purpose: whatever is not named here refuses the package (D-6), and nothing
is coerced into fitting (D-3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.problems import Problem, pointer, quote
from deska_sdk.schema.nodes import (
    LARGEST,
    RESERVED,
    ArrayNode,
    BooleanNode,
    EnumNode,
    Node,
    NumberNode,
    ObjectNode,
    Property,
    Side,
    StringNode,
    is_token,
)
from deska_sdk.schema.raw import Members, in_range, members, shown
from deska_sdk.text import has_invisible

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The codes that mean "a token breaks D-2". An action with one of them is not listed (L-4).
TOKEN_CODES = frozenset({"not_a_token", "reserved_name"})

#: D-4: the id of a kept image has 36 characters, so a shorter text could never hold one.
_FILE_ID = 36

#: What each type may carry, in the order an author reads about it.
_KEYWORDS: dict[str, tuple[str, ...]] = {
    "object": ("type", "properties", "required", "description"),
    "array": ("type", "items", "maxItems", "description"),
    "string": ("type", "enum", "maxLength", "format", "description"),
    "integer": ("type", "minimum", "maximum", "description"),
    "number": ("type", "minimum", "maximum", "description"),
    "boolean": ("type", "description"),
}
_ALL_KEYWORDS = tuple(dict.fromkeys(word for words in _KEYWORDS.values() for word in words))

_NOTHING: Final = object()


def parse_schema(
    schema: object, side: Side, *, limits: Limits = DEFAULT_LIMITS, where: str = ""
) -> tuple[Node | None, tuple[Problem, ...]]:
    """The node that ``schema`` describes, and all problems in document order (D-1…D-6).

    ``schema`` is any value; ``side`` says whether it stands in ``input`` or ``output`` (D-4);
    ``where`` is the JSON Pointer of the schema in its document and begins every problem's place.

    The node is ``None`` exactly when there is a problem. Nothing is raised, whatever the value.
    """
    reader = _Reader(side, limits)
    node = reader.node(schema, where, 1)
    problems = tuple(reader.problems)
    return (None if problems else node), problems


class _Reader:
    """One pass over one schema. Every method adds the problems it sees and goes on."""

    def __init__(self, side: Side, limits: Limits) -> None:
        self.side = side
        self.limits = limits
        self.problems: list[Problem] = []

    def problem(self, code: str, where: str, sentence: str, value: object = _NOTHING) -> None:
        quoted = None if value is _NOTHING else quote(shown(value), self.limits.quoted)
        self.problems.append(Problem(code=code, where=where, sentence=sentence, quoted=quoted))

    # -- nodes ---------------------------------------------------------------------------------

    def node(self, schema: object, where: str, level: int) -> Node | None:
        if level > self.limits.schema_levels:
            # D-1. Nothing below is read: this also ends a schema that contains itself.
            self.problem(
                "too_deep",
                where,
                f"a schema has at most {self.limits.schema_levels} levels, and this is one more",
            )
            return None
        if type(schema) is not dict:
            self.problem("not_a_schema", where, "a schema is an object with a type", schema)
            return None
        items = cast("dict[object, object]", schema).items()
        raw = members(cast("object", schema))
        name = raw.get("type")
        kind = name if type(name) is str and name in _KEYWORDS else None
        if level == 1 and kind is not None and kind != "object":
            self.problem(
                "root_not_object",
                where,
                f"the root of {self.side} is an object",
                kind,
            )
        self._missing(raw, kind, where)
        return self._keywords(items, raw, kind, where, level)

    def _missing(self, raw: Members, kind: str | None, where: str) -> None:
        """Report the required keywords that are not there; they have no place of their own."""
        wanted: tuple[str, ...] = ()
        if "type" not in raw:
            wanted = ("type",)
        elif kind == "array":
            wanted = ("items", "maxItems")
        elif kind == "string" and "enum" not in raw:
            wanted = ("maxLength",)
        for word in wanted:
            if word not in raw:
                self.problem("missing_keyword", where, f"{word} is missing here", word)

    def _keywords(
        self,
        items: Iterable[tuple[object, object]],
        raw: Members,
        kind: str | None,
        where: str,
        level: int,
    ) -> Node | None:
        allowed = _ALL_KEYWORDS if kind is None else _KEYWORDS[kind]
        found: dict[str, object] = {}
        for key, value in items:
            if type(key) is not str or key not in allowed:
                self._unknown(key, kind, where)
                continue
            place = pointer(where, key)
            match key:
                case "type":
                    if kind is None:
                        self._unknown_type(value, place)
                case "properties":
                    found[key] = self._properties(value, place, level)
                case "required":
                    found[key] = self._required(value, raw.get("properties"), place)
                case "items":
                    found[key] = self.node(value, place, level + 1)
                case "maxItems":
                    found[key] = self._limit(key, value, self.limits.max_items, place)
                case "maxLength":
                    found[key] = self._max_length(value, raw, place)
                case "enum":
                    found[key] = self._enum(value, place)
                case "format":
                    found[key] = self._format(value, raw, place)
                case "minimum" | "maximum":
                    found[key] = self._bound(key, value, raw, kind, place)
                case _:
                    found[key] = self._description(value, place)
        # A node is built only from a schema without a problem, so every cast below holds.
        return None if self.problems else _build(cast("str", kind), found)

    def _unknown(self, key: object, kind: str | None, where: str) -> None:
        if type(key) is not str:
            self.problem("unknown_keyword", where, "a keyword is a string", key)
            return
        words = _listed(_ALL_KEYWORDS if kind is None else _KEYWORDS[kind])
        owner = "a schema" if kind is None else f"a node of the type {kind}"
        named = quote(key, self.limits.quoted)
        self.problem(
            "unknown_keyword",
            pointer(where, key),
            f'"{named}" is not a keyword here; {owner} may have {words}',
            key,
        )

    def _unknown_type(self, value: object, where: str) -> None:
        self.problem(
            "unknown_type",
            where,
            f"type is one of {_listed(_KEYWORDS)}, written as one string",
            value,
        )

    # -- objects -------------------------------------------------------------------------------

    def _properties(self, value: object, where: str, level: int) -> tuple[Property, ...] | None:
        if type(value) is not dict:
            self.problem("wrong_type", where, "properties is an object", value)
            return None
        raw = cast("dict[object, object]", value)
        most = self.limits.properties
        if len(raw) > most:
            self.problem(
                "too_many_properties",
                where,
                f"an object has at most {most} properties, and this one has {len(raw)}",
            )
        properties: list[Property] = []
        # Only as many as are allowed are read, so the work stays in proportion to the limits.
        for name, child in list(raw.items())[:most]:
            if type(name) is not str:
                self.problem("not_a_token", where, "a property name is a string", name)
                continue
            place = pointer(where, name)
            self._token(name, place, "a property name")
            if name in RESERVED:
                self.problem(
                    "reserved_name",
                    place,
                    "this name has a meaning of its own in JavaScript, so no property may have it",
                    name,
                )
            node = self.node(child, place, level + 1)
            if node is not None:
                properties.append(Property(name, node))
        return tuple(properties)

    def _required(self, value: object, properties: object, where: str) -> tuple[str, ...] | None:
        if type(value) is not list:
            self.problem("wrong_type", where, "required is an array of names", value)
            return None
        known = members(properties)
        names: dict[str, None] = {}
        for index, name in enumerate(cast("list[object]", value)):
            place = pointer(where, index)
            if type(name) is not str:
                self.problem("wrong_type", place, "a required name is a string", name)
            elif name in names:
                self.problem("duplicate", place, "this name stands in required twice", name)
            elif name not in known:
                self.problem(
                    "not_listed", place, "a required name has to be one of properties", name
                )
            else:
                names[name] = None
        return tuple(names)

    # -- strings -------------------------------------------------------------------------------

    def _token(self, text: str, where: str, what: str) -> None:
        if not is_token(text, self.limits.token):
            self.problem(
                "not_a_token",
                where,
                f"{what} has 1 to {self.limits.token} characters from a-z, A-Z, 0-9, _, - and .",
                text,
            )

    def _enum(self, value: object, where: str) -> tuple[str, ...] | None:
        if type(value) is not list:
            self.problem("wrong_type", where, "enum is an array of strings", value)
            return None
        raw = cast("list[object]", value)
        most = self.limits.enum_values
        if not 1 <= len(raw) <= most:
            self.problem(
                "enum_size", where, f"enum has 1 to {most} values, and this one has {len(raw)}"
            )
        values: dict[str, None] = {}
        for index, word in enumerate(raw):
            place = pointer(where, index)
            if type(word) is not str:
                self.problem("wrong_type", place, "an enum value is a string", word)
                continue
            self._token(word, place, "an enum value")
            if word in values:
                self.problem("duplicate", place, "this value stands in enum twice", word)
            values[word] = None
        return tuple(values)

    def _format(self, value: object, raw: Members, where: str) -> str | None:
        due = "deska-image" if self.side == "input" else "deska-file"
        if "enum" in raw:
            self.problem("unknown_format", where, "a string with enum has no format", value)
        elif type(value) is not str or value != due:
            self.problem(
                "unknown_format",
                where,
                f"the only format in {self.side} is {due}",
                value,
            )
        return due

    def _max_length(self, value: object, raw: Members, where: str) -> int | None:
        length = self._limit("maxLength", value, self.limits.max_length, where)
        form = raw.get("format")
        if length is not None and length < _FILE_ID and type(form) is str and form == "deska-file":
            self.problem(
                "file_id_too_short",
                where,
                f"the id of a kept image has {_FILE_ID} characters, so maxLength is at least that",
                length,
            )
        return length

    def _description(self, value: object, where: str) -> str | None:
        most = self.limits.schema_description
        if type(value) is not str or not 1 <= len(value) <= most:
            self.problem(
                "bad_description",
                where,
                f"a description is a string of 1 to {most} characters",
                value,
            )
            return None
        if has_invisible(value):
            self.problem(
                "invisible_text",
                where,
                "a schema's description holds a character that is drawn as nothing",
                value,
            )
        return value

    # -- numbers -------------------------------------------------------------------------------

    def _limit(self, word: str, value: object, most: int, where: str) -> int | None:
        # D-3: an exact integer; a bool is no int here, and 5.0 is no 5.
        if type(value) is int and 1 <= value <= most:
            return value
        self.problem("bad_limit", where, f"{word} is an integer from 1 to {most}", value)
        return None

    def _bound(
        self, word: str, value: object, raw: Members, kind: str | None, where: str
    ) -> int | float | None:
        bound = in_range(value)
        if bound is None or (kind == "integer" and type(bound) is not int):
            what = "an integer" if kind == "integer" else "a number"
            self.problem(
                "bad_limit",
                where,
                f"{word} is {what} from -{LARGEST} to {LARGEST}",
                value,
            )
            return None
        # Told once, at the second of the two, where a reader sees that they cannot both hold.
        if word == "maximum":
            lowest = in_range(raw.get("minimum"))
            if lowest is not None and lowest > bound:
                self.problem(
                    "empty_range", where, "maximum is below minimum, so no number fits", bound
                )
        return bound


def _build(kind: str, found: dict[str, object]) -> Node:
    """The node for keywords that have all been checked."""
    description = cast("str | None", found.get("description"))
    match kind:
        case "object":
            return ObjectNode(
                properties=cast("tuple[Property, ...] | None", found.get("properties")),
                required=cast("tuple[str, ...] | None", found.get("required")),
                description=description,
            )
        case "array":
            return ArrayNode(
                items=cast("Node", found["items"]),
                max_items=cast("int", found["maxItems"]),
                description=description,
            )
        case "string" if "enum" in found:
            return EnumNode(
                values=cast("tuple[str, ...]", found["enum"]),
                max_length=cast("int | None", found.get("maxLength")),
                description=description,
            )
        case "string":
            return StringNode(
                max_length=cast("int", found["maxLength"]),
                format=cast("Literal['deska-image', 'deska-file'] | None", found.get("format")),
                description=description,
            )
        case "boolean":
            return BooleanNode(description=description)
        case _:
            return NumberNode(
                whole=kind == "integer",
                minimum=cast("int | float | None", found.get("minimum")),
                maximum=cast("int | float | None", found.get("maximum")),
                description=description,
            )


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
