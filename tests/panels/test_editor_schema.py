"""The JSON Schema of panel.json (P-8)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastjsonschema
import pytest

from deska_sdk.limits import Limits
from deska_sdk.panels.action_rules import KINDS
from deska_sdk.panels.check import check_panel
from deska_sdk.panels.editor_schema import panel_json_schema
from deska_sdk.panels.ledger import Ledger
from deska_sdk.panels.rules import PERMISSIONS
from tests.panels.support_manifest import READ, WRITE, plain, vectors, working

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[2] / "examples"
CONDITIONS = {"if", "then", "else", "not"}
#: Problems of the text itself: what a schema is asked about has been read already.
NEVER_JUDGED = {"duplicate_key", "lone_surrogate", "byte_order_mark"}

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
    if NEVER_JUDGED & {problem["code"] for problem in vector["problems"]}:
        return
    if value == value and "1e400" not in vector["source"]:
        expected = not vector["problems"] or vector.get("json_schema") == "accepts"
        assert accepts(value) is expected


def nodes(node: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema in a schema, with its place."""
    if not isinstance(node, dict):
        return
    yield where, node
    for key, inner in node.items():
        if key in {"properties", "$defs"}:
            for name, one in inner.items():
                yield from nodes(one, f"{where}/{key}/{name}")
        elif key in {"allOf", "anyOf"}:
            for index, one in enumerate(inner):
                yield from nodes(one, f"{where}/{key}/{index}")
        elif key in {"items", "additionalProperties", "propertyNames", "contains", *CONDITIONS}:
            yield from nodes(inner, f"{where}/{key}")


def followed(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """``node``, or what it refers to."""
    while set(node) == {"$ref"}:
        node = schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
    return node


@pytest.mark.rule("P-8")
def test_whatever_an_author_can_write_has_a_title_and_a_description():
    schema = panel_json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(schema)) == schema
    seen = 0
    for where, node in nodes(schema):
        if re.search(r"/(if|then|else|not|allOf/\d+)(/|$)", where):
            continue  # a condition between things that are described where they stand
        inside = [(f"{where}/{name}", one) for name, one in node.get("properties", {}).items()]
        inside += [
            (f"{where}/{key}", node[key]) for key in ("items", "propertyNames") if key in node
        ]
        for place, one in inside:
            if one is False:
                continue
            shown = followed(schema, one)
            assert shown.get("title", "").strip(), place
            assert shown.get("description", "").rstrip().endswith("."), place
            seen += 1
    assert seen > 60


@pytest.mark.rule("P-8")
def test_every_shape_and_every_word_to_choose_from_is_explained():
    schema = panel_json_schema()
    for where, node in nodes(schema):
        if "pattern" in node:
            assert node["patternErrorMessage"], where
        if "enum" in node and "title" in node and "not" not in node:
            assert len(node["enum"]) == len(node["enumDescriptions"]), where
            assert all(node["enumDescriptions"]), where
    properties = schema["properties"]
    assert properties["permissions"]["items"]["enum"] == list(PERMISSIONS)
    assert schema["$defs"]["action"]["properties"]["kind"]["enum"] == list(KINDS)


@pytest.mark.rule("P-8")
def test_every_number_of_the_rules_is_that_of_the_limits():
    small = Limits(panel_id=5, actions=1, max_length=7, token=2, schema_levels=2)
    schema = panel_json_schema(limits=small)
    text = json.dumps(schema)
    assert "at most 5 characters" in text
    assert "1 to 7." in text
    assert "input3" not in text
    judge = fast(schema)
    for value in (
        working(id="notes"),
        working(WRITE, id="notes"),
        working({**WRITE, "input": {"type": "object"}}, id="longer"),
        working({**WRITE, "input": {"type": "object"}}, id="notes"),
    ):
        assert judge(value) is (check_panel(value, limits=small).problems == ())
    assert judge(working({**WRITE, "input": {"type": "object"}}, id="notes"))


def filled(body: Any) -> Any:
    """What an editor writes for a snippet's body, when its author only presses Tab."""
    if isinstance(body, dict):
        return {filled(key): filled(value) for key, value in body.items()}
    if isinstance(body, list):
        return [filled(item) for item in body if item != "^$0"]
    if not isinstance(body, str):
        return body
    text = re.sub(r"\$\{\d+:([^}]*)\}", r"\1", body)
    return json.loads(text[1:]) if text.startswith("^") else text


def snippets(node: dict[str, Any]) -> list[Any]:
    found = [filled(one["body"]) for one in node["defaultSnippets"]]
    assert found
    assert all(one["label"] and one["description"] for one in node["defaultSnippets"])
    return found


@pytest.mark.rule("P-8")
def test_what_an_editor_offers_to_write_passes_the_check(accepts):
    schema = panel_json_schema()
    definitions = schema["$defs"]
    actions = snippets(definitions["action"])
    values = [working(action) for action in actions]
    for side, action in (("input", WRITE), ("output", READ)):
        for node in snippets(definitions[f"{side}Offers"]):
            around = {"type": "object", "properties": {"node": node}}
            values.append(working({**action, side: around}))
        values += [working({**action, side: node}) for node in snippets(definitions[f"{side}1"])]
    (panel,) = snippets(schema)
    values.append({**panel, "agent": {"actions": actions}})
    assert len(values) > 15
    for value in values:
        assert check_panel(value).problems == (), value
        assert accepts(value), value


@pytest.mark.rule("P-8")
def test_every_example_in_the_schema_fits_its_place():
    schema = panel_json_schema()
    seen = 0
    for where, node in nodes(schema):
        alone = fast({"$defs": schema["$defs"], **node}) if "examples" in node else None
        for example in node.get("examples", ()):
            assert alone is not None
            assert alone(example), (where, example)
            seen += 1
    assert seen > 10


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """What check-jsonschema, with patterns read as JavaScript reads them, says of each text."""
    folder = tmp_path_factory.mktemp("judged")
    (folder / "schema").write_text(json.dumps(panel_json_schema()), encoding="utf-8")
    texts = [vector["source"] for vector in readable()]
    texts += [file.read_text(encoding="utf-8") for file in sorted(EXAMPLES.rglob("panel.json"))]
    names = [f"{number}.json" for number in range(len(texts))]
    for name, text in zip(names, texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--output-format", "json"]
    done = subprocess.run(
        [*command, "--schemafile", "schema", *names],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    report = json.loads(done.stdout)
    assert report["parse_errors"] == []
    refused = {error["filename"] for error in report["errors"]}
    assert refused <= set(names)
    return {text: name not in refused for name, text in zip(names, texts, strict=True)}


def refuse(constant: str) -> None:
    raise ValueError(constant)


def readable() -> list[dict[str, Any]]:
    """The vectors that get as far as a schema."""
    found: list[dict[str, Any]] = []
    for parameter in vectors():
        (vector,) = parameter.values
        codes = {problem["code"] for problem in vector["problems"]}
        try:
            json.loads(vector["source"], parse_constant=refuse)
        except ValueError:
            continue
        if not codes & NEVER_JUDGED and "1e400" not in vector["source"]:
            found.append(vector)
    return found


@pytest.mark.rule("P-8")
def test_an_author_s_own_checker_agrees_on_every_panel_json_there_is(judged):
    assert len(judged) > 200
    for vector in readable():
        expected = not vector["problems"] or vector.get("json_schema") == "accepts"
        assert judged[vector["source"]] is expected, vector["name"]
    for file in EXAMPLES.rglob("panel.json"):
        assert judged[file.read_text(encoding="utf-8")], file


@pytest.mark.rule("P-8")
def test_only_what_the_docs_list_is_left_to_the_check(judged):
    left = {
        problem["code"]
        for vector in readable()
        if judged[vector["source"]]
        for problem in vector["problems"]
    }
    assert left
    assert left <= left_to_the_check()


def left_to_the_check() -> set[str]:
    page = (EXAMPLES.parent / "docs" / "editors.md").read_text(encoding="utf-8")
    section = page.partition("## What only the check finds")[2]
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def with_node(**node: Any) -> dict[str, Any]:
    inside = {"type": "object", "properties": {"node": node}}
    return working({**WRITE, "input": inside})


#: For each problem that JSON Schema has no words for, a file that has no other.
UNSPEAKABLE = {
    "empty": plain(name="\u200b"),
    "too_long": plain(name="x" * 81),
    "invisible_text": with_node(type="boolean", description="a\u200bb"),
    "bad_path": plain(icon="a\u200bb.png"),
    "duplicate": working(WRITE, WRITE),
    "not_listed": working({**WRITE, "input": {"type": "object", "required": ["text"]}}),
    "empty_range": with_node(type="integer", minimum=2, maximum=1),
    "bad_sdk": plain(sdk=4.0),
    "bad_limit": with_node(type="string", maxLength=5.0),
    "entry_missing": plain(),
    "ledger_refused": plain(network=["a.example"]),
}


@pytest.mark.rule("P-8")
@pytest.mark.parametrize("code", UNSPEAKABLE)
def test_the_docs_list_what_a_schema_cannot_say_and_the_check_does(accepts, code):
    value = UNSPEAKABLE[code]
    assert accepts(value)
    report = check_panel(json.dumps(value), files=(), ledger=Ledger(frozenset({"notes"})))
    assert code in {problem.code for problem in report.problems}
    assert left_to_the_check() == set(UNSPEAKABLE)


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
