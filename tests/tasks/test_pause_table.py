"""S-1, S-5, S-6: the table of the pause, each entry and each that is missing."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from deska_sdk.router import ModeSwitched, ShowRow, SwitchMode, TurnEnded
from deska_sdk.tasks.tables import PAUSE, PauseCause, PauseState
from tests.tasks.support_tasks import TaskDesk, at_work

if TYPE_CHECKING:
    from collections.abc import Callable

NONE, SWITCHING = PauseState.NONE, PauseState.SWITCHING
HOLDING, RESTORING = PauseState.HOLDING, PauseState.RESTORING

#: The rules' own table, written a second time.
EXPECTED = {
    (NONE, "content"): SWITCHING,
    (NONE, "person's change failed"): RESTORING,
    (SWITCHING, "content"): SWITCHING,
    (SWITCHING, "switched"): HOLDING,
    (SWITCHING, "failed"): NONE,
    (SWITCHING, "abandoned"): RESTORING,
    (SWITCHING, "person's change"): NONE,
    (SWITCHING, "task left"): NONE,
    (HOLDING, "content"): HOLDING,
    (HOLDING, "person's change"): NONE,
    (HOLDING, "turn ended"): RESTORING,
    (HOLDING, "task left"): NONE,
    (RESTORING, "content"): SWITCHING,
    (RESTORING, "person's change"): NONE,
    (RESTORING, "restored"): NONE,
    (RESTORING, "not restored"): NONE,
    (RESTORING, "task left"): NONE,
}


def state(desk: TaskDesk) -> PauseState:
    task: Any = desk.router._tasks.get("task-1")
    return task.pause.state


def none() -> TaskDesk:
    return at_work()


def switching() -> TaskDesk:
    desk = at_work()
    desk.holding = {"switch"}
    desk.read("a note")
    return desk


def holding() -> TaskDesk:
    desk = at_work()
    desk.read("a note")
    return desk


def restoring() -> TaskDesk:
    desk = holding()
    desk.holding = {"switch"}
    desk.end_turn()
    desk.start_turn("task-1")
    return desk


IN_STATE: dict[PauseState, Callable[[], TaskDesk]] = {
    NONE: none,
    SWITCHING: switching,
    HOLDING: holding,
    RESTORING: restoring,
}


def test_the_four_states_are_reached_as_the_tests_below_say():
    for expected, make in IN_STATE.items():
        assert state(make()) is expected


@pytest.mark.rule("S-1", "S-5", "S-6")
def test_the_table_of_the_pause_is_this_and_no_more():
    assert {(before, cause.value): after for (before, cause), after in PAUSE.items()} == EXPECTED


@pytest.mark.rule("S-1", "S-5", "S-6")
@pytest.mark.parametrize(
    ("before", "cause"),
    [one for one in product(PauseState, PauseCause) if one not in PAUSE],
)
def test_a_cause_without_an_entry_is_refused_and_moves_nothing(before, cause):
    desk = IN_STATE[before]()
    task: Any = desk.router._tasks.get("task-1")
    with pytest.raises(KeyError):
        task.pause._move(cause)
    assert state(desk) is before


def fail(desk: TaskDesk) -> None:
    desk.failing = {"switch"}
    desk.release_held("switch")
    desk.failing = set()


def change_and_fail(desk: TaskDesk) -> None:
    """The person's change takes the place of the restoring, and then fails."""
    desk.set_mode("accept_edits")
    assert state(desk) is NONE
    desk.failing = {"switch"}
    for effect in [one for one in desk.held if one.mode == "accept_edits"]:
        desk.finish(effect)


#: What the host, the agent or the person does for a cause.
DONE: dict[tuple[PauseState, str], Callable[[TaskDesk], Any]] = {
    (NONE, "content"): lambda desk: (desk.holding.add("switch"), desk.read("more")),
    (SWITCHING, "content"): lambda desk: desk.read("more"),
    (SWITCHING, "switched"): lambda desk: desk.release_held("switch"),
    (SWITCHING, "failed"): fail,
    (SWITCHING, "abandoned"): lambda desk: desk.cancel("request-1"),
    (SWITCHING, "person's change"): lambda desk: desk.set_mode("automatic"),
    (HOLDING, "content"): lambda desk: desk.read("more"),
    (HOLDING, "person's change"): lambda desk: desk.set_mode("automatic"),
    (HOLDING, "turn ended"): lambda desk: (desk.holding.add("switch"), desk.end_turn()),
    (RESTORING, "content"): lambda desk: desk.read("more"),
    (RESTORING, "person's change"): lambda desk: desk.set_mode("automatic"),
    (RESTORING, "restored"): lambda desk: desk.release_held("switch"),
    (RESTORING, "not restored"): fail,
}


@pytest.mark.rule("S-1", "S-5", "S-6")
@pytest.mark.parametrize(("before", "cause"), DONE)
def test_each_entry_is_what_happens_to_a_task(before, cause):
    desk = IN_STATE[before]()
    DONE[before, cause](desk)
    assert state(desk) is EXPECTED[before, cause]


@pytest.mark.rule("S-1", "S-5")
def test_a_persons_change_that_fails_lets_what_it_took_the_place_of_go_on():
    desk = restoring()
    change_and_fail(desk)
    assert state(desk) is EXPECTED[NONE, "person's change failed"]


@pytest.mark.rule("S-6")
@pytest.mark.parametrize("before", [SWITCHING, HOLDING, RESTORING])
def test_a_task_that_leaves_has_no_pause_and_nothing_under_way(before):
    desk = IN_STATE[before]()
    task: Any = desk.router._tasks.get("task-1")
    desk.detach()
    assert task.pause.state is EXPECTED[before, "task left"]
    assert desk.at_rest()


#: What comes from outside and has no entry in a state.
STRAY: dict[PauseState, list[Callable[[TaskDesk], Any]]] = {
    NONE: [lambda desk: desk.end_turn()],
    SWITCHING: [],
    HOLDING: [],
    RESTORING: [lambda desk: desk.end_turn()],
}
STALE = [
    lambda desk: desk.step(ModeSwitched(9_999, ok=True)),
    lambda desk: desk.step(ModeSwitched(9_999, ok=False)),
    lambda desk: desk.step(TurnEnded("task-1", "another-turn")),
]


@pytest.mark.rule("S-1", "S-6")
@pytest.mark.parametrize("before", PauseState)
def test_what_has_no_entry_changes_no_mode_and_shows_no_row(before):
    for stray in [*STRAY[before], *STALE]:
        desk = IN_STATE[before]()
        shown = len(desk.effects)
        stray(desk)
        made = desk.effects[shown:]
        assert not [one for one in made if isinstance(one, (SwitchMode, ShowRow))]
        assert state(desk) is before
