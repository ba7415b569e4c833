"""Listeners that come, go and raise at any moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from tests.host.support_host import Hands, a_desk, answering

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_host import Deska
    from deska_sdk.router import Notice

pytestmark = pytest.mark.anyio


async def _answer(_deska: Deska, _call: dict[str, Any]) -> object:
    return {"ok": True}


@pytest.mark.rule("B-2")
async def test_ending_one_subscription_twice_ends_no_other_of_the_same_listener() -> None:
    told: list[Notice] = []
    async with a_desk(answering(_answer)) as desk:
        first = desk.host.subscribe(told.append)
        second = desk.host.subscribe(told.append)
        first()
        first()
        await desk.call("add", {"text": "a"})
        assert [notice.kind for notice in told] == ["call_started", "call_ended"]
        second()
        await desk.call("add", {"text": "a"})
        assert len(told) == 2


@pytest.mark.rule("B-2")
async def test_a_listener_whose_subscription_another_ends_is_told_nothing_more() -> None:
    told: list[Notice] = []
    ends: list[Callable[[], None]] = []
    async with a_desk(answering(_answer)) as desk:
        desk.host.subscribe(lambda _: ends[0]())
        ends.append(desk.host.subscribe(told.append))
        await desk.call("add", {"text": "a"})
    assert told == []


@pytest.mark.rule("A-8", "B-2")
async def test_a_cancelled_call_is_over_also_when_a_listener_raises_at_its_end() -> None:
    def listener(notice: Notice) -> None:
        if notice.kind == "call_ended":
            raise LookupError

    hands = Hands()
    async with a_desk(hands.main) as desk:
        unsubscribe = desk.host.subscribe(listener)
        raised: list[type] = []

        async def call() -> None:
            try:
                await desk.call("add", {"text": "a"})
            except LookupError as error:
                raised.append(type(error))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await hands.calls.get()
            group.cancel_scope.cancel()
        unsubscribe()
        assert raised == [LookupError]
        assert desk.host.pending == 0
