"""Starter, a panel that keeps notes. Replace them with what your panel is about.

``panel.json`` says what agents may call, and what fits. Here is what happens when they do.
"""

from typing import Any

import anyio

from deska_host import Deska


async def main(deska: Deska) -> None:
    # Calls may overlap, and two changes must not.
    changing = anyio.Lock()

    async def add_note(given: dict[str, Any]) -> dict[str, Any]:
        async with changing:
            notes: list[str] = await deska.storage.get("notes") or []
            if len(notes) == 50:  # as many as read_notes may answer
                return {"ok": False, "error": "invalid"}
            await deska.storage.set("notes", [*notes, given["text"]])
        # The agent sees a counter such as r1, the same one for the same revision.
        return {"ok": True, "revision": f"notes-{len(notes) + 1}"}

    async def read_notes(_given: dict[str, Any]) -> dict[str, Any]:
        notes: list[str] = await deska.storage.get("notes") or []
        return {"notes": notes}

    actions = {"add_note": add_note, "read_notes": read_notes}

    async def hear(call: dict[str, Any]) -> None:
        answer = await actions[call["action"]](call["input"])
        await deska.agent.respond(call["callId"], answer)

    deska.on("agent.action", hear)  # before ready, so that no call is missed
    await deska.ready()
