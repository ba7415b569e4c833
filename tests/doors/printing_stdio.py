"""A program that prints in every way there is while it serves on standard output."""

import os
import sys

import anyio
import anyio.lowlevel

from deska_host import Host
from deska_host.mcp import McpDoor


async def main() -> None:
    own = sys.stdout
    async with Host() as host, McpDoor(host, "task-1") as door:

        async def prints() -> None:
            while sys.stdout is own:
                await anyio.lowlevel.checkpoint()
            print("print", flush=True)
            os.write(1, b"descriptor\n")
            own.write("buffered\n")  # stays in its buffer for now
            await anyio.run_process(["echo", "child"], stdin=None, stdout=None, stderr=None)
            print("done", flush=True)

        async with anyio.create_task_group() as group:
            group.start_soon(prints)
            await door.serve_stdio()
    print("after")


if __name__ == "__main__":
    anyio.run(main)
