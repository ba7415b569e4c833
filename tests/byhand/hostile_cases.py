"""Requests to a door by HTTP that are right but for one thing, and what may come of each."""

from __future__ import annotations

import json
import os
import re
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import anyio.abc
from attrs import frozen

from tests.doors.support_door import MB, an_envelope
from tests.doors.support_http import META, MODERN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.byhand.serving import Server

#: How long an answer or an end may take, in seconds; the door's own limits are 10.
PATIENCE = 15
CLOSED = "closed"


@frozen
class Case:
    """What is sent, in pieces with a pause after each, and what may come of it."""

    name: str
    pieces: tuple[bytes, ...]
    right: tuple[str, ...]
    pause: float = 0.0
    #: Whether the client closes its sending side, or all of it, when it has sent.
    then: str = ""


class Cases:
    """Requests against one server, right but for one thing."""

    def __init__(self, server: Server) -> None:
        self._host = f"127.0.0.1:{server.port}"
        self._token = f"Bearer {server.token}"
        self._body = a_call("list_panels", {})

    def request(
        self,
        *more: str,
        line: str = "POST /mcp HTTP/1.1",
        body: bytes | None = None,
        length: str | None = "",
        **changes: str | None,
    ) -> bytes:
        """A request; ``None`` leaves a header out, ``length=None`` the Content-Length."""
        body = self._body if body is None else body
        headers: dict[str, str | None] = {
            "Host": self._host,
            "Authorization": self._token,
            "Content-Type": "application/json",
            **MODERN,
            "Mcp-Name": "list_panels",
            "Content-Length": str(len(body)) if length == "" else length,
        }
        headers |= {name.replace("_", "-"): value for name, value in changes.items()}
        lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
        return "\r\n".join([line, *lines, *more, "", ""]).encode("latin-1") + body

    def all(self) -> Iterable[Case]:
        """Every case."""
        one, port = self.request, self._host.rpartition(":")[2]

        def case(name: str, sent: bytes, *right: int | str) -> Case:
            return Case(name, (sent,), tuple(map(str, right)))

        yield case("nothing wrong", one(), 200)
        # --- names
        for host in ("panels.example", f"panels.example:{port}", "127.0.0.1", f"127.0.0.1:{port}1"):
            yield case(f"Host: {host.replace(port, 'PORT')}", one(Host=host), 421)
        for host in (f"127.0.0.1.nip.example:{port}", f"127.1:{port}", f"2130706433:{port}", ""):
            yield case(f"Host: {host.replace(port, 'PORT')}", one(Host=host), 421)
        yield case("Host twice", one("Host: panels.example"), 400)
        yield case("no Host", one(Host=None), 400)
        yield case("no Host, HTTP/1.0", one(line="POST /mcp HTTP/1.0", Host=None), 421)
        for origin in ("null", "http://panels.example", f"https://127.0.0.1:{port}", "file://"):
            yield case(f"Origin: {origin.replace(port, 'PORT')}", one(Origin=origin), 403)
        own = f"Origin: http://localhost:{port}"
        yield case("its own Origin, and another", one(own, Origin="http://panels.example"), 403)
        yield case("its own Origin", one(own), 200)
        # --- the token
        scheme, _, token = self._token.partition(" ")
        wrong = {
            "none": None,
            "empty": "",
            "no scheme": token,
            "another scheme": f"Basic {token}",
            "its case swapped": f"{scheme} {token.swapcase()}",
            "a part of it": f"{scheme} {token[:-1]}",
            "one more": f"{scheme} {token}x",
            "not ASCII": f"{scheme} \xe9\xff{token}",
            "8,000 bytes": f"{scheme} {'x' * 8_000}",
        }
        for name, given in wrong.items():
            yield case(f"token: {name}", one(Authorization=given), 401)
        yield case("token: twice", one(f"Authorization: {self._token}"), 401)
        yield case("token: 20,000 bytes", one(Authorization="Bearer " + "x" * 20_000), 431)
        yield case("token: in the address", one(line=f"POST /mcp?token={token} HTTP/1.1",
                                                Authorization=None), 401)  # fmt: skip
        yield case("the scheme's case", one(Authorization=f"bEARER {token}"), 200)
        # --- methods and paths
        for method in ("PUT", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "post", "BREW"):
            yield case(method, one(line=f"{method} /mcp HTTP/1.1"), 405)
        for path in ("/", "/mcp/", "//mcp", "/MCP", "/mcp/x", "/mcp;x", "/../mcp", "/mcp%00", "*"):
            yield case(f"POST {path}", one(line=f"POST {path} HTTP/1.1"), 404)
        absolute = f"POST http://127.0.0.1:{port}/mcp HTTP/1.1"
        yield case("POST http://127.0.0.1:PORT/mcp", one(line=absolute), 404)
        foreign = "POST http://panels.example/mcp HTTP/1.1"
        yield case("POST http://panels.example/mcp", one(line=foreign), 404)
        yield case("a path of 15,000 bytes", one(line=f"POST /{'x' * 15_000} HTTP/1.1"), 404)
        long = f"POST /{'x' * 20_000} HTTP/1.1"
        yield case("a path of 20,000 bytes", one(line=long), 431)
        # --- what is in it
        for kind in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            None,
        ):
            yield case(f"Content-Type: {kind}", one(Content_Type=kind), 400, 415)
        yield case("Accept: text/html", one(Accept="text/html"), 406)
        for name, body in BODIES.items():
            yield case(f"a body that is {name}", one(body=body), 400)
        # --- how long it says it is
        yield case("4 MiB and one byte", one(body=b" " * (4 * MB + 1)), 413)
        yield case("says 10 GB", one(length=str(10**10)), 413)
        yield case("says 10^30 bytes", one(length=str(10**30)), 400, 413)
        for length in ("-1", "+5", "0x10", "1e3", "5, 6", "five"):
            yield case(f"Content-Length: {length}", one(length=length), 400)
        other = f"Content-Length: {len(self._body) + 1}"
        yield case("Content-Length twice", one(other), 400)
        chunked = "Transfer-Encoding: chunked"
        both = one(chunked, body=b"0\r\n\r\n")
        yield case("Content-Length and chunked", both, 400, 415)
        yield case("Transfer-Encoding: gzip", one("Transfer-Encoding: gzip", length=None), 400, 501)
        large = one(chunked, length=None, body=(b"100000\r\n" + b" " * MB + b"\r\n") * 5)
        yield case("5 MiB in chunks", large, 413)
        yield case(
            "chunks without a length", one(chunked, length=None, body=b"zz\r\n"), 400, CLOSED
        )
        yield case("more than it says", one() + b"more\r\n\r\n", "200 400")
        # --- after the refusal
        stranger = one(chunked, length=None, Authorization=None, body=b"")
        yield Case("no token, then no chunks", (stranger, b"zz\r\n" * 9), ("401",), pause=0.3)
        # --- several at once
        yield case("20 requests in one piece", one() * 20, " ".join(["200"] * 20))
        mixed = one() + one(Authorization=None) + one(Host="panels.example")
        yield case("good, no token, wrong Host", mixed, "200 401 421")
        # --- what is no HTTP/1.1
        h2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9)
        yield case("HTTP/2's preface, which has no Host", h2, "421 400")
        yield case("HTTP/0.9", b"GET /mcp\r\n\r\n", 400)
        yield case("HTTP/9.9", one(line="POST /mcp HTTP/9.9"), 505)
        yield case("TLS", bytes.fromhex("16030100c8010000c40303") + os.urandom(200), 400)
        yield case("SSH", b"SSH-2.0-OpenSSH_9.9\r\n", CLOSED)
        yield case("a websocket", one("Upgrade: websocket", Connection="Upgrade"), 200)
        yield case("16 KB of noise", b"\0\1\2\3" * 4_096, 400, CLOSED)
        yield case("only line ends", b"\r\n" * 20_000, 400, CLOSED)
        yield case("2,000 headers", one(*(f"X-{n}: 1" for n in range(2_000))), 431)
        yield case("a header with a NUL", one("X: a\0b"), 400)
        yield case("a folded header", one("X: a\r\n b"), 200, 400)
        yield case("a space before the colon", one("X : a"), 400)
        # --- slowly, and by halves: the limits are 10 seconds
        yield Case("a head, byte by byte", tuple(_bytes(one()[:60])), (CLOSED,), pause=0.25)
        yield Case("half a head, then nothing", (one()[:40],), (CLOSED,))
        yield Case("nothing at all", (), (CLOSED,))
        slow = one(length="1000", body=b"")
        yield Case("a body, byte by byte", (slow, *_bytes(b" " * 60)), ("408",), pause=0.25)
        yield Case("half a body, then nothing", (slow + b"{",), ("408",))
        refused = one(length="1000", body=b"{", Authorization=None)
        yield Case("no token, and half a body", (refused,), ("401",))
        yield Case("half a head, and sends no more", (one()[:40],), (CLOSED,), then="half")
        yield Case("half a body, and sends no more", (slow + b"{",), (CLOSED,), then="half")
        yield Case("connects, and sends no more", (), (CLOSED,), then="half")
        yield Case("half a body, and is gone", (slow + b"{",), ("gone",), then="gone")
        yield Case("a request, and is gone", (one(),), ("gone",), then="gone")


BODIES = {
    "empty": b"",
    "no JSON": b"{",
    "a number": b"7",
    "a batch": b"[" + json.dumps(an_envelope("ping")).encode() + b"]",
    "no message": b'{"jsonrpc":"2.0"}',
    "no UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
    "100,000 brackets": b"[" * 100_000,
    "a number of 10,000 digits": b'{"jsonrpc":"2.0","id":' + b"9" * 10_000 + b',"method":"x"}',
    "of another method than its header": json.dumps(an_envelope("ping")).encode(),
}


def a_call(tool: str, arguments: object) -> bytes:
    message = an_envelope("tools/call", 1, name=tool, arguments=arguments, _meta=META)
    return json.dumps(message).encode()


def _bytes(data: bytes) -> Iterable[bytes]:
    return (data[at : at + 1] for at in range(len(data)))


async def outcome(case: Case, port: int) -> str:
    """The statuses that came, or how it ended."""
    got = bytearray()
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        ended = anyio.Event()

        async def read() -> None:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                while True:
                    got.extend(await stream.receive())
            ended.set()

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                for piece in case.pieces:
                    await stream.send(piece)
                    await anyio.sleep(case.pause)
                if case.then == "half":
                    await stream.send_eof()
            if case.then == "gone":
                reset(stream)
                return "gone"
            wanted = max(len(right.split(" ")) for right in case.right)
            with anyio.move_on_after(PATIENCE):
                while not ended.is_set():
                    await anyio.sleep(0.05)
                    if len(statuses(got)) >= wanted and CLOSED not in case.right:
                        break
            over = ended.is_set()
            group.cancel_scope.cancel()
    return " ".join(statuses(got)) or (CLOSED if over else "still open")


def statuses(got: bytes | bytearray) -> list[str]:
    """The statuses of the answers in it."""
    return [one.decode() for one in re.findall(rb"HTTP/1\.1 (\d{3}) [A-Z]", bytes(got))]


def reset(stream: anyio.abc.SocketStream) -> None:
    """Let the connection end without a farewell."""
    raw: socket.socket = stream.extra(anyio.abc.SocketAttribute.raw_socket)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
