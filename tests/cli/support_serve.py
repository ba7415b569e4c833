"""``deska serve`` in a process of its own, and the SDK's own client in front of it."""

from __future__ import annotations

import json
import subprocess
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import httpx2
from attrs import define, field
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.cli.support_desk import PATIENCE, command_line, environment

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from pathlib import Path

    from mcp.types import CallToolResult

    from tests.cli.support_desk import Commands


@define
class Served:
    """A server that runs and says what happens as JSON."""

    process: subprocess.Popen[str]
    #: What it said when it began.
    begun: dict[str, Any]
    #: All that it said before that.
    before: list[dict[str, Any]] = field(factory=list)

    def next(self) -> dict[str, Any]:
        """The next thing that it says."""
        assert self.process.stdout is not None
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        return told

    def end(self, how: int) -> tuple[int, str, str]:
        """Send the signal; the exit status, and the rest of what it said on both streams."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


@contextmanager
def served(deska: Commands, *argv: object, **env: str) -> Generator[Served]:
    """``deska serve --json`` by HTTP with these arguments, once clients may come."""
    process = subprocess.Popen(
        command_line("serve", *argv, "--task", deska.task, "--json"),
        env=environment(deska.state, **env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        try:
            before = []
            while (told := json.loads(process.stdout.readline() or '{"event":"serving"}')) and (
                told["event"] != "serving"
            ):
                before.append(told)
            assert "url" in told, process.stderr.read()
            yield Served(process, told, before)
        finally:
            process.kill()


@asynccontextmanager
async def client_at(url: str, headers: dict[str, str], era: str = "auto") -> AsyncGenerator[Client]:
    """A client of the server at this address."""
    async with (
        httpx2.AsyncClient(headers=headers, verify=False) as http,
        Client(streamable_http_client(url, http_client=http), mode=era) as client,
    ):
        yield client


def bearer(token: str) -> dict[str, str]:
    """The header that opens a door."""
    return {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def client_of(
    deska: Commands, errors: TextIO, *argv: object, era: str = "auto"
) -> AsyncGenerator[Client]:
    """A client that starts ``deska serve --stdio`` itself."""
    program, *arguments = command_line("serve", *argv, "--task", deska.task, "--stdio")
    async with started(program, arguments, environment(deska.state), errors, era) as client:
        yield client


@asynccontextmanager
async def started(
    program: str,
    arguments: list[str],
    env: dict[str, str],
    errors: TextIO,
    era: str = "auto",
    cwd: str | None = None,
) -> AsyncGenerator[Client]:
    """A client that starts this server itself."""
    parameters = StdioServerParameters(command=program, args=arguments, env=env, cwd=cwd)
    async with Client(stdio_client(parameters, errors), mode=era) as client:
        yield client


async def say(client: Client, word: str, action: str = "say", panel: str = "echo") -> str:
    """The text of a call's result."""
    return text_of(
        await client.call_tool(
            "call_action", {"panel": panel, "action": action, "input": {"word": word}}
        )
    )


def text_of(result: CallToolResult) -> str:
    """The text of a result."""
    block = result.content[0]
    assert block.type == "text"
    return block.text


def json_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of JSON in a file, without what else is in it."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]
