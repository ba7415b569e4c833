"""Nook, a board for notes and pictures: the page of a panel that works with agents.

The board is one JSON value in the panel's storage; its pictures are in the panel's files. Every
change keeps the board before it, so that the person can undo what an agent did.
"""

from __future__ import annotations

from typing import Any

import anyio

from deska_sdk import PageError

EMPTY: dict[str, Any] = {"notes": [], "images": [], "revision": 0}


async def main(deska: Any) -> None:
    # Calls may overlap, and two changes of one board must not.
    changing = anyio.Lock()

    async def board() -> dict[str, Any]:
        return await deska.storage.get("board") or EMPTY

    async def change(before: dict[str, Any], **changed: Any) -> dict[str, Any]:
        after = {**before, **changed, "revision": before["revision"] + 1}
        await deska.storage.set("before", before)
        await deska.storage.set("board", after)
        return {"ok": True, "revision": revision_of(after)}

    async def add_note(given: dict[str, Any]) -> dict[str, Any]:
        async with changing:
            now = await board()
            if len(now["notes"]) == 100:
                return {"ok": False, "error": "invalid"}
            return await change(now, notes=[*now["notes"], given["text"]])

    async def edit_note(given: dict[str, Any]) -> dict[str, Any]:
        async with changing:
            now = await board()
            # The agent names a counter such as "r1"; what arrives here is this page's own revision.
            if given["revision"] != revision_of(now):
                return {"ok": False, "error": "conflict", "revision": revision_of(now)}
            if given["note"] > len(now["notes"]):
                return {"ok": False, "error": "not_found"}
            notes = list(now["notes"])
            notes[given["note"] - 1] = given["text"]
            return await change(now, notes=notes)

    async def add_image(given: dict[str, Any]) -> dict[str, Any]:
        # The agent gave a path; what arrives here is a Blob that Deska read and checked.
        kept = await deska.files.put(given["image"])
        image = {"file": kept["id"], "caption": given.get("caption", "")}
        async with changing:
            now = await board()
            return await change(now, images=[*now["images"], image])

    async def read_board(_given: dict[str, Any]) -> dict[str, Any]:
        now = await board()
        return {"notes": now["notes"], "images": now["images"][-10:]}

    actions = {
        "add_note": add_note,
        "edit_note": edit_note,
        "add_image": add_image,
        "read_board": read_board,
    }

    async def hear(call: dict[str, Any]) -> None:
        try:
            answer = await actions[call["action"]](call["input"])
        except PageError:
            answer = {"ok": False, "error": "failed"}
        await deska.agent.respond(call["callId"], answer)

    # Listen before ready: a task that is connected already may call as soon as the page is up.
    deska.on("agent.action", hear)
    await deska.ready()


def revision_of(board: dict[str, Any]) -> str:
    return f"board-{board['revision']}"
