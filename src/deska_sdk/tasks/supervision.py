"""Who may change what: modes, approvals, and the host's tools while a pause stands (S-4, S-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deska_sdk.errors import AgentCode, PersonCode
from deska_sdk.steps import Done
from deska_sdk.tasks.effects import AskApproval, ConfirmNeeded, Decided, ToolAnswered
from deska_sdk.tasks.events import Answer, HostTool, Who
from deska_sdk.tasks.pause import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_sdk.steps import Steps
    from deska_sdk.tasks.events import (
        ApprovalRequested,
        Approved,
        Confirmed,
        KeepAsking,
        ModeAsked,
        ToolRequested,
    )
    from deska_sdk.tasks.tasks import Task, Tasks

_PAUSED_TOOLS = {
    HostTool.PREVIEW: AgentCode.PREVIEW_PAUSED,
    HostTool.SUBAGENT: AgentCode.SUBAGENT_PAUSED,
}


class Supervision:
    """What the person, the assistant and the agent ask of a task."""

    def __init__(self, tasks: Tasks, steps: Steps) -> None:
        self._tasks = tasks
        self._steps = steps
        #: What the assistant asked for and the person has to confirm: its task, and what to do.
        self._to_confirm: dict[str, tuple[str, Callable[[float], None]]] = {}

    def __len__(self) -> int:
        return len(self._to_confirm)

    def left(self, task: str) -> None:
        """The task left: nothing that was asked for it can be confirmed any more."""
        self._end(task, PersonCode.UNKNOWN_TASK)

    def _end(self, task: str, code: PersonCode) -> None:
        for ask in [ask for ask, (of, _) in self._to_confirm.items() if of == task]:
            del self._to_confirm[ask]
            self._steps.emit(Done(ask, code))

    # --- modes

    def ask_mode(self, event: ModeAsked, now: float) -> None:
        """Change a task's mode, for the person or for the assistant (S-5)."""
        task = self._tasks.get(event.task)
        if task is None:
            self._steps.emit(Done(event.ask, PersonCode.UNKNOWN_TASK))
            return
        modes = task.attached.modes
        if event.mode not in modes:
            self._steps.emit(Done(event.ask, PersonCode.UNKNOWN_MODE))
        elif event.by is Who.PERSON or task.pause.at_rest:
            self._choose(task, event.ask, event.mode, now)
        elif not task.pause.stands:
            # Another change is on its way, perhaps the person's own: it is not the assistant's
            # to take its place.
            self._steps.emit(Done(event.ask, PersonCode.SWITCH_FAILED))
        elif modes.looser(event.mode, modes.supervised):

            def choose(later: float) -> None:
                self._choose(task, event.ask, event.mode, later)

            self._confirm(ConfirmNeeded(event.ask, event.task, mode=event.mode), choose)
        else:
            # The assistant never ends a pause, and the task is in this mode as it is.
            self._steps.emit(Done(event.ask))

    def keep_asking(self, event: KeepAsking, now: float) -> None:
        """The person pressed *Keep asking*: their own change to Supervised (S-2)."""
        task = self._tasks.get(event.task)
        if task is None:
            self._steps.emit(Done(event.ask, PersonCode.UNKNOWN_TASK))
        else:
            self._choose(task, event.ask, task.attached.modes.supervised, now)

    def _choose(self, task: Task, ask: str, mode: str, now: float) -> None:
        def told(outcome: Outcome) -> None:
            task.held_back = False
            refused = None if outcome is Outcome.DONE else PersonCode.SWITCH_FAILED
            self._steps.emit(Done(ask, refused))

        task.pause.choose(mode, told, now)

    # --- approvals and the host's tools

    def request_approval(self, event: ApprovalRequested) -> None:
        """The agent asks whether it may do something (S-4)."""
        task = self._tasks.get(event.task)
        if task is None or task.turn != event.turn:
            self._steps.emit(Decided(event.request, allowed=False))
        elif task.approvals.request(event.request, event.turn, event.key, paused=task.pause.stands):
            self._steps.emit(Decided(event.request, allowed=True))
        else:
            self._steps.emit(AskApproval(event.request, event.task, event.key))

    def approve(self, event: Approved) -> None:
        """Someone answered a request for an approval (S-4, S-5)."""
        task = self._tasks.with_request(event.request)
        if task is None:
            self._steps.emit(Done(event.ask, PersonCode.UNKNOWN_REQUEST))
            return
        name = task.attached.task
        if event.by is Who.ASSISTANT and task.pause.stands and event.answer is not Answer.DENY:
            needed = ConfirmNeeded(event.ask, name, request=event.request)
            self._confirm(needed, lambda _: self._answer(task, event))
        else:
            self._answer(task, event)

    def _answer(self, task: Task, event: Approved) -> None:
        if not task.approvals.is_open(event.request):
            self._steps.emit(Done(event.ask, PersonCode.UNKNOWN_REQUEST))
            return
        allowed = task.approvals.answer(event.request, event.answer, paused=task.pause.stands)
        self._steps.emit(Decided(event.request, allowed))
        self._steps.emit(Done(event.ask))

    def request_tool(self, event: ToolRequested) -> None:
        """The agent wants a tool that a pause holds back (S-4)."""
        task = self._tasks.get(event.task)
        code: AgentCode | None = None
        if task is None or task.turn != event.turn:
            code = AgentCode.STOPPED
        elif task.pause.stands:
            code = _PAUSED_TOOLS[event.tool]
        self._steps.emit(ToolAnswered(event.request, code))

    # --- the person's word for what the assistant asked

    def _confirm(self, needed: ConfirmNeeded, do: Callable[[float], None]) -> None:
        self._to_confirm[needed.ask] = (needed.task, do)
        self._steps.emit(needed)

    def pause_over(self, task: str) -> None:
        """The pause in which something was asked is over: the person's word for it is too."""
        self._end(task, PersonCode.NOT_CONFIRMED)

    def confirmed(self, event: Confirmed, now: float) -> None:
        """The person answered for the assistant; a stale answer changes nothing."""
        waiting = self._to_confirm.pop(event.ask, None)
        if waiting is None:
            return
        if event.yes:
            waiting[1](now)
        else:
            self._steps.emit(Done(event.ask, PersonCode.NOT_CONFIRMED))
