"""The smallest embedding: one panel, one task, one agent that calls.

Run it from the project's folder: ``python examples/embed.py``.
"""

from pathlib import Path

import anyio

from deska_host import Host

HERE = Path(__file__).parent


async def main() -> None:
    # With a path, as in Host("desk.db"), everything outlives a restart.
    async with Host() as host:
        await host.install(HERE / "nook")
        await host.start_page("nook")
        task = host.attach_task("garden", HERE)

        # Your program shows the sheet to the person; here the person says yes.
        sheet = host.person.sheet("nook")
        print(sheet.text)
        await host.person.connect(task.id, "nook", consent=sheet.fingerprint)

        # Your agent gets these two tools for the turn it is in.
        async with task.turn() as agent:
            print((await agent.list_panels()).text)
            for action, given in [("add_note", {"text": "Water the fern"}), ("read_board", {})]:
                reply = await agent.call_action("nook", action, given)
                print("refused:" if reply.is_error else "answer:", reply.text)


if __name__ == "__main__":
    anyio.run(main)
