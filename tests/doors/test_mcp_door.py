"""Opening and leaving a door, and what a program hears of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from attrs import asdict, evolve, fields
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

import deska_host.mcp
from deska_host import Host
from deska_host.mcp import DEFAULT_DOOR_LIMITS, DoorLimits, Heard, McpDoor
from tests.doors.support_door import (
    a_client,
    a_door,
    an_http_client,
    call,
    code_of,
    on_asyncio,
    some_ways,
    text_of,
)
from tests.host.support_host import a_panel, answering, connect, later
from tests.host.support_supervision import OwnError

if TYPE_CHECKING:
    from mcp.client.client import Client

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]


@pytest.mark.rule("M-6")
async def test_a_door_is_opened_once_and_serves_only_while_it_is_open() -> None:
    async with Host() as host:
        door = McpDoor(host, "task-1")
        with pytest.raises(RuntimeError, match="not open"):
            _ = door.task
        with pytest.raises(RuntimeError, match="not open"):
            door.new_turn()
        async with a_client(door, "memory", "auto") as client:
            with pytest.raises(MCPError, match="not open") as caught:
                await client.call_tool("list_panels")
            assert caught.value.code == INTERNAL_ERROR
        async with door:
            with pytest.raises(ValueError, match="attached"):
                await McpDoor(host, "task-1").__aenter__()
        with pytest.raises(RuntimeError, match="once"):
            await door.__aenter__()
        with pytest.raises(RuntimeError, match="not open"):
            await door.serve_stdio()
        with pytest.raises(RuntimeError, match="not open"):
            async with door.http():
                raise AssertionError


@pytest.mark.rule("M-6")
async def test_it_is_no_error_when_the_task_or_the_host_is_gone_first() -> None:
    async with Host() as host, McpDoor(host, "task-1"):
        host.detach_task("task-1")
    async with AsyncExitStack() as stack:
        host = Host()
        door = McpDoor(host, "task-1")
        await host.__aenter__()
        await stack.enter_async_context(door)
        await host.__aexit__(None, None, None)


@pytest.mark.rule("M-6")
@some_ways
async def test_a_door_that_is_left_ends_what_it_served(way: str, era: str) -> None:
    async with Host() as host, AsyncExitStack() as stack, anyio.create_task_group() as group:
        hands_up = anyio.Event()
        calls: list[dict[str, Any]] = []

        async def page(deska: Any) -> None:
            def hear(given: dict[str, Any]) -> None:
                calls.append(given)
                hands_up.set()

            deska.on("agent.action", hear)
            await deska.ready()

        await host.install(a_panel())
        await host.start_page("board", page=page)
        door = await stack.enter_async_context(McpDoor(host, "task-1"))
        await connect(host, "task-1", "board")

        async def asks() -> None:
            async with a_client(door, way, era) as client:
                await call(client, "add", {"text": "x"})

        asked = later(group, asks)
        await hands_up.wait()
        # The way in is another task's, which does not know: leaving ends it all the same.
        await stack.aclose()
        await asked.ended()
        assert host.pending == 0


@pytest.mark.rule("M-9")
@some_ways
async def test_on_call_hears_names_that_the_panel_has_and_no_others(way: str, era: str) -> None:
    async with (
        a_door() as behind,
        a_client(behind.door, way, era) as client,
        anyio.create_task_group() as group,
    ):

        async def heard() -> Heard:
            return await behind.heard.get()

        await client.call_tool("list_panels")
        assert await heard() == Heard("list_panels")
        await call(client, "SECRET")
        assert await heard() == Heard("call_action", "board", code="unknown_action")
        await call(client, "add", {"text": "x"}, "SECRET")
        assert await heard() == Heard("call_action", code="not_connected")
        await client.call_tool("call_action", {"panel": ["SECRET"], "action": 1, "input": {}})
        assert await heard() == Heard("call_action", code="invalid_input")
        write = later(group, call, client, "add", {"text": "SECRET"})
        await behind.hands.answer({"ok": True})
        await write.wait()
        assert await heard() == Heard("call_action", "board", "add")


@pytest.mark.rule("M-9")
@some_ways
async def test_an_error_of_the_program_is_told_to_it_and_not_to_the_agent(
    way: str, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_: object) -> None:
        raise OwnError("SECRET")

    async with a_door() as behind, a_client(behind.door, way, era) as client:
        unsubscribe = behind.host.subscribe(fails)
        with pytest.raises(MCPError) as caught:
            await call(client, "add", {"text": 7})
        unsubscribe()
        assert caught.value.code == INTERNAL_ERROR
        assert "SECRET" not in str(caught.value)
        (record,) = [record for record in caplog.records if record.name == "deska_host"]
        assert "OwnError" in record.getMessage()
        assert "in fails" in record.getMessage()
        assert "SECRET" not in caplog.text
        # A client that was failed is not cut off.
        assert code_of(await call(client, "add", {"text": 7})) == "invalid_input"
        await behind.quiet()


@pytest.mark.rule("M-9")
async def test_an_agent_does_not_pay_for_an_on_call_that_raises(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(_: Heard) -> None:
        raise OwnError("SECRET")

    async with (
        Host() as host,
        McpDoor(host, "task-1", on_call=fails) as door,
        a_client(door, "memory", "auto") as client,
    ):
        assert text_of(await client.call_tool("list_panels")) == '{"panels":[]}'
    (record,) = [record for record in caplog.records if record.name == "deska_host"]
    assert "OwnError" in record.getMessage()
    assert "SECRET" not in caplog.text


@pytest.mark.rule("M-7")
@on_asyncio
async def test_what_a_program_raises_while_it_serves_comes_out_as_it_is() -> None:
    async def serves(door: McpDoor) -> None:
        async with door.http() as address, an_http_client(address) as http:
            await http.get(address.url)
            raise OwnError

    async with a_door() as behind:
        with pytest.raises(OwnError):
            await serves(behind.door)


# --- two of them


@pytest.mark.rule("M-11")
@some_ways
async def test_two_clients_of_one_door_share_its_task(way: str, era: str) -> None:
    async with (
        a_door() as behind,
        a_client(behind.door, way, era) as one,
        a_client(behind.door, way, era) as two,
        anyio.create_task_group() as group,
    ):
        for client, counter in ((one, "r1"), (two, "r1"), (one, "r2")):
            write = later(group, call, client, "add", {"text": "x"})
            revision = "first" if counter == "r1" else "second"
            await behind.hands.answer({"ok": True, "revision": revision})
            assert text_of(await write.wait()) == f'{{"ok":true,"revision":"{counter}"}}'
        # Each has its own answer, and one that gives up takes nobody's call along.
        first = later(group, call, one, "add", {"text": "1"})
        heard = await behind.hands.calls.get()
        given_up = later(group, call, two, "add", {"text": "2"})
        assert (await behind.hands.calls.get())["input"] == {"text": "2"}
        given_up.scope.cancel()
        while (await behind.heard.get()).code != "stopped":
            pass
        second = later(group, call, two, "add", {"text": "3"})
        await behind.hands.answer({"ok": False, "error": "failed"})
        assert text_of(await second.wait()) == '{"ok":false,"error":"failed"}'
        await behind.hands.deska.agent.respond(heard["callId"], {"ok": True})
        assert text_of(await first.wait()) == '{"ok":true}'


@pytest.mark.rule("M-11")
@some_ways
async def test_nothing_crosses_between_two_doors_of_one_host(way: str, era: str) -> None:
    async with (
        a_door() as behind,
        McpDoor(behind.host, "task-2") as other,
        a_client(behind.door, way, era) as one,
        a_client(other, way, era) as two,
        anyio.create_task_group() as group,
    ):
        assert code_of(await call(two, "add", {"text": "x"})) == "not_connected"
        assert text_of(await two.call_tool("list_panels")) == '{"panels":[]}'
        await connect(behind.host, "task-2", "board")
        for client, counter in ((one, "r1"), (one, "r2"), (two, "r1")):
            write = later(group, call, client, "add", {"text": "x"})
            revision = "first" if (client, counter) == (one, "r1") else "second"
            await behind.hands.answer({"ok": True, "revision": revision})
            assert text_of(await write.wait()) == f'{{"ok":true,"revision":"{counter}"}}'
        # A counter of the one task is plain text in the other, and so is a door's end.
        edit = later(group, call, two, "edit", {"revision": "r2"})
        assert (await behind.hands.answer({"ok": True}))["input"] == {"revision": "r2"}
        await edit.wait()
        open_call = later(group, call, two, "add", {"text": "y"})
        heard = await behind.hands.calls.get()
        behind.door.new_turn()
        behind.host.detach_task("task-1")
        await behind.hands.deska.agent.respond(heard["callId"], {"ok": True})
        assert text_of(await open_call.wait()) == '{"ok":true}'


@pytest.mark.rule("M-11", "R-1")
@some_ways
async def test_calls_of_two_tasks_at_once_do_not_cross(way: str, era: str) -> None:
    edited: list[str] = []

    async def echo(_: object, call: dict[str, Any]) -> dict[str, Any]:
        # Out of order, so that answers come back in another one than the calls.
        for _turn in range(len(edited) % 3):
            await anyio.lowlevel.checkpoint()
        if call["action"] == "edit":
            edited.append(call["input"]["revision"])
            return {"ok": True, "revision": call["input"]["revision"]}
        return {"ok": True, "revision": call["input"]["text"]}

    async with (
        a_door(answering(echo)) as behind,
        McpDoor(behind.host, "task-2") as other,
        a_client(behind.door, way, era) as one,
        a_client(other, way, era) as two,
        anyio.create_task_group() as group,
    ):
        await connect(behind.host, "task-2", "board")

        async def works(client: Client, mark: str) -> None:
            counter = json.loads(text_of(await call(client, "add", {"text": mark})))["revision"]
            again = json.loads(text_of(await call(client, "edit", {"revision": counter})))
            # The counter stood for what this very call had written, and stands for it again.
            assert again == {"ok": True, "revision": counter}

        marks = [
            (client, f"{name}-{n}") for n in range(6) for client, name in ((one, "1"), (two, "2"))
        ]
        done = [later(group, works, client, mark) for client, mark in marks]
        for one_done in done:
            await one_done.wait()
        assert sorted(edited) == sorted(mark for _, mark in marks)
        await behind.quiet()


# --- the numbers, and the extra


@pytest.mark.rule("M-12")
@pytest.mark.parametrize("name", [one.name for one in fields(DoorLimits)])
def test_each_number_of_the_door_is_one(name: str) -> None:
    whole = type(getattr(DEFAULT_DOOR_LIMITS, name)) is int
    assert getattr(evolve(DEFAULT_DOOR_LIMITS, **{name: 3}), name) == 3
    for wrong in (0, -1, True, "5", None, float("nan"), float("inf"), 2**53):
        with pytest.raises(ValueError, match=name):
            evolve(DEFAULT_DOOR_LIMITS, **{name: wrong})
    if whole:
        with pytest.raises(ValueError, match=name):
            evolve(DEFAULT_DOOR_LIMITS, **{name: 1.5})


@pytest.mark.rule("M-12")
def test_the_docs_have_each_number_with_its_default() -> None:
    text = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", text, re.MULTILINE)
    told = {name: float(number.replace(",", "")) for name, number in rows}
    assert told == asdict(DEFAULT_DOOR_LIMITS)


def test_the_door_has_the_names_that_it_says() -> None:
    assert all(hasattr(deska_host.mcp, name) for name in deska_host.mcp.__all__)
    assert "::\n\n    " in (deska_host.mcp.__doc__ or "")


def test_without_its_extra_the_door_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "try: import deska_host.mcp\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert "deska-sdk[mcp]" in done.stdout
