"""The one timer of all deadlines: it wakes when it has to, and not for every call."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from deska_host import Host, SystemClock
from tests.host.support_host import a_panel, connect

pytestmark = pytest.mark.anyio


class Watched(SystemClock):
    """The computer's clock, which notes for what it slept."""

    def __init__(self) -> None:
        self.asked: list[float | None] = []

    async def run(self, timer: Any) -> None:
        clock = self

        class Timer:
            def deadline(self) -> float | None:
                clock.asked.append(timer.deadline())
                return clock.asked[-1]

            def tick(self) -> None:
                timer.tick()

            async def changed(self) -> None:
                await timer.changed()

        await super().run(Timer())


async def _page(deska: Any) -> None:
    async def hear(call: dict[str, Any]) -> None:
        await deska.agent.respond(call["callId"], {"ok": True})

    deska.on("agent.action", hear)
    await deska.ready()


@pytest.mark.rule("A-3")
async def test_calls_that_come_and_end_wake_the_timer_once_and_not_each_time() -> None:
    clock = Watched()
    async with Host(clock=clock) as host:
        await host.install(a_panel(), page=_page)
        await host.start_page("board")
        task = host.attach_task("task-1")
        await connect(host, "task-1", "board")
        async with task.turn() as agent:
            before = clock.now()
            for _ in range(50):
                assert (await agent.call_action("board", "add", {"text": "a"})).code is None
                await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
            armed = [at for at in clock.asked if at is not None and at >= before]
    # It sleeps for the first call's deadline, though that call has long ended.
    assert len(armed) == 1


@pytest.mark.rule("A-3")
async def test_an_earlier_deadline_wakes_a_timer_that_sleeps_for_a_later_one() -> None:
    clock = Watched()
    async with Host(clock=clock) as host:
        await host.install(a_panel(), page=_page)
        await host.start_page("board")
        engine = host._engine
        deadlines = engine.router._steps.deadlines
        await anyio.wait_all_tasks_blocked()

        class Subject:
            timer: int | None = None

        late, soon, fell = Subject(), Subject(), anyio.Event()
        deadlines.set(late, clock.now() + 1_000, lambda _: None)
        engine.tick()
        await anyio.wait_all_tasks_blocked()
        deadlines.set(soon, clock.now() + 0.001, lambda _: fell.set())
        engine.tick()
        await fell.wait()
        deadlines.clear(late)
