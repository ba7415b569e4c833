"""What runs a page's handlers: few tasks, in order, and nothing of one handler left for another."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deska_host import Host
from deska_host.ids import CallIds
from deska_host.runners import Runners
from tests.host.support_host import a_panel, connect

VAR: ContextVar[str] = ContextVar("VAR", default="page")


@pytest.mark.rule("A-4")
@pytest.mark.anyio
async def test_handlers_begin_in_the_order_in_which_they_were_asked_for_whoever_runs_them() -> None:
    begun: list[int] = []

    async def handler(number: int, waits: int) -> None:
        begun.append(number)
        for _ in range(waits):
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        runners = Runners(group)
        number = 0
        for size in (1, 5, 2, 9, 1):
            for _ in range(size):
                runners.start(handler, number, number % 3)
                number += 1
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert begun == list(range(number))


@pytest.mark.rule("A-4")
@pytest.mark.anyio
async def test_a_handler_that_waits_holds_no_other_up() -> None:
    go, done = anyio.Event(), anyio.Event()

    async def waits() -> None:
        await go.wait()
        done.set()

    async def wakes() -> None:
        go.set()

    async with anyio.create_task_group() as group:
        runners = Runners(group)
        runners.start(waits)
        runners.start(wakes)
        await done.wait()
        group.cancel_scope.cancel()


@pytest.mark.rule("G-4")
@pytest.mark.anyio
async def test_a_page_that_answers_one_call_after_another_starts_no_task_for_each() -> None:
    tasks: set[int] = set()

    async def page(deska: Any) -> None:
        async def hear(call: dict[str, Any]) -> None:
            tasks.add(anyio.get_current_task().id)
            await deska.agent.respond(call["callId"], {"ok": True})

        deska.on("agent.action", hear)
        await deska.ready()

    async with Host() as host:
        await host.install(a_panel(), page=page)
        await host.start_page("board")
        task = host.attach_task("task-1")
        await connect(host, "task-1", "board")
        async with task.turn() as agent:
            for _ in range(20):
                assert (await agent.call_action("board", "add", {"text": "a"})).code is None
    assert len(tasks) == 1


@pytest.mark.rule("G-5")
@pytest.mark.anyio
async def test_what_an_agent_or_another_handler_has_set_in_its_context_no_handler_finds() -> None:
    found: list[str] = []

    async def page(deska: Any) -> None:
        async def hear(call: dict[str, Any]) -> None:
            found.append(VAR.get())
            VAR.set("handler")
            await deska.agent.respond(call["callId"], {"ok": True})

        deska.on("agent.action", hear)
        await deska.ready()

    async with Host() as host:
        await host.install(a_panel(), page=page)
        await host.start_page("board")
        task = host.attach_task("task-1")
        await connect(host, "task-1", "board")
        async with task.turn() as agent:
            VAR.set("agent")
            for _ in range(3):
                assert (await agent.call_action("board", "add", {"text": "a"})).code is None
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(agent.call_action, "board", "add", {"text": "a"})
    assert found == ["page"] * 6


@pytest.mark.rule("A-2")
@given(st.integers(1, 200))
def test_no_call_id_comes_twice_and_each_is_as_long_as_the_last(count: int) -> None:
    new = CallIds()
    ids = [new() for _ in range(count)]
    assert len(set(ids)) == count
    assert {len(one) for one in ids} == {24}
    assert all(one.replace("-", "").replace("_", "").isalnum() for one in ids)
