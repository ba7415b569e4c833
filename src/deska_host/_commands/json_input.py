"""The input of a call as a person types it: where it is no JSON, and where it does not fit (K-6).

An agent is told the faults of its input in fixed sentences. Whoever types at ``deska try`` writes
the panel, so they are told more: the column, the rule, and what the schema has there.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from deska_host._commands.place import Stop
from deska_sdk.document import Document, parse_document
from deska_sdk.errors import InvalidValue
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.problems import Fault, Rule, pointer, quote
from deska_sdk.schema import compile_schema
from deska_sdk.text import escape_invisible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deska_sdk.panels.manifest import Action

#: A text of so many bytes may still be one of ``call_text`` code points.
MOST_BYTES = 4 * DEFAULT_LIMITS.call_text


@frozen
class Input:
    """JSON that can be read, and the text it was."""

    text: str = field(repr=False)
    document: Document = field(repr=False)


def read_input(given: str | bytes) -> Input:
    """The input in this text.

    :raises Stop: it is no strict JSON; the sentence says what is wrong where.
    """
    document = parse_document(given, max_bytes=MOST_BYTES)
    if document.problems:
        first = document.problems[0]
        at = f"line {first.line or 1}, column {first.column or 1}"
        # The reader's sentences speak of a file; here it is what was typed.
        what = first.sentence.replace("the file ", "it ")
        raise Stop(f"the input is not JSON that can be read: {at}: {what}")
    return Input(given if isinstance(given, str) else given.decode(), document)


def read_file(path: Path) -> Input:
    """The input in a file; of a larger one no more is read than shows that it is too large.

    :raises Stop: it cannot be read, or is no strict JSON.
    """
    problem, text = "", b""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        problem = error.strerror or "it cannot be read"
    if problem:
        raise Stop(f"{path}: {problem}")
    return read_input(text)


def hints(action: Action, given: Input) -> list[str]:
    """What an author needs to put right the input of a call that was ``invalid_input``."""
    faults: tuple[Fault, ...] = ()
    try:
        compile_schema(action.input).check(given.document.value)
    except InvalidValue as invalid:
        faults = invalid.faults
    return [escape_invisible("; ".join(_parts(action, fault, given))) for fault in faults]


def _parts(action: Action, fault: Fault, given: Input) -> Iterator[str]:
    yield f"{_place(fault, given.document)}: {fault.rule}"
    schema = _schema_at(action.input, fault.where)
    if fault.rule is Rule.UNKNOWN_PROPERTY:
        known = list(schema.get("properties", {}))
        yield f"the schema has here: {', '.join(known) or 'no properties'}"
        near = get_close_matches(fault.name or "", known, 1)
        if near:
            yield f"did you mean {near[0]}?"
    elif fault.rule is Rule.MISSING_PROPERTY:
        yield f"{fault.name} is {_brief(schema['properties'][fault.name])}"
    else:
        yield f"the schema has here: {_brief(schema)}"


def _place(fault: Fault, document: Document) -> str:
    at, key = fault.where, False
    if fault.rule is Rule.UNKNOWN_PROPERTY and fault.name is not None:
        at, key = pointer(fault.where, fault.name), True
    line, column = document.place(at, key=key) or document.place(fault.where) or (1, 1)
    return f"line {line}, column {column}"


def _schema_at(schema: dict[str, Any], where: str) -> dict[str, Any]:
    """The part of an action's schema that the value at this JSON Pointer was held against."""
    for part in where.split("/")[1:]:
        # D-2: the name of a property is a token, so nothing in it is escaped.
        schema = schema["items"] if schema["type"] == "array" else schema["properties"][part]
    return schema


def _brief(schema: dict[str, Any]) -> str:
    """A schema in one line, without what describes it and what is further down."""
    left_out = ("description", "properties", "items")
    kept = {key: value for key, value in schema.items() if key not in left_out}
    return quote(json.dumps(kept, ensure_ascii=False), 400)
