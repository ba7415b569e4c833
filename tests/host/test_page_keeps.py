"""What a page keeps and asks of the embedder: storage, files, save, copy, notify (G-1, G-3)."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from attrs import evolve

from deska_host import Blob, Host, PageHandlers, StoreFailed
from deska_sdk import PageCode, PageError
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from tests.host.support_host import Hands, a_panel, offline_panel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable
    from pathlib import Path

    from deska_host import Deska

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def a_page(
    limits: Limits = DEFAULT_LIMITS, panel: dict[str, Any] | None = None, **options: Any
) -> AsyncGenerator[Deska]:
    hands = Hands()
    async with Host(options.pop("path", None), limits=limits, **options) as host:
        manifest = await host.install(a_panel() if panel is None else panel)
        await host.start_page(manifest.id, page=hands.main)
        await hands.up.wait()
        yield hands.deska


async def refusal(asked: Awaitable[object]) -> PageCode:
    """The code of a page's refusal, which holds nothing else."""
    with pytest.raises(PageError) as refused:
        await asked
    assert refused.value.__context__ is None
    assert refused.value.__cause__ is None
    return refused.value.code


# --- storage


@pytest.mark.rule("G-3")
async def test_storage_gives_fresh_copies_of_json_values() -> None:
    async with a_page() as deska:
        value: dict[str, Any] = {"a": [1, 2.5, True, None, "ü\u0000\u2028🌱"], "b": {}}
        await deska.storage.set("board", value)
        value["a"].append("later")
        first = await deska.storage.get("board")
        assert first == {"a": [1, 2.5, True, None, "ü\u0000\u2028🌱"], "b": {}}
        first["a"].clear()
        assert await deska.storage.get("board") == {
            "a": [1, 2.5, True, None, "ü\u0000\u2028🌱"],
            "b": {},
        }
        assert await deska.storage.get("nothing") is None
        for plain in (None, False, 0, -0.5, "", [], 2**53 - 1):
            await deska.storage.set("", plain)
            got = await deska.storage.get("")
            assert (got, type(got)) == (plain, type(plain))
        await deska.storage.set("", [1.0, -0.0])
        assert repr(await deska.storage.get("")) == "[1, 0]"


@pytest.mark.rule("G-3")
async def test_a_value_is_what_it_was_when_set_was_called_though_it_changes_meanwhile(
    tmp_path: Path,
) -> None:
    async with a_page(path=tmp_path / "desk.db") as deska:
        value = ["before"]
        async with anyio.create_task_group() as group:

            async def set_it() -> None:
                await deska.storage.set("list", value)

            group.start_soon(set_it)
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            value[0] = "after"
        assert await deska.storage.get("list") in (["before"], ["after"])
        value[0] = "third"
        assert await deska.storage.get("list") != ["third"]


def _cyclic() -> list[Any]:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.rule("G-3", "G-1")
@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1: 2},
        {None: 1},
        (1,),
        {1, 2},
        b"bytes",
        float("nan"),
        float("inf"),
        "\ud800",
        {"\ud800": 1},
        Blob(b"", "image/png"),
        _cyclic(),
        _deep(65),
        _deep(5_000),
        10**5_000,
        2**53,
        1e300,
        type("Text", (str,), {})("x"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_is_no_json_value_is_invalid_args_and_what_was_there_stays(value: Any) -> None:
    async with a_page() as deska:
        await deska.storage.set("key", "before")
        assert await refusal(deska.storage.set("key", value)) is PageCode.INVALID_ARGS
        assert await refusal(deska.storage.set("key", [value])) is PageCode.INVALID_ARGS
        assert await deska.storage.get("key") == "before"


@pytest.mark.rule("G-3")
async def test_sixty_four_levels_can_be_kept() -> None:
    async with a_page() as deska:
        await deska.storage.set("deep", _deep(64))
        assert await deska.storage.get("deep") == _deep(64)


@pytest.mark.rule("G-1", "G-3")
@pytest.mark.parametrize("key", [1, None, b"key", "\udfff", ["key"], type("K", (str,), {})("k")])
async def test_a_key_is_text(key: Any) -> None:
    async with a_page() as deska:
        assert await refusal(deska.storage.get(key)) is PageCode.INVALID_ARGS
        assert await refusal(deska.storage.set(key, 1)) is PageCode.INVALID_ARGS


@pytest.mark.rule("G-3")
async def test_over_the_quota_of_storage_is_quota_exceeded_and_nothing_is_lost() -> None:
    limits = evolve(DEFAULT_LIMITS, storage_bytes=100)
    async with a_page(limits) as deska:
        await deska.storage.set("a", "x" * 97)  # 1 for the key, 2 for the quotes
        for key, value in (("a", "x" * 98), ("b", ""), ("a", "ü" * 49), ("c", "y" * 1_000)):
            assert await refusal(deska.storage.set(key, value)) is PageCode.QUOTA_EXCEEDED
        assert await deska.storage.get("a") == "x" * 97
        assert await deska.storage.get("b") is None
        await deska.storage.set("a", "")
        await deska.storage.set("b", "y" * 94)


@pytest.mark.rule("G-3")
async def test_two_panels_neither_see_nor_use_up_each_other_s_storage() -> None:
    limits = evolve(DEFAULT_LIMITS, storage_bytes=100, files_bytes=100)
    async with Host(limits=limits) as host:
        sides = []
        for panel in ("board", "shelf"):
            hands = Hands()
            await host.install(a_panel(panel))
            await host.start_page(panel, page=hands.main)
            await hands.up.wait()
            sides.append(hands.deska)
        board, shelf = sides
        await board.storage.set("key", "x" * 90)
        kept = await board.files.put(Blob(bytes(90)))
        assert await shelf.storage.get("key") is None
        assert await shelf.files.get(kept["id"]) is None
        assert await shelf.files.ids() == []
        await shelf.files.delete(kept["id"])
        await shelf.storage.set("key", "y" * 90)
        await shelf.files.put(Blob(bytes(90)))
        assert await board.storage.get("key") == "x" * 90
        assert await board.files.ids() == [kept["id"]]


# --- files


@pytest.mark.rule("G-3")
async def test_files_keep_blobs_of_any_type_under_random_ids_in_order() -> None:
    async with a_page() as deska:
        blobs = [
            Blob(b"", ""),
            Blob(bytes(range(256)), "application/octet-stream"),
            Blob(b"not an image", "image/png"),
            Blob(b"not an image", "image/png"),
        ]
        ids = []
        for blob in blobs:
            kept = await deska.files.put(blob)
            assert kept.keys() == {"id"}
            ids.append(kept["id"])
        assert all(len(file_id) == 36 for file_id in ids)
        assert len(set(ids)) == 4
        assert await deska.files.ids() == ids
        assert [await deska.files.get(file_id) for file_id in ids] == blobs
        await deska.files.delete(ids[1])
        await deska.files.delete(ids[1])
        await deska.files.delete("never there")
        assert await deska.files.get(ids[1]) is None
        assert await deska.files.ids() == [ids[0], *ids[2:]]


@pytest.mark.rule("G-3")
async def test_over_the_quotas_of_files_is_quota_exceeded_and_nothing_is_lost() -> None:
    limits = evolve(DEFAULT_LIMITS, file_bytes=100, files_bytes=250)
    async with a_page(limits) as deska:
        assert await refusal(deska.files.put(Blob(bytes(101)))) is PageCode.QUOTA_EXCEEDED
        ids = [(await deska.files.put(Blob(bytes(100))))["id"] for _ in range(2)]
        assert await refusal(deska.files.put(Blob(bytes(51)))) is PageCode.QUOTA_EXCEEDED
        assert await deska.files.ids() == ids
        ids.append((await deska.files.put(Blob(bytes(50))))["id"])
        assert await refusal(deska.files.put(Blob(b"x"))) is PageCode.QUOTA_EXCEEDED
        await deska.files.delete(ids[0])
        await deska.files.put(Blob(bytes(100)))


@pytest.mark.rule("G-3", "G-1")
@pytest.mark.parametrize(
    "blob",
    [
        b"bytes",
        None,
        {"data": b"", "type": ""},
        Blob(bytearray(b"x"), "image/png"),  # type: ignore[arg-type]
        Blob("text", "text/plain"),  # type: ignore[arg-type]
        Blob(b"", "no type"),
        Blob(b"", "text/plain\n"),
        Blob(b"", None),  # type: ignore[arg-type]
    ],
    ids=range(8),
)
async def test_what_is_no_blob_is_invalid_args(blob: Any) -> None:
    async with a_page() as deska:
        assert await refusal(deska.files.put(blob)) is PageCode.INVALID_ARGS
        assert await deska.files.ids() == []


@pytest.mark.rule("G-3", "G-1")
@pytest.mark.parametrize("file_id", [1, None, "\ud800"])
async def test_a_file_s_id_is_text(file_id: Any) -> None:
    async with a_page() as deska:
        assert await refusal(deska.files.get(file_id)) is PageCode.INVALID_ARGS
        assert await refusal(deska.files.delete(file_id)) is PageCode.INVALID_ARGS


@pytest.mark.rule("G-3")
async def test_storage_and_files_work_before_ready_and_at_once() -> None:
    got: list[Any] = []
    over = anyio.Event()

    async def main(deska: Deska) -> None:
        async with anyio.create_task_group() as group:
            for n in range(20):
                group.start_soon(deska.storage.set, f"key-{n}", n)
                group.start_soon(deska.files.put, Blob(b"%d" % n))
        got.extend([await deska.storage.get(f"key-{n}") for n in range(20)])
        got.append(len(await deska.files.ids()))
        over.set()

    async with Host() as host:
        await host.install(a_panel())
        await host.start_page("board", page=main)
        await over.wait()
    assert got == [*range(20), 20]


@pytest.mark.rule("G-3")
async def test_a_panel_without_agents_keeps_things_too_and_an_update_keeps_them() -> None:
    async with Host() as host:
        hands = Hands()
        await host.install(offline_panel())
        page = await host.start_page("clock", page=hands.main)
        await hands.up.wait()
        await hands.deska.storage.set("key", [1])
        kept = await hands.deska.files.put(Blob(b"x"))
        new = Hands()
        await host.update(offline_panel(version="2.0.0"), page=new.main)
        await new.up.wait()
        assert page.closed
        assert await new.deska.storage.get("key") == [1]
        assert await new.deska.files.ids() == [kept["id"]]


@pytest.mark.rule("G-1", "G-3", "B-2")
async def test_a_store_that_fails_is_unsupported_for_the_page_and_told_to_the_embedder() -> None:
    told: list[tuple[str, Exception]] = []
    hands = Hands()
    async with Host(on_page_error=lambda panel, error: told.append((panel, error))) as host:
        await host.install(a_panel())
        page = await host.start_page("board", page=hands.main)
        await hands.up.wait()
        await hands.deska.storage.set("key", 1)
        store = host._keeper.store

        def fail(*_args: object) -> None:
            raise StoreFailed

        real = store.storage_set
        store.storage_set = fail  # type: ignore[method-assign]
        assert await refusal(hands.deska.storage.set("key", 2)) is PageCode.UNSUPPORTED
        store.storage_set = real  # type: ignore[method-assign]
        assert await hands.deska.storage.get("key") == 1
        await hands.deska.storage.set("key", 3)
        assert not page.closed
    assert [(panel, type(error)) for panel, error in told] == [("board", StoreFailed)]


# --- save, copy, notify


@pytest.mark.rule("G-1")
async def test_without_handlers_save_copy_and_notify_are_unsupported() -> None:
    panel = a_panel(permissions=["agent", "clipboard-write", "notify"])
    async with a_page(panel=panel) as deska:
        for asked in (deska.save("a.txt", Blob(b"")), deska.copy("x"), deska.notify("x")):
            assert await refusal(asked) is PageCode.UNSUPPORTED


@pytest.mark.rule("G-1")
async def test_handlers_get_the_panel_and_what_the_page_gave_and_copy_needs_its_permission() -> (
    None
):
    told: list[tuple[Any, ...]] = []

    async def handler(*args: Any) -> None:
        told.append(args)

    handlers = PageHandlers(save=handler, copy=handler, notify=handler)
    panel = a_panel(permissions=["agent", "clipboard-write", "notify"])
    blob = Blob(b"x", "text/plain")
    async with a_page(panel=panel, handlers=handlers) as deska:
        await deska.save("a.txt", blob)
        await deska.copy("copied")
        await deska.notify("notified")
        for asked in (
            deska.save(1, blob),  # type: ignore[arg-type]
            deska.save("a", b"x"),  # type: ignore[arg-type]
            deska.copy(None),  # type: ignore[arg-type]
            deska.notify(b"x"),  # type: ignore[arg-type]
            deska.copy("\ud800"),
        ):
            assert await refusal(asked) is PageCode.INVALID_ARGS
    assert told == [("board", "a.txt", blob), ("board", "copied"), ("board", "notified")]
    async with a_page(handlers=handlers) as deska:
        await deska.save("a.txt", blob)
        assert await refusal(deska.copy("x")) is PageCode.UNSUPPORTED
        assert await refusal(deska.notify("x")) is PageCode.UNSUPPORTED
    assert len(told) == 4


@pytest.mark.rule("G-1", "B-2")
async def test_a_handler_that_fails_is_unsupported_for_the_page_and_told_to_the_embedder() -> None:
    told: list[tuple[str, Exception]] = []
    failing = OSError("a.txt could not be written")

    async def save(*_args: Any) -> None:
        raise failing

    async with a_page(
        handlers=PageHandlers(save=save),
        on_page_error=lambda panel, error: told.append((panel, error)),
    ) as deska:
        assert await refusal(deska.save("a.txt", Blob(b""))) is PageCode.UNSUPPORTED
        await deska.storage.set("still", "here")
    assert told == [("board", failing)]


# --- reading it all back


@pytest.mark.rule("G-3")
async def test_what_resolved_is_in_the_file_at_that_very_moment(tmp_path: Path) -> None:
    import shutil
    import sqlite3

    path = tmp_path / "desk.db"
    async with a_page(path=path) as deska:
        await deska.storage.set("key", {"a": 1})
        kept = await deska.files.put(Blob(b"x" * 5_000, "text/plain"))
        copy = tmp_path / "copy.db"
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    connection = sqlite3.connect(copy)
    try:
        (value,) = connection.execute("SELECT value FROM storage WHERE panel = 'board'").fetchone()
        row = connection.execute("SELECT id, media_type, length(data) FROM file").fetchone()
    finally:
        connection.close()
    assert json.loads(value) == {"a": 1}
    assert row == (kept["id"], "text/plain", 5_000)
