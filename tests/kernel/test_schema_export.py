"""A schema written out again, for the agent's list and for other programs (L-2, D-5)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deska_sdk.schema import parse_schema, to_json_schema, without_descriptions
from tests.kernel.support_schema_maker import Maker

SCHEMA: dict[str, Any] = {
    "description": "All of it.",
    "required": ["rows"],
    "type": "object",
    "properties": {
        "rows": {
            "maxItems": 2,
            "items": {"type": "object", "properties": {}, "required": []},
            "type": "array",
        },
        "description": {
            "maxLength": 5,
            "type": "string",
            "description": "A property of this name.",
        },
        "image": {"format": "deska-image", "type": "string", "maxLength": 9},
        "state": {"maxLength": 3, "type": "string", "enum": ["b", "a"]},
        "count": {"maximum": 3, "type": "integer", "minimum": 1},
        "share": {"type": "number", "maximum": 0.5},
        "flag": {"type": "boolean"},
        "none": {"type": "object"},
    },
}


@pytest.mark.rule("L-2", "D-5")
def test_the_agent_is_shown_a_schema_without_descriptions_in_one_order_of_keys() -> None:
    node, _ = parse_schema(SCHEMA, "input")
    assert node is not None
    assert json.dumps(without_descriptions(node), separators=(",", ":")) == (
        '{"type":"object","properties":{'
        '"rows":{"type":"array","items":{"type":"object","properties":{},"required":[]},"maxItems":2},'
        '"description":{"type":"string","maxLength":5},'
        '"image":{"type":"string","maxLength":9,"format":"deska-image"},'
        '"state":{"type":"string","enum":["b","a"],"maxLength":3},'
        '"count":{"type":"integer","minimum":1,"maximum":3},'
        '"share":{"type":"number","maximum":0.5},'
        '"flag":{"type":"boolean"},'
        '"none":{"type":"object"}},'
        '"required":["rows"]}'
    )


def bare(schema: Any) -> Any:
    made = {key: value for key, value in schema.items() if key != "description"}
    if "properties" in made:
        made["properties"] = {name: bare(one) for name, one in made["properties"].items()}
    if "items" in made:
        made["items"] = bare(made["items"])
    return made


@pytest.mark.rule("L-2", "D-5")
@given(st.randoms(use_true_random=False), st.sampled_from(["input", "output"]))
@settings(deadline=None, max_examples=40)
def test_only_descriptions_are_missing_from_what_the_author_wrote(rng: Any, side: Any) -> None:
    schema = Maker(rng, side).schema()
    before = copy.deepcopy(schema)
    node, _ = parse_schema(schema, side)
    assert node is not None
    shown = without_descriptions(node)
    assert shown == bare(schema)
    assert parse_schema(shown, side) == (node, ())
    shown.setdefault("properties", {})["new"] = 1
    assert schema == before


@pytest.mark.rule("D-7", "D-8", "D-5")
def test_other_programs_are_told_what_the_dialect_takes_for_granted() -> None:
    node, _ = parse_schema(SCHEMA, "input")
    assert node is not None
    told = to_json_schema(node)
    assert told["additionalProperties"] is False
    assert told["properties"]["rows"]["items"] == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    assert told["properties"]["count"] == {"type": "integer", "minimum": 1, "maximum": 3}
    assert told["properties"]["share"]["minimum"] == -(2**53) + 1
    assert told["properties"]["state"] == {"type": "string", "enum": ["b", "a"], "maxLength": 3}
    assert told["required"] == ["rows"]
    assert "A property of this name." not in json.dumps(told)
    assert "All of it." not in json.dumps(told)
