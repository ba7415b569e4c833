"""The door by HTTP, as clients that mean no good, or know no better, find it."""

from __future__ import annotations

import json
import signal
import socket
from contextlib import AsyncExitStack

import anyio
import anyio.abc
import httpx2
import pytest

from deska_host import Blob, Host
from deska_host.mcp import DoorLimits, McpDoor
from tests.doors.support_door import (
    INITIALIZE,
    BigImages,
    a_door,
    an_envelope,
    an_http_client,
)
from tests.doors.support_http import (
    ACCEPT,
    MODERN,
    a_connection,
    all_of,
    head,
    modern_call,
    post_call,
    served,
)
from tests.host.support_host import later, picture

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """uvicorn runs on asyncio."""
    return "asyncio"


# --- who may ask


@pytest.mark.rule("M-7")
async def test_the_door_answers_to_the_names_of_this_computer_only() -> None:
    async with served() as (_, address, http):
        for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
            host = {"Host": f"{name}:{address.port}"}
            assert (await http.post(address.url, json=INITIALIZE, headers=host)).status_code == 200
        for host in (
            "panels.example",
            f"panels.example:{address.port}",
            f"127.0.0.1.panels.example:{address.port}",
            "127.0.0.1",
            f"127.0.0.1:{address.port + 1}",
            f"127.0.0.1:{address.port}:1",
            f"0.0.0.0:{address.port}",
            "",
        ):
            refused = await http.post(address.url, json=INITIALIZE, headers={"Host": host})
            assert refused.status_code == 421, host


@pytest.mark.rule("M-7")
async def test_web_pages_of_other_servers_may_not_ask() -> None:
    async with served() as (_, address, http):
        for origin in (
            "null",
            "http://panels.example",
            f"http://panels.example:{address.port}",
            f"http://localhost.panels.example:{address.port}",
            "http://localhost:1",
            f"https://127.0.0.1:{address.port}",
            "",
        ):
            asked = await http.post(address.url, json=INITIALIZE, headers={"Origin": origin})
            assert asked.status_code == 403, origin
        own = {"Origin": f"http://localhost:{address.port}"}
        assert (await http.post(address.url, json=INITIALIZE, headers=own)).status_code == 200


@pytest.mark.rule("M-7")
async def test_without_the_token_nothing_is_answered() -> None:
    async with served() as (behind, address, _), httpx2.AsyncClient(verify=False) as http:
        given: list[list[tuple[str, str]]] = [
            [],
            [("Authorization", "")],
            [("Authorization", address.token)],
            [("Authorization", "Bearer")],
            [("Authorization", f"Bearer {address.token[:-1]}")],
            [("Authorization", f"Bearer {address.token}x")],
            [("Authorization", f"Bearer {address.token.swapcase()}")],
            [("Authorization", f"Basic {address.token}")],
            [("Authorization", f"Bearer {address.token}"), ("Authorization", "Bearer x")],
        ]
        for headers in given:
            for method in ("POST", "GET", "DELETE", "PUT"):
                asked = await http.request(method, address.url, headers=headers, json=modern_call())
                assert asked.status_code == 401
                assert asked.headers["www-authenticate"] == 'Bearer realm="deska"'
        good = {"Authorization": f"bearer {address.token}"} | ACCEPT
        assert (await http.post(address.url, json=INITIALIZE, headers=good)).status_code == 200
        assert not len(behind.hands.calls)
        assert address.token not in repr(address)


@pytest.mark.rule("M-7")
async def test_each_door_has_a_token_of_its_own() -> None:
    async with a_door() as behind, McpDoor(behind.host, "task-2") as other:
        async with behind.door.http() as one, other.http() as two, an_http_client(one) as http:
            assert one.token != two.token
            assert len(one.token) >= 43
            assert (await http.post(two.url, json=INITIALIZE)).status_code == 401
        async with behind.door.http(token="a-token-of-my-own") as own:
            assert own.headers == {"Authorization": "Bearer a-token-of-my-own"}
        for token in (
            "",
            "short",
            "with a space in the middle",
            "line\nfeed-and-more-text",
            "é" * 20,
        ):
            with pytest.raises(ValueError, match="a token is"):
                await behind.door.http(token=token).__aenter__()


@pytest.mark.rule("M-7")
async def test_there_is_one_path_and_three_methods() -> None:
    async with served() as (_, address, http), httpx2.AsyncClient(verify=False) as stranger:
        base = address.url.removesuffix("/mcp")
        for path in ("/", "/mcp/", "/MCP", "/mcp/x", "/.well-known/oauth-protected-resource"):
            assert (await http.get(base + path)).status_code == 404
            # Who looks for a way to sign in learns that there is none.
            assert (await stranger.get(base + path)).status_code == 404
        for method in ("PUT", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW"):
            asked = await http.request(method, address.url)
            assert asked.status_code == 405
            assert asked.headers["allow"] == "GET, POST, DELETE"


@pytest.mark.rule("M-7")
async def test_the_door_listens_on_loopback_and_nowhere_else() -> None:
    async with a_door() as behind, behind.door.http() as address:
        # The whole 127/8 is this computer; a server on all addresses would answer here too.
        for other in ("127.0.0.2", "::1"):
            with pytest.raises(OSError, match="failed"):
                await anyio.connect_tcp(other, address.port)
        async with behind.door.http(ipv6=True) as both:
            url = f"http://[::1]:{both.port}/mcp"
            async with an_http_client(both, **ACCEPT) as http:
                assert (await http.post(url, json=INITIALIZE)).status_code == 200
                assert (await http.post(both.url, json=INITIALIZE)).status_code == 200


@pytest.mark.rule("M-7")
async def test_a_port_that_is_taken_is_an_error_and_one_that_was_left_is_free() -> None:
    async with a_door() as behind:
        async with behind.door.http() as address:
            with pytest.raises(OSError, match="in use"):
                await behind.door.http(port=address.port).__aenter__()
        async with behind.door.http(port=address.port) as again:
            assert again.port == address.port
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(OSError, match="in use"):
                await behind.door.http(port=port, ipv6=True).__aenter__()
            with pytest.raises(ValueError, match="a port is"):
                await behind.door.http(port=65_536).__aenter__()
            # Nothing of the attempt stays.
            async with behind.door.http(port=port):
                pass


@pytest.mark.rule("M-7")
async def test_the_programs_signals_stay_its_own() -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    async with a_door() as behind, behind.door.http():
        assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.rule("M-7")
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_on_another_loop_than_asyncio_it_says_what_it_needs() -> None:
    async with Host() as host, McpDoor(host, "task-1") as door:
        with pytest.raises(RuntimeError, match="needs asyncio"):
            await door.http().__aenter__()


# --- the end


@pytest.mark.rule("M-7", "M-6")
async def test_when_the_door_closes_everything_ends() -> None:
    given = {"limits": DoorLimits(header_seconds=600, idle_seconds=600)}
    async with (
        a_door(door=given) as behind,
        anyio.create_task_group() as group,
        AsyncExitStack() as stack,
    ):
        serving = behind.door.http()
        address = await serving.__aenter__()
        http = await stack.enter_async_context(an_http_client(address, **ACCEPT))
        opened = await http.post(address.url, json=INITIALIZE)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        stream = await stack.enter_async_context(http.stream("GET", address.url, headers=session))
        assert stream.status_code == 200
        idle = await stack.enter_async_context(a_connection(address))
        waiting = later(group, post_call, http, address)
        await behind.hands.calls.get()
        await serving.__aexit__(None, None, None)
        assert (await waiting.wait()).status_code == 503
        assert await stream.aread() == b""
        assert await all_of(idle) == b""
        assert (await behind.heard.get()).code == "stopped"
        with pytest.raises(OSError, match="failed"):
            await anyio.connect_tcp("127.0.0.1", address.port)
        await behind.quiet()


@pytest.mark.rule("M-7")
async def test_a_client_that_does_not_read_its_answer_does_not_hold_up_the_end() -> None:
    limits = DoorLimits(farewell_seconds=0.05)
    given = {"trust_unpaused": True, "limits": limits}
    async with a_door(door=given, images=BigImages(24)) as behind:
        kept = await behind.hands.deska.files.put(Blob(picture(), "image/png"))
        serving = behind.door.http()
        address = await serving.__aenter__()
        async with a_connection(address) as stream:
            message = modern_call(action="read", given={})
            body = json.dumps(message).encode()
            told = [f"{name}: {value}" for name, value in MODERN.items() if name != "Accept"]
            await stream.send(head(address, *told, f"Content-Length: {len(body)}") + body)
            await behind.hands.answer({"images": [kept["id"]]})
            assert (await behind.heard.get()).images == 1
            await serving.__aexit__(None, None, None)
        assert behind.host.pending == 0


@pytest.mark.rule("M-6", "M-7")
async def test_a_door_that_is_left_first_closes_the_way_in_too() -> None:
    async with a_door() as behind:
        serving = behind.door.http()
        address = await serving.__aenter__()
        async with a_connection(address) as idle:
            await behind.door.__aexit__(None, None, None)
            assert await all_of(idle) == b""
        with pytest.raises(OSError, match="failed"):
            await anyio.connect_tcp("127.0.0.1", address.port)
        await serving.__aexit__(None, None, None)


@pytest.mark.rule("M-3", "M-7")
async def test_what_is_no_message_is_refused_where_it_stands() -> None:
    async with served() as (behind, address, http):
        text = {"Content-Type": "text/plain"}
        refused = await http.post(address.url, content=b"{}", headers=text)
        assert refused.status_code in (400, 415)
        for content in (b"", b"{", b"[]", b"7", b"\xff", b'{"jsonrpc":"2.0"}', b"[" * 100_000):
            for headers in (ACCEPT, MODERN):
                told = headers | {"Content-Type": "application/json"}
                asked = await http.post(address.url, content=content, headers=told)
                assert asked.status_code in (400, 202), content
        unknown = await http.post(
            address.url, json=an_envelope("tools/list"), headers={"Mcp-Session-Id": "none"}
        )
        assert unknown.status_code == 404
        assert behind.host.pending == 0
