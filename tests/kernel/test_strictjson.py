"""What strict JSON is, and that nothing of a refused text gets out (D-11)."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from deska_sdk import strictjson
from deska_sdk.errors import DeskaError
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.strictjson import NotJson, loads


def refused(text: Any, **changes: Any) -> bool:
    try:
        loads(text, limits=evolve(DEFAULT_LIMITS, **changes))
    except NotJson as error:
        told = (error.__context__, error.__cause__, str(error), vars(error))
    else:
        return False
    assert told == (None, None, "this is not JSON text that can be read", {})
    return True


@pytest.mark.rule("D-11")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        (" true ", True),
        ("\t\n\r false\r\n", False),
        ("0", 0),
        ("-0", 0),
        ("-12", -12),
        ("1e2", 100.0),
        ("0.5E-1", 0.05),
        ('""', ""),
        (r'"\"\\\/\b\f\n\r\tAé"', '"\\/\b\f\n\r\tAé'),
        (r'"😀"', "😀"),
        (r'"\uD83D\uDE00x"', "😀x"),
        (r'"\\ud800"', "\\ud800"),
        (r'"\\\\\ud83d\ude00"', "\\\\😀"),
        ('"\u2028\x7f"', "\u2028\x7f"),
        ("[]", []),
        ('[1, [2], {"a": {}}]', [1, [2], {"a": {}}]),
        ('{"b": 1, "a": 2}', {"b": 1, "a": 2}),
        ('{"a": 1, "b": 2, "a": 3}', {"a": 3, "b": 2}),
        ('{"": "é日😀"}', {"": "é日😀"}),
    ],
)
def test_json_is_read_from_text_and_from_utf_8(text: str, value: Any) -> None:
    data = text.encode()
    for one in (text, data, bytearray(data), memoryview(data)):
        got = loads(one)
        assert json.dumps(got) == json.dumps(value)


@pytest.mark.rule("D-11")
@pytest.mark.parametrize(
    "text",
    [
        "", " ", "nul", "True", "None", "undefined", "NaN", "Infinity", "-Infinity", "[NaN]", "+1",
        "01", "1.", ".5", "1e", "0x10", "1_000", "--1", "-", "1 2", "١", "[1,]", "[,]", "[1 2]",
        "[", "]", "{", "}", "[}", '{"a"}', '{"a":}', '{"a":1,}', "{a:1}", "{1:1}", "{'a':1}",
        "'a'", '"', '"a', 'a"', '"\n"', '"\t"', '"\x00"', '"\x1f"', r'"\x41"', r'"\u12"',
        r'"\u 123"', r'"\u+123"', r'"\u１234"', '"\\"', "// c\n1", "/* c */ 1", "1 // c", "\ufeff1",
        "\u00a01", "1\u2003", "\x0c1", "\v1", "1\x00", "[1]]", '{"a":1}}', "1;", "\u200b1",
    ],
)  # fmt: skip
def test_what_another_reader_would_not_read_is_refused(text: str) -> None:
    assert refused(text)
    assert refused(text.encode())


@pytest.mark.rule("D-11")
@pytest.mark.parametrize("number", ["1e400", "-1e400", "1e999999999", "9" * 400 + ".5"])
def test_a_number_that_overflows_is_refused(number: str) -> None:
    assert refused(number)
    assert refused(f'{{"a": [0, {number}]}}')
    assert loads("1e308") == 1e308
    assert loads("1e-400") == 0.0


@pytest.mark.rule("D-11")
def test_an_integer_has_at_most_twenty_digits() -> None:
    for sign in ("", "-"):
        for digits in (19, 20):
            assert loads(f"[{sign}{'9' * digits}]") == [int(sign + "9" * digits)]
        for digits in (21, 22, 4_300, 4_301, 100_000):
            for first in ("1", "9"):
                assert refused(f"[{sign}{first}{'0' * (digits - 1)}]")
    assert loads('["' + "9" * 300 + '"]') == ["9" * 300]
    assert loads("0." + "3" * 300) == pytest.approx(1 / 3)
    assert loads('{"a": "' + "1" * 30 + '", "b": 12}') == {"a": "1" * 30, "b": 12}
    assert refused('{"a": "' + "1" * 30 + '", "b": ' + "1" * 21 + "}")


@pytest.mark.rule("D-11")
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 7, 20, 21, 22])
@pytest.mark.parametrize("before", range(9))
def test_a_long_integer_is_found_wherever_it_stands(limit: int, before: int) -> None:
    start = '["' + "x" * before + '", '
    assert loads(f"{start}{'7' * limit}]", limits=evolve(DEFAULT_LIMITS, integer_digits=limit))
    assert refused(f"{start}{'7' * (limit + 1)}]", integer_digits=limit)


@pytest.mark.rule("D-11")
def test_nesting_is_at_most_64_deep() -> None:
    mixed = '{"a":[' * 32
    assert loads("[" * 64 + "]" * 64)
    assert loads(mixed + "1" + "]}" * 32)
    assert refused("[" * 65 + "]" * 65)
    assert refused(mixed + "[]" + "]}" * 32)
    assert refused(mixed + "{}" + "]}" * 32)
    assert loads("[" + ",".join(["[[1]]"] * 500) + "]") == [[[1]]] * 500
    assert loads(f"[{'[],' * 100}{'[' * 63}{']' * 63}]")
    assert refused(f"[{'[],' * 100}{'[' * 64}{']' * 64}]")
    for limit in (1, 2, 5):
        assert not refused("[" * limit + "]" * limit, json_nesting=limit)
        assert refused("[" * (limit + 1) + "]" * (limit + 1), json_nesting=limit)


@pytest.mark.rule("D-11")
@pytest.mark.parametrize(
    "text", ["[" * 100, '"' + "[" * 100 + '"', "[[", "]]" * 50, "{[" * 50, '\\"[[', "\\", '\n"[']
)
def test_brackets_in_text_are_no_nesting(text: str) -> None:
    value = [text, {text: text}, *[[[]]] * 40, text]
    assert loads(json.dumps(value)) == value
    deep = json.dumps(text)
    for _ in range(64):
        deep = f"[{deep}, {json.dumps(text)}]"
    assert loads(deep)
    assert refused(f"[{deep}]")


@pytest.mark.rule("D-11")
@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"":', '[[],[[]],"]]]]",'])
def test_a_text_nested_without_end_is_refused_and_no_error_of_another_kind(opening: str) -> None:
    text = opening * (262_144 // len(opening))
    assert refused(text)
    assert refused(text + "]" * 20)
    with pytest.raises(NotJson):
        strictjson.decode_for_checking(text)


@pytest.mark.rule("D-11")
@pytest.mark.parametrize(
    "text",
    [
        r"\ud800", r"\uDBFF", r"\udc00", r"\uDFFF", r"a\ud800b", r"\ud800\ud800", r"\ude00\ud83d",
        r"\ud83d \ude00", r"\ud83d\\ude00", r"\ud83d\n\ude00", r"\\\ud800", r"\ud83d\ude00\ud83d",
        r"\ud83dA", "\ud800", "\ud83d\\ude00", "\\ud83d\ude00",
    ],
)  # fmt: skip
def test_a_lone_surrogate_is_refused_escaped_or_not(text: str) -> None:
    assert refused(f'"{text}"')
    assert refused(f'{{"{text}": 1}}')
    with pytest.raises(NotJson):
        strictjson.decode_for_checking(strictjson.as_text(f'["{text}"]'))


@pytest.mark.rule("D-11")
def test_bytes_are_utf_8_without_a_mark_and_nothing_else() -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1"):
        assert refused('{"a": "é"}'.encode(encoding))
    for bad in (b'"\xff"', b'"\xc0\xaf"', b'"\xed\xa0\x80"', b'"\xf5\x80\x80\x80"', b'"\xe2\x82'):
        assert refused(bad)
    assert loads(memoryview(b"1_2_3_")[::2]) == 123
    spent = memoryview(b"1")
    spent.release()
    assert refused(spent)


@pytest.mark.rule("D-11")
@pytest.mark.parametrize("letter", ["x", "é", "日", "😀"])
def test_the_size_is_counted_in_code_points(letter: str) -> None:
    text = f'"{letter * (262_144 - 2)}"'
    assert loads(text) == loads(text.encode()) == letter * (262_144 - 2)
    assert refused(text + " ")
    assert refused((text + " ").encode())
    assert refused(b" " * (4 * 262_144 + 1))


@pytest.mark.rule("D-11")
def test_only_the_four_kinds_of_text_are_asked() -> None:
    class Text(str):
        __slots__ = ()

    for other in (None, 1, [], {}, Text("1"), ["1"]):
        with pytest.raises(TypeError, match="JSON text is a str"):
            loads(other)  # type: ignore[arg-type]


@pytest.mark.rule("D-11")
def test_not_json_is_an_error_of_the_family() -> None:
    assert issubclass(NotJson, DeskaError)


PARTS = [
    "[",
    "]",
    "{",
    "}",
    '"',
    "\\",
    "\\\\",
    '\\"',
    "\\u",
    "d800",
    "dc00",
    "\\ud83d\\ude00",
    ":",
    ",",
]
PARTS += ["1", "0" * 21, "9" * 20, "-", ".5", "e9", "e400", "a", "é", "\u200b", " ", "\n", "null"]
PARTS += ["NaN", '"a":']


def standard(text: str) -> str | None:
    """What the standard reader makes of the text, which it takes less strictly."""
    try:
        return json.dumps(json.loads(text))
    except ValueError:
        return None


@pytest.mark.rule("D-11")
@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_any_text_is_read_as_the_standard_reader_does_or_refused(text: str) -> None:
    expected = standard(text)
    assert refused(text) or json.dumps(loads(text)) == expected


@pytest.mark.rule("D-11")
@given(st.binary(max_size=30))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    refused(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20) + 1, 10**20 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=5)
    | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner),
    max_leaves=40,
)  # fmt: skip


@pytest.mark.rule("D-11")
@given(JSON, st.booleans())
@settings(deadline=None)
def test_every_json_value_comes_back_as_it_was_written(value: Any, escaped: bool) -> None:
    text = json.dumps(value, ensure_ascii=escaped)
    assert json.dumps(loads(text)) == json.dumps(value)
    assert json.dumps(loads(text.encode())) == json.dumps(value)
    assert json.dumps(strictjson.decode_for_checking(text)) == json.dumps(value)


@pytest.mark.rule("D-11")
@given(st.integers(0, 80), st.integers(0, 2**32))
@settings(deadline=None)
def test_depth_is_counted_right_for_any_shape(depth: int, seed: int) -> None:
    rng = Random(seed)
    text = rng.choice(["1", '"]["', '"\\\\\\"[["', '"\\\\"', '"{\\n"'])
    for _ in range(depth):
        side = rng.choice(["[]", "{}", "[[],{}]", '"["', '"\\""', '"\\\\"', "0"])
        shapes = [f"[{text}]", f'{{"[":{text}}}', f"[{side}, {text}]", f"[{text},{side}]"]
        text = rng.choice(shapes)
    deepest, stack, inside, skip = 0, 0, False, False
    for letter in text:
        if skip:
            skip = False
        elif letter == "\\":
            skip = True
        elif letter == '"':
            inside = not inside
        elif not inside:
            stack += (letter in "[{") - (letter in "]}")
            deepest = max(deepest, stack)
    assert refused(text) == (deepest > 64)
