"""A call whose answer nobody wants any more, and the deadlines that no client moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from deska_host.mcp._lifeline import Lifeline
from deska_sdk import PageCode, PageError
from tests.doors.support_door import (
    INITIALIZE,
    INITIALIZED,
    a_call,
    a_client,
    a_door,
    an_envelope,
    an_http_client,
    call,
    code_of,
    each_way,
    on_asyncio,
    text_of,
)
from tests.doors.support_http import MODERN, a_session, served
from tests.host.support_host import later

if TYPE_CHECKING:
    from tests.doors.support_door import Behind

pytestmark = pytest.mark.anyio


async def assert_over(behind: Behind, call_id: str) -> None:
    """The call ended as ``stopped``, for the page too, and nothing of it is left."""
    heard = await behind.heard.get()
    assert (heard.panel, heard.action, heard.code) == ("board", "add", "stopped")
    with pytest.raises(PageError) as caught:
        await behind.hands.deska.agent.respond(call_id, {"ok": True})
    assert caught.value.code is PageCode.UNKNOWN_CALL
    await behind.quiet()
    assert not len(behind.hands.calls)


@pytest.mark.rule("M-4")
@each_way
async def test_a_cancelled_request_ends_the_call_for_the_page_too(way: str, era: str) -> None:
    async with (
        a_door() as behind,
        a_client(behind.door, way, era) as client,
        anyio.create_task_group() as group,
    ):
        result = later(group, call, client, "add", {"text": "x"})
        heard = await behind.hands.calls.get()
        result.scope.cancel()
        await assert_over(behind, heard["callId"])
        # The client and the door go on.
        again = later(group, call, client, "add", {"text": "y"})
        await behind.hands.answer({"ok": True})
        assert text_of(await again.wait()) == '{"ok":true}'


@pytest.mark.rule("M-4")
@each_way
async def test_a_client_that_leaves_ends_its_calls(way: str, era: str) -> None:
    async with a_door() as behind, anyio.create_task_group() as group:

        async def leaves() -> None:
            async with a_client(behind.door, way, era) as client:
                await call(client, "add", {"text": "x"})

        left = later(group, leaves)
        heard = await behind.hands.calls.get()
        left.scope.cancel()
        await assert_over(behind, heard["callId"])


@pytest.mark.rule("M-4")
@on_asyncio
async def test_a_call_of_the_handshake_era_ends_with_its_connection() -> None:
    # The session stays, and so would the call, whose answer nobody could fetch.
    async with (
        a_door() as behind,
        behind.door.http() as address,
        anyio.create_task_group() as group,
    ):
        accept = {"Accept": "application/json, text/event-stream"}
        async with an_http_client(address, **accept) as staying:
            opened = await staying.post(address.url, json=INITIALIZE)
            session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
            staying.headers.update(session)
            await staying.post(address.url, json=INITIALIZED)

            async def asks() -> None:
                async with an_http_client(address, **accept, **session) as http:
                    await http.post(address.url, json=a_call("add", {"text": "x"}))

            asked = later(group, asks)
            heard = await behind.hands.calls.get()
            asked.scope.cancel()
            await assert_over(behind, heard["callId"])

            again = later(
                group, lambda: staying.post(address.url, json=a_call("add", {"text": "y"}, 2))
            )
            await behind.hands.answer({"ok": True})
            assert (await again.wait()).json()["result"]["content"][0]["text"] == '{"ok":true}'


@pytest.mark.rule("M-4", "M-11")
@on_asyncio
async def test_no_client_cancels_the_call_of_another() -> None:
    async with served() as (behind, address, http), anyio.create_task_group() as group:
        mine, theirs = [await a_session(http, address) for _ in range(2)]
        asked = later(
            group,
            lambda: http.post(address.url, json=a_call("add", {"text": "x"}, 7), headers=mine),
        )
        heard = await behind.hands.calls.get()
        cancel = an_envelope("notifications/cancelled", None, requestId=7)
        newer = MODERN | {"Mcp-Method": "notifications/cancelled"}
        for headers in (theirs, newer):
            told = await http.post(address.url, json=cancel, headers=headers)
            assert told.status_code == 202
        # Both were read before this is answered.
        for headers in (theirs, mine):
            ping = await http.post(address.url, json=an_envelope("ping", 8), headers=headers)
            assert ping.status_code == 200
        assert await behind.hands.deska.agent.respond(heard["callId"], {"ok": True}) is True
        assert (await asked.wait()).json()["id"] == 7
        assert (await behind.heard.get()).code == ""


@pytest.mark.rule("M-4", "A-3")
@each_way
async def test_the_page_has_its_thirty_seconds_and_no_client_moves_them(way: str, era: str) -> None:
    async with (
        a_door() as behind,
        a_client(behind.door, way, era) as client,
        anyio.create_task_group() as group,
    ):
        arguments = {"panel": "board", "action": "add", "input": {"text": "x"}}

        async def patient() -> object:
            return await client.call_tool("call_action", arguments, read_timeout_seconds=3_600)

        result = later(group, patient)
        await behind.hands.calls.get()
        behind.clock.advance(29.9)
        assert behind.host.pending
        behind.clock.advance(0.1)
        assert code_of(await result.wait()) == "panel_timeout"
        await behind.quiet()


@pytest.mark.rule("M-4")
async def test_a_call_that_begins_when_its_connection_is_gone_does_not_go_on() -> None:
    lifeline = Lifeline()
    lifeline.cut()
    with lifeline.hang() as scope:
        await anyio.sleep_forever()
    assert scope.cancelled_caught
