"""The door by HTTP, as clients that mean no good, or know no better, find it."""

from __future__ import annotations

import json
import signal
import socket
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import httpx2
import pytest

from deska_host import Blob, Host
from deska_host.mcp import DoorLimits, McpDoor
from tests.doors.support_door import (
    INITIALIZE,
    BigImages,
    a_call,
    a_door,
    an_envelope,
    an_http_client,
)
from tests.host.support_host import later, picture

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from deska_host.mcp import HttpAddress
    from tests.doors.support_door import Behind

pytestmark = pytest.mark.anyio

ACCEPT = {"Accept": "application/json, text/event-stream"}
#: What a request of the newer era says of itself.
MODERN = ACCEPT | {
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "call_action",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def anyio_backend() -> str:
    """uvicorn runs on asyncio."""
    return "asyncio"


@asynccontextmanager
async def served(**limits: Any) -> AsyncGenerator[tuple[Behind, HttpAddress, httpx2.AsyncClient]]:
    """A door by HTTP, with a client that knows its token."""
    given: dict[str, Any] = {"limits": DoorLimits(**limits)}
    async with (
        a_door(door=given) as behind,
        behind.door.http() as address,
        an_http_client(address, **ACCEPT) as http,
    ):
        yield behind, address, http


def modern_call(action: str = "add", given: object = None) -> dict[str, Any]:
    """A call of the newer era, which needs no session."""
    message = a_call(action, {"text": "x"} if given is None else given)
    message["params"]["_meta"] = META
    return message


async def post_call(http: httpx2.AsyncClient, address: HttpAddress) -> httpx2.Response:
    """A call that waits for the page."""
    return await http.post(address.url, json=modern_call(), headers=MODERN)


@asynccontextmanager
async def a_connection(address: HttpAddress) -> AsyncGenerator[anyio.abc.SocketStream]:
    """A connection on which a test says what it likes."""
    async with await anyio.connect_tcp("127.0.0.1", address.port) as stream:
        yield stream


def head(address: HttpAddress, *headers: str, token: bool = True) -> bytes:
    """The head of a POST."""
    lines = ["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{address.port}", "Accept: application/json"]
    lines += ["Content-Type: application/json", *headers]
    if token:
        lines.append(f"Authorization: Bearer {address.token}")
    return "\r\n".join([*lines, "", ""]).encode()


async def all_of(stream: anyio.abc.SocketStream) -> bytes:
    """What comes until the server closes."""
    got = b""
    try:
        while True:
            got += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return got


async def status_of(stream: anyio.abc.SocketStream) -> int:
    """The status of the next answer."""
    got = b""
    while b"\r\n" not in got:
        got += await stream.receive()
    return int(got.split(b" ")[1])


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


# --- how much, and how slowly


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
async def test_connections_and_sessions_have_their_limits() -> None:
    async with (
        served(connections=3) as (_, address, http),
        a_connection(address),
        a_connection(address),
    ):
        assert (await http.post(address.url, json=INITIALIZE)).status_code == 200
        # Who came first is served, and who is too many is not.
        async with a_connection(address) as stream:
            await stream.send(head(address, "Content-Length: 0"))
            assert (await all_of(stream)).startswith(b"HTTP/1.1 503 ")
            assert (await http.post(address.url, json=INITIALIZE)).status_code == 200
    async with served(sessions=1) as (_, address, http):
        first = await http.post(address.url, json=INITIALIZE)
        assert (await http.post(address.url, json=INITIALIZE)).status_code == 503
        session = {"Mcp-Session-Id": first.headers["mcp-session-id"]}
        assert (await http.delete(address.url, headers=session)).status_code == 200
        assert (await http.post(address.url, json=INITIALIZE)).status_code == 200


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
