"""A-4, C-5, G-1: what a page hears, and what its promises become."""

from __future__ import annotations

import pytest
from attrs import evolve

from deska_sdk.errors import PageCode, PageError
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.pagecore import Hear, PageCore, Settled, Started
from deska_sdk.panels.port import Direction, check_message


def action(number: int) -> dict[str, object]:
    return {
        "type": "agent.action",
        "callId": f"call-{number}",
        "action": "add_note",
        "input": {"text": "SECRET"},
    }


def ids(heard: object) -> list[str]:
    assert isinstance(heard, tuple)
    return [one.payload["callId"] for one in heard]


@pytest.mark.rule("A-4")
def test_calls_before_the_first_listener_are_kept_and_then_heard_in_their_order():
    page = PageCore()
    assert [page.receive(action(number)) for number in range(3)] == [None] * 3
    assert ids(page.listen("agent.action")) == ["call-0", "call-1", "call-2"]
    # Once heard they are gone: a second listener hears what comes from now on.
    assert page.listen("agent.action") == ()


@pytest.mark.rule("A-4")
def test_only_the_latest_sixteen_are_kept():
    page = PageCore()
    for number in range(20):
        page.receive(action(number))
    assert ids(page.listen("agent.action")) == [f"call-{number}" for number in range(4, 20)]


@pytest.mark.rule("A-4")
def test_how_many_are_kept_is_a_limit():
    page = PageCore(evolve(DEFAULT_LIMITS, buffered_calls=1))
    for number in range(3):
        page.receive(action(number))
    assert ids(page.listen("agent.action")) == ["call-2"]


@pytest.mark.rule("A-4", "A-2")
def test_a_page_that_listens_hears_call_id_action_and_input_at_once():
    page = PageCore()
    page.listen("agent.action")
    assert page.receive(action(1)) == Hear(
        "agent.action",
        {"callId": "call-1", "action": "add_note", "input": {"text": "SECRET"}},
    )


@pytest.mark.rule("A-4")
def test_listening_to_connections_takes_no_call_out():
    page = PageCore()
    page.receive(action(1))
    assert page.listen("agent.connected") == ()
    assert ids(page.listen("agent.action")) == ["call-1"]


@pytest.mark.rule("C-5", "G-1")
def test_ready_is_sent_once_and_resolves_to_init_with_the_tasks():
    page = PageCore()
    assert page.init is None
    assert page.ready() == {"type": "ready"}
    assert page.ready() is None
    started = page.receive({"type": "init", "agent": {"tasks": 2}})
    assert started == Started({"agent": {"tasks": 2}})
    assert page.init == {"agent": {"tasks": 2}}


@pytest.mark.rule("C-5")
def test_a_change_of_tasks_is_heard_by_those_who_listen():
    page = PageCore()
    assert page.receive({"type": "agent.connected", "tasks": 1}) is None
    page.listen("agent.connected")
    heard = page.receive({"type": "agent.connected", "tasks": 0})
    assert heard == Hear("agent.connected", {"tasks": 0})


@pytest.mark.rule("G-1")
@pytest.mark.parametrize("event", ["agent", "agent.actions", "", "init", "settled"])
def test_a_page_cannot_listen_to_an_event_that_is_not_there(event):
    with pytest.raises(PageError) as caught:
        PageCore().listen(event)
    assert caught.value.code is PageCode.INVALID_ARGS


@pytest.mark.rule("G-1", "G-5")
def test_what_a_page_asks_for_is_a_message_of_the_port_with_a_number_of_its_own():
    page = PageCore()
    first, one = page.ask("agent.respond", callId="call-1", answer={"ok": True})
    second, two = page.ask("storage.get", key="a")
    assert first != second
    assert one == {
        "type": "agent.respond",
        "id": first,
        "callId": "call-1",
        "answer": {"ok": True},
    }
    for message in (one, two):
        assert check_message(message, Direction.TO_HOST) is message


@pytest.mark.rule("G-1", "A-5")
def test_each_promise_is_settled_once_by_its_own_number():
    page = PageCore()
    first, _ = page.ask("storage.get", key="a")
    second, _ = page.ask("agent.respond", callId="c", answer=1)
    refused = page.receive({"type": "refused", "id": second, "code": "unknown_call"})
    assert refused == Settled(second, code=PageCode.UNKNOWN_CALL)
    settled = page.receive({"type": "settled", "id": first, "value": [1]})
    assert settled == Settled(first, [1])
    for ticket in (first, second, 99):
        assert page.receive({"type": "settled", "id": ticket, "value": 1}) is None


@pytest.mark.rule("G-1")
def test_a_promise_that_the_page_forgot_is_not_settled_any_more():
    page = PageCore()
    ticket, _ = page.ask("files.ids")
    page.forget(ticket)
    page.forget(ticket)
    assert page.receive({"type": "settled", "id": ticket, "value": []}) is None


@pytest.mark.rule("G-5")
@pytest.mark.parametrize(
    "message",
    [
        None,
        {},
        {"type": "ready"},
        {"type": "agent.action", "callId": "c", "action": "a"},
        {"type": "agent.action", "callId": "c", "action": "a", "input": {}, "task": "t"},
        {"type": "tools.call", "name": "SECRET"},
    ],
)
def test_what_is_not_in_the_table_is_refused_and_changes_nothing(message):
    page = PageCore()
    with pytest.raises(PageError) as caught:
        page.receive(message)
    assert caught.value.code is PageCode.INVALID_ARGS
    assert "SECRET" not in str(caught.value)
    assert page.listen("agent.action") == ()
    assert page.init is None


@pytest.mark.rule("B-2")
def test_no_repr_holds_what_an_agent_or_the_host_said():
    page = PageCore()
    page.receive(action(1))
    (heard,) = page.listen("agent.action")
    ticket, _ = page.ask("storage.get", key="SECRET")
    settled = page.receive({"type": "settled", "id": ticket, "value": "SECRET"})
    assert "SECRET" not in f"{page!r}{heard!r}{settled!r}"
