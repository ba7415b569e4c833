"""A program that serves the nook board on standard input and output, and prints while it does."""

import os
import sys

import anyio

from deska_host import Host
from deska_host.mcp import Heard, McpDoor
from tests.host.support_host import NOOK, connect


async def on_switch(_: str) -> bool:
    return True


def on_call(_: Heard) -> None:
    print("printed", flush=True)
    os.write(1, b"written\n")


async def main(folder: str) -> None:
    async with (
        Host() as host,
        McpDoor(host, "task-1", folder, supervisor=on_switch, on_call=on_call) as door,
    ):
        await host.install(NOOK)
        await host.start_page("nook")
        await connect(host, "task-1", "nook")
        await door.serve_stdio()
        sys.stderr.write(f"left with {host.pending} pending\n")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
