"""``deska``: what a page written in Python uses, as a page in a browser uses its own (G-1).

A page is an async function over it::

    async def main(deska):
        async def hear(call):
            await deska.agent.respond(call["callId"], {"ok": True})

        deska.on("agent.action", hear)
        await deska.ready()

Every refusal is a :class:`~deska_sdk.errors.PageError` whose ``code`` is one of the page's codes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from deska_host.waiter import Waiter
from deska_sdk.errors import PageCode, PageError
from deska_sdk.panels.pagecore import Hear, PageCore, Settled, Started

if TYPE_CHECKING:
    from deska_host.blobs import Blob
    from deska_sdk.panels.port import Message

Listener = Callable[[dict[str, Any]], object]
#: Asks the host for something through the port, and gives what it settles to.
AskHost = Callable[..., Awaitable[Any]]


class PageSide:
    """The page's end of the port: listeners, promises, and the messages that move them.

    :param core: what the page knows.
    :param send: hands a message to the host.
    :param start: starts a listener's handler with its payload, in the order of the calls.
    """

    def __init__(
        self,
        core: PageCore,
        send: Callable[[Message], None],
        start: Callable[[Listener, dict[str, Any]], None],
    ) -> None:
        self._core = core
        self._send = send
        self._start = start
        self._listeners: dict[str, list[Listener]] = {}
        self._waiters: dict[int, Waiter[Settled]] = {}
        self._started: Waiter[dict[str, Any] | None] = Waiter()
        self._ended = False

    def receive(self, message: Message) -> None:
        """Take a message of the host."""
        match self._core.receive(message):
            case Hear() as heard:
                self._hear(heard)
            case Started(init=init):
                self._started.set(init)
            case Settled() as settled:
                self._waiters.pop(settled.ticket).set(settled)
            case None:
                pass

    def listen(self, event: str, listener: Listener) -> None:
        """Add a listener; calls that came before the first one are heard now (A-4)."""
        early = self._core.listen(event)
        self._listeners.setdefault(event, []).append(listener)
        for heard in early:
            self._hear(heard)

    def _hear(self, heard: Hear) -> None:
        first, *others = self._listeners[heard.event]
        # What one listener does to its payload is not for another to hear.
        payloads = [deepcopy(heard.payload) for _ in others]
        self._start(first, heard.payload)
        if others:
            for listener, payload in zip(others, payloads, strict=True):
                self._start(listener, payload)

    def end(self) -> None:
        """The page is closed: what it waits for, and what it asks for from now on, is refused.

        Without this a page that tidies up when it is closed would wait for ever.
        """
        self._ended = True
        self._started.set(None)
        for ticket, waiter in self._waiters.items():
            waiter.set(Settled(ticket, code=PageCode.UNSUPPORTED))

    async def ready(self) -> dict[str, Any]:
        """Say that the page is ready; what the host told at init.

        :raises PageError: ``unsupported``: the page was closed first.
        """
        message = self._core.ready()
        if message is not None and not self._ended:
            self._send(message)
        init = await self._started.wait()
        if init is None:
            raise PageError(PageCode.UNSUPPORTED)
        return deepcopy(init)

    async def ask(self, kind: str, **fields: object) -> Any:
        """Ask the host for something through the port.

        :raises PageError: the host refused, or the page is closed.
        """
        if self._ended:
            a_call = kind == "agent.respond"
            raise PageError(PageCode.UNKNOWN_CALL if a_call else PageCode.UNSUPPORTED)
        ticket, message = self._core.ask(kind, **fields)
        waiter: Waiter[Settled] = Waiter()
        self._waiters[ticket] = waiter
        try:
            self._send(message)
            settled = await waiter.wait()
        finally:
            if self._waiters.pop(ticket, None) is not None:
                self._core.forget(ticket)
        if settled.code is not None:
            raise PageError(settled.code)
        return settled.value


class PageAgent:
    """``deska.agent``: how a page answers the calls it hears."""

    def __init__(self, ask: AskHost) -> None:
        self._ask = ask

    async def respond(self, call_id: str, answer: object) -> bool:
        """Answer a call (A-5). Resolves to true when this answer was accepted.

        :param call_id: the ``callId`` of ``agent.action``.
        :param answer: for a write ``{"ok": bool, "revision"?: str, "error"?: str}`` (W-1), for a
            read a value of the action's ``output`` (N-1).
        :raises PageError: ``invalid_args``: the answer breaks its rule, and the call keeps
            waiting for a good one; ``unknown_call``: the call is over, or not this page's.
        """
        return bool(await self._ask("agent.respond", callId=call_id, answer=answer))

    async def offer(self, *, text: str | None = None, files: Sequence[str] | None = None) -> bool:
        """Say what *Send to task* would send now (O-1). Without text and files: nothing.

        A new offer takes the place of the earlier one. Only the person presses the button; the
        page never learns whether, nor where it went.

        :param text: at most 10,000 code points.
        :param files: ids of at most 6 images that the panel keeps.
        :raises PageError: ``invalid_args``: it is over a limit, or an id is not kept; the earlier
            offer stands.
        """
        return bool(await self._ask("agent.offer", text=text, files=files))


class PageStorage:
    """``deska.storage``: JSON values under keys, kept for the panel (G-3)."""

    def __init__(self, ask: AskHost) -> None:
        self._ask = ask

    async def get(self, key: str) -> Any:
        """A fresh copy of the value under ``key``, or ``None``.

        :raises PageError: ``invalid_args``: ``key`` is no text.
        """
        return await self._ask("storage.get", key=key)

    async def set(self, key: str, value: object) -> None:
        """Keep a copy of ``value`` under ``key``; it is durable when this returns.

        Numbers are as in calls (D-8): within ±(2^53 − 1), and ``1.0`` comes back as ``1``.

        :raises PageError: ``invalid_args``: ``value`` is no JSON value; ``quota_exceeded``: the
            panel would keep more than 5 MiB. What was there before stays.
        """
        await self._ask("storage.set", key=key, value=value)


class PageFiles:
    """``deska.files``: Blobs of any type under ids of the host's (G-3)."""

    def __init__(self, ask: AskHost) -> None:
        self._ask = ask

    async def put(self, blob: Blob) -> dict[str, str]:
        """Keep ``blob``; gives ``{"id": …}`` of 36 characters, durable when this returns.

        :raises PageError: ``invalid_args``: it is no Blob; ``quota_exceeded``: it is over 10 MB,
            or the panel would keep more than 200 MiB.
        """
        kept: dict[str, str] = await self._ask("files.put", blob=blob)
        return kept

    async def get(self, file_id: str) -> Blob | None:
        """The Blob under this id, or ``None``."""
        blob: Blob | None = await self._ask("files.get", file=file_id)
        return blob

    async def ids(self) -> list[str]:
        """The ids of all Blobs kept, in the order in which they were put."""
        ids: list[str] = await self._ask("files.ids")
        return ids

    async def delete(self, file_id: str) -> None:
        """Keep the Blob under this id no longer; one that is not there is no error."""
        await self._ask("files.delete", file=file_id)


class Deska:
    """What a page can do. Nothing here leads to the person, the task or the conversation (G-5)."""

    def __init__(self, side: PageSide) -> None:
        self._side = side
        self.agent = PageAgent(side.ask)
        self.storage = PageStorage(side.ask)
        self.files = PageFiles(side.ask)

    def on(self, event: str, listener: Listener) -> None:
        """Call ``listener`` with a dict on every ``event``.

        Events are ``agent.action`` (``{"callId", "action", "input"}``) and ``agent.connected``
        (``{"tasks"}``). A listener may be async: handlers start in arrival order and may overlap.

        :raises PageError: ``invalid_args``: there is no such event, or ``listener`` cannot be
            called.
        """
        if not callable(listener):
            raise PageError(PageCode.INVALID_ARGS)
        self._side.listen(event, listener)

    async def ready(self) -> dict[str, Any]:
        """Say that the page is up; resolves to ``{"agent": {"tasks": n}}`` (C-5)."""
        return await self._side.ready()

    async def save(self, name: str, blob: Blob) -> None:
        """Have the person pick a place and save ``blob`` there, ``name`` proposed.

        :raises PageError: ``unsupported``: the embedder has no handler for it.
        """
        await self._side.ask("save", name=name, blob=blob)

    async def copy(self, text: str) -> None:
        """Copy ``text`` to the clipboard; needs the permission ``clipboard-write``.

        :raises PageError: ``unsupported``: the embedder has no handler, or no permission.
        """
        await self._side.ask("copy", text=text)

    async def notify(self, text: str) -> None:
        """Show the person ``text``; needs the permission ``notify``.

        :raises PageError: ``unsupported``: the embedder has no handler, or no permission.
        """
        await self._side.ask("notify", text=text)
