"""The other libraries: what of them is here, and a checker by each for one schema of the dialect.

A peer that is not installed is left out of the tables, and the run says so.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from deska_sdk.schema import ObjectNode, parse_schema, to_json_schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

#: Package on PyPI by what is imported.
PACKAGES: Final = {
    "orjson": "orjson",
    "msgspec": "msgspec",
    "isal": "isal",
    "fastjsonschema": "fastjsonschema",
    "jsonschema": "jsonschema",
    "jsonschema_rs": "jsonschema-rs",
    "pydantic_core": "pydantic-core",
    "cattrs": "cattrs",
    "mcp": "mcp",
    "fastmcp": "fastmcp",
    "PIL": "Pillow",
    "pyvips": "pyvips",
}

_loaded: dict[str, ModuleType | None] = {}


def load(name: str) -> ModuleType | None:
    """The module, or ``None`` where it, or a library it needs, is not installed."""
    if name not in _loaded:
        try:
            _loaded[name] = import_module(name)
        except (ImportError, OSError):  # pyvips: the shared library may be what is missing
            _loaded[name] = None
    return _loaded[name]


def missing() -> tuple[str, ...]:
    """The packages that a run asked for and did not get."""
    return tuple(PACKAGES[name] for name, module in _loaded.items() if module is None)


def versions() -> dict[str, str]:
    """The versions of the packages that a run used."""
    told: dict[str, str] = {}
    for name, module in _loaded.items():
        if module is not None:
            try:
                told[PACKAGES[name]] = version(PACKAGES[name])
            except PackageNotFoundError:
                told[PACKAGES[name]] = "unknown"
    return told


def node_of(schema: dict[str, Any]) -> ObjectNode:
    """The parsed schema of a case."""
    node, problems = parse_schema(schema, "input")
    assert isinstance(node, ObjectNode), problems
    return node


def by_jsonschema_rs(schema: dict[str, Any]) -> Callable[[Any], Any] | None:
    """``jsonschema-rs``; its ``validate`` returns nothing."""
    module = load("jsonschema_rs")
    return module and module.validator_for(to_json_schema(node_of(schema))).validate


def by_jsonschema(schema: dict[str, Any]) -> Callable[[Any], Any] | None:
    """``jsonschema``."""
    module = load("jsonschema")
    return module and module.Draft202012Validator(to_json_schema(node_of(schema))).validate


def by_fastjsonschema(schema: dict[str, Any]) -> Callable[[Any], Any] | None:
    """``fastjsonschema``: generated Python, as ours is."""
    module = load("fastjsonschema")
    if module is None:
        return None
    told = {"$schema": "http://json-schema.org/draft-07/schema#", **to_json_schema(node_of(schema))}
    return module.compile(told, use_default=False)


def by_pydantic_core(schema: dict[str, Any]) -> Any | None:
    """A strict ``SchemaValidator`` of ``pydantic-core`` that yields dicts."""
    module = load("pydantic_core")
    return module and module.SchemaValidator(_core_schema(to_json_schema(node_of(schema))))


def _core_schema(told: dict[str, Any]) -> dict[str, Any]:
    kind = told["type"]
    if kind == "object":
        required = told.get("required", ())
        fields = {
            name: {
                "type": "typed-dict-field",
                "schema": _core_schema(member),
                "required": name in required,
            }
            for name, member in told["properties"].items()
        }
        return {"type": "typed-dict", "fields": fields, "extra_behavior": "forbid", "strict": True}
    if kind == "array":
        items = _core_schema(told["items"])
        most = told["maxItems"]
        return {"type": "list", "items_schema": items, "max_length": most, "strict": True}
    if "enum" in told:
        return {"type": "literal", "expected": told["enum"]}
    if kind == "string":
        return {"type": "str", "max_length": told["maxLength"], "strict": True}
    if kind == "boolean":
        return {"type": "bool", "strict": True}
    return {
        "type": "int" if kind == "integer" else "float",
        "ge": told["minimum"],
        "le": told["maximum"],
        "strict": True,
    }


def msgspec_type(schema: dict[str, Any]) -> Any | None:
    """The type by which ``msgspec`` decodes and converts a schema's values."""
    return load("msgspec") and _struct(to_json_schema(node_of(schema)))


def _struct(told: dict[str, Any]) -> Any:
    from typing import Annotated, Literal

    from msgspec import UNSET, Meta, UnsetType, defstruct

    kind = told["type"]
    if kind == "object":
        required = told.get("required", ())
        fields = [
            (name, _struct(member))
            if name in required
            else (name, _struct(member) | UnsetType, UNSET)
            for name, member in told["properties"].items()
        ]
        fields.sort(key=len)  # as of every class: what has a default comes last
        return defstruct("Given", fields, forbid_unknown_fields=True, gc=False)
    if kind == "array":
        return Annotated[list[_struct(told["items"])], Meta(max_length=told["maxItems"])]
    if "enum" in told:
        return Literal[tuple(told["enum"])]
    if kind == "string":
        return Annotated[str, Meta(max_length=told["maxLength"])]
    if kind == "boolean":
        return bool
    number = {"integer": int, "number": float}[kind]
    return Annotated[number, Meta(ge=told["minimum"], le=told["maximum"])]


def by_cattrs(schema: dict[str, Any]) -> Callable[[Any], Any] | None:
    """``cattrs`` into attrs classes with validators; strict, unlike its defaults."""
    module = load("cattrs")
    if module is None:
        return None
    from functools import partial

    converter = module.Converter(forbid_extra_keys=True, detailed_validation=False)
    for kind in (str, int, float, bool):
        converter.register_structure_hook(kind, partial(_exactly, kind))
    made = _attrs_class(to_json_schema(node_of(schema)))
    return lambda value: converter.structure(value, made)


def _exactly(kind: type, value: Any, _: Any) -> Any:
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise TypeError("not of this type")
    return value


def _attrs_class(told: dict[str, Any]) -> type:
    import attrs

    required = told.get("required", ())
    members: dict[str, Any] = {}
    for name, member in told["properties"].items():
        validator, default = _attrs_validator(member), {}
        if name not in required:
            default = {"default": None}
            validator = validator and attrs.validators.optional(validator)
        members[name] = attrs.field(type=_attrs_type(member), validator=validator, **default)
    return attrs.make_class("Given", members, kw_only=True)


def _attrs_type(told: dict[str, Any]) -> Any:
    kind = told["type"]
    if kind == "object":
        return _attrs_class(told)
    if kind == "array":
        return list[_attrs_type(told["items"])]
    return {"string": str, "integer": int, "number": float, "boolean": bool}[kind]


def _attrs_validator(told: dict[str, Any]) -> Any:
    from attrs import validators

    kind = told["type"]
    if kind == "array":
        each = _attrs_validator(told["items"])
        deep = [validators.deep_iterable(each)] if each else []
        return validators.and_(validators.max_len(told["maxItems"]), *deep)
    if "enum" in told:
        return validators.in_(told["enum"])
    if kind == "string":
        return validators.max_len(told["maxLength"])
    if kind in ("integer", "number"):
        return validators.and_(validators.ge(told["minimum"]), validators.le(told["maximum"]))
    return None
