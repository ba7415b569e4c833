"""A desk whose agent is the command itself: its two tools, waited for (K-5, K-6)."""

from __future__ import annotations

import signal
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from anyio.from_thread import start_blocking_portal

from deska_host._commands.interrupts import interrupted_later
from deska_host.blocking_sides import BlockingAgent

if TYPE_CHECKING:
    from collections.abc import Generator
    from concurrent.futures import Future
    from contextlib import AbstractAsyncContextManager

    from deska_host._commands.desk import Desk
    from deska_host.agents import AgentReply
    from deska_sdk.panels.manifest import Manifest


@contextmanager
def agent_at(
    opening: AbstractAsyncContextManager[Desk],
) -> Generator[tuple[BlockingAgent, dict[str, Manifest]]]:
    """The agent of a desk's task in a turn of its own, and the panels that are connected.

    The desk lives in a thread, so that pages go on while this one waits for what is typed.

    :param opening: :func:`deska_host._commands.desk.open_desk`.
    :raises Stop: what that raises.
    :raises KeyboardInterrupt: Ctrl-C, wherever it came.
    """
    with ExitStack() as stack:
        # Between the start of the thread and the first word from it, Ctrl-C would leave it running,
        # and be waited for without end.
        with interrupted_later():
            portal = stack.enter_context(start_blocking_portal())
        desk = stack.enter_context(portal.wrap_async_context_manager(opening))
        yield BlockingAgent(portal, portal.call(desk.task.start_turn)), desk.panels


def called(agent: BlockingAgent, panel: str, action: str, given: object) -> AgentReply:
    """The reply to a call.

    :raises KeyboardInterrupt: Ctrl-C stopped it, for the page too.
    """
    call: Future[AgentReply] | None = None
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True
        if call is not None:
            call.cancel()

    # An exception could come between the start of the call and the wait for it, and then nobody
    # would stop it.
    before = signal.signal(signal.SIGINT, stop)
    try:
        call = agent.start_call(panel, action, given)
        if stopped:
            call.cancel()
        with suppress(CancelledError):
            return call.result()
    finally:
        signal.signal(signal.SIGINT, before)
    raise KeyboardInterrupt
