"""For test suites: a desk with a clock that the test moves, and agents that do what they are told.

::

    def test_a_note_is_added(deska_desk):
        agent = deska_desk.connect("panels/nook")
        assert agent.call("add_note", {"text": "Water the fern"}).text.startswith('{"ok":true')
        deska_desk.advance(30)

It is the reference host itself, in memory: what passes here passes there. Nothing opens a port and
nothing waits for real time, but for the process that decodes images.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import anyio

from deska_host.blocking import BlockingHost
from deska_host.clock import ManualClock
from deska_sdk.router import Switches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from concurrent.futures import Future
    from types import TracebackType

    from deska_host.agents import AgentReply
    from deska_host.blocking_sides import BlockingAgent, BlockingTask
    from deska_host.pages import PageMain
    from deska_host.tasks import Turn, TurnMessage
    from deska_sdk.errors import AgentCode
    from deska_sdk.router import TurnEnd

#: One step of a script: the action's name and its input.
Step = tuple[str, object]


class FakeAgent:
    """An agent that is connected to one panel and does what it is told.

    It has a mode, which the host switches; it opens a turn at once, and plays a script in the
    turns that messages start.

    :param mode: the mode it starts in.
    :param switches: ``"mid_turn"``; ``"next_turn"`` for one whose reads are deferred; ``"never"``.
    """

    def __init__(self, panel: str, *, mode: str, switches: Switches | str) -> None:
        #: The id of the panel it is connected to.
        self.panel = panel
        #: The mode it is in, and every mode it was put into.
        self.mode = mode
        self.switches = Switches(switches)
        self.switched: list[str] = []
        #: Set it to let every switch of the mode fail.
        self.refuses_switches = False
        #: What the turns that messages started began with, and what the script got in them.
        self.messages: list[TurnMessage] = []
        self.replies: list[AgentReply] = []
        #: Played in each turn that a message starts.
        self.script: Sequence[Step] = ()
        self._task: BlockingTask
        self._agent: BlockingAgent

    def attach(self, task: BlockingTask) -> None:
        """Work on this task, in a turn from now on."""
        self._task = task
        self._agent = task.start_turn()

    @property
    def task(self) -> BlockingTask:
        """The task it works on."""
        return self._task

    # --- its two tools

    def list_panels(self) -> AgentReply:
        """What ``list_panels`` gives."""
        return self._agent.list_panels()

    def call(self, action: str, input: object = None) -> AgentReply:  # noqa: A002
        """What ``call_action`` gives; no input is an empty object."""
        return self._agent.call_action(self.panel, action, {} if input is None else input)

    def start(self, action: str, input: object = None) -> Future[AgentReply]:  # noqa: A002
        """Call and go on; the call is checked, and under way, when this returns."""
        return self._agent.start_call(self.panel, action, {} if input is None else input)

    def play(self, script: Iterable[Step]) -> list[AgentReply]:
        """Call each step of ``script`` after the one before it has ended; all the replies."""
        return [self.call(action, given) for action, given in script]

    # --- what a pause has a word in

    def ask_approval(self, key: str) -> Future[bool]:
        """Ask whether it may do something, and go on."""
        return self._agent.ask_approval(key)

    def may_preview(self) -> AgentCode | None:
        """``None`` when the preview tools may run now."""
        return self._agent.may_preview()

    def may_launch_subagent(self) -> AgentCode | None:
        """``None`` when it may launch a subagent now."""
        return self._agent.may_launch_subagent()

    # --- its turns

    def end_turn(self, how: TurnEnd | str = "completed") -> None:
        """End the turn it opened; messages that wait start theirs."""
        self._task.end_turn(how)

    def start_turn(self) -> None:
        """Open a turn again, after :meth:`end_turn`."""
        self._agent = self._task.start_turn()

    async def on_switch(self, mode: str) -> bool:
        """The host puts it into a mode."""
        if self.refuses_switches:
            return False
        self.mode = mode
        self.switched.append(mode)
        return True

    async def on_turn(self, turn: Turn) -> None:
        """The host starts a turn with a message."""
        self.messages.append(turn.message)
        for action, given in self.script:
            self.replies.append(await turn.agent.call_action(self.panel, action, given))


class Desk:
    """A host in memory, with a clock that stands still, and a folder for each task.

    :param folder: an empty folder; each task gets one inside it.
    :param options: what :class:`~deska_host.host.Host` takes by keyword, but for ``clock``.
    """

    def __init__(self, folder: Path, **options: Any) -> None:
        self.clock = ManualClock()
        self.host = BlockingHost(clock=self.clock, **options)
        self._folder = folder
        self._tasks = 0
        #: What was installed, as it was given, and its id.
        self._panels: list[tuple[str | dict[str, Any], str]] = []

    def __enter__(self) -> Self:
        self.host.__enter__()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.host.__exit__(exc_type, exc, traceback)

    def connect(
        self,
        panel: str | os.PathLike[str] | dict[str, Any],
        page: PageMain | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        mode: str = "supervised",
        switches: Switches | str = "mid_turn",
    ) -> FakeAgent:
        """Install a panel and start its page, unless that was done, and connect a new task to it.

        :param panel: the panel's folder, or its manifest as a dict with its ``page``.
        :param folder: the new task's folder; by default a fresh one.
        :param mode: the mode its agent is in: ``"supervised"``, ``"accept_edits"`` or
            ``"automatic"``.
        :param switches: when its agent can be put into Supervised.
        :return: the new task's agent, in a turn that stays open.
        """
        given = panel if isinstance(panel, dict) else os.fspath(panel)
        panel_id = next((name for known, name in self._panels if known == given), None)
        if panel_id is None:
            panel_id = self.host.install(panel, page=page).id
            self.host.start_page(panel_id)
            self._panels.append((given, panel_id))
        self._tasks += 1
        name = f"task-{self._tasks}"
        place = self._folder / name if folder is None else Path(folder)
        place.mkdir(exist_ok=True)
        agent = FakeAgent(panel_id, mode=mode, switches=switches)
        task = self.host.attach_task(
            name,
            place,
            mode=mode,
            switches=switches,
            on_switch=agent.on_switch,
            on_turn=agent.on_turn,
        )
        consent = self.host.person.sheet(panel_id).fingerprint
        self.host.person.connect(name, panel_id, consent=consent)
        agent.attach(task)
        return agent

    def advance(self, seconds: float) -> None:
        """Move the clock; every deadline up to then has fallen when this returns."""
        self.host.call(self.clock.advance, seconds)

    def settle(self) -> None:
        """Return when everything that can happen without the clock has happened.

        Call it before looking at what a turn did that a message started.
        """
        self.host.run(anyio.wait_all_tasks_blocked)
