"""What a page can reach through the values that it is given (G-5)."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from deska_host import Agent, Blob, Deska, Host, Person, Task
from deska_host.agents import AgentReply, Replies, Wishes
from deska_host.assistant import Assistant
from deska_host.clock import ManualClock
from deska_host.engine import Engine
from deska_host.keeper import Keeper
from deska_host.notices import Notices
from deska_host.pages import Pages, RunningPage
from deska_host.person import Asking
from deska_host.port import PagePort
from deska_host.store import Store
from deska_host.supervision import Screen
from deska_host.tasks import Tasks, Turn, TurnMessage
from deska_host.work import Work
from deska_sdk.errors import PageCode, PageError
from deska_sdk.panels.port import PORT, Direction, check_message
from deska_sdk.router import Router
from deska_sdk.tasks.queue import Message, Queue
from tests.host.support_host import later
from tests.host.support_supervision import a_room

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.anyio

#: What no page may come to.
FORBIDDEN = (
    Agent,
    AgentReply,
    Asking,
    Assistant,
    Engine,
    Host,
    Keeper,
    ManualClock,
    Message,
    Notices,
    PagePort,
    Pages,
    Person,
    Queue,
    Replies,
    Router,
    RunningPage,
    Screen,
    Store,
    Task,
    Tasks,
    Turn,
    TurnMessage,
    Wishes,
    Work,
)

PLAIN = (str, bytes, int, float, bool, type(None))


def reachable(start: Any) -> Iterator[tuple[str, Any]]:
    """Everything that public names lead to, with the way there.

    A bound method leads nowhere: its ``__self__`` is no public name.
    """
    known: set[int] = set()
    waiting: list[tuple[str, Any]] = [("deska", start)]
    kept: list[Any] = []
    while waiting:
        way, one = waiting.pop()
        if id(one) in known:
            continue
        known.add(id(one))
        kept.append(one)
        yield way, one
        if isinstance(one, (*PLAIN, type, types.MethodType, types.FunctionType)):
            continue
        if isinstance(one, dict):
            waiting += [(f"{way}[{key!r}]", value) for key, value in one.items()]
        elif isinstance(one, (list, tuple, set, frozenset)):
            waiting += [(f"{way}[]", value) for value in one]
        else:
            waiting += [
                (f"{way}.{name}", getattr(one, name))
                for name in dir(one)
                if not name.startswith("_")
            ]


@pytest.mark.rule("G-5")
async def test_no_public_name_leads_from_a_page_to_the_person_a_task_or_the_conversation() -> None:
    async with a_room() as room, anyio.create_task_group() as group:
        deska = room.hands.deska
        async with room.task.turn() as agent:
            reply = later(group, agent.call_action, "board", "add", {"text": "x"})
            call = await room.hands.calls.get()
            kept = await deska.files.put(Blob(b"bytes"))
            for name, start in (
                ("deska", deska),
                ("call", call),
                ("init", room.hands.init),
                ("respond", await deska.agent.respond(call["callId"], {"ok": True})),
                ("offer", await deska.agent.offer(text="x")),
                ("get", await deska.files.get(kept["id"])),
            ):
                found = list(reachable(start))
                for way, one in found:
                    assert not isinstance(one, FORBIDDEN), (name, way)
            await reply.wait()
        found = list(reachable(deska))
    ways = {way for way, _ in found}
    # The walk sees something, and this is all there is.
    public = {way for way, one in found if callable(one)}
    assert public == {
        "deska.on",
        "deska.ready",
        "deska.save",
        "deska.copy",
        "deska.notify",
        "deska.agent.respond",
        "deska.agent.offer",
        "deska.storage.get",
        "deska.storage.set",
        "deska.files.put",
        "deska.files.get",
        "deska.files.ids",
        "deska.files.delete",
    }
    assert ways - public == {"deska", "deska.agent", "deska.storage", "deska.files"}
    assert isinstance(deska, Deska)


@pytest.mark.rule("G-5", "A-2")
async def test_what_a_page_hears_of_a_call_names_no_task_no_turn_and_no_agent() -> None:
    async with a_room() as room, anyio.create_task_group() as group:
        async with room.task.turn() as agent:
            reply = later(group, agent.call_action, "board", "read", {})
            call = await room.hands.calls.get()
            assert call.keys() == {"callId", "action", "input"}
            assert "task-1" not in repr(call)
            await room.hands.deska.agent.respond(call["callId"], {})
            await reply.wait()
        assert room.hands.init == {"agent": {"tasks": 0}}
        assert room.hands.tasks == [0, 1]


@pytest.mark.rule("G-5")
async def test_a_message_that_is_not_in_the_port_s_table_is_refused_and_does_nothing() -> None:
    async with a_room() as room:
        deska = room.hands.deska
        await deska.agent.offer(text="Buy ferns")
        offers, mode = room.host.person.offers(), room.mode.now
        send = deska._side._send
        wrong: list[Any] = [
            {"type": name, "id": 99}
            for name in (
                "agent.call",
                "agent.list",
                "call_action",
                "list_panels",
                "person.connect",
                "person.send_to_task",
                "send",
                "task.send",
                "tasks",
                "mode",
                "turn",
                "approve",
                "__class__",
                "",
            )
        ]
        # What the host may say is not for a page to say.
        wrong += [
            {"type": name, **dict.fromkeys(kind.keys, 1)}
            for name, kind in PORT.items()
            if kind.direction is Direction.TO_PAGE
        ]
        # And every message that a page may send, with a key more or less.
        for name, kind in PORT.items():
            if kind.direction is Direction.TO_HOST:
                whole = {"type": name, **dict.fromkeys(kind.keys, 1)}
                wrong.append({**whole, "task": "task-1"})
                wrong += [
                    {key: value for key, value in whole.items() if key != left_out}
                    for left_out in whole
                ]
        wrong += [None, "ready", ["ready"], {"type": ["ready"]}, {"type": None}, {}]
        for message in wrong:
            with pytest.raises(PageError) as caught:
                send(message)
            assert caught.value.code is PageCode.INVALID_ARGS
            with pytest.raises(PageError):
                check_message(message, Direction.TO_HOST)
        assert len(wrong) > 40
        assert room.host.person.offers() == offers
        assert room.mode.now == mode
        assert room.turns.all == []
        assert room.host.pending == 0


@pytest.mark.rule("G-5")
def test_the_port_s_table_holds_these_messages_and_no_other() -> None:
    to_host = {name for name, kind in PORT.items() if kind.direction is Direction.TO_HOST}
    assert to_host == {
        "ready",
        "agent.respond",
        "agent.offer",
        "storage.get",
        "storage.set",
        "files.put",
        "files.get",
        "files.ids",
        "files.delete",
        "save",
        "copy",
        "notify",
    }
    to_page = {"init", "agent.connected", "agent.action", "settled", "refused"}
    assert PORT.keys() - to_host == to_page
    assert PORT["agent.offer"].keys == {"id", "text", "files"}
    words = {"task", "turn", "agent_id", "person", "mode", "message", "conversation"}
    assert not words & {key for kind in PORT.values() for key in kind.keys}
