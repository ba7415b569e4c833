"""The board of the examples, as clients that we did not write use it."""

from __future__ import annotations

import base64
import json
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from PIL import Image

from deska_host import Host
from deska_host.mcp import McpDoor
from deska_sdk.images import check_png
from tests.doors.support_door import (
    MB,
    Modes,
    a_client,
    call,
    each_era,
    each_way,
    on_asyncio,
    text_of,
)
from tests.host.support_host import NOOK, Images, connect, picture
from tests.support_installed import python_path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]


async def use_the_board(
    client: Client, folder: Path, before_the_read: Callable[[], Awaitable[None]]
) -> None:
    """A write, a counter, a conflict, an image, and a read; with an error here and there."""
    (folder / "fern.jpg").write_bytes(picture((30, 20), "green", "JPEG"))

    async def on_nook(action: str, **given: Any) -> Any:
        return await call(client, action, given, "nook")

    listed = json.loads(text_of(await client.call_tool("list_panels")))
    assert [action["name"] for action in listed["panels"][0]["actions"]] == [
        "add_note",
        "edit_note",
        "add_image",
        "read_board",
    ]
    assert (
        text_of(await on_nook("add_note", text="Water the fern")) == '{"ok":true,"revision":"r1"}'
    )
    edited = await on_nook("edit_note", note=1, text="Watered", revision="r1")
    assert text_of(edited) == '{"ok":true,"revision":"r2"}'
    stale = await on_nook("edit_note", note=1, text="No", revision="r1")
    assert text_of(stale) == '{"ok":false,"revision":"r2","error":"conflict"}'
    assert not stale.is_error
    outside = await on_nook("add_image", image="../fern.jpg")
    assert text_of(outside).startswith("image_outside_folder: ")
    assert outside.is_error
    await on_nook("add_image", image="fern.jpg", caption="The fern")
    await before_the_read()
    read = await on_nook("read_board")
    assert text_of(read) == (
        '<panel_content package="nook" panel="Nook" trust="untrusted">\n'
        '{"notes":["Watered"],"images":[{"file":"image:1","caption":"The fern"}]}\n'
        "</panel_content>"
    )
    (image,) = read.content[1:]
    assert check_png(base64.b64decode(image.data)).width == 30


@pytest.mark.rule("M-2", "M-5", "M-10")
@each_way
async def test_the_nook_board_works_by_each_way_in(tmp_path: Path, way: str, era: str) -> None:
    modes = Modes()

    async def not_yet_paused() -> None:
        assert modes.asked == []

    async with Host(images=Images()) as host:
        await host.install(NOOK)
        await host.start_page("nook")
        async with McpDoor(
            host, "task-1", tmp_path, supervisor=modes.on_switch, mode="automatic"
        ) as door:
            await connect(host, "task-1", "nook")
            async with a_client(door, way, era) as client:
                await use_the_board(client, tmp_path, not_yet_paused)
            assert modes.asked == ["supervised"]
            assert host.pending == 0


def a_server(folder: Path) -> StdioServerParameters:
    """A program that serves the board to whoever started it, and prints while it does."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "tests.doors.nook_stdio", str(folder)],
        cwd=ROOT,
        env={"PYTHONPATH": python_path(ROOT)},
    )


@pytest.mark.rule("M-8", "M-10")
@on_asyncio
@each_era
async def test_the_nook_board_works_for_a_client_that_starts_the_server(
    tmp_path: Path, era: str
) -> None:
    async def nothing() -> None:
        pass

    with (tmp_path / "errors").open("w+") as errors:
        async with Client(stdio_client(a_server(tmp_path), errors), mode=era) as client:
            await use_the_board(client, tmp_path, nothing)
            await read_six_large_images(client, tmp_path)
        errors.seek(0)
        told = errors.read()
    # Each call was told by a print and by a write to the descriptor; and nothing else came.
    assert told == "printed\nwritten\n" * 14 + "left with 0 pending\n"


async def read_six_large_images(client: Client, folder: Path) -> None:
    """More than five megabytes in one answer, through all of the host."""
    noise = random.Random(1)
    for number in range(6):
        image = Image.frombytes("RGB", (560, 560), noise.randbytes(560 * 560 * 3))
        image.save(folder / f"{number}.png", compress_level=1)
        await call(client, "add_image", {"image": f"{number}.png"}, "nook")
    read = await call(client, "read_board", {}, "nook")
    fern, *images = [base64.b64decode(one.data) for one in read.content[1:]]
    assert check_png(fern).width == 30
    assert [check_png(one).width for one in images] == [560] * 6
    assert sum(map(len, images)) > 5 * MB
