"""Whole calls in one process on asyncio: agent, host, page, answer, reply, with a store in memory.

Beside it, the same two tools over the in-memory client and server of the ``mcp`` SDK and of
FastMCP. They check no text and know no page, consent, pause, fence or counter; what is compared is
what a program pays for a call either way.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

from benchmarks import ours, peers
from benchmarks.bench import Options, Outcome
from benchmarks.groups.json_text import compared
from benchmarks.harness import Candidate, Timings, measure_async
from deska_host import Host

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_NOTE: Final = {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": 2_000}},
    "required": ["text"],
}
_WHICH: Final = {
    "type": "object",
    "properties": {"note": {"type": "integer"}},
    "required": ["note"],
}
_READ: Final = {"text": "Water the fern before noon, and turn it to the window."}
#: What is called with what: tool, arguments.
_TOOLS: Final = {
    "write": ("add_note", {"text": "Ask about the soil; order two bags."}),
    "read": ("read_note", {"note": 3}),
}
_PANEL: Final = {
    "id": "notes",
    "name": "Notes",
    "version": "1.0.0",
    "sdk": 4,
    "permissions": ["agent"],
    "agent": {
        "actions": [
            {"name": "add_note", "kind": "write", "description": "Adds a note.", "input": _NOTE},
            {
                "name": "read_note",
                "kind": "read",
                "description": "Reads a note.",
                "input": _WHICH,
                "output": _NOTE,
            },
        ]
    },
}

_MCP: Final = "mcp client and server"


async def _page(deska: Any) -> None:
    """Answers at once; every write has a new revision, as a board's would."""
    revision = 0

    async def hear(call: dict[str, Any]) -> None:
        nonlocal revision
        if call["action"] == "add_note":
            revision += 1
            await deska.agent.respond(call["callId"], {"ok": True, "revision": f"b{revision}"})
        else:
            await deska.agent.respond(call["callId"], _READ)

    deska.on("agent.action", hear)
    await deska.ready()


async def open_host(stack: AsyncExitStack, codec: ours.Codec) -> Callable[..., Awaitable[Any]]:
    """A host with one connected panel; what is returned calls one of its actions."""
    host = await stack.enter_async_context(Host(codec=codec))
    await host.install(_PANEL, page=_page)
    await host.start_page("notes")
    task = host.attach_task("task")
    consent = host.person.sheet("notes").fingerprint
    await host.person.connect("task", "notes", consent=consent)
    agent = await stack.enter_async_context(task.turn())

    async def call(tool: str, given: dict[str, Any]) -> Any:
        reply = await agent.call_action("notes", tool, given)
        assert reply.code is None
        return reply

    return call


def _low_level_server(mcp: Any) -> Any:
    from mcp.server.lowlevel import Server

    types = mcp.types
    tools = [
        types.Tool(name="add_note", description="Adds a note.", input_schema=_NOTE),
        types.Tool(name="read_note", description="Reads a note.", input_schema=_WHICH),
    ]

    async def listed(_context: Any, _params: Any) -> Any:
        return types.ListToolsResult(tools=tools)

    async def called(_context: Any, params: Any) -> Any:
        said = _READ if params.name == "read_note" else {"ok": True, "revision": "r1"}
        text = json.dumps(said, separators=(",", ":"))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server("notes", on_list_tools=listed, on_call_tool=called)


def _with_tools(server: Any, decorate: Any) -> Any:
    async def add_note(text: str) -> dict[str, Any]:  # noqa: ARG001
        return {"ok": True, "revision": "r1"}

    async def read_note(note: int) -> dict[str, Any]:  # noqa: ARG001
        return dict(_READ)

    decorate(add_note)
    decorate(read_note)
    return server


async def _peers(stack: AsyncExitStack) -> dict[str, Any]:
    """What calls the tools, by candidate."""
    calls: dict[str, Any] = {}
    if mcp := peers.load("mcp"):
        from mcp.server import MCPServer

        server = _low_level_server(mcp)
        made = MCPServer("notes")
        high = _with_tools(made, made.tool())
        for name, client in (
            (_MCP, mcp.Client(server)),
            (f"{_MCP}, legacy", mcp.Client(server, mode="legacy")),
            (f"{_MCP}, MCPServer", mcp.Client(high)),
        ):
            calls[name] = (await stack.enter_async_context(client)).call_tool
    if fastmcp := peers.load("fastmcp"):
        server = fastmcp.FastMCP("notes")
        _with_tools(server, server.tool)
        client = await stack.enter_async_context(fastmcp.Client(server))
        calls["FastMCP"] = client.call_tool
    return calls


async def measured(options: Options) -> dict[str, Timings]:
    """The timings of both tools."""
    rng = options.rng("calls")
    timings: dict[str, Timings] = {}
    async with AsyncExitStack() as stack:
        calls: dict[str, Any] = {
            ours.NAMES[codec]: await open_host(stack, codec) for codec in ours.codecs()
        }
        calls |= await _peers(stack)
        for tool, (name, given) in _TOOLS.items():
            candidates = [
                Candidate(candidate, _bound(call, name), given) for candidate, call in calls.items()
            ]
            timings[tool] = await measure_async(
                candidates, rng, rounds=options.rounds(25), sample=2 * options.sample
            )
    return timings


def _bound(call: Any, name: str) -> Callable[[Any], Awaitable[Any]]:
    return lambda given: call(name, given)


def run(options: Options) -> Outcome:
    """Measure a write and a small read."""
    outcome = Outcome()
    timings = asyncio.run(measured(options))
    for codec in ours.codecs():
        mine = ours.NAMES[codec]
        outcome.tables.append(compared("A whole call in one process", mine, timings))
        for tool, timing in timings.items():
            if _MCP in timing:
                outcome.claim(f"calls.mcp.no-strip.{tool}", codec, timing.ratio(_MCP, mine))
    return outcome
