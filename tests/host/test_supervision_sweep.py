"""A read is cut off at its n-th suspension, for every n: nothing is left, nothing comes unpaused.

The read is driven by hand: everything that suspends for it (the agent's call, the page's answer,
the encoding of its image, the change of the mode) is stepped by :func:`counted`, and at the n-th
step something happens to it. The store is in memory and the worker process is a seam, so there is
no thread and every suspension is seen.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from attrs import define, field

from deska_host import Agent, AgentReply, Blob, Host
from deska_sdk import AgentCode, PageError
from deska_sdk.router import RowKind
from tests.host.support_host import Images, Later, connect, later, picture
from tests.host.support_supervision import Mode, a_room, settle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from deska_host.tasks import Turn
    from tests.host.support_supervision import Room

pytestmark = pytest.mark.anyio

FENCE = '<panel_content package="board" panel="Board" trust="untrusted">'


@define
class Cut:
    """Counts the suspensions of one run; at the n-th ``act`` is called."""

    at: int
    act: Callable[[], object]
    seen: int = 0

    def step(self) -> None:
        self.seen += 1
        if self.seen == self.at:
            self.act()


@types.coroutine
def counted(cut: Cut, run: Awaitable[Any]) -> Generator[Any, Any, Any]:
    """``run``, with ``cut`` told of every suspension, just before it happens."""
    steps = run.__await__()
    send: Callable[[], Any] = lambda: next(steps)  # noqa: E731 - the next thing to do
    while True:
        try:
            trap = send()
        except StopIteration as over:
            return over.value
        cut.step()
        try:
            given = yield trap
        except BaseException as error:
            raised = error
            send = lambda raised=raised: steps.throw(raised)  # type: ignore[misc] # noqa: E731
        else:
            send = lambda given=given: steps.send(given)  # type: ignore[misc] # noqa: E731


class CountedImages(Images):
    """The seam of the worker process."""

    cut: Cut

    async def to_png(self, *args: Any, **options: Any) -> bytes:
        png: bytes = await counted(self.cut, super().to_png(*args, **options))
        return png


class CountedMode(Mode):
    """An agent that takes three steps to change its mode, the change itself in the middle."""

    cut: Cut

    async def on_switch(self, mode: str) -> Any:
        return await counted(self.cut, self._change(mode))

    async def _change(self, mode: str) -> bool:
        self.asked.append(mode)
        await anyio.lowlevel.checkpoint()
        # Whatever happens to the one who asked, the agent itself does it or does not.
        self.now = mode
        self.switched.append(mode)
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        return True


@define
class Run:
    """One run of the sweep: what there is to act on, and what came of it."""

    room: Room
    mode: CountedMode
    images: CountedImages
    cut: Cut = field(init=False)
    reading: Later[AgentReply] | None = None
    #: The mode of the agent, and whether a pause stood, at each moment in which content came.
    came: list[tuple[str, bool]] = field(factory=list)

    def cut_at(self, at: int, act: Callable[[Run], object]) -> None:
        self.cut = self.mode.cut = self.images.cut = Cut(at, lambda: act(self))

    async def call(self, agent: Agent) -> AgentReply:
        reply: AgentReply = await counted(self.cut, agent.call_action("board", "read", {}))
        if FENCE in reply.text:
            self.came.append((self.mode.now, self.room.task.paused))
        else:
            assert reply.panel == ""
            assert reply.images == ()
        return reply

    async def answer(self, kept: str) -> None:
        call = await self.room.hands.calls.get()
        try:
            answer = {"notes": ["x"], "images": [kept]}
            await counted(self.cut, self.room.hands.deska.agent.respond(call["callId"], answer))
        except PageError:
            # The call was over, or the page was closed.
            return

    async def on_turn(self, turn: Turn) -> None:
        if turn.message.panel:
            assert FENCE in turn.message.text
            self.came.append((self.mode.now, self.room.task.paused))
        # Some work, in which it can be cut off too.
        await counted(self.cut, anyio.lowlevel.checkpoint())


def cancel(run: Run) -> None:
    assert run.reading is not None
    run.reading.scope.cancel()


def in_background(asked: Callable[[Host], Awaitable[None]]) -> Callable[[Run], None]:
    """The person does something, which takes a moment."""

    def act(run: Run) -> None:
        group = run.room.host._group
        assert group is not None
        group.start_soon(asked, run.room.host)

    return act


ACTS: dict[str, Callable[[Run], object]] = {
    "cancel": cancel,
    "stop": lambda run: run.room.task.stop(),
    "interrupt": lambda run: run.room.task.stop("interrupted"),
    "end": lambda run: run.room.task.end_turn(),
    "five seconds": lambda run: run.room.clock.advance(5),
    "sixty seconds": lambda run: run.room.clock.advance(60),
    "disconnect": in_background(lambda host: host.person.disconnect("task-1", "board")),
    "turn off": in_background(lambda host: host.person.turn_actions_off()),
    "close page": lambda run: run.room.host._pages.close(run.room.page),
    "person's mode": in_background(lambda host: host.person.set_mode("task-1", "accept_edits")),
    "keep asking": in_background(lambda host: host.person.keep_asking("task-1")),
}

#: What these leave the task in; otherwise it is the mode from before.
LEAVES = {
    "person's mode": {"accept_edits"},
    "keep asking": {"supervised"},
    # The time of the change back may be up: then nobody knows whether it was made, and the task
    # is taken to be in Supervised.
    "five seconds": {"automatic", "supervised"},
    "sixty seconds": {"automatic", "supervised"},
}

#: The codes that an agent may get from each.
CODES: dict[str, set[AgentCode | None]] = {
    "stop": {AgentCode.STOPPED},
    "interrupt": {AgentCode.STOPPED},
    "end": {AgentCode.STOPPED},
    "five seconds": {AgentCode.PAUSE_FAILED},
    "sixty seconds": {AgentCode.PAUSE_FAILED, AgentCode.PANEL_TIMEOUT},
    "disconnect": {AgentCode.NOT_CONNECTED},
    "turn off": {AgentCode.TURNED_OFF},
    "close page": {AgentCode.PANEL_CLOSED},
    "person's mode": {AgentCode.PAUSE_FAILED},
    "keep asking": {AgentCode.PAUSE_FAILED},
}


async def tasks_of_the_loop() -> list[str | None]:
    return sorted(str(task.name) for task in anyio.get_running_tasks())


async def again(run: Run) -> str:
    """Everything as it was: a page that runs, connected, in automatic. The id of an image."""
    room = run.room
    run.cut_at(0, cancel)
    run.came.clear()
    if room.page.closed:
        room.page = await room.host.start_page("board")
        await settle()
    await room.host.person.turn_actions_on()
    await connect(room.host, "task-1", "board")
    await room.host.person.set_mode("task-1", "automatic")
    room.mode.asked.clear()
    while len(room.hands.calls):
        await room.hands.calls.get()
    (kept, *_) = await room.hands.deska.files.ids()
    return kept


async def one_run(run: Run, at: int, what: str, switches: str) -> bool:
    """A read that is cut off at its ``at``-th suspension; false where it has not so many."""
    room = run.room
    kept = await again(run)
    before = await tasks_of_the_loop()
    run.cut_at(at, ACTS[what])
    async with anyio.create_task_group() as group:
        agent = room.task.start_turn()
        turn = agent._turn
        run.reading = later(group, run.call, agent)
        page = later(group, run.answer, kept)
        await run.reading.ended()
        await settle()
        # A call that the page never heard is answered by nobody.
        page.scope.cancel()
    assert run.reading.error is None
    if room.task.is_in(turn):
        room.task.end_turn()
    await settle()
    await settle()
    if room.host.person.waiting("task-1"):
        # The message's own switch ran out of time: it is tried again when the next turn ends.
        assert what.endswith("seconds")
        assert room.host.person.rows("task-1")[-1].kind in (RowKind.NOT_SENT, RowKind.STAYS)
        assert run.came == []
        async with room.task.turn():
            pass
        await settle()
        assert len(run.came) == 1
    assert not room.task.in_turn
    assert not room.task.paused
    # Content came only to an agent that was in Supervised, in a pause.
    assert set(run.came) <= {("supervised", True)}
    cut_off = run.cut.seen >= at
    if not cut_off:
        # Nothing was done to it, so all of it came, in the turn or as a message.
        assert len(run.came) == 1
    elif what in CODES and run.reading._result:
        codes = CODES[what] | {AgentCode.READ_DEFERRED if switches == "next_turn" else None}
        assert run.reading._result[0].code in codes
    assert room.host.pending == 0
    assert room.host.person.waiting("task-1") == ()
    wanted = LEAVES.get(what, {"automatic"}) if cut_off else {"automatic"}
    assert room.mode.now in wanted
    if room.task.mode != room.mode.now:
        assert what.endswith("seconds")
        assert room.task.mode == "supervised"
        assert room.host.person.rows("task-1")[-1].kind is RowKind.STAYS
    assert await tasks_of_the_loop() == before or room.page.closed
    return cut_off


@pytest.mark.rule("S-1", "S-6", "A-3", "A-8")
@pytest.mark.parametrize("switches", ["mid_turn", "next_turn"])
@pytest.mark.parametrize("what", ACTS)
async def test_a_read_cut_off_at_any_suspension_leaves_nothing_and_comes_only_into_a_pause(
    what: str, switches: str
) -> None:
    images, mode = CountedImages(), CountedMode()
    async with a_room(mode=mode, images=images, switches=switches, runs_messages=False) as room:
        run = Run(room, mode, images)
        run.cut_at(0, cancel)
        # The same task, with turns that run by themselves.
        room.host.detach_task("task-1")
        room.task = room.host.attach_task(
            "task-1",
            mode="automatic",
            switches=switches,
            on_switch=mode.on_switch,
            on_turn=run.on_turn,
        )
        await room.hands.deska.files.put(Blob(picture()))
        at = 0
        while await one_run(run, at + 1, what, switches):
            at += 1
        # Each of its parts was cut off somewhere.
        assert at >= 7, at
