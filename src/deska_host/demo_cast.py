"""Who plays in the demo: the nook board, a parrot that answers badly, and a garden's folder."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from deska_sdk import PageError

if TYPE_CHECKING:
    from pathlib import Path

    from deska_host.page import Deska

PARROT: dict[str, Any] = {
    "id": "parrot",
    "name": "Parrot",
    "version": "1.0.0",
    "sdk": 4,
    "permissions": ["agent"],
    "agent": {
        "actions": [
            {
                "name": "listen",
                "description": "Reads what the parrot says in this mood.",
                "kind": "read",
                "input": {
                    "type": "object",
                    "properties": {
                        "mood": {"type": "string", "enum": ["silent", "confused", "chatty"]}
                    },
                    "required": ["mood"],
                },
                "output": {
                    "type": "object",
                    "properties": {
                        "words": {
                            "type": "array",
                            "maxItems": 100,
                            "items": {"type": "string", "maxLength": 2000},
                        }
                    },
                    "required": ["words"],
                },
            }
        ]
    },
}


async def parrot_page(deska: Deska) -> None:
    async def hear(call: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"words": ["Polly is fine"]}
        match call["input"]["mood"]:
            case "silent":
                return
            case "confused":
                try:
                    await deska.agent.respond(call["callId"], {"words": "Polly", "feathers": 7})
                except PageError as refused:
                    print(f"    the page is told: {refused.code} (and answers again)")
            case _:
                answer = {"words": ["Polly wants a cracker. " * 50] * 100}
        await deska.agent.respond(call["callId"], answer)

    deska.on("agent.action", hear)
    await deska.ready()
    await deska.agent.offer(text="Polly says: the fern is dry.")


def garden(place: Path) -> Path:
    """A task's folder with a photograph, and with things that only look like one."""
    from PIL import Image, ImageDraw

    folder = place / "garden"
    photos = folder / "photos"
    photos.mkdir(parents=True)
    photo = Image.new("RGB", (640, 480), "#dfe9d8")
    draw = ImageDraw.Draw(photo)
    for step in range(24):
        draw.line((320, 460, 40 + step * 24, 60 + abs(12 - step) * 14), fill="#2f6b3a", width=6)
    exif = Image.Exif()
    exif[0x010E] = "taken in the back garden"
    photo.save(photos / "fern.jpg", exif=exif)
    photo.save(place / "passwords.png")
    (photos / "notes.png").write_text("not a picture")
    if sys.platform != "win32":
        (photos / "shortcut.png").symlink_to(place / "passwords.png")
        os.mkfifo(photos / "pipe.png")
    return folder
