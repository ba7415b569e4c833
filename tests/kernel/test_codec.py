"""Both codecs give the same values and the same refusals, and neither reads laxly (D-11)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from deska_sdk import codec as codec_module
from deska_sdk import fence
from deska_sdk.codec import find
from deska_sdk.errors import InvalidValue
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.problems import Rule
from deska_sdk.schema import compile_schema
from deska_sdk.strictjson import REFUSED, NotJson, loads, shows_all, strip_text
from deska_sdk.text import strip_json
from tests.kernel.support_codec import (
    CODECS,
    SCHEMAS,
    array,
    of,
    outcome,
    quick,
    text,
)

both = pytest.mark.parametrize("codec", CODECS)
needs_speed = pytest.mark.skipif("speed" not in CODECS, reason="msgspec or orjson is missing")


# -- which codec there is --------------------------------------------------------------------------


@pytest.mark.rule("D-10")
def test_importing_the_package_loads_no_library_of_the_extra() -> None:
    script = (
        "import sys, deska_sdk\n"
        "assert not {'msgspec', 'orjson', 'isal'} & set(sys.modules)\n"
        "from deska_sdk.schema import compile_schema\n"
        "compile_schema({'type': 'object'}, codec='stdlib').check_json(b'{}')\n"
        "assert not {'msgspec', 'orjson', 'isal'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.rule("D-11")
@pytest.mark.parametrize("missing", ["msgspec", "orjson"])
def test_where_a_library_is_missing_auto_is_stdlib_and_speed_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setattr(codec_module, "_speed", codec_module._speed.__wrapped__)
    assert find("auto") is find("stdlib")
    for ask in (
        lambda: compile_schema(SCHEMAS["small"], codec="speed"),
        lambda: fence.encode("p", "P", 1, codec="speed"),
        lambda: fence.compact(1, 9, codec="speed"),
    ):
        with pytest.raises(ImportError, match=r"deska-sdk\[speed\]"):
            ask()


@pytest.mark.rule("D-11")
def test_there_is_no_third_codec() -> None:
    with pytest.raises(ValueError, match="a codec is auto, stdlib or speed"):
        find("fast")  # type: ignore[arg-type]
    assert find("stdlib").name == "stdlib"


@needs_speed
@pytest.mark.rule("D-11")
def test_auto_is_speed_where_its_libraries_are() -> None:
    assert find("auto") is find("speed") is find()
    assert find().name == "speed"


# -- what is no JSON -------------------------------------------------------------------------------

NOT_JSON = [
    b"", b"{", b"[]]", b"{} x", b"\xef\xbb\xbf{}", b"{}\x00", b"\x0c{}", b"{'s': 1}",
    b'{"s": "a",}',
    b'{"s": NaN}', b'{"s": Infinity}', b'{"s": 1e400}', b'{"s": 01}', b'{"s": 1.}', b'{"s": .5}',
    b'{"s": "\\ud800"}', b'{"s": "\\udc00\\ud800"}', b'{"s": "\\ud800\\u0041"}', b'{"s": "\\x41"}',
    b'{"s": "\xff"}', b'{"s": "\xed\xa0\x80"}', b'{"s": "\xc0\xaf"}', b'{"s": "\xf5\x80\x80\x80"}',
    b'{"s": "\n"}', b'{"s": "\x01"}', b'{"s": "\xe2\x82"}', b'{"s": "a"} \xff',
    b'{"s": ' + b"1" * 21 + b"}",
    b'{"\\ud800": 1}', b'{"s": ' + b"[" * 64 + b"]" * 64 + b"}", b"[" * 100_000,
    b'{"s": "' + b" " * 262_144 + b'"}', '{"s": "\ud800"}', '{"s": "a"}'.encode("utf-16"),
]  # fmt: skip


@both
@pytest.mark.rule("D-11")
@pytest.mark.parametrize("sent", NOT_JSON, ids=range(len(NOT_JSON)))
@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_no_json_is_one_fault_for_both(codec: Any, sent: Any, name: str) -> None:
    checker = compile_schema(SCHEMAS[name], codec=codec)
    for check in (checker.check_json, checker.examine_json):
        with pytest.raises(InvalidValue) as caught:
            check(sent)
        assert [fault.rule for fault in caught.value.faults] == [Rule.NOT_JSON]
        assert (caught.value.__context__, caught.value.__cause__) == (None, None)


@both
@pytest.mark.rule("D-11")
@pytest.mark.parametrize(
    "sent", [f"[{2**64}]", f"[-{2**63}]", "[1e308]", "[12345678901234567890]", "[9007199254740993]"]
)
def test_a_number_beyond_what_a_schema_takes_is_out_of_range_and_not_rounded_into_it(
    codec: Any, sent: str
) -> None:
    checker = compile_schema(SCHEMAS["numbers"], codec=codec)
    for one in (f'{{"w": {sent}}}', f'{{"n": {sent[1:-1]}}}'):
        with pytest.raises(InvalidValue) as caught:
            checker.check_json(one.encode())
        assert [fault.rule for fault in caught.value.faults] == [Rule.OUT_OF_RANGE]


@both
@pytest.mark.rule("D-11")
@pytest.mark.parametrize(
    "sent",
    [
        '{"s": "a", "s": "b"}', '{"s": 1, "s": "b"}', '{"s": "b", "n": 1, "n": 2.0}',
        '{"s": "a:b", "s": "c"}', '{"n": "x", "s": "b", "n": 3.0}', '{"\\u0073": "b"}',
        '{"s" : "a" , "n" :2.0}', '{"s"\n:\t"::::", "n" :1}', '{ "s":"", "n":1E2}',
        '{"n": -0.0, "s": ""}',
    ],
)  # fmt: skip
def test_the_last_of_duplicate_keys_counts_and_the_order_of_the_text_stays(
    codec: Any, sent: str
) -> None:
    checker = compile_schema(SCHEMAS["small"], codec=codec)
    expected = json.loads(sent, parse_float=lambda digits: int(float(digits)))
    for one in (sent, sent.encode(), f"\n {sent} ".encode()):
        new = checker.check_json(one)
        assert json.dumps(new) == json.dumps(expected)


@both
@pytest.mark.rule("D-7", "D-11")
@pytest.mark.parametrize(
    "unknown",
    [
        '"zz":1', '"zz" :1', '"zz"\t:1', '"zz":":"', '"zz":{"s":"x"}', '"S":1', '"":1', '"s ":1',
        '"\\u0073s":1',
        '"s\u200b":1', '"\u3164":1', '"\x7f":1', '"s\\u200b":1', '"zz":[[[[]]]]',
        '"constructor":null',
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "filling", ["", "x" * 40, "é", "a:b", "a\u200b", "\\n", "\\u200b", "\\\\b"]
)
def test_no_unknown_property_gets_by_whatever_stands_beside_it(
    codec: Any, unknown: str, filling: str
) -> None:
    known = f'"s":"{filling}"'
    rows = ",".join(f'{{"id":"{n}"}}' for n in range(40))
    everywhere = ",".join(f'{{"id":"{n}",{unknown}}}' for n in range(8))
    exact = of(["rows", "s"], rows=array(of(["id"], id=text(9))), s=text(99))
    sent = [
        (SCHEMAS["small"], f"{{{unknown},{known}}}"),
        (SCHEMAS["small"], f"{{{known},{unknown}}}"),
        (SCHEMAS["texts"], f'{{{known},"l":["{"y" * 300}","{"y" * 299}"],{unknown}}}'),
        (SCHEMAS["rows"], f'{{"rows":[{rows},{{"id":"",{unknown}}}],{known}}}'),
        (SCHEMAS["rows"], f'{{"rows":[{{"id":"","n":1.5,{unknown}}},{rows}],{known}}}'),
        (exact, f'{{"rows":[{everywhere}],{known}}}'),
    ]
    for schema, one in sent:
        checker = compile_schema(schema, codec=codec)
        for given_as in (one, one.encode()):
            with pytest.raises(InvalidValue) as caught:
                checker.check_json(given_as)
            assert {fault.rule for fault in caught.value.faults} == {Rule.UNKNOWN_PROPERTY}


@both
@pytest.mark.rule("D-11")
@pytest.mark.parametrize("letter", ["a", "é", "😀", "\\n", "\u200b"])
def test_a_text_that_would_fit_but_for_its_size_is_no_json(codec: Any, letter: str) -> None:
    for schema in (SCHEMAS["small"], SCHEMAS["rows"]):
        known = "" if schema is SCHEMAS["small"] else '"rows":[],'
        sent = f'{{{known}"s":"{letter}"    }}'
        limits = evolve(DEFAULT_LIMITS, call_text=len(sent))
        checker = compile_schema(schema, codec=codec, limits=limits)
        for given_as in (sent, sent.encode()):
            assert checker.check_json(given_as)
        sent = sent.replace("}", " }")
        for given_as in (sent, sent.encode()):
            with pytest.raises(InvalidValue) as caught:
                checker.check_json(given_as)
            assert [fault.rule for fault in caught.value.faults] == [Rule.NOT_JSON]


@both
@pytest.mark.rule("T-3", "I-1")
def test_a_path_stays_as_it_is_among_texts_that_are_stripped_as_one(codec: Any) -> None:
    path = {"type": "string", "maxLength": 20, "format": "deska-image"}
    schema = of(["rows"], rows=array(of(["p"], p=path, s=text(9))), l=array(text(9)))
    checker = compile_schema(schema, codec=codec)
    row = {"p": "a\u200b\x7f.png", "s": "b\u200b"}
    for value in ({"rows": [row] * 9}, {"l": ["\u200b"] * 40, "rows": [row]}):
        expected = {"rows": [{"p": "a\u200b\x7f.png", "s": "b"}] * len(value["rows"])}
        for escaped in (True, False):
            sent = json.dumps(value, ensure_ascii=escaped)
            for given_as in (sent, sent.encode()):
                assert checker.check_json(given_as)["rows"] == expected["rows"]
        assert checker.check(value)["rows"] == expected["rows"]


# -- any text --------------------------------------------------------------------------------------

LETTERS = [
    "\\n",
    "\\\\",
    '\\"',
    "\\u200b",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\r\\n",
    "\\b",
    "\\f",
    "\\u000b",
    "\\u001f",
    "a",
    "b",
    "r",
    "u200b",
    "é",
    "日",
    "😀",
    "\u200b",
    "\ufe0f",
    "\u2028",
    "\x85",
    "\u2800",
    "\x7f",
    "\r\n",
    " ",
    "\t",
    "\u3164",
]
PARTS = [
    '{"s":"', '","n":', '"}', "}", "{", '"rows":[', '{"id":"', '"},', "]", ",", ":", "1", "2.0",
    "1e2", "-0.0", "9007199254740992", "true", '"f":', '"zz":', "x" * 300, *LETTERS,
]  # fmt: skip
SENT = st.lists(st.sampled_from(PARTS), max_size=14).map("".join)
INSIDE = st.lists(st.sampled_from(LETTERS), max_size=10).map("".join)


def shaped(name: str, before: str, inside: str, many: int) -> str:
    """Text for the schema of that name, mostly fitting."""
    rows, plain = many * ',{"id":"r1","e":"on"}', many * ',"plain"'
    return {
        "small": f'{before}{{"s":"{inside}","n":2.0}}',
        "texts": f'{{"l":["{inside}"{plain},"{inside}x"],"s":"{inside}"}}',
        "rows": f'{{"rows":[{{"id":"{inside}","n":3.0}}{rows}],"s":"r{many}"}}',
        "numbers": f'{{"g":[[1.0,2.5{many * ",3"}],[]],"w":[{many}.0],"n":1e{many}}}',
    }[name]


SHAPED = st.builds(
    shaped,
    st.sampled_from(sorted(SCHEMAS)),
    st.sampled_from(["", " ", "\n\t"]),
    INSIDE,
    st.sampled_from([0, 1, 30]),
)


@pytest.mark.rule("D-11", "T-3", "R-4")
@settings(deadline=None, max_examples=300)
@given(SENT | SHAPED)
def test_any_text_is_read_by_both_as_by_the_slow_one_or_refused_with_its_words(sent: str) -> None:
    for schema in SCHEMAS.values():
        slow = compile_schema(schema, checker="interpreted", codec="stdlib")
        examined, expected = outcome(slow, sent, json=True), quick(slow.check_json, sent)
        for codec in CODECS:
            checker = compile_schema(schema, codec=codec)
            for one in (sent, sent.encode("utf-8", "surrogatepass")):
                assert quick(checker.check_json, one) == expected
                assert outcome(checker, one, json=True) == examined


@both
@pytest.mark.rule("D-11")
@settings(deadline=None)
@given(data=st.binary(max_size=40))
def test_any_bytes_are_read_strictly_or_refused(codec: Any, data: bytes) -> None:
    got = find(codec).loads(data)
    try:
        expected = loads(data)
    except NotJson:
        assert got is REFUSED or "e+" in repr(got)  # an integer of too many digits, as a float
    else:
        assert got is REFUSED or repr(got) == repr(expected)


@both
@pytest.mark.rule("T-3")
@settings(deadline=None, max_examples=300)
@given(inside=INSIDE)
def test_text_stripped_as_a_whole_holds_what_its_strings_stripped_would(
    codec: Any, inside: str
) -> None:
    data = f'{{"a":["{inside}","{inside}1"],"b":"{inside}"}}'.encode()
    value = find(codec).loads(data)
    if value is REFUSED or strip_json(value) == value:
        return
    whole = strip_text(data)
    if whole is not None:
        assert json.loads(whole) == strip_json(value)
    assert not shows_all(data)
