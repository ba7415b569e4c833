"""Every short way beside the long one that decides: each may only accept, and what that would."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deska_sdk.codec import find
from deska_sdk.errors import InvalidValue, TooLarge
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.answers import fenced, read_answer
from deska_sdk.schema import Checker, compile_schema
from deska_sdk.schema.compile import compilable
from deska_sdk.schema.fast import reader
from deska_sdk.schema.nodes import ObjectNode
from tests.kernel.support_schema import exactly, pointers, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    Opinion = tuple[str, Any, Any]

#: Both codecs, or the one there is where msgspec or orjson is missing.
CODECS = ("stdlib", "speed") if find("auto").name == "speed" else ("stdlib",)


def outcome(checker: Checker, value: Any, *, json: bool = False) -> Any:
    """All that a checker says, in a form that can be compared."""
    try:
        checked = checker.examine_json(value) if json else checker.examine(value)
    except InvalidValue as error:
        return refused(error)
    images = pointers(checked.value, checked.images)
    return exactly(checked.value), images, sorted(pointers(checked.value, checked.counters))


def refused(error: InvalidValue) -> Any:
    assert error.__context__ is None
    assert error.__cause__ is None
    return [told(fault) for fault in error.faults], error.more


def quick(check: Any, value: Any) -> Any:
    """What ``check`` or ``check_json`` says."""
    try:
        return exactly(check(value))
    except InvalidValue as error:
        return refused(error)


def answered(checker: Checker, value: Any) -> Any:
    """The fenced text of an answer, or why there is none."""
    try:
        answer = read_answer(value, checker, DEFAULT_LIMITS)
        sent = {file_id: f"image:{at}" for at, file_id in enumerate(answer.file_ids, 1)}
        return fenced("p", "P", answer, sent, DEFAULT_LIMITS)
    except InvalidValue as error:
        return refused(error)
    except TooLarge:
        return "too large"


class Shortened:
    """The short ways of one schema."""

    def __init__(self, schema: Any, side: Any) -> None:
        self.side = side
        self.checkers = {codec: compile_schema(schema, side, codec=codec) for codec in CODECS}
        self.slow = compile_schema(schema, side, checker="interpreted", codec="stdlib")
        self.readers: dict[str, Any] = {}
        node = self.slow.node
        if side == "input" and isinstance(node, ObjectNode) and compilable(node):
            most = DEFAULT_LIMITS.call_text
            for codec in CODECS:
                engine = find(codec)
                # A text of one kind is read as those of the other are, too.
                sizes = {"typed": (10**9, 0), "converted": (0, 10**9)}
                for name, (small, many) in sizes.items():
                    read = reader(node, engine, most, small=small, many=many)
                    self.readers[f"{codec}, {name}"] = read

    def of_object(self, value: Any, expected: Any, number: int) -> Iterator[Opinion]:
        """What one of the codecs says, the other at the next number."""
        slowly = quick(self.slow.check, value)
        codec = CODECS[number % len(CODECS)]
        checker = self.checkers[codec]
        yield f"{codec}: examined", outcome(checker, value), expected
        yield f"{codec}: checked", quick(checker.check, value), slowly
        if self.side == "output":
            yield f"{codec}: answered", answered(checker, value), answered(self.slow, value)

    def of_text(self, text: str, expected: Any, number: int) -> Iterator[Opinion]:
        slowly = quick(self.slow.check_json, text)
        texts: list[str | bytes] = [text, f" {text}\n"]
        try:
            texts.append(text.encode())
            texts.append(json.dumps(json.loads(text), ensure_ascii=False).encode())
        except ValueError:
            texts = texts[:2]
        codec = CODECS[number % len(CODECS)]
        checker = self.checkers[codec]
        one = texts[number % len(texts)]
        yield f"{codec}: examined text", outcome(checker, one, json=True), expected
        for sent in texts:
            yield f"{codec}: checked text", quick(checker.check_json, sent), slowly
        for name, read in self.readers.items():
            for sent in texts:
                new = read(sent)
                if new is not None:
                    yield f"{name}: read", exactly(new), slowly


# -- schemas of each shape


def of(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def text(most: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": most}


def array(items: Any, most: int = 1_000) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most}


NUMBER = {"type": "number"}
WHOLE = {"type": "integer"}
FLAG = {"type": "boolean"}
ROW = of(["id"], id=text(9), n=NUMBER, w=WHOLE, f=FLAG, e={"type": "string", "enum": ["on", "off"]})
SCHEMAS = {
    "small": of(["s"], s=text(40), n=NUMBER),
    "texts": of([], l=array(text(300)), s=text(9_000)),
    "rows": of(["rows"], rows=array(ROW), s=text(99)),
    "numbers": of([], g=array(array(NUMBER, 99), 99), w=array(WHOLE), n=NUMBER),
}
