"""The agent's side of a task: two tools, and one reply to each call (L-1, A-3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.lowlevel
from attrs import field, frozen

from deska_host.blobs import Image, Shelf
from deska_host.waiter import Waiter
from deska_sdk.errors import AgentCode
from deska_sdk.router import (
    Answer,
    ApprovalRequested,
    Approved,
    AskApproval,
    CallCancelled,
    CallRequested,
    Decided,
    HostTool,
    ListRequested,
    Notice,
    NoticeKind,
    Reply,
    ToolAnswered,
    ToolRequested,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from deska_host.engine import Engine


@frozen
class AgentReply:
    """What an agent gets back.

    ``text`` is the host's own JSON or sentence, or the fenced answer of a read; ``images`` come
    after it, in the order of ``image:1``, ``image:2``, …; ``code`` says why a call was refused.
    """

    text: str = field(repr=False)
    images: tuple[Image, ...] = ()
    code: AgentCode | None = None
    #: The panel whose content the text is, so that a program can mark it (S-5); else empty.
    panel: str = ""

    @property
    def is_error(self) -> bool:
        """Whether the call was refused. A deferred read is not (S-7)."""
        return self.code not in (None, AgentCode.READ_DEFERRED)


class Replies:
    """Brings each reply to who waits for it."""

    def __init__(self, engine: Engine, shelf: Shelf, new_call_id: Callable[[], str]) -> None:
        self._engine = engine
        self._shelf = shelf
        self._new_call_id = new_call_id
        self._last = 0
        self._waiters: dict[str, Waiter[AgentReply]] = {}
        engine.perform(Reply, self._reply)

    def __len__(self) -> int:
        return len(self._waiters)

    def list(self, task: str, turn: str) -> Coroutine[Any, Any, AgentReply]:
        """What is connected to the task."""
        request = self._new_request()
        return self._wait(request, ListRequested(request, task, turn))

    def call(
        self, task: str, turn: str, panel: str, action: str, payload: object
    ) -> Coroutine[Any, Any, AgentReply]:
        """Call an action. A cancelled call is over for the page too."""
        request = self._new_request()
        event = CallRequested(request, self._new_call_id(), task, turn, panel, action, payload)
        return self._wait(request, event)

    def _new_request(self) -> str:
        self._last += 1
        return str(self._last)

    async def _wait(self, request: str, event: ListRequested | CallRequested) -> AgentReply:
        waiter: Waiter[AgentReply] = Waiter()
        self._waiters[request] = waiter
        try:
            self._engine.feed(event)
            if waiter.done:
                # A refusal needs no waiting, and an agent that tries again and again must not
                # hold the loop for itself.
                await anyio.lowlevel.checkpoint()
            return await waiter.wait()
        finally:
            # First, since a listener may raise when it is told that the call is over.
            del self._waiters[request]
            if not waiter.done:
                self._engine.feed(CallCancelled(request))

    def _reply(self, effect: Reply) -> None:
        waiter = self._waiters.get(effect.request)
        if waiter is None:
            self._shelf.release(effect.images)
        else:
            images: tuple[Image, ...] = ()
            if effect.images:
                images = tuple(Image(self._shelf.take(handle).data) for handle in effect.images)
            waiter.set(AgentReply(effect.text, images, effect.code, effect.panel))


class Wishes:
    """Approvals and host tools that agents want, until they are decided (S-4)."""

    def __init__(self, engine: Engine, notify: Callable[[Notice], None]) -> None:
        self._engine = engine
        self._notify = notify
        self._last = 0
        self._decided: dict[str, Waiter[bool]] = {}
        self._answered: dict[str, Waiter[AgentCode | None]] = {}
        #: What the person is asked now, by request.
        self.open: dict[str, AskApproval] = {}
        engine.perform(AskApproval, self._ask)
        engine.perform(Decided, self._decide)
        engine.perform(ToolAnswered, self._answer)

    def __len__(self) -> int:
        return len(self._decided) + len(self._answered)

    async def approval(self, task: str, turn: str, key: str) -> bool:
        """What the person decides, or has decided for the session."""
        request = self._new()
        waiter = self._decided[request] = Waiter[bool]()
        try:
            self._engine.feed(ApprovalRequested(request, task, turn, key))
            return await waiter.wait()
        finally:
            del self._decided[request]
            if not waiter.done:
                # The agent no longer waits, so nobody needs to answer.
                self._engine.feed(Approved(request, request, Answer.DENY))

    async def tool(self, task: str, turn: str, tool: HostTool) -> AgentCode | None:
        """Why the tool may not run now, if so."""
        request = self._new()
        waiter = self._answered[request] = Waiter[AgentCode | None]()
        try:
            self._engine.feed(ToolRequested(request, task, turn, tool))
            return await waiter.wait()
        finally:
            del self._answered[request]

    def _new(self) -> str:
        self._last += 1
        return f"wish-{self._last}"

    def _ask(self, effect: AskApproval) -> None:
        self.open[effect.request] = effect
        self._notify(Notice(NoticeKind.APPROVAL_ASKED, task=effect.task))

    def _decide(self, effect: Decided) -> None:
        self.open.pop(effect.request, None)
        waiter = self._decided.get(effect.request)
        if waiter is not None:
            waiter.set(effect.allowed)

    def _answer(self, effect: ToolAnswered) -> None:
        waiter = self._answered.get(effect.request)
        if waiter is not None:
            waiter.set(effect.code)


class Agent:
    """The two tools of one task, in one turn. After the turn every call is ``stopped``.

    The three methods after the tools are for the program that runs the agent, when the agent
    wants something that the person, or a pause, has a word in (S-4).
    """

    def __init__(self, replies: Replies, wishes: Wishes, task: str, turn: str) -> None:
        self._replies = replies
        self._wishes = wishes
        self._task = task
        self._turn = turn

    async def list_panels(self) -> AgentReply:
        """The panels connected to this task and their actions, as compact JSON (L-2)."""
        return await self._replies.list(self._task, self._turn)

    async def call_action(self, panel: str, action: str, input: object) -> AgentReply:  # noqa: A002
        """Call an action of a connected panel.

        Every refusal is a reply with ``code`` and its fixed sentence; nothing is raised for it.

        :param panel: the panel's id, from :meth:`list_panels`.
        :param action: the action's name.
        :param input: a JSON value, or JSON text as ``str`` or ``bytes`` (D-11).
        """
        if type(panel) is not str or type(action) is not str:
            # What is no text is the id of no panel and the name of no action.
            panel, action = panel if type(panel) is str else "", ""
        return await self._replies.call(self._task, self._turn, panel, action, input)

    async def ask_approval(self, key: str) -> bool:
        """Whether the agent may do what it calls ``key``; asks the person unless they said always.

        While a pause holds, an earlier *always* is not enough (S-4). False when the turn ends.
        """
        return await self._wishes.approval(self._task, self._turn, key)

    async def may_preview(self) -> AgentCode | None:
        """``None`` when the host's preview tools may run now; else why not (S-4)."""
        return await self._wishes.tool(self._task, self._turn, HostTool.PREVIEW)

    async def may_launch_subagent(self) -> AgentCode | None:
        """``None`` when a subagent may be launched now; else why not (S-4)."""
        return await self._wishes.tool(self._task, self._turn, HostTool.SUBAGENT)
