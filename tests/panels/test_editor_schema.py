"""The JSON Schema of panel.json (P-8)."""

from __future__ import annotations

import json
from typing import Any

import fastjsonschema
import pytest

from deska_sdk.panels.check import check_panel
from deska_sdk.panels.editor_schema import panel_json_schema
from tests.panels.support_manifest import vectors, working

DRAFT_07 = "http://json-schema.org/draft-07/schema#"


def fast(schema: dict[str, Any]) -> Any:
    # The schema uses only words that both drafts read alike; fastjsonschema knows draft-07.
    validate = fastjsonschema.compile({**schema, "$schema": DRAFT_07}, use_default=False)

    def accepts(value: object) -> bool:
        try:
            validate(value)
        except fastjsonschema.JsonSchemaException:
            return False
        return True

    return accepts


def rust(schema: dict[str, Any]) -> Any:
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    jsonschema_rs.meta.validate(schema)
    return jsonschema_rs.validator_for(schema).is_valid


@pytest.fixture(scope="module", params=[fast, rust], ids=["draft-07", "2020-12"])
def accepts(request: pytest.FixtureRequest) -> Any:
    return request.param(panel_json_schema())


@pytest.mark.rule("P-8")
@pytest.mark.parametrize("vector", vectors())
def test_the_schema_accepts_and_refuses_what_the_checker_does(accepts, vector):
    try:
        value = json.loads(vector["source"])
    except ValueError:
        return  # what is no JSON never reaches a schema (P-1)
    reader = {"duplicate_key", "lone_surrogate", "byte_order_mark"}
    if reader & {problem["code"] for problem in vector["problems"]}:
        return
    if value == value and "1e400" not in vector["source"]:
        expected = not vector["problems"] or vector.get("json_schema") == "accepts"
        assert accepts(value) is expected


@pytest.mark.rule("P-8")
def test_the_schema_says_where_it_belongs_and_describes_every_key():
    schema = panel_json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for key, node in schema["properties"].items():
        assert node["title"], key
        assert node["description"], key
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.rule("P-8")
def test_the_schema_refers_to_nothing_outside_itself():
    def refs(node: object) -> list[str]:
        if isinstance(node, list):
            return [ref for inner in node for ref in refs(inner)]
        if not isinstance(node, dict):
            return []
        here = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return here + [ref for inner in node.values() for ref in refs(inner)]

    found = refs(panel_json_schema())
    assert found
    assert all(ref.startswith("#/$defs/") for ref in found)


@pytest.mark.rule("P-8")
@pytest.mark.parametrize(
    ("node", "good"),
    [
        ({"type": "string", "maxLength": 1}, True),
        ({"type": "string", "maxLength": 262_144}, True),
        ({"type": "string", "maxLength": 0}, False),
        ({"type": "string", "maxLength": 262_145}, False),
        ({"type": "string", "maxLength": True}, False),
        ({"type": "string", "maxLength": "5"}, False),
        ({"type": "string", "maxLength": 5.5}, False),
        ({"type": "string"}, False),
        ({"type": "string", "enum": ["a", "b"]}, True),
        ({"type": "string", "enum": ["a"], "maxLength": 5}, True),
        ({"type": "string", "enum": []}, False),
        ({"type": "string", "enum": ["a", "a"]}, False),
        ({"type": "string", "enum": [1]}, False),
        ({"type": "string", "enum": ["a b"]}, False),
        ({"type": "string", "enum": ["x" * 41]}, False),
        ({"type": "string", "enum": [f"v{i}" for i in range(256)]}, True),
        ({"type": "string", "enum": [f"v{i}" for i in range(257)]}, False),
        ({"type": "string", "enum": ["a"], "format": "deska-image"}, False),
        ({"type": "string", "maxLength": 9, "format": "deska-image"}, True),
        ({"type": "string", "maxLength": 9, "format": "uri"}, False),
        ({"type": "integer"}, True),
        ({"type": "integer", "minimum": -5, "maximum": 2**53 - 1}, True),
        ({"type": "integer", "maximum": 2**53}, False),
        ({"type": "integer", "minimum": 0.5}, False),
        ({"type": "number", "minimum": 0.5}, True),
        ({"type": "number", "minimum": None}, False),
        ({"type": "boolean"}, True),
        ({"type": "boolean", "enum": [True]}, False),
        ({"type": "null"}, False),
        ({"type": ["string"]}, False),
        ({"type": "array", "items": {"type": "boolean"}, "maxItems": 1000}, True),
        ({"type": "array", "items": {"type": "boolean"}, "maxItems": 1001}, False),
        ({"type": "array", "items": {"type": "boolean"}}, False),
        ({"type": "array", "maxItems": 1}, False),
        ({"type": "object"}, True),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}, True),
        ({"type": "object", "properties": {"prototype": {"type": "boolean"}}}, False),
        ({"type": "object", "properties": {"": {"type": "boolean"}}}, False),
        ({"type": "object", "properties": {f"p{i}": {"type": "boolean"} for i in range(64)}}, True),
        (
            {"type": "object", "properties": {f"p{i}": {"type": "boolean"} for i in range(65)}},
            False,
        ),
        ({"type": "object", "required": "a"}, False),
        ({"type": "object", "oneOf": []}, False),
        ({"$ref": "#/a"}, False),
        ({}, False),
        (True, False),
        (None, False),
        ({"type": "boolean", "description": "x" * 200}, True),
        ({"type": "boolean", "description": "x" * 201}, False),
        ({"type": "boolean", "description": ""}, False),
    ],
)
def test_every_node_of_the_dialect_is_judged_alike(accepts, node, good):
    action = {
        "name": "a",
        "description": "Does it.",
        "kind": "write",
        "input": {"type": "object", "properties": {"node": node}},
    }
    value = working(action)
    assert accepts(value) is good
    assert (check_panel(value).problems == ()) is good
