"""For test suites: a desk with a clock that the test moves, and an agent that follows a script.

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

from deska_host.blocking import BlockingAgent, BlockingHost
from deska_host.clock import ManualClock

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future
    from types import TracebackType

    from deska_host.agents import AgentReply
    from deska_host.pages import PageMain

#: One step of a script: the action's name and its input.
Step = tuple[str, object]


class FakeAgent:
    """An agent that is connected to one panel, in a turn of its own, and does what it is told."""

    def __init__(self, agent: BlockingAgent, panel: str) -> None:
        self._agent = agent
        #: The id of the panel it is connected to.
        self.panel = panel

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
    ) -> FakeAgent:
        """Install a panel and start its page, unless that was done, and connect a new task to it.

        :param panel: the panel's folder, or its manifest as a dict with its ``page``.
        :param folder: the new task's folder; by default a fresh one.
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
        task = self.host.attach_task(name, place)
        consent = self.host.person.sheet(panel_id).fingerprint
        self.host.person.connect(name, panel_id, consent=consent)
        return FakeAgent(task.start_turn(), panel_id)

    def advance(self, seconds: float) -> None:
        """Move the clock; every deadline up to then has fallen when this returns."""
        self.host.call(self.clock.advance, seconds)
