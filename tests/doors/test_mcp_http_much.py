"""How much a client of the door by HTTP may ask, how slowly, and how badly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

from tests.doors.support_door import (
    INITIALIZE,
    a_call,
    an_envelope,
)
from tests.doors.support_http import (
    MODERN,
    a_connection,
    a_request,
    a_session,
    all_of,
    head,
    modern_call,
    post_call,
    post_none,
    served,
    status_of,
)
from tests.host.support_host import later

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """uvicorn runs on asyncio."""
    return "asyncio"


@pytest.mark.rule("M-7", "M-12")
async def test_a_body_may_have_its_limit_and_not_a_byte_more() -> None:
    async with served(message_bytes=2_000) as (_, address, http):
        body = json.dumps(INITIALIZE).encode().ljust(2_000)
        headers = {"Content-Type": "application/json"}
        assert (await http.post(address.url, content=body, headers=headers)).status_code == 200
        refused = await http.post(address.url, content=body + b" ", headers=headers)
        assert refused.status_code == 413
        assert "2000 bytes" in refused.text

        async def in_chunks(size: int) -> AsyncGenerator[bytes]:
            for start in range(0, size, 500):
                yield body.ljust(size)[start : start + 500]

        chunked = await http.post(address.url, content=in_chunks(2_000), headers=headers)
        assert chunked.status_code == 200
        chunked = await http.post(address.url, content=in_chunks(2_001), headers=headers)
        assert chunked.status_code == 413
        # The connection is good for the next request.
        assert (await http.post(address.url, json=INITIALIZE)).status_code == 200


@pytest.mark.rule("M-7", "M-12")
async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async with served(body_seconds=0.05) as (behind, address, _):
        for tail in (b"", b'{"jsonrpc"'):
            async with a_connection(address) as stream:
                await stream.send(head(address, "Content-Length: 100") + tail)
                assert (await all_of(stream)).startswith(b"HTTP/1.1 408 ")
        async with a_connection(address) as stream:
            await stream.send(head(address, "Transfer-Encoding: chunked") + b"2\r\n{}\r\n")
            assert (await all_of(stream)).startswith(b"HTTP/1.1 408 ")
        assert behind.host.pending == 0


@pytest.mark.rule("M-7", "M-12")
async def test_a_client_that_does_not_say_what_it_wants_is_not_waited_for() -> None:
    async with served(header_seconds=0.3, idle_seconds=600) as (_, address, _http):

        async def begins(begun: bytes) -> None:
            async with a_connection(address) as stream:
                if begun:
                    await stream.send(begun)
                assert await all_of(stream) == b""

        async def is_refused() -> None:
            # The rest of a body that nobody wants.
            async with a_connection(address) as stream:
                await stream.send(head(address, "Content-Length: 100", token=False) + b"{")
                assert (await all_of(stream)).startswith(b"HTTP/1.1 401 ")

        async def begins_again() -> None:
            # The second request of a connection.
            async with a_connection(address) as stream:
                await stream.send(head(address, "Content-Length: 2") + b"{}")
                assert await status_of(stream) == 400
                await stream.send(b"POST /mcp")
                assert b"HTTP/1.1" not in await all_of(stream)

        async with anyio.create_task_group() as group:
            for begun in (b"", b"P", head(address)[:-4]):
                group.start_soon(begins, begun)
            group.start_soon(is_refused)
            group.start_soon(begins_again)


@pytest.mark.rule("M-7")
async def test_a_call_that_waits_is_no_client_that_says_nothing() -> None:
    async with (
        served(header_seconds=0.3) as (behind, address, http),
        anyio.create_task_group() as group,
    ):
        waiting = later(group, post_call, http, address)
        heard = await behind.hands.calls.get()
        # This one came later, and is sent away.
        async with a_connection(address) as stream:
            assert await all_of(stream) == b""
        await behind.hands.deska.agent.respond(heard["callId"], {"ok": True})
        assert (await waiting.wait()).status_code == 200


@pytest.mark.rule("M-7", "M-12")
async def test_headers_have_their_limit() -> None:
    async with served(header_bytes=1_000) as (_, address, http), a_connection(address) as stream:
        await stream.send(head(address, f"X-Long: {'x' * 1_000}")[:-2])
        assert await status_of(stream) == 400
        assert (await http.post(address.url, json=INITIALIZE)).status_code == 200


@pytest.mark.rule("M-7", "M-12")
async def test_headers_that_come_in_one_piece_have_the_same_limit() -> None:
    async with served(header_bytes=1_000) as (_, address, _http):
        for extra, status in ((0, 200), (1, 431)):
            async with a_connection(address) as stream:
                asked = a_request(address, modern_call("none"))
                told, _, body = asked.partition(b"\r\n\r\n")
                filled = told + b"\r\nX: " + b"x" * (1_000 + extra - len(told) - 9)
                assert len(filled) + 4 == 1_000 + extra
                await stream.send(filled + b"\r\n\r\n" + body)
                assert await status_of(stream) == status


@pytest.mark.rule("M-7")
async def test_other_versions_of_http_are_not_spoken() -> None:
    async with served() as (_, address, _http):
        asked = a_request(address, modern_call("none"))
        for version, status in ((b"1.0", 200), (b"2.0", 505), (b"0.9", 505), (b"9.9", 505)):
            async with a_connection(address) as stream:
                await stream.send(asked.replace(b"HTTP/1.1", b"HTTP/" + version, 1))
                assert (await all_of(stream)).startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.rule("M-7", "M-12")
async def test_more_requests_than_allowed_are_told_to_try_again() -> None:
    async with served(requests=2) as (behind, address, http), anyio.create_task_group() as group:
        open_calls = [later(group, post_call, http, address) for _ in range(2)]
        calls = [await behind.hands.calls.get() for _ in open_calls]
        refused = await post_call(http, address)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        for call in calls:
            await behind.hands.deska.agent.respond(call["callId"], {"ok": True})
        assert [(await one.wait()).status_code for one in open_calls] == [200, 200]
        again = later(group, post_call, http, address)
        await behind.hands.answer({"ok": True})
        assert (await again.wait()).status_code == 200


@pytest.mark.rule("M-7", "M-12")
async def test_the_bodies_of_all_requests_have_one_limit_together() -> None:
    async with served(message_bytes=900, bodies_bytes=1_000) as (_, address, http):
        body = json.dumps(INITIALIZE).encode().ljust(600)
        headers = {"Content-Type": "application/json"}
        async with a_connection(address) as stream:
            await stream.send(head(address, "Content-Length: 600") + body[:500])
            # Until the server has read that, another such body fits.
            while (await http.post(address.url, content=body, headers=headers)).status_code != 503:
                pass
            await stream.send(body[500:])
            assert await status_of(stream) == 200
        assert (await http.post(address.url, content=body, headers=headers)).status_code == 200


@pytest.mark.rule("M-7", "M-12")
async def test_one_connection_too_many_takes_the_place_of_one_that_asks_for_nothing() -> None:
    patient = {"header_seconds": 600.0, "idle_seconds": 600}
    async with (
        served(connections=3, crowd_seconds=0.05, **patient) as (_, address, _http),
        a_connection(address) as known,
    ):
        asked = a_request(address, modern_call("none"))
        async with a_connection(address) as other:
            # As many as there may be: nobody has to go.
            await other.send(asked[:20])
            async with a_connection(address):
                for _ in range(100):
                    await known.send(asked)
                    assert await status_of(known) == 200
            await other.send(asked[20:])
            assert await status_of(other) == 200
            # Of all the stranger rests least, but has not shown the token.
            async with a_connection(address) as stranger, a_connection(address) as stream:
                assert await all_of(stranger) == b""
                for one in (stream, known, other):
                    await one.send(asked)
                    assert await status_of(one) == 200


@pytest.mark.rule("M-7", "M-12")
async def test_one_connection_too_many_waits_while_all_have_requests_under_way() -> None:
    patient = {"header_seconds": 600.0, "idle_seconds": 600}
    async with (
        served(connections=2, crowd_seconds=0.05, **patient) as (behind, address, _),
        a_connection(address) as one,
        a_connection(address) as two,
    ):
        for stream in (one, two):
            await stream.send(a_request(address, modern_call()))
        calls = [await behind.hands.calls.get() for _ in range(2)]
        async with a_connection(address) as third:
            await third.send(a_request(address, modern_call("none")))
            await behind.hands.deska.agent.respond(calls[0]["callId"], {"ok": True})
            # It is answered in the place of the first, which asks for nothing more.
            assert await status_of(third) == 200
            await behind.hands.deska.agent.respond(calls[1]["callId"], {"ok": True})
            assert [await status_of(stream) for stream in (one, two)] == [200, 200]


@pytest.mark.rule("M-7", "M-12")
async def test_one_session_too_many_ends_the_one_that_rests_longest() -> None:
    async with served(sessions=3) as (behind, address, http), anyio.create_task_group() as group:
        sessions = [await a_session(http, address) for _ in range(3)]

        async def pings(session: dict[str, str]) -> int:
            asked = await http.post(address.url, json=an_envelope("ping"), headers=session)
            return asked.status_code

        # The first has a call under way, the second asked last.
        open_call = later(
            group,
            lambda: http.post(
                address.url, json=a_call("add", {"text": "x"}, 9), headers=sessions[0]
            ),
        )
        heard = await behind.hands.calls.get()
        assert await pings(sessions[1]) == 200
        newer = await a_session(http, address)
        assert [await pings(session) for session in sessions] == [200, 200, 404]
        # One that its client ends makes room too.
        assert (await http.delete(address.url, headers=newer)).status_code == 200
        newest = await a_session(http, address)
        assert [await pings(session) for session in (*sessions[:2], newest)] == [200, 200, 200]
        await behind.hands.deska.agent.respond(heard["callId"], {"ok": True})
        assert (await open_call.wait()).status_code == 200


@pytest.mark.rule("M-7", "M-12")
async def test_sessions_that_come_at_once_all_find_room() -> None:
    async with served(sessions=8) as (_, address, http):
        told: list[int] = []

        async def opens() -> None:
            told.append((await http.post(address.url, json=INITIALIZE)).status_code)

        for _ in range(4):
            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(opens)
        assert told == [200] * 32


@pytest.mark.rule("M-7", "M-12")
async def test_no_session_at_work_makes_room() -> None:
    async with served(sessions=1) as (_, address, http):
        session = await a_session(http, address)
        async with http.stream("GET", address.url, headers=session) as stream:
            assert stream.status_code == 200
            assert (await http.post(address.url, json=INITIALIZE)).status_code == 503
            # The era without sessions has no such limit.
            asked = await http.post(address.url, json=modern_call("none"), headers=MODERN)
            assert asked.status_code == 200
        while (await http.post(address.url, json=INITIALIZE)).status_code != 200:
            pass


@pytest.mark.rule("M-7", "M-4")
async def test_an_abandoned_stream_leaves_its_place() -> None:
    async with served(requests=1) as (behind, address, http):
        session = await a_session(http, address)
        for _ in range(3):
            async with a_connection(address) as stream:
                told = head(address, *(f"{name}: {value}" for name, value in session.items()))
                asked = told.replace(b"POST", b"GET").replace(b"application/json", b"*/*", 1)
                await stream.send(asked)
                while await status_of(stream) != 200:
                    await stream.send(asked)
                assert (await http.post(address.url, json=INITIALIZE)).status_code == 503
        while (await post_none(http, address)) != 200:
            pass
        assert behind.host.pending == 0


@pytest.mark.rule("M-7")
async def test_many_requests_at_once_each_get_their_answer() -> None:
    async with served(requests=8) as (behind, address, _):
        statuses: list[int] = []

        async def asks(token: str) -> None:
            async with a_connection(address) as stream:
                body = json.dumps(INITIALIZE).encode()
                told = head(address, f"Content-Length: {len(body)}", token=bool(token))
                await stream.send(told + body)
                statuses.append(await status_of(stream))

        async with anyio.create_task_group() as group:
            for number in range(200):
                group.start_soon(asks, "" if number % 2 else "known")
        assert statuses.count(401) == 100
        assert set(statuses) <= {200, 401, 503}
        assert behind.host.pending == 0
