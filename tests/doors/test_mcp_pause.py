"""The pause that MCP cannot hold, and the turns that it does not know."""

from __future__ import annotations

import anyio
import pytest

from deska_host import Host
from deska_host.mcp import McpDoor
from deska_sdk.router import Switches
from tests.doors.support_door import Modes, a_client, a_door, call, code_of, some_ways, text_of
from tests.host.support_host import later
from tests.host.support_supervision import FENCED, NOTES, PAUSED

pytestmark = pytest.mark.anyio


@pytest.mark.rule("M-5", "S-1")
@some_ways
async def test_a_read_waits_for_the_embedders_supervisor(way: str, era: str) -> None:
    modes = Modes()
    given = {"supervisor": modes.on_switch, "mode": "automatic"}
    async with (
        a_door(door=given) as behind,
        a_client(behind.door, way, era) as client,
        anyio.create_task_group() as group,
    ):
        read = later(group, call, client, "read")
        await behind.hands.answer(NOTES)
        assert text_of(await read.wait()) == FENCED
        assert modes.asked == ["supervised"]
        assert behind.door.task.paused
        assert [row.text for row in behind.host.person.rows("task-1")] == [PAUSED]
        assert not (await behind.heard.get()).unpaused


@pytest.mark.rule("M-5", "S-1")
@some_ways
async def test_a_supervisor_that_fails_keeps_the_content_back(way: str, era: str) -> None:
    modes = Modes()
    modes.obeys = False
    given = {"supervisor": modes.on_switch, "mode": "automatic"}
    async with (
        a_door(door=given) as behind,
        a_client(behind.door, way, era) as client,
        anyio.create_task_group() as group,
    ):
        read = later(group, call, client, "read")
        await behind.hands.answer(NOTES)
        result = await read.wait()
        assert code_of(result) == "pause_failed"
        assert "header" not in text_of(result)


@pytest.mark.rule("M-5", "A-1")
@some_ways
async def test_without_a_supervisor_reads_are_refused_and_writes_work(way: str, era: str) -> None:
    async with (
        a_door(door={}) as behind,
        a_client(behind.door, way, era) as client,
        anyio.create_task_group() as group,
    ):
        assert code_of(await call(client, "read")) == "pause_failed"
        assert not len(behind.hands.calls)
        write = later(group, call, client, "add", {"text": "x"})
        await behind.hands.answer({"ok": True})
        assert text_of(await write.wait()) == '{"ok":true}'


@pytest.mark.rule("M-5")
@some_ways
async def test_a_read_that_nothing_paused_is_told_as_such(way: str, era: str) -> None:
    async with (
        a_door(door={"trust_unpaused": True}) as behind,
        a_client(behind.door, way, era) as client,
        anyio.create_task_group() as group,
    ):
        read = later(group, call, client, "read")
        await behind.hands.answer(NOTES)
        assert text_of(await read.wait()) == FENCED
        assert (await behind.heard.get()).unpaused
        write = later(group, call, client, "add", {"text": "x"})
        await behind.hands.answer({"ok": True})
        await write.wait()
        assert not (await behind.heard.get()).unpaused
        assert code_of(await call(client, "read", {"no": 1})) == "invalid_input"
        assert not (await behind.heard.get()).unpaused


@pytest.mark.rule("M-5")
async def test_trust_goes_without_a_supervisor() -> None:
    async with Host() as host:
        with pytest.raises(ValueError, match="a lie"):
            McpDoor(host, "task-1", supervisor=Modes().on_switch, trust_unpaused=True)
        # A mode is the supervisor's to change.
        with pytest.raises(ValueError, match="needs on_switch"):
            async with McpDoor(host, "task-1", mode="automatic"):
                raise AssertionError


@pytest.mark.rule("M-5")
@pytest.mark.parametrize("trust", [True, False])
async def test_no_read_is_deferred_to_a_message_that_cannot_come(trust: bool) -> None:
    # The two ways in which a door attaches its task without a supervisor.
    async with a_door(door={"trust_unpaused": trust}) as behind:
        seen = []
        original = behind.host.attach_task

        def attach(*given: object, **options: object) -> object:
            seen.append(options["switches"])
            return original(*given, **options)  # type: ignore[arg-type]

        behind.host.attach_task = attach  # type: ignore[method-assign,assignment]
        async with McpDoor(behind.host, "task-2", trust_unpaused=trust):
            assert seen == [Switches.MID_TURN if trust else Switches.NEVER]


@pytest.mark.rule("M-6", "S-1", "S-6")
@some_ways
async def test_a_turn_lasts_until_the_embedder_says_that_another_began(way: str, era: str) -> None:
    modes = Modes()
    given = {"supervisor": modes.on_switch, "mode": "automatic"}
    async with (
        a_door(door=given) as behind,
        a_client(behind.door, way, era) as client,
        anyio.create_task_group() as group,
    ):
        for number in (1, 2):
            for _ in range(2):
                read = later(group, call, client, "read")
                await behind.hands.answer(NOTES)
                await read.wait()
            assert behind.door.task.paused
            behind.door.new_turn()
            await behind.quiet()
            assert not behind.door.task.paused
            assert modes.asked == ["supervised", "automatic"] * number


@pytest.mark.rule("M-6")
@some_ways
async def test_what_is_open_when_a_new_turn_begins_is_stopped(way: str, era: str) -> None:
    async with (
        a_door() as behind,
        a_client(behind.door, way, era) as client,
        anyio.create_task_group() as group,
    ):
        write = later(group, call, client, "add", {"text": "x"})
        await behind.hands.calls.get()
        behind.door.new_turn()
        result = await write.wait()
        assert code_of(result) == "stopped"
        assert "may have happened" in text_of(result)


@pytest.mark.rule("M-6")
async def test_a_turn_that_the_person_stopped_stays_over_until_a_new_one_begins() -> None:
    async with a_door() as behind, a_client(behind.door, "memory", "auto") as client:
        behind.door.task.stop()
        assert code_of(await call(client, "add", {"text": "x"})) == "stopped"
        behind.door.new_turn()
        assert code_of(await call(client, "nothing")) == "unknown_action"


@pytest.mark.rule("M-6")
async def test_a_door_that_is_left_ends_its_turn_and_lets_the_task_go() -> None:
    async with Host() as host:
        async with McpDoor(host, "task-1") as door:
            task = door.task
            assert task.in_turn
        assert not task.in_turn
        assert task.mode is None
        async with McpDoor(host, "task-1") as again:
            assert again.task is not task
