"""A desk with a task that is in no turn yet, whose agent's mode and turns a test plays by hand."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from attrs import define, field

from deska_host import Agent, AgentReply, Host, ManualClock, Task
from deska_sdk import PersonCode, Refused
from tests.host.support_host import Hands, Images, Inbox, a_panel, connect, later

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from deska_host import RunningPage
    from deska_host.tasks import Turn, TurnMessage

#: What a page reads out, unless a test says something else.
NOTES: dict[str, Any] = {"notes": ["Make the header blue"]}
FENCED = (
    '<panel_content package="board" panel="Board" trust="untrusted">\n'
    '{"notes":["Make the header blue"]}\n'
    "</panel_content>"
)

PAUSED = "Board sent content into this turn, so this task is in Supervised until the turn ends."
BACK = (
    "The turn is over, so this task is back to Automatic. The content Board sent is still in "
    "this conversation, and later turns can read it."
)


class OwnError(Exception):
    """An error of the embedding program."""


async def person_code(asked: Awaitable[object]) -> PersonCode:
    """Why something that the person's side asked for is refused."""
    with pytest.raises(Refused) as caught:
        await asked
    assert caught.value.__context__ is None
    return PersonCode(caught.value.code)


async def settle() -> None:
    """Let everything happen that can without the clock, in a host in memory."""
    for _ in range(40):
        await anyio.lowlevel.checkpoint()


class Mode:
    """The mode of an agent, kept by the agent itself: only ``on_switch`` changes it."""

    def __init__(self, mode: str = "automatic") -> None:
        self.now = mode
        #: Every mode it was asked to change to, and those it did change to.
        self.asked: list[str] = []
        self.switched: list[str] = []
        #: What ``on_switch`` does instead, by the mode that is asked for.
        self.instead: dict[str, Callable[[], Awaitable[Any]]] = {}
        self.calls_now = 0
        self.most_calls = 0

    async def on_switch(self, mode: str) -> Any:
        self.asked.append(mode)
        self.calls_now += 1
        self.most_calls = max(self.most_calls, self.calls_now)
        try:
            instead = self.instead.get(mode)
            if instead is not None:
                return await instead()
            await anyio.lowlevel.checkpoint()
            self.now = mode
            self.switched.append(mode)
            return True
        finally:
            self.calls_now -= 1


class OneTurn:
    """A turn that a message started. It goes on until :meth:`end`."""

    def __init__(self, turn: Turn, mode: str) -> None:
        self.turn = turn
        #: The mode the agent was in when the turn began.
        self.mode = mode
        self.cancelled = False
        self.over = anyio.Event()
        self.error: Exception | None = None

    @property
    def message(self) -> TurnMessage:
        return self.turn.message

    @property
    def agent(self) -> Agent:
        return self.turn.agent

    async def end(self, error: Exception | None = None) -> None:
        self.error = error
        self.over.set()
        await settle()


class Turns:
    """What runs an agent: each turn waits for the test."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.all: list[OneTurn] = []
        self.begun: Inbox[OneTurn] = Inbox()

    async def next(self) -> OneTurn:
        """The next turn that a message started, in a host in memory."""
        for _ in range(20):
            if len(self.begun):
                break
            await settle()
        assert len(self.begun), "no turn began"
        return await self.begun.get()

    async def on_turn(self, turn: Turn) -> None:
        one = OneTurn(turn, self.mode.now)
        self.all.append(one)
        self.begun.put(one)
        try:
            await one.over.wait()
        except anyio.get_cancelled_exc_class():
            one.cancelled = True
            raise
        if one.error is not None:
            raise one.error


@define
class Room:
    """An open host with one panel, its page, and a task that is connected to it."""

    host: Host
    clock: ManualClock
    task: Task
    mode: Mode
    turns: Turns
    hands: Hands
    page: RunningPage
    #: The pages of panels added later, by panel.
    pages: dict[str, Hands] = field(factory=dict[str, Hands])

    @property
    def rows(self) -> list[str]:
        """The texts of the task's rows."""
        return [row.text for row in self.host.person.rows(self.task.id)]

    @property
    def waiting(self) -> list[str]:
        """The ids of the messages that wait for the task, the next first."""
        return [message.id for message in self.host.person.waiting(self.task.id)]

    async def offer(self, text: str = "Buy ferns", files: list[str] | None = None) -> None:
        """The page offers, and the button is on."""
        assert await self.hands.deska.agent.offer(text=text, files=files) is True
        assert list(self.host.person.offers()) == ["board"]

    async def add_panel(self, panel: str) -> Hands:
        """Another panel, connected to the task too."""
        hands = self.pages[panel] = Hands()
        await self.host.install(a_panel(panel))
        await self.host.start_page(panel, page=hands.main)
        await hands.up.wait()
        await connect(self.host, self.task.id, panel)
        return hands

    async def read(self, agent: Agent, answer: object = NOTES, panel: str = "board") -> AgentReply:
        """Read, with the page answering at once."""
        hands = self.hands if panel == "board" else self.pages[panel]
        async with anyio.create_task_group() as group:
            reply = later(group, agent.call_action, panel, "read", {})
            await hands.answer(answer)
            return await reply.wait()


@asynccontextmanager
async def a_room(
    path: Path | None = None,
    *,
    mode: Mode | None = None,
    switches: str = "mid_turn",
    runs_messages: bool = True,
    folder: Path | None = None,
    **options: Any,
) -> AsyncGenerator[Room]:
    """A :class:`Room` with one panel, whose calls a test answers by hand."""
    options.setdefault("images", Images())
    clock = options.setdefault("clock", ManualClock())
    hands = Hands()
    kept = Mode() if mode is None else mode
    turns = Turns(kept)
    async with Host(path, **options) as host:
        await host.install(a_panel())
        page = await host.start_page("board", page=hands.main)
        await hands.up.wait()
        task = host.attach_task(
            "task-1",
            folder,
            mode=kept.now,
            switches=switches,
            on_switch=kept.on_switch,
            on_turn=turns.on_turn if runs_messages else None,
        )
        await connect(host, task.id, "board")
        yield Room(host, clock, task, kept, turns, hands, page)
