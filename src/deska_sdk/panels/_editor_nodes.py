"""The schema dialect as JSON Schema, for editors (D-1…D-6, P-8).

A node is told apart by its ``type`` and then held to that one's keys alone. So an editor says what
is wrong with *this* node, and offers what *it* may have, instead of speaking of all kinds at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from deska_sdk.panels._editor_words import Schema, choice, snippet, text, titled, when, whole
from deska_sdk.schema.nodes import LARGEST, RESERVED

if TYPE_CHECKING:
    from deska_sdk.limits import Limits
    from deska_sdk.schema.nodes import Side

_TYPES: Final = {
    "object": "An object with the properties that are named, and no others.",
    "array": "A list of items that all fit one schema.",
    "string": "A text with a longest length, or one of a list of words.",
    "integer": "A number without a fraction.",
    "number": "Any finite number.",
    "boolean": "true or false.",
}
#: Ids of kept images have this many characters (D-4).
_FILE_ID: Final = 36

_SNIPPETS: Final = (
    snippet("text", "A text with a longest length", {"type": "string", "maxLength": "^${1:200}"}),
    snippet("choice", "One of a few words", {"type": "string", "enum": ["${1:one}", "${2:two}"]}),
    snippet(
        "whole number",
        "An integer in a range",
        {"type": "integer", "minimum": "^${1:0}", "maximum": "^${2:100}"},
    ),
    snippet("yes or no", "A boolean", {"type": "boolean"}),
    snippet(
        "list",
        "An array of texts",
        {
            "type": "array",
            "maxItems": "^${1:50}",
            "items": {"type": "string", "maxLength": "^${2:200}"},
        },
    ),
)
_OBJECT_SNIPPET: Final = snippet(
    "object",
    "An object with a property that has to be there",
    {
        "type": "object",
        "properties": {"${1:text}": {"type": "string", "maxLength": "^${2:200}"}},
        "required": ["${1:text}"],
    },
)
_IMAGES: Final[dict[Side, Schema]] = {
    "input": snippet(
        "image",
        "The path of an image in the task's folder; the page gets the image itself",
        {"type": "string", "maxLength": "^${1:1000}", "format": "deska-image"},
    ),
    "output": snippet(
        "image",
        "The id of an image that the panel keeps; the agent gets the image itself",
        {"type": "string", "maxLength": f"^{_FILE_ID}", "format": "deska-file"},
    ),
}


def root_name(side: Side) -> str:
    """The definition of a whole ``input`` or ``output``."""
    return f"{side}1"


def node_definitions(limits: Limits) -> Schema:
    """The definitions of all nodes, one for each side and level where they differ (D-1, D-4)."""
    made: Schema = {
        "integer": _number("integer", "whole number"),
        "number": _number("number", "number"),
        "boolean": _node("boolean"),
        # What many nodes share stands once: the file is read by people too.
        "note": text(
            "Description",
            f"For people who read this file: 1 to {limits.schema_description} visible characters. "
            "An agent never gets it.",
            minLength=1,
            maxLength=limits.schema_description,
        ),
        "propertyName": text(
            "Name of a property",
            f"1 to {limits.token} of ASCII letters, digits, _, - and . (an agent reads it).",
            **_token(limits),
            **{"not": {"enum": sorted(RESERVED)}},
            errorMessage=f"{', '.join(sorted(RESERVED))} are no names of properties here",
        ),
        "required": titled(
            "Required",
            "The properties that have to be there. Each is one of properties.",
            type="array",
            uniqueItems=True,
            items=text("Required property", "The name of one of the properties."),
            examples=[["text"]],
        ),
    }
    sides: tuple[Side, Side] = ("input", "output")
    for side in sides:
        made[f"{side}String"] = _string(side, limits)
        made[f"{side}Offers"] = _offers(side)
        for level in range(1, limits.schema_levels + 1):
            made[f"{side}{level}Object"] = _object(side, level, limits)
            if level == 1:
                made[root_name(side)] = _root(side, limits)
                continue
            if level < limits.schema_levels:
                made[f"{side}{level}Array"] = _array(side, level, limits)
            made[f"{side}{level}"] = _any(side, level, limits)
    return made


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _root(side: Side, limits: Limits) -> Schema:
    whose = "an agent sends" if side == "input" else "the page answers"
    kind = titled(
        "Type", "The outermost value is always an object.", const="object", default="object"
    )
    return titled(
        f"Schema of what {whose}",
        f"An object, with at most {limits.schema_levels} levels: it is the first, and each "
        "property or array item adds one.",
        type="object",
        required=["type"],
        properties={"type": kind},
        allOf=[_ref(f"{side}1Object")],
        defaultSnippets=[
            _OBJECT_SNIPPET,
            snippet("nothing", "An object without any property", {"type": "object"}),
        ],
    )


def _any(side: Side, level: int, limits: Limits) -> Schema:
    """A node of any kind at this level."""
    deepest = level == limits.schema_levels
    kinds = {kind: means for kind, means in _TYPES.items() if not (deepest and kind == "array")}
    wrong = f"the type here is one of {', '.join(kinds)}"
    if deepest:
        wrong += f"; this is level {level}, the last one, so nothing can be inside it"
    where = {
        "object": f"{side}{level}Object",
        "array": f"{side}{level}Array",
        "string": f"{side}String",
    }
    held = [when("type", name, _ref(where.get(name, name))) for name in kinds]
    return titled(
        "Schema",
        "What fits here. Each type has its own keys and no others.",
        type="object",
        required=["type"],
        properties={
            "type": choice("Type", "What kind of value fits here.", kinds, errorMessage=wrong)
        },
        allOf=held if deepest else [_ref(f"{side}Offers"), *held],
    )


def _offers(side: Side) -> Schema:
    """What an editor offers to write where anything fits; it refuses nothing."""
    return titled(
        "Schema",
        "What fits here. Each type has its own keys and no others.",
        defaultSnippets=[*_SNIPPETS, _IMAGES[side], _OBJECT_SNIPPET],
    )


def _node(kind: str, /, needs: tuple[str, ...] = (), **keys: Any) -> Schema:
    """A node of one kind, with the keys that it may have."""
    return titled(
        f"Schema: {kind}",
        _TYPES[kind],
        type="object",
        properties={
            "type": titled("Type", _TYPES[kind], const=kind),
            **keys,
            "description": _ref("note"),
        },
        required=["type", *needs],
        additionalProperties=False,
    )


def _object(side: Side, level: int, limits: Limits) -> Schema:
    deepest = level == limits.schema_levels
    inside = f"there are at most {limits.schema_levels} levels, so an object here has no properties"
    properties = titled(
        "Properties",
        f"At most {limits.properties} properties, each with its schema. One that is not named here "
        "is refused.",
        type="object",
        maxProperties=limits.properties,
        propertyNames=_ref("propertyName"),
        additionalProperties=False if deepest else _ref(f"{side}{level + 1}"),
    )
    if deepest:
        properties["errorMessage"] = inside
    return _node("object", properties=properties, required=_ref("required"))


def _array(side: Side, level: int, limits: Limits) -> Schema:
    most = _count(
        "Most items",
        f"How many items there may be: 1 to {limits.max_items:,}.",
        limits.max_items,
        examples=[50],
    )
    items = titled("Items", "The schema of every item.", allOf=[_ref(f"{side}{level + 1}")])
    return _node("array", ("items", "maxItems"), items=items, maxItems=most)


def _string(side: Side, limits: Limits) -> Schema:
    length = _count(
        "Longest text",
        f"How many characters (code points) the text may have: 1 to {limits.max_length:,}.",
        limits.max_length,
        examples=[200, 2000],
    )
    enum = titled(
        "Values",
        f"1 to {limits.enum_values} different words; the text is one of them.",
        type="array",
        minItems=1,
        maxItems=limits.enum_values,
        uniqueItems=True,
        items=text(
            "Value",
            f"1 to {limits.token} of ASCII letters, digits, _, - and . (an agent reads it).",
            **_token(limits),
        ),
    )
    if side == "input":
        kept = "deska-image"
        means = (
            "The path of an image in the task's folder. The host reads and checks it; the page "
            "gets the image."
        )
    else:
        kept = "deska-file"
        means = (
            "The id of an image that the panel keeps. The agent gets the image; maxLength is at "
            f"least {_FILE_ID}."
        )
    wrong = f"in an {side}, the only format is {kept}"
    image = titled("Format", means, const=kept, default=kept, errorMessage=wrong)
    node = _node("string", maxLength=length, enum=enum, format=image)
    node["if"] = {"required": ["enum"]}
    node["then"] = {
        "properties": {"format": False},
        "errorMessage": "a text with enum has no format",
    }
    node["else"] = {"required": ["maxLength"]}
    if side == "output":
        long_enough = {"properties": {"maxLength": {"minimum": _FILE_ID}}}
        node["allOf"] = [{"if": {"required": ["format"]}, "then": long_enough}]
    return node


def _number(kind: str, called: str) -> Schema:
    ends = {"type": kind, "minimum": -LARGEST, "maximum": LARGEST}
    least = titled("Least", f"The smallest {called} that fits.", **ends, examples=[0, 1])
    most = titled(
        "Most", f"The largest {called} that fits; not below minimum.", **ends, examples=[100]
    )
    return _node(kind, minimum=least, maximum=most)


def _count(title: str, description: str, most: int, /, **words: Any) -> Schema:
    return titled(title, description, type="integer", minimum=1, maximum=most, **words)


def _token(limits: Limits) -> Schema:
    return {
        "pattern": whole("[A-Za-z0-9_.-]+"),
        "patternErrorMessage": "only ASCII letters, digits, _, - and . are allowed here",
        "maxLength": limits.token,
    }
