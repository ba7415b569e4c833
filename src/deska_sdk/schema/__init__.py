"""The schema dialect: closed objects, limits everywhere, and values checked against them.

::

    from deska_sdk.schema import compile_schema

    text = {"type": "string", "maxLength": 80}
    checker = compile_schema({"type": "object", "properties": {"title": text}})
    checker.check({"title": "pay\\u200bload"})  # {'title': 'payload'}

``check`` returns a new value, stripped of what nobody can see (T-3), or raises
:class:`~deska_sdk.errors.InvalidValue`, which says where the value does not fit and never what it
is. ``check_json`` does the same for JSON text. Nothing is coerced, cut or filled in (D-9).
"""

from deska_sdk.schema.checked import Checked, Slot
from deska_sdk.schema.checker import Checker, Kind, compile_schema
from deska_sdk.schema.export import to_json_schema, without_descriptions
from deska_sdk.schema.nodes import (
    ArrayNode,
    BooleanNode,
    EnumNode,
    Node,
    NumberNode,
    ObjectNode,
    Property,
    Side,
    StringNode,
)
from deska_sdk.schema.parse import TOKEN_CODES, parse_schema

__all__ = [
    "TOKEN_CODES",
    "ArrayNode",
    "BooleanNode",
    "Checked",
    "Checker",
    "EnumNode",
    "Kind",
    "Node",
    "NumberNode",
    "ObjectNode",
    "Property",
    "Side",
    "Slot",
    "StringNode",
    "compile_schema",
    "parse_schema",
    "to_json_schema",
    "without_descriptions",
]
