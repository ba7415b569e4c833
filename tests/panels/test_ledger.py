"""What no later version of a panel may declare (P-6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deska_sdk.errors import PackageError
from deska_sdk.panels.ledger import Ledger
from tests.panels.support_manifest import checked, plain, working

FIVE = {
    "network": {"network": ["a.example"]},
    "embeds": {"embeds": ["https://a.example"]},
    "signedInEmbeds": {"signedInEmbeds": ["https://a.example"]},
    "account": {"permissions": ["notify", "account"]},
    "open-url": {"permissions": ["open-url"]},
}
WHERE = {
    "network": "/network",
    "embeds": "/embeds",
    "signedInEmbeds": "/signedInEmbeds",
    "account": "/permissions/1",
    "open-url": "/permissions/0",
}


@pytest.mark.rule("P-6")
@pytest.mark.parametrize("way", FIVE)
def test_a_panel_that_once_declared_agent_may_never_declare_one_of_the_five(way):
    ledger = Ledger().accept(checked(working()))
    later = checked(plain(**FIVE[way], version="2.0.0"))
    problems = ledger.refuses(later)
    assert [(one.code, one.where, one.quoted) for one in problems] == [
        ("ledger_refused", WHERE[way], way)
    ]
    with pytest.raises(PackageError) as caught:
        ledger.accept(later)
    assert caught.value.problems == problems


@pytest.mark.rule("P-6")
def test_each_of_the_five_is_its_own_problem():
    ledger = Ledger(frozenset({"notes"}))
    every = {key: value for keys in FIVE.values() for key, value in keys.items()}
    every["permissions"] = ["account", "open-url"]
    assert len(ledger.refuses(checked(plain(**every)))) == 5


@pytest.mark.rule("P-6")
def test_a_lower_number_handled_later_is_later():
    ledger = Ledger().accept(checked(working(version="2.0.0")))
    assert ledger.refuses(checked(plain(version="1.0.0", **FIVE["network"])))


@pytest.mark.rule("P-6")
def test_a_version_may_drop_agent_and_stay_offline_and_nothing_is_forgotten():
    ledger = Ledger().accept(checked(working()))
    offline = checked(plain(version="2.0.0", network=[], permissions=["notify"]))
    after = ledger.accept(offline)
    assert after.ever("notes")
    assert after.refuses(checked(plain(version="3.0.0", **FIVE["embeds"])))


@pytest.mark.rule("P-6")
def test_another_id_is_free():
    ledger = Ledger().accept(checked(working()))
    other = checked(plain(id="notes-online", **FIVE["network"]))
    assert ledger.refuses(other) == ()
    assert not ledger.accept(other).ever("notes-online")


@pytest.mark.rule("P-6")
def test_a_panel_may_come_to_work_with_agents_after_it_was_online():
    ledger = Ledger().accept(checked(plain(**FIVE["network"])))
    assert not ledger.ever("notes")
    assert ledger.accept(checked(working(version="2.0.0"))).ever("notes")


@pytest.mark.rule("P-6")
def test_a_ledger_is_a_value_and_accepting_leaves_it_as_it_was():
    empty = Ledger()
    full = empty.accept(checked(working()))
    assert not empty.ever("notes")
    assert full == empty.mark("notes") == full.mark("notes")


@pytest.mark.rule("P-6")
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]), st.sampled_from(["agent", "offline", *FIVE]), st.integers()
        ),
        max_size=12,
    )
)
def test_in_no_order_of_versions_is_one_of_the_five_accepted_after_agent(history):
    ledger = Ledger()
    worked: set[str] = set()
    for panel, what, number in history:
        version = f"1.0.{abs(number)}"
        keys = {"id": panel, "version": version}
        value = working(**keys) if what == "agent" else plain(**keys, **FIVE.get(what, {}))
        manifest = checked(value)
        refused = panel in worked and what in FIVE
        assert bool(ledger.refuses(manifest)) is refused
        if not refused:
            ledger = ledger.accept(manifest)
            worked |= {panel} if what == "agent" else set()
        assert ledger.panels == worked
