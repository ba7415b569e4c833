"""S-5: modes have a declared order, and the first is Supervised."""

from __future__ import annotations

from itertools import permutations

import pytest

from deska_sdk.router import DEFAULT_MODES, Mode, Modes, TaskAttached

ASK, EDIT, AUTO = Mode("ask", "Asking"), Mode("edit", "Editing"), Mode("auto", "Automatic")


@pytest.mark.rule("S-5")
def test_a_mode_is_looser_than_those_before_it_and_than_no_other():
    for order in permutations((ASK, EDIT, AUTO)):
        modes = Modes(order)
        for place, mode in enumerate(order):
            looser = [other.id for other in order if modes.looser(mode.id, other.id)]
            assert looser == [other.id for other in order[:place]]


@pytest.mark.rule("S-1", "S-5")
def test_the_strictest_mode_is_the_agents_own_supervised_whatever_it_is_called():
    assert Modes((ASK, AUTO)).supervised == "ask"
    assert DEFAULT_MODES.supervised == "supervised"
    assert DEFAULT_MODES.label("supervised") == "Supervised"


@pytest.mark.rule("S-2")
def test_rows_show_the_label_of_a_mode():
    modes = Modes((ASK, EDIT))
    assert [modes.label("ask"), modes.label("edit")] == ["Asking", "Editing"]


@pytest.mark.rule("S-5")
def test_modes_without_an_order_of_their_own_are_refused():
    for wrong in ((), (ASK, ASK), (ASK, Mode("ask", "Another label"))):
        with pytest.raises(ValueError, match="at least one mode"):
            Modes(wrong)


@pytest.mark.rule("S-5")
def test_a_task_is_attached_only_in_a_mode_it_has():
    with pytest.raises(ValueError, match="does not have"):
        TaskAttached("task-1", modes=Modes((ASK, AUTO)), mode="supervised")
    assert TaskAttached("task-1", modes=Modes((ASK, AUTO)), mode="auto").mode == "auto"


@pytest.mark.rule("S-5")
def test_a_mode_is_known_by_its_id():
    modes = Modes((ASK, EDIT))
    assert "edit" in modes
    assert "auto" not in modes
    assert "Editing" not in modes
