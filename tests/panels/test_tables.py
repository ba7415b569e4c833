"""A-6: two records, two tables; what has no entry does not happen."""

from __future__ import annotations

import pytest

from deska_sdk.errors import AgentCode
from deska_sdk.panels.tables import (
    ASK,
    ASK_CAUSE,
    MAY_HAVE_HAPPENED_CODES,
    REQUEST,
    AskCause,
    AskState,
    Cause,
    RequestState,
)

FINISHING = {
    RequestState.FINISHING_IMAGES,
    RequestState.FINISHING_SWITCH,
    RequestState.FINISHING_NUMBER,
}
#: A-6's own words for the states.
ORDER = {
    RequestState.PREPARING: 0,
    RequestState.WAITING: 1,
    **dict.fromkeys(FINISHING, 2),
    RequestState.ENDED: 3,
}


@pytest.mark.rule("A-6")
def test_a_request_goes_from_preparing_over_waiting_and_finishing_to_its_end_and_never_back():
    for (state, _), move in REQUEST.items():
        if state is RequestState.FINISHING_IMAGES and move.to is RequestState.FINISHING_SWITCH:
            continue
        assert ORDER[move.to] > ORDER[state]


@pytest.mark.rule("A-6", "A-3")
def test_nothing_moves_what_has_ended():
    assert not [state for state, _ in REQUEST if state is RequestState.ENDED]
    assert not [state for state, _ in ASK if state is not AskState.DELIVERED]


@pytest.mark.rule("A-6")
def test_a_code_is_given_only_where_a_request_ends():
    for move in REQUEST.values():
        assert move.code is None or move.to is RequestState.ENDED


@pytest.mark.rule("A-3")
def test_every_open_state_has_an_end_for_its_deadline():
    for state in RequestState:
        assert ((state, Cause.DEADLINE) in REQUEST) is (state is not RequestState.ENDED)


@pytest.mark.rule("A-3", "A-9")
def test_the_codes_of_the_deadlines_are_those_of_the_rules():
    codes = {state: move.code for (state, cause), move in REQUEST.items() if cause == "deadline"}
    assert codes == {
        RequestState.PREPARING: AgentCode.IMAGE_TIMEOUT,
        RequestState.WAITING: AgentCode.PANEL_TIMEOUT,
        # Late images are unavailable; a number that comes late is left out.
        RequestState.FINISHING_IMAGES: None,
        RequestState.FINISHING_NUMBER: None,
        RequestState.FINISHING_SWITCH: AgentCode.PAUSE_FAILED,
    }


@pytest.mark.rule("C-6", "C-7", "A-9")
@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (Cause.STOPPED, AgentCode.STOPPED),
        (Cause.TURNED_OFF, AgentCode.TURNED_OFF),
        (Cause.DISCONNECTED, AgentCode.NOT_CONNECTED),
    ],
)
def test_the_person_and_the_turn_end_a_request_in_every_open_state(cause, code):
    for state in RequestState:
        move = REQUEST.get((state, cause))
        if state is RequestState.ENDED:
            assert move is None
        else:
            assert move is not None
            assert (move.to, move.code) == (RequestState.ENDED, code)


@pytest.mark.rule("A-7")
def test_a_closed_page_ends_only_what_waits_for_it():
    states = [state for state, cause in REQUEST if cause is Cause.PAGE_CLOSED]
    assert states == [RequestState.WAITING]


@pytest.mark.rule("S-1")
def test_a_read_ends_well_only_by_the_switch():
    ways = [
        (state, cause)
        for (state, cause), move in REQUEST.items()
        if move.to is RequestState.ENDED and move.code is None and cause is not Cause.REFUSED
    ]
    assert set(ways) == {
        (RequestState.FINISHING_SWITCH, Cause.SWITCHED),
        (RequestState.FINISHING_NUMBER, Cause.NUMBERED),
        (RequestState.FINISHING_NUMBER, Cause.DEADLINE),
    }
    # From an accepted read no way leads to the number of a write.
    assert not [
        1
        for (state, _), move in REQUEST.items()
        if state in (RequestState.FINISHING_IMAGES, RequestState.FINISHING_SWITCH)
        and move.to is RequestState.FINISHING_NUMBER
    ]


@pytest.mark.rule("A-6", "A-5")
def test_an_ask_is_delivered_and_then_accepted_expired_or_dropped():
    assert {cause: ASK[AskState.DELIVERED, cause] for cause in AskCause} == {
        AskCause.ACCEPT: AskState.ACCEPTED,
        AskCause.EXPIRE: AskState.EXPIRED,
        AskCause.DROP: AskState.DROPPED,
    }


@pytest.mark.rule("A-6")
def test_every_move_of_a_waiting_request_says_what_becomes_of_its_ask():
    causes = {cause for state, cause in REQUEST if state is RequestState.WAITING}
    # S-7: a deferred read takes its ask over, so that one stays as it is.
    assert causes - set(ASK_CAUSE) == {Cause.DEFERRED}
    assert set(ASK_CAUSE) <= causes
    accepted = {cause for cause, ask in ASK_CAUSE.items() if ask is AskCause.ACCEPT}
    # what was too large was accepted too.
    assert accepted == {Cause.READ_ACCEPTED, Cause.WRITE_ACCEPTED, Cause.ANSWER_TOO_LARGE}


@pytest.mark.rule("A-9")
def test_the_codes_after_which_a_write_may_have_happened_are_the_five():
    assert {code.value for code in MAY_HAVE_HAPPENED_CODES} == {
        "panel_timeout",
        "panel_closed",
        "stopped",
        "not_connected",
        "turned_off",
    }
