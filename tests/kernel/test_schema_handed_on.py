"""What is handed on of a value that fits, and of JSON text (D-9, D-11, T-3, R-4, I-2, I-4)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deska_sdk.errors import InvalidValue
from deska_sdk.problems import Rule
from deska_sdk.schema import Checked, compile_schema
from tests.kernel.support_schema import pointers
from tests.kernel.support_schema_check import FLAG, array, both, fault, faults, made, of, text
from tests.kernel.support_schema_maker import Text


@both
@pytest.mark.rule("T-3", "D-9")
def test_an_input_is_stripped_before_it_is_checked(kind: Any) -> None:
    enum = {"type": "string", "enum": ["open"]}
    checker = made(of(s=text(3), e=enum, l=array(text(3)), x=text(70)), kind)
    dirty = {"s": "a\u200bb\ufeffc", "e": "\u00adopen\x00", "l": ["a\r\nb", "\ud800", "ok"]}
    clean = {"s": "abc", "e": "open", "l": ["a\nb", "\ufffd", "ok"]}
    assert checker.check(dirty) == clean
    # Some of what nobody sees counts as printable.
    assert checker.check({"s": "a\u034fbc\u3164", "l": ["\ufe0f"]}) == {"s": "abc", "l": [""]}
    assert checker.check({"x": "\u200b" * 50 + "x" * 70}) == {"x": "x" * 70}
    assert checker.check({"s": "\x7f", "l": ["\x7f" * 9]}) == {"s": "", "l": [""]}
    assert faults(checker, {"s": "abc\u2800"}) == [fault("/s", Rule.TOO_LONG, limit=3)]


@both
@pytest.mark.rule("T-3", "I-1")
def test_an_image_path_is_neither_stripped_nor_shortened(kind: Any) -> None:
    checker = made(of(p=text(3, format="deska-image")), kind)
    assert checker.check({"p": "a\u200bb"}) == {"p": "a\u200bb"}
    assert checker.check({"p": "a\r\n"}) == {"p": "a\r\n"}
    assert faults(checker, {"p": "ab\u200bc"}) == [fault("/p", Rule.TOO_LONG, limit=3)]


@both
@pytest.mark.rule("T-3")
def test_an_output_is_checked_as_it_was_sent_and_then_stripped(kind: Any) -> None:
    enum = {"type": "string", "enum": ["open"]}
    file = text(36, format="deska-file")
    checker = made(of(s=text(3), e=enum, l=array(text(3)), f=file), kind, "output")
    assert faults(checker, {"s": "ab\u200bc"}) == [fault("/s", Rule.TOO_LONG, limit=3)]
    assert faults(checker, {"e": "op\u200ben"}) == [fault("/e", Rule.NOT_IN_ENUM)]
    value = {"s": "a\u200bc", "l": ["\r\n", "x"], "f": "id\u200b"}
    checked = checker.examine(value)
    assert checked.value == value
    assert checked.value is not value
    assert checked.strip() is True
    assert checked.value == {"s": "ac", "l": ["\n", "x"], "f": "id\u200b"}
    assert checked.strip() is False
    assert checker.check(value) == checked.value
    assert checker.check_json(json.dumps(value)) == checked.value


@both
@pytest.mark.rule("T-3")
def test_compact_json_that_shows_nothing_invisible_spares_the_walk(kind: Any) -> None:
    checker = made(of(s=text(90), l=array(of(s=text(90)))), kind, "output")

    def stripped(said: str) -> tuple[bool, str]:
        value = {"s": said, "l": [{"s": said}]}
        checked = checker.examine(value)
        sent = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        changed = checked.strip(sent)
        assert checked.value["s"] == checked.value["l"][0]["s"]
        return changed, checked.value["s"]

    for said in ("plain", 'quo"te \\ \n\t', "日本語 é", "\\u200b as text", "\\b"):
        assert stripped(said) == (False, said)
    for said in ("a\u200bb", "a\x00b", "a\x7fb", "a\bb", "a\x1fb"):
        assert stripped(said) == (True, "ab")
    assert stripped("a\rb") == stripped("a\fb") == (True, "a\nb")
    assert stripped("\\\ud800") == (True, "\\\ufffd")


@pytest.mark.rule("T-3")
def test_stripping_an_input_again_does_nothing() -> None:
    checked = compile_schema(of(s=text(9))).examine({"s": "a\u200b"})
    checked.value["s"] = "\u200b"
    assert checked.strip() is False
    assert checked.value == {"s": "\u200b"}


@both
@pytest.mark.rule("D-9")
@pytest.mark.parametrize("side", ["input", "output"])
def test_the_value_handed_on_is_new_in_every_part_and_keeps_its_order(kind: Any, side: Any) -> None:
    inner = of(z=text(9), a={"type": "number"})
    schema = of(rows=array(inner), names=array(text(9)), deep=of(flags=array(FLAG)))
    shared = {"a": 2.0, "z": "x\u200b"}
    value = {"deep": {"flags": [True]}, "names": ["r1", "b"], "rows": [shared, shared]}
    before = json.dumps(value)

    new = made(schema, kind, side).check(value)

    assert json.dumps(value) == before
    assert list(new) == ["deep", "names", "rows"]
    assert list(new["rows"][0]) == ["a", "z"]
    assert new["rows"][0] == {"a": 2, "z": "x"}
    parts = [new, new["deep"], new["deep"]["flags"], new["names"], new["rows"], *new["rows"]]
    old = [value, value["deep"], value["deep"]["flags"], value["names"], value["rows"], shared]
    assert len({id(part) for part in [*parts, *old]}) == len(parts) + len(old)


@both
@pytest.mark.rule("D-9")
def test_nothing_is_filled_in_and_an_empty_object_fits_one_without_required(kind: Any) -> None:
    assert made(of(a=FLAG, b=text(3)), kind).check({}) == {}
    assert made({"type": "object"}, kind).check_json(" {} ") == {}
    assert faults(made({"type": "object"}, kind), {"a": 1}) == [
        fault("", Rule.UNKNOWN_PROPERTY, name="a")
    ]


# -- I-2, I-4, R-4: places -----------------------------------------------------------------------


def places(checked: Checked) -> tuple[list[str], list[str]]:
    counters = sorted(pointers(checked.value, checked.counters))
    return pointers(checked.value, checked.images), counters


@both
@pytest.mark.rule("I-2", "I-4")
@pytest.mark.parametrize(("side", "form"), [("input", "deska-image"), ("output", "deska-file")])
def test_images_are_found_in_the_order_of_the_document_each_time_they_occur(
    kind: Any, side: Any, form: str
) -> None:
    image = text(36, format=form)
    cell = of(image=image, note=text(9), small=image)
    checker = made(of(first=image, more=array(image), rows=array(cell)), kind, side)
    value: Any = {
        "more": ["x", "x"],
        "rows": [{"small": "s", "note": "n", "image": "i"}, {}, {"image": "x"}],
        "first": "f",
    }
    order = ["/more/0", "/more/1", "/rows/0/small", "/rows/0/image", "/rows/2/image"]
    for checked in (checker.examine(value), checker.examine_json(json.dumps(value))):
        assert places(checked) == ([*order, "/first"], [])
        container, key = checked.images[3]
        container[key] = "image:1"  # type: ignore[index]
        assert checked.value["rows"][0]["image"] == "image:1"
    assert value["rows"][0]["image"] == "i"


@both
@pytest.mark.rule("R-4")
def test_whole_plain_strings_that_look_like_counters_are_found_in_inputs(kind: Any) -> None:
    schema = of(
        s=text(99),
        short=text(1),
        l=array(text(99), 99),
        e={"type": "string", "enum": ["r1"]},
        p=text(9, format="deska-image"),
        o=array(of(s=text(9)), 9),
    )
    checker = made(schema, kind)
    counters = ["r1", "r9", "r10", "r123456789012345678901", "r\u200b7", "\ufeffr1\x00"]
    others = [
        "r",
        "r0",
        "r01",
        "R1",
        "r1 ",
        " r1",
        "r1\n",
        "r1.0",
        "r-1",
        "rr1",
        "r1r",
        "r٣",
        "r１",
    ]
    others += ["r1é", "q1", "s1", "", "1", "r:", "r/", "ra", "r²"]
    for word in counters:
        value = {"s": word, "l": ["x", word], "e": "r1", "p": "r1", "o": [{}, {"s": "r3"}]}
        expected = (["/p"], ["/l/1", "/o/1/s", "/s"])
        assert places(checker.examine(value)) == expected
        assert places(checker.examine_json(json.dumps(value))) == expected
        assert places(checker.examine_json(json.dumps(value, ensure_ascii=False))) == expected
    for word in others:
        value = {"s": word, "l": [word], "short": word[:1]}
        assert places(checker.examine(value)) == ([], [])
        assert places(checker.examine_json(json.dumps(value))) == ([], [])
    output = made(of(s=text(9), l=array(text(9))), kind, "output")
    assert places(output.examine({"s": "r1", "l": ["r1"]})) == ([], [])


@both
@pytest.mark.rule("R-4")
def test_a_counter_that_is_too_long_for_its_field_is_refused_like_any_text(kind: Any) -> None:
    checker = made(of(s=text(2), l=array(text(2))), kind)
    assert faults(checker, {"s": "r10", "l": ["r10"]}) == [
        fault("/s", Rule.TOO_LONG, limit=2),
        fault("/l/0", Rule.TOO_LONG, limit=2),
    ]


# -- D-11: as JSON text --------------------------------------------------------------------------


@both
@pytest.mark.rule("D-11")
@pytest.mark.parametrize("side", ["input", "output"])
def test_text_that_is_not_json_is_one_fault_and_leaves_no_trace(kind: Any, side: Any) -> None:
    checker = made(of(["a"], a=FLAG, s=text(9)), kind, side)
    broken: list[Any] = ["", "{", "SECRET", "{'a': 1}", '{"a": NaN}', '{"a": 1e400}', "[1,]"]
    broken += ['{"z": ' + "1" * 21 + "}", '{"s": "\\ud800", "a": true}', '{"s": "\ud800"}']
    broken += ["[" * 65 + "]" * 65, "[" * 100_000, '{"a": true} x', '\ufeff{"a": true}']
    broken += [b'\xef\xbb\xbf{"a": true}', b'{"s": "\xff"}', '{"a": true}'.encode("utf-16")]
    broken += ['{"a": true, "s": "' + " " * 262_144 + '"}']
    for one in broken:
        with pytest.raises(InvalidValue) as caught:
            checker.examine_json(one)
        assert caught.value.faults == (fault("", Rule.NOT_JSON),)
        assert not caught.value.more
        assert caught.value.__context__ is None
        assert caught.value.faults[0].sentence == "the input is not JSON text that can be read"


@both
@pytest.mark.rule("D-11")
def test_json_that_does_not_fit_is_told_like_the_value_it_is(kind: Any) -> None:
    checker = made(of(["a"], a=FLAG, s=text(2)), kind)
    with pytest.raises(InvalidValue) as caught:
        checker.check_json('{"s": "abc", "a": 12345678901234567890, "q": {"deep": [[[[[1.5]]]]]}}')
    assert caught.value.faults == (
        fault("/s", Rule.TOO_LONG, limit=2),
        fault("/a", Rule.WRONG_TYPE, expected="boolean"),
        fault("", Rule.UNKNOWN_PROPERTY, name="q"),
    )
    assert checker.check_json('{"s": 1, "a": false, "s": "ok"}') == {"s": "ok", "a": False}


@both
@pytest.mark.rule("D-11")
def test_every_kind_of_text_is_read_and_nothing_else(kind: Any) -> None:
    checker = made(of(s=text(9)), kind)
    sent = '{"s": "é\\n\\u200b"}'
    data = sent.encode()
    for one in (sent, data, bytearray(data), memoryview(data), f" \r\n\t{sent}\n"):
        assert checker.check_json(one) == {"s": "é\n"}
    for other in (None, 1, {"s": "x"}, ["{}"], Text("{}")):
        with pytest.raises(TypeError):
            checker.check_json(other)  # type: ignore[arg-type]


@both
@pytest.mark.rule("D-11")
def test_limits_of_an_embedder_that_are_tighter_than_the_dialect_hold(kind: Any) -> None:
    schema = of(n={"type": "integer"}, a=array(array(FLAG)))
    few = made(schema, kind, integer_digits=3)
    assert few.check_json('{"n": 999}') == {"n": 999}
    flat = made(schema, kind, json_nesting=2)
    assert flat.check_json('{"a": []}') == {"a": []}
    short = made(schema, kind, call_text=10)
    assert short.check_json('{"n": 999}') == {"n": 999}
    for checker, sent in ((few, '{"n": 1000}'), (flat, '{"a": [[]]}'), (short, '{"n": 9999}')):
        with pytest.raises(InvalidValue) as caught:
            checker.check_json(sent)
        assert caught.value.faults == (fault("", Rule.NOT_JSON),)


@both
@pytest.mark.rule("T-3")
@pytest.mark.parametrize("sent", ["\\u200b", "\\u00ad", "\\b", "\\u0000", "\x7f", "\u200b"])
def test_no_way_of_writing_something_invisible_in_json_text_gets_by(kind: Any, sent: str) -> None:
    checker = made(of(s=text(1), l=array(text(1)), e={"type": "string", "enum": ["a"]}), kind)
    written = f'{{"s": "a{sent}", "l": ["{sent}b"], "e": "{sent}a"}}'
    assert checker.check_json(written) == {"s": "a", "l": ["b"], "e": "a"}
