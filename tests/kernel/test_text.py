"""T-1 to T-4: what is invisible, and what becomes of it."""

from __future__ import annotations

import unicodedata
from types import ModuleType

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

import deska_sdk._utf8
import deska_sdk.text
from deska_sdk import _text_table as table
from deska_sdk.text import (
    escape_invisible,
    fold,
    has_invisible,
    strip_each,
    strip_invisible,
    strip_json,
)

EVERY = range(0x110000)
SURROGATES = range(0xD800, 0xE000)
BREAKS = {0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029}
REPLACED = BREAKS | set(SURROGATES) | {0x2800}
WHITE = {0x20, 0x09, 0x0A, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000}

# Characters on which text code stumbles, next to any others.
HOSTILE = st.lists(
    st.one_of(
        st.sampled_from("\r\n\t \x00\x0b\x85\u2028\u200b\u2060\ufe0f\u2800\u034f\u061c\u3164\xad"),
        st.sampled_from("\u00a0\u1680\u2003\u202f\u205f\u3000\ufeff\ufffd\ufffe\U000e0041"),
        st.sampled_from("\ud83d\ude00\ud800\udfff"),
        st.sampled_from(["a", "é", "я", "日", "😀", "plain words", "x" * 70, "あ" * 70]),
        st.text(max_size=3),
    ),
    max_size=30,
).map("".join)


# A Unicode database that is neither ours nor the running Python's.
IGNORABLE = {
    ord(character)
    for character in regex.findall(r"\p{Default_Ignorable_Code_Point}", "".join(map(chr, EVERY)))
}
REMOVED = {
    *IGNORABLE,
    *range(0x09),
    *range(0x0E, 0x20),
    *range(0x7F, 0x85),
    *range(0x86, 0xA0),
    *range(0xFFF9, 0xFFFD),
    *range(0x13430, 0x13440),
    0x16FE4,
    0x1D159,
    *range(0xFDD0, 0xFDF0),
    *(point for point in EVERY if point & 0xFFFE == 0xFFFE),
}


def expected(point: int) -> str:
    if point in REMOVED:
        return ""
    if point in BREAKS:
        return "\n"
    if point in SURROGATES:
        return "\ufffd"
    return " " if point == 0x2800 else chr(point)


def naive_strip(text: str) -> str:
    """T-1 word for word, one character after the other."""
    out: list[str] = []
    for index, character in enumerate(text):
        if character == "\r" and text[index + 1 : index + 2] == "\n":
            continue
        out.append(expected(ord(character)))
    return "".join(out)


@pytest.mark.rule("T-1")
def test_the_table_holds_as_many_characters_as_the_rule_says() -> None:
    removed = [p for first, last in table.REMOVED for p in range(first, last + 1)]
    replaced = [
        point
        for ranges in (table.TO_LINE_FEED, table.TO_REPLACEMENT, table.TO_SPACE)
        for first, last in ranges
        for point in range(first, last + 1)
    ]
    assert len(removed) == len(set(removed)) == 4_321
    assert len(replaced) == len(set(replaced)) == 2_055
    assert not set(removed) & set(replaced)


@pytest.mark.rule("T-1", "T-2")
@pytest.mark.parametrize("around", ["", "x" * 70, "日" * 70], ids=["alone", "ascii", "cjk"])
def test_every_code_point_is_stripped_as_an_independent_database_says(around: str) -> None:
    wrong = [
        hex(point)
        for point in EVERY
        if strip_invisible(around + chr(point)) != around + expected(point)
    ]
    assert wrong == []


@pytest.mark.rule("T-2")
def test_the_independent_database_knows_the_ignorable_characters_the_table_was_made_of() -> None:
    assert len(IGNORABLE) == 4_174
    assert {p for first, last in table.REMOVED for p in range(first, last + 1)} >= IGNORABLE


@pytest.mark.rule("T-2")
def test_no_code_point_grows_or_changes_again_when_it_is_stripped() -> None:
    wrong = [
        hex(point)
        for point in EVERY
        if len(once := strip_invisible(chr(point))) > 1 or strip_invisible(once) != once
    ]
    assert wrong == []


@pytest.mark.rule("T-1")
@settings(deadline=None)
@given(HOSTILE)
def test_stripping_a_text_is_the_rule_applied_to_each_character(text: str) -> None:
    assert strip_invisible(text) == naive_strip(text)


@pytest.mark.rule("T-2")
@settings(deadline=None)
@given(HOSTILE)
def test_a_stripped_text_is_no_longer_and_stays_as_it_is(text: str) -> None:
    once = strip_invisible(text)
    assert len(once) <= len(text)
    assert strip_invisible(once) is once


@pytest.mark.rule("T-1")
@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("a\r\nb", "a\nb"),
        ("a\rb", "a\nb"),
        ("a\r\r\nb", "a\n\nb"),
        ("a\n\rb", "a\n\nb"),
        ("a\r\n\r\nb", "a\n\nb"),
        ("é\r\r\n\u200b", "é\n\n"),
        ("a\u2028\u2029\x85\x0b\x0cb", "a\n\n\n\n\nb"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("a\u2800b", "a b"),
    ],
    ids=repr,
)
def test_line_breaks_become_line_feeds_and_the_blank_pattern_a_space(
    text: str, stripped: str
) -> None:
    assert strip_invisible(text) == stripped


@pytest.mark.rule("T-1", "T-2")
def test_what_stood_between_two_characters_is_removed_without_making_them_a_pair() -> None:
    assert strip_invisible("\r\u200b\n") == "\n\n"
    assert strip_invisible("\ud83d\u200b\ude00") == "\ufffd\ufffd"
    assert strip_invisible("\ud83d\ude00") == "\ufffd\ufffd"


@pytest.mark.rule("T-1")
def test_what_can_be_seen_or_has_a_width_is_kept() -> None:
    kept = "\t\n \u00a0\u1680\u2003\u202f\u205f\u3000\ue000\U000f0000\u06dd\u08e2\U000110bd"
    assert strip_invisible(kept) is kept


@pytest.mark.rule("T-1")
def test_the_unicode_database_of_the_running_python_is_not_asked() -> None:
    mine = (*vars(deska_sdk.text).values(), *vars(deska_sdk._utf8).values())
    used = {value for value in mine if isinstance(value, ModuleType)}
    # pytest rewrites the asserts of packages with a plugin, and adds two modules of its own.
    ours = {name for module in used if (name := module.__name__).partition(".")[0] != "_pytest"}
    assert ours - {"builtins"} == {"re", "deska_sdk._text_table", "deska_sdk._utf8"}


@pytest.mark.rule("D-5", "P-4")
@settings(deadline=None)
@given(HOSTILE)
def test_a_text_has_something_invisible_when_stripping_would_change_it(text: str) -> None:
    assert has_invisible(text) is (naive_strip(text) != text)


@pytest.mark.rule("D-5")
def test_a_tab_and_a_line_feed_are_not_invisible() -> None:
    assert not has_invisible("one\ttwo\nthree")


@pytest.mark.rule("D-5", "P-4")
def test_an_emoji_selector_and_a_persian_half_space_are_invisible() -> None:
    assert has_invisible("☺\ufe0f")
    assert has_invisible("می\u200cخواهم")


@pytest.mark.rule("T-4")
def test_every_invisible_character_and_every_white_space_is_folded_to_a_space() -> None:
    spaces = REMOVED | REPLACED | WHITE
    wrong = [
        hex(point)
        for point in EVERY
        if fold(f"a{chr(point)}b") != ("a b" if point in spaces else f"a{chr(point)}b")
    ]
    assert wrong == []


@pytest.mark.rule("T-4")
def test_the_white_space_of_folding_is_every_space_separator_with_tab_and_line_feed() -> None:
    separators = {point for point in EVERY if unicodedata.category(chr(point)) == "Zs"}
    assert separators | {0x09, 0x0A} == WHITE


@pytest.mark.rule("T-4")
@pytest.mark.parametrize(
    ("text", "limit", "folded"),
    [
        ("  Two\n\t lines\u200b ", 300, "Two lines"),
        ("abc def", 4, "abc"),
        ("abc def", 5, "abc d"),
        ("\u200b \u3000", 300, ""),
        ("x" * 301, 300, "x" * 300),
        ("a\u200bb", 80, "a b"),
        ("ab", 0, ""),
    ],
    ids=repr,
)
def test_folding_trims_joins_runs_cuts_and_trims_again(text: str, limit: int, folded: str) -> None:
    assert fold(text, limit) == folded


@pytest.mark.rule("T-4")
@settings(deadline=None)
@given(HOSTILE, st.integers(0, 90))
def test_a_folded_text_is_one_visible_line_within_its_limit_and_stays_as_it_is(
    text: str, limit: int
) -> None:
    folded = fold(text, limit)
    assert len(folded) <= limit
    assert fold(folded, limit) == folded
    assert not has_invisible(folded)
    assert folded == " ".join(folded.split())
    assert not WHITE - {0x20} & {ord(character) for character in folded}


@pytest.mark.rule("P-7")
@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a\u200bb", r"a\u{200B}b"),
        ("\r\n\t", r"\u{000D}\u{000A}\u{0009}"),
        ("\U000e0041", r"\u{E0041}"),
        ("\ud800", r"\u{D800}"),
        ("plain é 日", "plain é 日"),
    ],
    ids=repr,
)
def test_what_is_invisible_is_quoted_by_its_number(text: str, escaped: str) -> None:
    assert escape_invisible(text) == escaped


@pytest.mark.rule("P-7")
@settings(deadline=None)
@given(HOSTILE)
def test_a_quoted_text_is_one_line_that_hides_nothing(text: str) -> None:
    escaped = escape_invisible(text)
    assert not has_invisible(escaped)
    assert "\n" not in escaped
    assert "\t" not in escaped
    # Nothing is lost: written back, the numbers are the text again.
    back = regex.sub(r"\\u\{([0-9A-F]{4,6})\}", lambda m: chr(int(m[1], 16)), escaped)
    assert back == regex.sub(r"\\u\{([0-9A-F]{4,6})\}", lambda m: chr(int(m[1], 16)), text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | HOSTILE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HOSTILE, inner, max_size=4),
    max_leaves=12,
)


def stripped_by_the_rule(value: object) -> object:
    if isinstance(value, str):
        return naive_strip(value)
    if isinstance(value, list):
        return [stripped_by_the_rule(item) for item in value]
    if isinstance(value, dict):
        return {key: stripped_by_the_rule(item) for key, item in value.items()}
    return value


@pytest.mark.rule("T-3", "D-9")
@settings(deadline=None)
@given(JSON)
def test_every_string_of_a_value_is_stripped_and_no_key_is(value: object) -> None:
    before = repr(value)
    assert strip_json(value) == stripped_by_the_rule(value)
    assert repr(value) == before


@pytest.mark.rule("D-9")
def test_a_stripped_value_shares_no_container_with_the_one_it_came_from() -> None:
    inner: list[object] = ["x"]
    value = {"a": inner, "b": {"c": 1}}
    stripped = strip_json(value)
    assert stripped == value
    assert isinstance(stripped, dict)
    assert stripped is not value
    assert stripped["a"] is not inner
    assert stripped["b"] is not value["b"]


@pytest.mark.rule("T-1", "T-3")
@settings(deadline=None)
@given(st.lists(HOSTILE, max_size=12), st.sampled_from([0, 1, 40]), st.sampled_from("\t\ue000a"))
def test_many_texts_stripped_as_one_are_each_stripped_alone(
    texts: list[str], plain: int, inside: str
) -> None:
    texts = [*texts, *["plain"] * plain, inside][:52]
    before = list(texts)
    assert strip_each(texts) == [naive_strip(text) for text in texts]
    assert texts == before


@pytest.mark.rule("T-1")
@pytest.mark.parametrize("around", [0, 70, 400], ids=["short", "long", "longer"])
def test_every_invisible_character_is_found_in_a_text_of_any_length(around: int) -> None:
    # Long texts are looked at as UTF-8, and where it holds few suspect bytes, from one to the next.
    for letter in ("a", "\u0436", "\u65e5"):
        clean = letter * around
        assert not has_invisible(clean)
        for point in EVERY:
            char = chr(point)
            if point > 0x3400 and point & 0xFFFF < 0xD7FF and point & 0xFF00 != 0xE0000:
                continue
            if point < 0x3400 or naive_strip(char) != char:
                assert has_invisible(clean + char) is (naive_strip(char) != char), hex(point)
