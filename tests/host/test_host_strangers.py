"""Code that is not the host's: pages, hooks and programs that do what nobody expected."""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum

import anyio
import attrs
import pytest

from deska_host import Host, ManualClock, PageNotLoaded
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from tests.host.support_host import a_desk, a_panel, answering

pytestmark = pytest.mark.anyio


class Gone(BaseException):
    """An error of a page that is no Exception."""


def a_folder(folder, source, **files):
    panel = a_panel(entry="page.py")
    (folder / "panel.json").write_text(json.dumps(panel))
    (folder / "page.py").write_text(source)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.mark.rule("G-4")
@pytest.mark.parametrize(
    "error", [SystemExit(3), Gone("x"), GeneratorExit(), BaseExceptionGroup("x", [Gone("y")])]
)
async def test_whatever_a_page_raises_closes_it_and_leaves_the_host(error):
    raised = []

    async def main(_deska):
        raise error

    async with Host(on_page_error=lambda panel, what: raised.append((panel, what))) as host:
        await host.install(a_panel(), page=main)
        page = await host.start_page("board")
        await page.wait_closed()
        assert raised == [("board", error)]
        assert "board" in host.installed()


@pytest.mark.rule("G-4")
@pytest.mark.parametrize("error", [SystemExit(3), Gone("x")])
async def test_whatever_a_handler_raises_is_its_own_matter(error):
    async def answer(_deska, _call):
        raise error

    async with a_desk(answering(answer)) as desk:
        clock = desk.clock
        async with anyio.create_task_group() as group:
            group.start_soon(_call, desk, (replies := []))
            await anyio.wait_all_tasks_blocked()
            clock.advance(30)
        assert replies == ["panel_timeout"]


async def _call(desk, replies):
    replies.append((await desk.agent.call_action("board", "add", {"text": "x"})).code)


@pytest.mark.rule("G-4")
async def test_a_page_may_use_dataclasses_and_import_what_stands_beside_it(tmp_path):
    source = (
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from . import helper\n"
        "@dataclass\nclass Note:\n    text: str\n"
        "async def main(deska):\n"
        "    await deska.storage.set('note', Note(helper.WORD).text)\n"
        "    await deska.ready()\n"
    )
    folder = a_folder(tmp_path, source, helper="WORD = 'first'\n")
    before = set(sys.modules)
    async with Host() as host:
        await host.install(folder)
        await host.start_page("board")
        (folder / "helper.py").write_text("WORD = 'second word'\n")
        await host.reload("board")
    loaded = {name.partition(".")[0] for name in set(sys.modules) - before if "deska_page" in name}
    assert len(loaded) == 1


@pytest.mark.rule("G-4", "P-6")
async def test_a_version_whose_page_cannot_be_loaded_takes_nobodys_place(tmp_path):
    folder = a_folder(tmp_path, "async def main(deska):\n    await deska.ready()\n")
    async with Host() as host:
        await host.install(folder)
        page = await host.start_page("board")
        (folder / "page.py").write_text("def main(:\n")
        panel = json.loads((folder / "panel.json").read_text()) | {"version": "2.0.0"}
        (folder / "panel.json").write_text(json.dumps(panel))
        with pytest.raises(PageNotLoaded):
            await host.reload("board")
        assert not page.closed
        assert host.installed()["board"].version == "1.0.0"


@pytest.mark.rule("P-7")
async def test_a_manifest_that_is_no_file_inside_its_folder_is_not_read(tmp_path):
    outside, folder = tmp_path / "outside.json", tmp_path / "panel"
    folder.mkdir()
    outside.write_text(json.dumps(a_panel()))
    async with Host() as host:
        (folder / "panel.json").symlink_to(outside)
        with pytest.raises(OSError, match="inside"):
            await host.install(folder)
        (folder / "panel.json").unlink()
        os.mkfifo(folder / "panel.json")
        with pytest.raises(OSError, match="inside"):
            await host.install(folder)


@pytest.mark.rule("W-1", "A-3")
async def test_a_revision_may_be_as_long_as_the_limits_say():
    async def answer(_deska, _call):
        return {"ok": True, "revision": "v" * 65}

    limits = attrs.evolve(DEFAULT_LIMITS, revision=100)
    async with a_desk(answering(answer), limits=limits) as desk:
        reply = await desk.agent.call_action("board", "add", {"text": "x"})
        assert json.loads(reply.text) == {"ok": True, "revision": "r1"}


class Word(str):
    """A text that is not one."""

    __slots__ = ()


class Choice(StrEnum):
    """As programs have them."""

    EMPTY = "{}"


@pytest.mark.rule("D-8")
@pytest.mark.parametrize("given", [Word("{}"), Choice.EMPTY, type("B", (bytes,), {})(b"{}")])
async def test_an_input_of_a_kind_of_text_is_refused_and_never_raised(given):
    async with a_desk() as desk:
        reply = await desk.agent.call_action("board", "read", given)
        assert reply.code == "invalid_input"


@pytest.mark.rule("A-2")
async def test_what_one_listener_does_to_its_call_is_not_heard_by_another():
    heard = []
    done = anyio.Event()

    async def main(deska):
        def first(call):
            call["input"]["text"] = "changed"
            call["callId"] = "other"

        async def second(call):
            heard.append(call["input"]["text"])
            await deska.agent.respond(call["callId"], {"ok": True})
            done.set()

        deska.on("agent.action", first)
        deska.on("agent.action", second)
        init = await deska.ready()
        init["agent"]["tasks"] = 99
        heard.append((await deska.ready())["agent"]["tasks"] == 99)

    async with a_desk(main) as desk:
        reply = await desk.agent.call_action("board", "add", {"text": "as sent"})
        await done.wait()
        assert reply.code is None
    assert heard == [False, "as sent"] or heard == ["as sent", False]


@pytest.mark.parametrize("name", ["person", "assistant"])
async def test_a_host_that_is_not_open_says_so(name):
    host = Host(clock=ManualClock())
    with pytest.raises(RuntimeError, match="not open"):
        getattr(host, name)
    with pytest.raises(RuntimeError, match="not open"):
        host.attach_task("t")
    with pytest.raises(AttributeError):
        _ = host.nothing_of_this_name


@pytest.mark.parametrize("task", [None, 5, "", ("t",), "\ud800"])
async def test_the_id_of_a_task_is_a_text(task):
    async with Host() as host:
        with pytest.raises(ValueError, match="id of a task"):
            host.attach_task(task)


@pytest.mark.parametrize("value", [None, True, -1, float("nan"), "30", 10**400, 2.5])
def test_a_limit_is_a_number_that_can_be_one(value):
    with pytest.raises(ValueError, match="the limit answer"):
        Limits(answer=value)
