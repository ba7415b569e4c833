"""R-1 to R-4 for the counter alone, held against a plain model."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deska_sdk import revisions
from deska_sdk.errors import InvalidValue
from deska_sdk.revisions import RevisionCounter, is_revision

REVISION = st.text("abc.-_9", min_size=1, max_size=3)


@pytest.mark.rule("R-1")
def test_the_example_of_the_module_is_true():
    example = revisions.__doc__ or ""
    code = "\n".join(line[4:] for line in example.splitlines() if line.startswith("    "))
    assert "counter.show" in code
    exec(compile(code, "revisions", "exec"), {})
    assert doctest.testmod(revisions).failed == 0


@pytest.mark.rule("R-1", "R-2", "R-3", "R-4")
@given(st.lists(REVISION, max_size=60), st.integers(1, 5), st.integers(0, 1_000))
def test_counters_behave_as_a_list_of_the_latest_revisions(asked, kept, given_before):
    counter = RevisionCounter(given=given_before, kept=kept)
    latest: list[tuple[str, str]] = []
    ever: dict[str, str] = {}
    for revision in asked:
        shown = counter.show(revision)
        known = dict(latest)
        if revision in known:
            assert shown == known[revision]
        else:
            assert shown == f"r{given_before + len(ever) + 1}"
            assert shown not in ever
            ever[shown] = revision
        latest = [one for one in latest if one[0] != revision] + [(revision, shown)]
        latest = latest[-kept:]
        assert len(counter) == len(latest)
        kept_counters = {mark: one for one, mark in latest}
        for mark, meant in ever.items():
            # A counter means what it always meant, or nothing any more.
            assert counter.revision(mark) == kept_counters.get(mark)
            assert kept_counters.get(mark, meant) == meant
    assert counter.given == given_before + len(ever)


@pytest.mark.rule("R-2")
def test_the_last_256_are_kept():
    counter = RevisionCounter()
    for one in range(257):
        counter.show(f"revision-{one}")
    assert counter.revision("r1") is None
    assert counter.revision("r2") == "revision-1"
    assert counter.revision("r257") == "revision-256"
    assert len(counter) == 256


@pytest.mark.rule("R-2")
def test_no_number_beyond_the_reserved_ones_is_given():
    counter = RevisionCounter(given=3, reserved=4)
    assert not counter.needs_block("a")
    assert counter.show("a") == "r4"
    assert counter.needs_block("b")
    assert not counter.needs_block("a")
    with pytest.raises(OverflowError):
        counter.show("b")
    assert counter.show("a") == "r4"
    counter.reserved = 5
    assert counter.show("b") == "r5"


@pytest.mark.rule("R-2")
def test_a_number_that_could_not_be_given_leaves_what_is_kept_as_it_was():
    counter = RevisionCounter(reserved=2, kept=2)
    counter.show("a")
    counter.show("b")
    with pytest.raises(OverflowError):
        counter.show("c")
    assert (counter.revision("r1"), counter.revision("r2"), len(counter)) == ("a", "b", 2)


@pytest.mark.rule("R-4")
@given(st.text())
def test_whatever_is_not_a_counter_that_was_given_is_nothing(text):
    counter = RevisionCounter()
    counter.show("a")
    assert counter.revision(text) == ("a" if text == "r1" else None)


@pytest.mark.rule("R-4")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "r",
        "r0",
        "r01",
        "R1",
        "1",
        "r1 ",
        " r1",
        "r1\n",
        "r+1",
        "r-1",
        "r1.0",
        "r١",
        "r²",
        "r" + "9" * 10000,
        "r1_0",
        "rr1",
    ],
)
def test_only_the_exact_text_is_a_counter(text):
    counter = RevisionCounter()
    counter.show("a")
    assert counter.revision(text) is None


@pytest.mark.rule("R-4")
@pytest.mark.parametrize("text", ["r01", "r00", "r09", "r0", "r11", "r010"])
def test_no_zero_stands_before_a_counter_however_many_were_given(text):
    counter = RevisionCounter()
    for number in range(10):
        counter.show(f"revision-{number}")
    assert counter.revision("r10") == "revision-9"
    assert counter.revision(text) is None


@pytest.mark.rule("W-1")
@given(st.one_of(st.text(max_size=70), st.integers(), st.none(), st.booleans(), st.binary()))
def test_a_revision_is_one_to_64_of_its_own_letters(value):
    letters = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    fits = isinstance(value, str) and 1 <= len(value) <= 64 and set(value) <= letters
    assert is_revision(value) is fits
    if not fits and isinstance(value, str):
        with pytest.raises(InvalidValue):
            RevisionCounter().show(value)


@pytest.mark.rule("W-1")
@pytest.mark.parametrize(
    ("value", "fits"),
    [("a" * 64, True), ("a" * 65, False), ("a\n", False), ("", False), ("._-", True)],
)
def test_the_bounds_of_a_revision(value, fits):
    assert is_revision(value) is fits


@pytest.mark.rule("B-2")
def test_neither_a_repr_nor_an_exception_holds_a_revision():
    counter = RevisionCounter(reserved=1)
    counter.show("SECRET")
    assert "SECRET" not in repr(counter)
    assert repr(counter) == "RevisionCounter(given=1, kept=1)"
    with pytest.raises(OverflowError) as full:
        counter.show("SECRET2")
    with pytest.raises(InvalidValue) as wrong:
        counter.show("SECRET SECRET")
    for caught in (full.value, wrong.value):
        assert "SECRET" not in f"{caught!r}{caught}"
        assert caught.__context__ is None
