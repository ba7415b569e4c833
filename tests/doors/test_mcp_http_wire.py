"""What a client of the door by HTTP sends ahead and after, and what it does not take."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

from deska_host import Blob
from deska_host.mcp import DoorLimits
from tests.doors.support_door import (
    INITIALIZE,
    MB,
    BigImages,
    a_door,
    an_http_client,
)
from tests.doors.support_http import (
    ACCEPT,
    a_connection,
    a_request,
    all_of,
    head,
    modern_call,
    post_none,
    served,
    status_of,
)
from tests.host.support_host import picture

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from deska_host.mcp import HttpAddress

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """uvicorn runs on asyncio."""
    return "asyncio"


@pytest.mark.rule("M-7")
@pytest.mark.parametrize("rest", [b"no chunk\r\n", b"5\r\nhelloX", b"-1\r\n"])
async def test_what_follows_an_answered_request_and_is_no_body_ends_the_connection_quietly(
    rest: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with served() as (_, address, http), a_connection(address) as stream:
        await stream.send(head(address, "Transfer-Encoding: chunked", token=False))
        assert await status_of(stream) == 401
        await stream.send(rest)
        await all_of(stream)
        assert (await http.post(address.url, json=INITIALIZE)).status_code == 200
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


@pytest.mark.rule("M-4", "M-7")
async def test_a_client_that_asks_ahead_gets_its_answers_in_order() -> None:
    async with served() as (behind, address, _), a_connection(address) as stream:
        await stream.send(a_request(address, modern_call()) + a_request(address, modern_call()))
        first = await behind.hands.answer({"ok": True})
        second = await behind.hands.answer({"ok": False, "error": "failed"})
        assert first["callId"] != second["callId"]
        got = b""
        while got.count(b"HTTP/1.1 200") < 2 or b"failed" not in got:
            got += await stream.receive()
        assert got.index(b'\\"ok\\":true') < got.index(b"failed")


@pytest.mark.rule("M-4", "M-7", "M-12")
@pytest.mark.parametrize("ahead", [b"GET /mcp HTTP/1.1\r\n", b"x" * 2_000])
async def test_a_client_that_asks_ahead_and_leaves_ends_its_call(ahead: bytes) -> None:
    async with served(header_bytes=1_000) as (behind, address, _):
        async with a_connection(address) as stream:
            await stream.send(a_request(address, modern_call()))
            await behind.hands.calls.get()
            # In pieces: uvicorn stops reading after the first.
            for _ in range(3):
                await stream.send(ahead[:10])
                await anyio.lowlevel.checkpoint()
            if len(ahead) > 1_000:
                await stream.send(ahead)
                # Too much ahead; it does not have to leave.
                assert await all_of(stream) == b""
        assert (await behind.heard.get()).code == "stopped"
        await behind.quiet()


@asynccontextmanager
async def a_large_read(
    **limits: Any,
) -> AsyncGenerator[tuple[HttpAddress, anyio.abc.SocketStream]]:
    """A connection on which an answer of 24 MB begins to come, and nobody takes it."""
    given = {"trust_unpaused": True, "limits": DoorLimits(**limits)}
    async with a_door(door=given, images=BigImages(24)) as behind:
        kept = await behind.hands.deska.files.put(Blob(picture(), "image/png"))
        async with behind.door.http() as address, a_connection(address) as stream:
            await stream.send(a_request(address, modern_call("read", {})))
            await behind.hands.answer({"images": [kept["id"]]})
            assert (await behind.heard.get()).images == 1
            yield address, stream


@pytest.mark.rule("M-7", "M-12")
async def test_an_answer_that_is_not_taken_is_a_request_under_way() -> None:
    async with (
        a_large_read(requests=1) as (address, stream),
        an_http_client(address, **ACCEPT) as http,
    ):
        assert await post_none(http, address) == 503
        got = bytearray()
        while b"\r\n\r\n" not in got:
            got += await stream.receive()
        told, _, rest = bytes(got).partition(b"\r\n\r\n")
        (length,) = (
            int(line.split(b":")[1])
            for line in told.lower().split(b"\r\n")
            if line.startswith(b"content-length")
        )
        assert length > 24 * MB
        body = bytearray(rest)
        while len(body) < length:
            body += await stream.receive()
        # Whole, and the place is free again.
        assert len(json.loads(body)["result"]["content"]) == 2
        assert await post_none(http, address) == 200


@pytest.mark.rule("M-7", "M-12")
async def test_a_client_that_takes_nothing_of_its_answer_is_not_waited_for() -> None:
    async with (
        a_large_read(requests=1, idle_seconds=1) as (address, stream),
        an_http_client(address, **ACCEPT) as http,
    ):
        while await post_none(http, address) == 503:
            pass
        # What is left in the system's own buffers still comes.
        assert len(await all_of(stream)) < 24 * MB
