"""A desk whose tasks have modes, turns that messages start, and a person who decides.

::

    desk = at_work(mode="automatic")
    read = desk.read("Make the header blue")
    assert desk.modes == ["supervised"]
    desk.end_turn()
    assert desk.modes == ["supervised", "automatic"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deska_sdk.router import (
    Answer,
    ApprovalRequested,
    Approved,
    AskApproval,
    Confirmed,
    ConfirmNeeded,
    Count,
    Decided,
    Done,
    Effect,
    Event,
    HostTool,
    ImageHandle,
    KeepAsking,
    Message,
    MessageEdited,
    MessageQueued,
    MessageRemoved,
    MessageSteered,
    ModeAsked,
    ModeSwitched,
    OfferButton,
    Offered,
    RowKind,
    Sender,
    SendPressed,
    SettleOffer,
    ShowRow,
    StartTurn,
    SwitchMode,
    TaskDetached,
    TaskStopped,
    ToolAnswered,
    ToolRequested,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Who,
)
from tests.panels.support_router import Desk, manifest

if TYPE_CHECKING:
    from deska_sdk.errors import AgentCode, PageCode, PersonCode

PNG = ImageHandle("image-1", "image/png", 100)
TWO = ImageHandle("image-2", "image/png", 40)

NAME = "The notes panel"


class TaskDesk(Desk):
    """A desk that starts turns when it is told to, and remembers which mode each agent is in."""

    def __init__(self, *args: Any, **changes: Any) -> None:
        super().__init__(*args, **changes)
        #: The mode each task's agent really is in, by what the host did.
        self.real: dict[str, str] = {}
        #: Whether the host begins the turns it is told to begin.
        self.begins = True

    def _perform(self, effect: Effect) -> list[Event]:
        if isinstance(effect, StartTurn) and self.begins:
            turn = self.turns[effect.task] = self.fresh("turn")
            return [TurnStarted(effect.task, turn, effect.message.id)]
        return super()._perform(effect)

    def completion(self, effect: Effect) -> Event:
        event = super().completion(effect)
        if isinstance(effect, SwitchMode) and isinstance(event, ModeSwitched) and event.ok:
            self.real[effect.task] = effect.mode
        return event

    def again(self, **changes: Any) -> TaskDesk:
        return TaskDesk(self.log, self.limits, **changes)

    # --- what the agent and its page do

    def read(
        self, *notes: str, images: Any = (), task: str = "task-1", panel: str = "notes"
    ) -> str:
        """A whole read, as far as nothing holds it up; the request's id."""
        call = self.call("list_notes", task=task, panel=panel)
        if self.was_delivered(call):
            answer = {"notes": list(notes)} | ({"images": list(images)} if images else {})
            self.answer(call, answer)
        return call

    def end(self, how: TurnEnd | str = "completed", task: str = "task-1") -> list[Effect]:
        return self.step(TurnEnded(task, self.turns[task], TurnEnd(how)))

    def stop_between_turns(self, task: str = "task-1") -> list[Effect]:
        return self.step(TaskStopped(task))

    def detach(self, task: str = "task-1") -> list[Effect]:
        return self.step(TaskDetached(task))

    def request(self, key: str, task: str = "task-1", turn: str | None = None) -> str:
        """The agent asks whether it may do something; the request's id."""
        request = self.fresh("approval")
        self.step(ApprovalRequested(request, task, turn or self.turns[task], key))
        return request

    def asks(self, request: str) -> bool:
        """Whether the person was asked about this request."""
        return any(one.request == request for one in self.all(AskApproval))

    def decided(self, request: str) -> bool | None:
        """How a request ended; ``None`` while it waits."""
        ended = [one.allowed for one in self.all(Decided) if one.request == request]
        assert len(ended) <= 1
        return ended[0] if ended else None

    def tool(self, tool: HostTool, task: str = "task-1", turn: str | None = None) -> Any:
        """Why the tool may not run now; ``None`` where it may."""
        request = self.fresh("tool")
        made = self.step(ToolRequested(request, task, turn or self.turns[task], tool))
        (answered,) = [one for one in made if isinstance(one, ToolAnswered)]
        assert answered.request == request
        return answered.code

    # --- what the person and the assistant do; each gives how the ask ended

    def ended(self, ask: str) -> PersonCode | str | None:
        """The code an ask ended with, ``None`` where it was done, ``"open"`` while it waits."""
        ends = [one for one in self.all(Done) if one.ask == ask]
        assert len(ends) <= 1
        return ends[0].code if ends else "open"

    def _ask(self, event: Any) -> Any:
        self.step(event)
        return self.ended(event.ask)

    def set_mode(self, mode: str, by: Who = Who.PERSON, task: str = "task-1") -> Any:
        return self._ask(ModeAsked(self.fresh("ask"), task, mode, by))

    def keep_asking(self, task: str = "task-1") -> Any:
        return self._ask(KeepAsking(self.fresh("ask"), task))

    def approve(self, request: str, answer: Answer | str, by: Who = Who.PERSON) -> Any:
        return self._ask(Approved(self.fresh("ask"), request, Answer(answer), by))

    def confirm(self, *, yes: bool) -> Any:
        """Answer the newest confirmation; how what it was about ended."""
        ask = self.confirmations()[-1]
        self.step(Confirmed(ask, yes))
        return self.ended(ask)

    def confirmations(self) -> list[str]:
        return [one.ask for one in self.all(ConfirmNeeded)]

    def queue(self, message: str, task: str = "task-1", sender: Sender = Sender.PERSON) -> Any:
        """Queue a message whose id says what it is."""
        event = MessageQueued(
            self.fresh("ask"), task, Message(message, f"text of {message}", sender)
        )
        return self._ask(event)

    def steer(self, message: str, task: str = "task-1") -> Any:
        return self._ask(MessageSteered(self.fresh("ask"), task, message))

    def edit(self, message: str, text: str, task: str = "task-1") -> Any:
        return self._ask(MessageEdited(self.fresh("ask"), task, message, text))

    def remove(self, message: str, task: str = "task-1") -> Any:
        return self._ask(MessageRemoved(self.fresh("ask"), task, message))

    # --- offers

    def offer(self, text: Any = None, files: Any = None, instance: str = "page-1") -> Any:
        """A page offers; how that ended, ``"open"`` while it waits."""
        ticket = self.make_offer(text, files, instance)
        return self.settled(ticket)

    def make_offer(self, text: Any = None, files: Any = None, instance: str = "page-1") -> int:
        ticket = len(self.effects)
        self.step(Offered(instance, ticket, text, files))
        return ticket

    def settled(self, ticket: int) -> PageCode | str | None:
        ends = [one for one in self.all(SettleOffer) if one.offer_id == ticket]
        assert len(ends) <= 1
        return ends[0].code if ends else "open"

    def button(self, panel: str = "notes") -> int | None:
        """The version that the panel's button sends; ``None`` while it is off."""
        shown = [one.version for one in self.all(OfferButton) if one.panel == panel]
        assert all(a != b for a, b in zip([None, *shown], shown, strict=False)), "said on change"
        return shown[-1] if shown else None

    def press(
        self, version: int | None = None, task: str | None = None, panel: str = "notes"
    ) -> Any:
        """Press the button; how that ended."""
        if version is None:
            version = self.button(panel)
            assert version is not None
        return self._ask(SendPressed(self.fresh("ask"), panel, version, self.fresh("sent"), task))

    # --- what a test looks at

    @property
    def modes(self) -> list[str]:
        """The modes that the host was told to put task-1 into."""
        return [one.mode for one in self.all(SwitchMode) if one.task == "task-1"]

    def rows(self, task: str = "task-1") -> list[RowKind]:
        return [one.kind for one in self.all(ShowRow) if one.task == task]

    def row(self, task: str = "task-1") -> ShowRow:
        """The newest row."""
        return [one for one in self.all(ShowRow) if one.task == task][-1]

    def started(self, task: str = "task-1") -> list[Message]:
        """The messages whose turns the host was told to start."""
        return [one.message for one in self.all(StartTurn) if one.task == task]

    def waiting(self, task: str = "task-1") -> list[str]:
        return [one.id for one in self.router.waiting(task)]

    def counted(self) -> list[tuple[str, AgentCode | None, bool]]:
        return [(one.action, one.code, one.called) for one in self.all(Count)]


def at_work(**facts: Any) -> TaskDesk:
    """The example panel installed and connected to a task in a turn, its page running.

    The task is in ``automatic`` and its host runs messages, unless ``facts`` say otherwise.
    """
    desk = TaskDesk()
    desk.install(manifest())
    facts = {"mode": "automatic", "runs_messages": True} | facts
    desk.real["task-1"] = facts["mode"]
    desk.attach("task-1", **facts)
    desk.connect()
    desk.start_page()
    return desk


def second_panel(desk: TaskDesk, panel: str = "sketches") -> str:
    """One more panel, connected to task-1; its page."""
    desk.install(manifest(panel))
    desk.connect("task-1", panel)
    return desk.start_page(panel)
