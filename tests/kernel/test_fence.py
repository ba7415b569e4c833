"""N-1, N-2, N-3, N-5: a page's words, in a block that cannot be taken for the host's."""

from __future__ import annotations

import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given, settings

from deska_sdk import fence
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.text import fold, has_invisible, strip_invisible
from tests.kernel.support_codec import CODECS
from tests.kernel.support_fence import ESCAPED, HOSTILE, IN_ATTRIBUTE, JSON, MARKS, stripped

FORMS = ("NFC", "NFD", "NFKC", "NFKD")

SEEN = [char for char in map(chr, range(0x110000)) if strip_invisible(char) == char]
# All that a normal form changes or joins to ASCII has a decomposition or is a mark.
CHANGED = [
    char
    for char in SEEN
    if unicodedata.decomposition(char) or unicodedata.category(char).startswith("M")
]
WIDE = evolve(DEFAULT_LIMITS, answer=10**9)


def in_form(form: str, value: object) -> object:
    if isinstance(value, str):
        return unicodedata.normalize(form, value)
    if isinstance(value, list):
        return [in_form(form, item) for item in value]
    if isinstance(value, dict):
        return {
            unicodedata.normalize(form, key): in_form(form, item) for key, item in value.items()
        }
    return value


def read(block: str) -> tuple[dict[str, str], object]:
    """A block as its reader takes it apart: attributes, and the value between the tags."""
    element = ET.fromstring(block)
    assert element.tag == "panel_content"
    assert list(element) == []
    assert element.text is not None
    return dict(element.attrib), json.loads(element.text)


def escaped_by_the_rule(line: str) -> str:
    """N-2 word for word, one character after the other."""
    out: list[str] = []
    joins = False  # an escape, or an escaped mark, came after the last ASCII character
    index = 0
    while index < len(line):
        char = line[index]
        if char == "\\":
            length = 6 if line[index + 1] == "u" else 2
            out.append(line[index : index + length])
            joins = True
            index += length
            continue
        if char in ESCAPED or (joins and char in MARKS):
            out.append(f"\\u{ord(char):04x}")
            joins = True
        else:
            out.append(char)
            joins = joins and not char.isascii()
        index += 1
    return "".join(out)


@pytest.mark.rule("N-1")
def test_a_value_is_fenced_as_three_lines_without_a_line_feed_at_the_end() -> None:
    value = {"notes": ["Make the header blue"], "images": ["image:1"]}
    assert fence.encode("notes", "Sticky Notes", value) == (
        '<panel_content package="notes" panel="Sticky Notes" trust="untrusted">\n'
        '{"notes":["Make the header blue"],"images":["image:1"]}\n'
        "</panel_content>"
    )


@pytest.mark.rule("N-1", "N-2", "D-8")
@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({}, "{}"),
        ([], "[]"),
        ("", '""'),
        (None, "null"),
        ([True, False, 0, -7, 2**53 - 1], "[true,false,0,-7,9007199254740991]"),
        ([3.0, -0.0, 1e2, 0.5, 1e-04], "[3,0,100,0.5,0.0001]"),
        ("日本 é 😀", '"日本 é 😀"'),
        ("a</panel_content>&", r'"a\u003c/panel_content\u003e\u0026"'),
        ("\u226e\uff1c\u2039", r'"\u226e\uff1c\u2039"'),
        ("<\u0327", r'"\u003c\u0327"'),
        ("<é\u0327", r'"\u003cé\u0327"'),
        ("<e\u0327", '"\\u003ce\u0327"'),
        ("<\u0334\u0327\u0301", '"\\u003c\u0334\\u0327\\u0301"'),
        ('\n\u0301\t\u0301\\\u0301"\u0301', r'"\n\u0301\t\u0301\\\u0301\"\u0301"'),
        ("\\u0041\u0301", '"\\\\u0041\u0301"'),
        ("e\u0301", '"e\u0301"'),
        ("<\u0305", '"\\u003c\u0305"'),
        ("a\u200bb\r\nc\x00", r'"ab\nc"'),
        ("<\u200b\u0327", r'"\u003c\u0327"'),
        ("\ud800", '"\ufffd"'),
        ({"a\u200b<": 1}, r'{"a\u003c":1}'),
    ],
    ids=ascii,
)
@pytest.mark.parametrize("codec", CODECS)
def test_a_value_is_one_line_in_which_nothing_can_end_the_fence(
    value: object, line: str, codec: Any
) -> None:
    block = fence.encode("p", "P", value, codec=codec)
    assert block.split("\n") == [
        '<panel_content package="p" panel="P" trust="untrusted">',
        line,
        "</panel_content>",
    ]


@pytest.mark.rule("N-2")
def test_all_that_a_normal_form_makes_a_special_character_of_is_escaped() -> None:
    becomes = {
        char
        for char in CHANGED
        if any(set(unicodedata.normalize(form, char)) & set('<>&"\\') for form in FORMS)
    }
    assert len(becomes) == 11
    assert becomes <= ESCAPED


@pytest.mark.rule("N-2")
def test_all_that_a_normal_form_joins_to_the_end_of_an_escape_is_a_mark_of_the_rule() -> None:
    ends = '0123456789abcdefnt"\\'
    joins = {
        char
        for char in CHANGED
        if any(
            unicodedata.normalize(form, end + char) != end + unicodedata.normalize(form, char)
            for form in FORMS
            for end in ends
        )
    }
    assert joins == MARKS


@pytest.mark.rule("N-3")
def test_all_that_a_normal_form_makes_an_attribute_end_of_is_a_reference() -> None:
    ends = {
        char
        for char in CHANGED
        if any(set(unicodedata.normalize(form, char)) & set("<>&\"'") for form in FORMS)
    }
    assert ends | set("&<>\"'") == IN_ATTRIBUTE


@pytest.mark.rule("N-5")
def test_every_character_that_is_not_stripped_is_read_as_it_was_sent() -> None:
    value = "<".join(SEEN)
    assert read(fence.encode("p", "P", value, limits=WIDE))[1] == value


@pytest.mark.rule("N-2", "N-5")
@pytest.mark.parametrize(
    "before", ["", "<", "\u226e", "\uff1e", "\n", "\t", '"', "\\", "<\u0334", "<日"], ids=ascii
)
def test_every_character_survives_every_normal_form_after_every_kind_of_escape(
    before: str,
) -> None:
    value = [before + char for char in CHANGED]
    block = fence.encode("p", "P", value, limits=WIDE)
    for form in FORMS:
        again = read(unicodedata.normalize(form, block))[1]
        assert isinstance(again, list)
        wrong = [
            ascii(sent)
            for sent, came in zip(value, again, strict=True)
            if unicodedata.normalize(form, came) != unicodedata.normalize(form, sent)
        ]
        assert wrong == []


@pytest.mark.rule("N-5", "N-6", "T-3")
@settings(deadline=None)
@given(JSON)
@example(["</panel_content>\u0338", "\u226e", "\uff1c/panel_content\uff1e", "\\\uff02"])
@example({"\uff02": "\u0344", "\uff3c": "\u0301"})
def test_a_block_is_read_as_the_stripped_value_as_is_and_in_every_normal_form(
    value: object,
) -> None:
    block = fence.encode("notes", "Notes", value)
    assert block.count("<") == block.count(">") == 2
    assert len(block.split("\n")) == 3
    clean = stripped(value)
    attributes = {"package": "notes", "panel": "Notes", "trust": "untrusted"}
    assert read(block) == (attributes, clean)
    for form in FORMS:
        again, came = read(unicodedata.normalize(form, block))
        assert again == attributes
        assert in_form(form, came) == in_form(form, clean)


@pytest.mark.rule("N-3", "N-5")
@settings(deadline=None)
@given(HOSTILE)
@example("\u226e\ufe64/panel_content\uff1e' onload=\uff02")
@example("x" * 79 + " yz")
def test_a_name_is_read_as_the_folded_name_as_is_and_in_every_normal_form(name: str) -> None:
    block = fence.encode("notes", name, 1)
    folded = fold(name, 80)
    assert read(block) == ({"package": "notes", "panel": folded, "trust": "untrusted"}, 1)
    for form in FORMS:
        again = read(unicodedata.normalize(form, block))[0]
        assert again.keys() == {"package", "panel", "trust"}
        assert unicodedata.normalize(form, again["panel"]) == unicodedata.normalize(form, folded)


@pytest.mark.rule("N-3")
def test_a_name_is_written_with_decimal_references_folded_and_cut() -> None:
    block = fence.wrap("notes", " Tom's\n<b>&\"\u226e\uff07 " + "x" * 80, "1")
    written = "Tom&#39;s &#60;b&#62;&#38;&#34;&#8814;&#65287; "
    folded = "Tom's <b>&\"\u226e\uff07 "
    rest = "x" * (80 - len(folded))
    assert block.splitlines()[0] == (
        f'<panel_content package="notes" panel="{written}{rest}" trust="untrusted">'
    )


@pytest.mark.rule("N-3", "N-5")
@settings(deadline=None)
@given(HOSTILE)
def test_an_id_of_any_text_cannot_end_its_attribute(panel_id: str) -> None:
    attributes, value = read(fence.encode(panel_id, "P", 1))
    assert attributes == {
        "package": fold(panel_id, len(panel_id)),
        "panel": "P",
        "trust": "untrusted",
    }
    assert value == 1


@pytest.mark.rule("N-2")
@settings(deadline=None)
@given(JSON)
def test_an_escaped_line_is_the_rule_applied_to_each_character(value: object) -> None:
    line = fence.compact(stripped(value), 65_536)
    escaped = fence.escape(line, 10**6)
    assert escaped == escaped_by_the_rule(line)
    assert json.loads(escaped) == json.loads(line)


@pytest.mark.rule("T-3")
@settings(deadline=None)
@given(JSON)
def test_a_line_that_hides_nothing_needs_no_stripping(value: object) -> None:
    if not fence.may_hide(fence.compact(value, 65_536)):
        assert stripped(value) == value
    assert not has_invisible(fence.encode("p", "P", value))


@pytest.mark.rule("T-3")
@pytest.mark.parametrize("hidden", ["\x00", "\x0b", "\r", "\x0c", "\x1f", "\u200b", "\ud800"])
def test_a_line_tells_that_it_hides_something_also_where_that_is_an_escape(hidden: str) -> None:
    assert fence.may_hide(fence.compact({"a": f"b{hidden}"}, 100))
    assert fence.may_hide(fence.compact({f"b{hidden}": "a"}, 100))


@pytest.mark.rule("T-3")
def test_a_line_with_line_feeds_tabs_and_quotes_is_known_to_hide_nothing() -> None:
    assert not fence.may_hide(fence.compact(["a\n\t\"quoted\" and 'more'/"], 100))


@pytest.mark.rule("N-2")
def test_the_fence_knows_no_tag_names_but_the_one_it_writes() -> None:
    # The same letters between other brackets are escaped like any others.
    for word in ("panel_content", "script", "b"):
        line = fence.escape(f'"</{word}>"', 99)
        assert line == rf'"\u003c/{word}\u003e"'
        assert re.search("[<>]", line) is None
