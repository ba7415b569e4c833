"""Nothing of an agent in any log, however much is logged."""

from __future__ import annotations

import logging
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from deska_host import Host
from deska_host.mcp import McpDoor
from tests.doors.support_door import (
    INITIALIZE,
    a_client,
    a_door,
    a_line,
    an_envelope,
    an_http_client,
    call,
    lines,
    on_asyncio,
    pipes,
    send,
    some_ways,
)
from tests.host.support_host import later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp.client.client import Client

pytestmark = pytest.mark.anyio

MARKER = "Zaunkoenig"
#: The agent's own side, which in these tests is in the same process.
THEIRS = ("mcp.client", "httpx2", "httpcore2", "asyncio")


class Kept(logging.Handler):
    """Keeps what is logged by anybody but the agent's own side."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(THEIRS):
            self.records.append(record)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[list[logging.LogRecord]]:
    """What is logged at the lowest level; in the end it is without the marker."""
    root, kept = logging.getLogger(), Kept()
    level = root.level
    caplog.set_level(logging.DEBUG, "deska_host.mcp.wire")
    root.addHandler(kept)
    root.setLevel(logging.DEBUG)
    yield kept.records
    root.setLevel(level)
    root.removeHandler(kept)
    form = logging.Formatter("%(message)s")
    for record in kept.records:
        assert MARKER not in f"{form.format(record)}{record.__dict__}", record.name


async def whatever_an_agent_may_say(client: Client) -> None:
    """Its words in each place where they could end in a log."""
    for tool, arguments in (
        (MARKER, {}),
        ("list_panels", {MARKER: MARKER}),
        ("call_action", {"panel": MARKER, "action": MARKER, "input": {MARKER: MARKER}}),
        ("call_action", {"panel": "board", "action": MARKER, "input": {}}),
        ("call_action", {"panel": "board", "action": "add", "input": {"text": [MARKER]}}),
    ):
        with suppress(MCPError):
            await client.call_tool(tool, arguments)
    session: Any = client.session
    for method in (MARKER, "tools/call", "prompts/get"):
        with suppress(MCPError):
            await session._dispatcher.send_raw_request(
                method, {"name": [MARKER], "arguments": MARKER}
            )
        await session._dispatcher.notify(f"notifications/{MARKER}", {"reason": MARKER})


@pytest.mark.rule("M-9", "B-2")
@some_ways
async def test_no_word_of_an_agent_or_a_page_is_logged(
    way: str, era: str, logged: list[logging.LogRecord]
) -> None:
    async with (
        a_door() as behind,
        a_client(behind.door, way, era) as client,
        anyio.create_task_group() as group,
    ):
        await whatever_an_agent_may_say(client)
        write = later(group, call, client, "add", {"text": MARKER})
        await behind.hands.answer({"ok": True, "revision": MARKER})
        await write.wait()
        read = later(group, call, client, "read")
        await behind.hands.answer({"notes": [MARKER]})
        await read.wait()
    assert logged


@pytest.mark.rule("M-9", "B-2")
@on_asyncio
async def test_no_header_path_or_broken_body_is_logged(logged: list[logging.LogRecord]) -> None:
    async with a_door() as behind, behind.door.http() as address, an_http_client(address) as http:
        for headers in (
            {"Host": MARKER},
            {"Origin": MARKER},
            {"Authorization": f"Bearer {MARKER}"},
            {"Mcp-Session-Id": MARKER},
            {"Last-Event-Id": MARKER},
            {"MCP-Protocol-Version": MARKER},
            {"Accept": MARKER},
            {"Content-Type": MARKER},
            {"Upgrade": MARKER, "Connection": "upgrade"},
        ):
            for method in ("GET", "POST", "DELETE", MARKER):
                await http.request(method, address.url, json=INITIALIZE, headers=headers)
        await http.get(f"{address.url}/{MARKER}")
        for content in (MARKER, f'{{"jsonrpc": "2.0", "method": "{MARKER}"', f'["{MARKER}"]'):
            for version in ({}, {"MCP-Protocol-Version": "2026-07-28"}):
                told = {"Content-Type": "application/json", "Accept": "application/json"} | version
                await http.post(address.url, content=content, headers=told)
        async with await anyio.connect_tcp("127.0.0.1", address.port) as stream:
            await stream.send(f"{MARKER}\r\n\r\n".encode())
            assert b"400" in await stream.receive()
        assert "deska_host.mcp.wire" in {record.name for record in logged}
        assert address.token not in "".join(str(record.__dict__) for record in logged)


@pytest.mark.rule("M-9", "B-2")
async def test_no_broken_line_is_logged(logged: list[logging.LogRecord]) -> None:
    async with (
        a_door() as behind,
        pipes(behind.door) as (read, write),
        aclosing(lines(read)) as answers,
    ):
        cancelled = an_envelope("notifications/cancelled", None, requestId=MARKER, reason=MARKER)
        for line in (
            MARKER.encode() + b"\n",
            f'{{"jsonrpc": "2.0", "id": "{MARKER}", "result": {{}}}}\n'.encode(),
            a_line(an_envelope(MARKER, None)),
            a_line(INITIALIZE),
            a_line(cancelled),
            a_line(an_envelope("tools/call", 4, name=7, arguments=MARKER)),
        ):
            await send(write, line)
        while b'"id":4' not in await anext(answers):
            pass
    assert {"mcp.shared.jsonrpc_dispatcher", "mcp.server.runner"} & {one.name for one in logged}


@pytest.mark.rule("M-9")
async def test_a_record_keeps_its_level_and_place_and_the_kind_of_its_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger = logging.getLogger("mcp.server.runner")
    async with Host() as host, McpDoor(host, "task-1"), McpDoor(host, "task-2"):
        try:
            raise ValueError(MARKER)
        except ValueError:
            logger.exception("it said %r", MARKER)
    (record,) = [one for one in caplog.records if one.name == logger.name]
    assert record.levelname == "ERROR"
    assert record.getMessage().startswith("test_mcp_quiet:")
    assert "ValueError\n" in record.getMessage()
    assert f"{__file__}:" in record.getMessage()
    assert MARKER not in caplog.text


@pytest.mark.rule("M-9")
async def test_nothing_of_a_call_goes_into_spans() -> None:
    # The SDK would put tool names as they were sent, and the words of errors, into them.
    async with Host() as host, McpDoor(host, "task-1") as door:
        assert door.server.middleware == []


@pytest.mark.rule("M-9")
async def test_other_peoples_servers_log_as_they_like_when_no_door_is_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger = logging.getLogger("mcp.server.runner")
    others = logging.getLogger("uvicorn.error")
    async with Host() as host:
        async with McpDoor(host, "task-1"):
            async with McpDoor(host, "task-2"):
                pass
            logger.warning("while one is open")
            others.warning("of another server")
        logger.warning("when none is open")
    told = [record.getMessage() for record in caplog.records]
    assert "while one is open" not in told
    assert told[-2:] == ["of another server", "when none is open"]
