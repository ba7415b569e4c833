"""What a handler leaves in its task: it harms no other handler, no other page, and not the host."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
import trio

from deska_host import Host
from deska_host.runners import Runners
from tests.host.support_host import Hands, a_desk, a_panel, answering, connect, later

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from deska_host import Deska

    Answer = Callable[[Deska, dict[str, Any]], Awaitable[object]]

VAR: ContextVar[object] = ContextVar("VAR")
on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])


class Unequal:
    """A value that cannot be compared, as an array of numbers cannot."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("compared")

    __hash__ = None  # type: ignore[assignment]


def _task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


def _ends_the_one_before() -> Answer:
    before: list[asyncio.Task[Any]] = []

    async def answer(_deska: Deska, _call: dict[str, Any]) -> object:
        for task in before:
            task.cancel()
        before[:] = [_task()]
        await asyncio.sleep(0)
        return {"ok": True}

    return answer


def _leaves_a_timeout_open() -> Answer:
    opened: list[Any] = []

    async def steps() -> AsyncIterator[int]:
        async with asyncio.timeout(0) as timeout:
            opened.append(timeout)
            yield 1

    async def answer(_deska: Deska, _call: dict[str, Any]) -> object:
        opened.append(generator := steps())
        async for _ in generator:
            break
        return {"ok": True}

    return answer


def _is_cancelled_when_it_is_over() -> Answer:
    async def answer(_deska: Deska, _call: dict[str, Any]) -> object:
        asyncio.get_running_loop().call_later(0, _task().cancel)
        return {"ok": True}

    return answer


@pytest.mark.anyio
@pytest.mark.rule("A-4", "G-4")
@on_asyncio
@pytest.mark.parametrize(
    "make", [_ends_the_one_before, _leaves_a_timeout_open, _is_cancelled_when_it_is_over]
)
async def test_what_can_still_cancel_the_task_of_a_handler_ends_no_other(
    make: Callable[[], Answer],
) -> None:
    async with a_desk(answering(make())) as desk:
        for _ in range(5):
            assert (await desk.call("add", {"text": "a"})).code is None
            await anyio.wait_all_tasks_blocked()
        assert not desk.page.closed


@pytest.mark.anyio
@pytest.mark.rule("A-4", "G-4")
@on_asyncio
@pytest.mark.parametrize("waits", [True, False])
async def test_a_handler_that_cancels_its_own_task_ends_nothing_else(waits: bool) -> None:
    async def main(deska: Deska) -> None:
        async def hear(call: dict[str, Any]) -> None:
            await deska.agent.respond(call["callId"], {"ok": True})
            _task().cancel()
            if waits:
                await asyncio.sleep(0)

        deska.on("agent.action", hear)
        await deska.ready()

    async with a_desk(main) as desk:
        for _ in range(5):
            assert (await desk.call("add", {"text": "a"})).code is None
            await anyio.wait_all_tasks_blocked()
        assert not desk.page.closed


@pytest.mark.anyio
@pytest.mark.rule("G-4")
@on_asyncio
@pytest.mark.parametrize("waits", [True, False])
async def test_a_page_that_cancels_its_own_task_is_closed_and_the_host_goes_on(
    waits: bool,
) -> None:
    async def main(deska: Deska) -> None:
        await deska.ready()
        _task().cancel()
        if waits:
            await asyncio.sleep(0)

    async with Host() as host:
        other = Hands()
        await host.install(a_panel(), page=main)
        await host.install(a_panel("shelf"), page=other.main)
        await host.start_page("shelf")
        task = host.attach_task("task-1")
        await connect(host, "task-1", "shelf")
        await (await host.start_page("board")).wait_closed()
        async with task.turn() as agent, anyio.create_task_group() as group:
            reply = later(group, agent.call_action, "shelf", "add", {"text": "a"})
            await other.answer({"ok": True})
            assert (await reply.wait()).code is None


@pytest.mark.anyio
@pytest.mark.rule("A-4")
@on_asyncio
async def test_a_runner_that_is_cancelled_by_hand_while_it_idles_is_not_waited_for() -> None:
    ran: list[int] = []
    tasks: list[asyncio.Task[Any]] = []

    async def handler(number: int) -> None:
        ran.append(number)

    async with anyio.create_task_group() as group:
        runners = Runners(group)
        for woken in (False, True):
            before = asyncio.all_tasks()
            runners.start(handler, 0)
            tasks = [task for task in asyncio.all_tasks() if task not in before]
            await anyio.wait_all_tasks_blocked()
            if woken:
                # Woken and cancelled before it runs: what it was woken for is still to be run.
                runners.start(handler, 1)
            for task in tasks:
                task.cancel()
            await anyio.wait_all_tasks_blocked()
            runners.start(handler, 2)
            await anyio.wait_all_tasks_blocked()
            assert not group.cancel_scope.cancel_called
            runners = Runners(group)
        group.cancel_scope.cancel()
    assert ran == [0, 2, 0, 1, 2]


@pytest.mark.anyio
@pytest.mark.rule("G-4", "A-7", "B-2")
@pytest.mark.parametrize("shield", [True, False])
@pytest.mark.parametrize("seconds", [0.0, float("inf")])
async def test_a_handler_that_leaves_a_cancel_scope_open_closes_its_page_and_nothing_else(
    shield: bool, seconds: float
) -> None:
    scopes: list[anyio.CancelScope] = []
    told: list[tuple[str, type]] = []

    async def main(deska: Deska) -> None:
        async def hear(call: dict[str, Any]) -> None:
            await deska.agent.respond(call["callId"], {"ok": True})
            scopes.append(anyio.move_on_after(seconds, shield=shield))
            scopes[-1].__enter__()

        deska.on("agent.action", hear)
        await deska.ready()

    hook = told.append
    async with (
        a_desk(main, on_page_error=lambda panel, error: hook((panel, type(error)))) as desk,
        anyio.create_task_group() as group,
    ):
        other = Hands()
        await desk.host.install(a_panel("shelf"))
        await desk.host.start_page("shelf", page=other.main)
        await connect(desk.host, "task-1", "shelf")
        assert (await desk.call("add", {"text": "a"})).code is None
        await desk.page.wait_closed()
        reply = later(group, desk.call, "read", {}, "shelf")
        await other.answer({})
        assert (await reply.wait()).code is None
    assert told == [("board", RuntimeError)]


@pytest.mark.anyio
@pytest.mark.rule("G-5")
@pytest.mark.parametrize("value", [Unequal, list])
async def test_the_next_handler_finds_no_value_that_only_equals_the_one_before(
    value: Callable[[], object],
) -> None:
    VAR.set(first := value())
    found: list[bool] = []

    async def answer(_deska: Deska, _call: dict[str, Any]) -> object:
        found.append(VAR.get() is first)
        VAR.set(value())
        return {"ok": True}

    async with a_desk(answering(answer)) as desk:
        for _ in range(3):
            assert (await desk.call("add", {"text": "a"})).code is None
    assert found == [True] * 3


@pytest.mark.anyio
@pytest.mark.rule("A-7", "B-2")
async def test_a_page_of_whose_start_a_listener_cannot_hear_is_no_page() -> None:
    def listener(_notice: object) -> None:
        raise LookupError

    async with a_desk(Hands().main) as desk:
        await desk.host.install(a_panel("shelf"))
        await connect(desk.host, "task-1", "shelf")
        unsubscribe = desk.host.subscribe(listener)
        with pytest.raises(ExceptionGroup):
            await desk.host.start_page("shelf", page=Hands().main)
        unsubscribe()
        reply = await desk.call("add", {"text": "a"}, "shelf")
        assert reply.code == "panel_not_running"


@pytest.mark.rule("A-4")
def test_a_host_runs_where_trio_is_a_guest_of_asyncio() -> None:
    async def answer(deska: Deska, _call: dict[str, Any]) -> object:
        await deska.storage.set("key", 1)
        return {"ok": True}

    async def use() -> list[object]:
        async with a_desk(answering(answer)) as desk:
            return [(await desk.call("add", {"text": "a"})).code for _ in range(3)]

    async def main() -> Any:
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        trio.lowlevel.start_guest_run(
            use,
            run_sync_soon_threadsafe=loop.call_soon_threadsafe,
            done_callback=ended.set_result,
            host_uses_signal_set_wakeup_fd=True,
        )
        return (await ended).unwrap()

    assert asyncio.run(main()) == [None] * 3
