"""The person's side: connecting, disconnecting, turning off, and what a panel did (section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deska_host.store import StoreFailed
from deska_host.waiter import Waiter
from deska_sdk.errors import PersonCode, Refused
from deska_sdk.panels.consent import Sheet, sheet_of
from deska_sdk.router import (
    Answer,
    Approved,
    Confirmed,
    ConnectAsked,
    DisconnectAsked,
    Done,
    InstallAsked,
    KeepAsking,
    MessageEdited,
    MessageQueued,
    MessageRemoved,
    MessageSteered,
    ModeAsked,
    SendPressed,
    ShowSheet,
    SwitchAsked,
    UninstallAsked,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deska_host.activity import Activity, Counts
    from deska_host.engine import Engine
    from deska_host.supervision import Screen
    from deska_sdk.router import AskApproval, ConfirmNeeded, Message, ShowRow


class ConsentNeeded(Refused):
    """The person has to see ``sheet`` first; connect again with its fingerprint (C-1)."""

    def __init__(self, sheet: Sheet) -> None:
        super().__init__(PersonCode.CONSENT_NEEDED)
        self.sheet = sheet


PersonAsk = (
    InstallAsked
    | UninstallAsked
    | ConnectAsked
    | DisconnectAsked
    | SwitchAsked
    | ModeAsked
    | KeepAsking
    | Approved
    | MessageQueued
    | MessageSteered
    | MessageEdited
    | MessageRemoved
    | SendPressed
)


class Asking:
    """Brings the end of each ask to who waits for it.

    :param over: hears of each ask that has ended, also when nobody waits for it.
    """

    def __init__(self, engine: Engine, over: Callable[[str], None]) -> None:
        self._engine = engine
        self._over = over
        self._last = 0
        self._waiters: dict[str, Waiter[Done | ShowSheet]] = {}
        engine.perform(Done, self._told)
        engine.perform(ShowSheet, self._told)

    async def ask(self, make: Callable[[str], PersonAsk]) -> None:
        """Ask for something and wait until it is durable.

        An ask that was made goes on when the wait for it is cancelled.

        :raises Refused: with a code of the person's side.
        :raises ConsentNeeded: the sheet has to be shown first.
        :raises StoreFailed: the store could not write it; nothing was changed.
        """
        self._last += 1
        name = str(self._last)
        waiter = self._waiters[name] = Waiter[Done | ShowSheet]()
        try:
            self._engine.feed(make(name))
            told = await waiter.wait()
        finally:
            del self._waiters[name]
        if isinstance(told, ShowSheet):
            raise ConsentNeeded(told.sheet)
        if told.code is not None:
            raise Refused(told.code)
        if told.failed:
            raise StoreFailed

    def _told(self, effect: Done | ShowSheet) -> None:
        self._over(effect.ask)
        waiter = self._waiters.get(effect.ask)
        if waiter is not None:
            waiter.set(effect)


class Person:
    """What only the person does. An embedder gives it to its own screens, never to an agent."""

    def __init__(
        self,
        engine: Engine,
        asking: Asking,
        counts: Counts,
        screen: Screen,
        approvals: Mapping[str, AskApproval],
        new_message: Callable[[], str],
    ) -> None:
        self._engine = engine
        self._asking = asking
        self._counts = counts
        self._screen = screen
        self._approvals = approvals
        self._new_message = new_message

    def sheet(self, panel: str) -> Sheet:
        """What the person is asked before the panel is connected for the first time (C-1).

        :raises Refused: ``unknown_panel``.
        """
        installed = self._engine.router.installed().get(panel)
        if installed is None:
            raise Refused(PersonCode.UNKNOWN_PANEL)
        return sheet_of(installed[0])

    async def connect(self, task: str, panel: str, *, consent: str | None = None) -> None:
        """Connect the panel to the task; it is durable when this returns.

        :param consent: the ``fingerprint`` of the sheet that the person agreed to. It is asked
            for once per panel, and again when an update changes what the sheet said (C-2).
        :raises ConsentNeeded: show its ``sheet``, then connect again.
        :raises Refused: ``unknown_panel``, ``unknown_task``, ``no_actions``, or why this kind of
            task cannot be connected (C-3).
        """
        await self._asking.ask(lambda ask: ConnectAsked(ask, task, panel, consent))

    async def disconnect(self, task: str, panel: str) -> None:
        """Disconnect the panel from the task. Its open calls end at once (C-7)."""
        await self._asking.ask(lambda ask: DisconnectAsked(ask, task, panel))

    async def turn_actions_off(self) -> None:
        """Turn panel actions off for every task; open calls end at once (C-6)."""
        await self._asking.ask(lambda ask: SwitchAsked(ask, on=False))

    async def turn_actions_on(self) -> None:
        """Turn panel actions on again; connections are as they were before (C-6)."""
        await self._asking.ask(lambda ask: SwitchAsked(ask, on=True))

    def connected(self, task: str) -> tuple[str, ...]:
        """The ids of the panels connected to the task, in connection order."""
        return self._engine.router.connected(task)

    def held(self, panel: str) -> bool:
        """Whether the panel's connections wait for the person to agree to its new sheet (C-2)."""
        return self._engine.router.held(panel)

    async def activity(self, panel: str) -> Activity:
        """What the panel did on this computer (B-1)."""
        return await self._counts.of(panel)

    # --- a task's mode and its pause

    def rows(self, task: str) -> tuple[ShowRow, ...]:
        """The rows of the task, the oldest first; at most the latest 100 (S-2)."""
        return self._screen.rows(task)

    async def set_mode(self, task: str, mode: str) -> None:
        """Put the task into a mode. It ends a pause, and then this mode stays (S-5).

        :raises Refused: ``unknown_task``, ``unknown_mode``, ``switch_failed``.
        """
        await self._asking.ask(lambda ask: ModeAsked(ask, task, mode))

    async def keep_asking(self, task: str) -> None:
        """Press *Keep asking*: Supervised until the person changes it (S-2).

        :raises Refused: ``unknown_task``, ``switch_failed``.
        """
        await self._asking.ask(lambda ask: KeepAsking(ask, task))

    def confirmations(self) -> dict[str, ConfirmNeeded]:
        """What the assistant asked for and waits for the person's word, by ask (S-5).

        Each names its ``task`` and the ``mode`` it wants, or the ``request`` of
        :meth:`approvals` that it wants to approve. They are over when the pause is.
        """
        return dict(self._screen.confirmations)

    def confirm(self, ask: str, *, yes: bool) -> None:
        """Answer one of :meth:`confirmations`; one that is over is no error."""
        if self._screen.confirmations.pop(ask, None) is not None:
            self._engine.feed(Confirmed(ask, yes))

    # --- approvals

    def approvals(self) -> tuple[AskApproval, ...]:
        """What agents ask for now. Each ``key`` is the agent's own text."""
        return tuple(self._approvals.values())

    async def approve(self, request: str, answer: Answer | str) -> None:
        """Answer an approval: ``"once"``, ``"always"`` (this session) or ``"deny"``.

        While a pause holds, *always* counts as *once* (S-4).

        :raises Refused: ``unknown_request``.
        """
        await self._asking.ask(lambda ask: Approved(ask, request, Answer(answer)))

    # --- what waits for a task

    def waiting(self, task: str) -> tuple[Message, ...]:
        """The messages that wait for the task, the next first (O-4)."""
        return self._engine.router.waiting(task)

    async def remove(self, task: str, message: str) -> None:
        """Take a waiting message away, also a panel's (O-4).

        :raises Refused: ``unknown_task``, ``unknown_message``.
        """
        await self._asking.ask(lambda ask: MessageRemoved(ask, task, message))

    async def edit(self, task: str, message: str, text: str) -> None:
        """Change a waiting message; never a panel's (O-4).

        :raises Refused: ``unknown_task``, ``unknown_message``, ``panel_message``.
        """
        await self._asking.ask(lambda ask: MessageEdited(ask, task, message, text))

    async def steer(self, task: str, message: str) -> None:
        """Put a waiting message into the turn that runs; never a panel's (O-4).

        :raises Refused: ``unknown_task``, ``unknown_message``, ``panel_message``, ``no_turn``.
        """
        await self._asking.ask(lambda ask: MessageSteered(ask, task, message))

    # --- Send to task

    def offers(self) -> dict[str, int]:
        """The panels whose *Send to task* button is on, and what version it would send (O-2)."""
        return dict(self._screen.offers)

    async def send_to_task(
        self, panel: str, *, version: int | None = None, task: str | None = None
    ) -> str:
        """Press the button of a panel: what it showed is sent; the message's id (O-3).

        :param version: what the person saw, from :meth:`offers`; by default what is shown now.
        :param task: to which task; needed where the panel is connected to several.
        :raises Refused: ``no_offer``, ``unknown_task``, ``switch_failed``, ``offer_too_large``.
        """
        shown = self._screen.offers.get(panel, 0) if version is None else version
        message = self._new_message()
        await self._asking.ask(lambda ask: SendPressed(ask, panel, shown, message, task))
        return message
