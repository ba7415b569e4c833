"""What outlives the host, and what does not (G-3, R-2, P-6, C-2, B-1)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from deska_host import (
    Blob,
    ConsentNeeded,
    Host,
    ManualClock,
    PageNotLoaded,
    StoreInUse,
    StoreTooNew,
)
from deska_sdk import AgentCode, PersonCode, Refused
from tests.host.support_host import (
    NOOK,
    Hands,
    Images,
    a_desk,
    a_panel,
    connect,
    later,
    offline_panel,
    picture,
)

if TYPE_CHECKING:
    from pathlib import Path

    from deska_host import Agent

pytestmark = pytest.mark.anyio


async def a_write(agent: Agent, hands: Hands, revision: str) -> str:
    """The counter that the agent is shown for ``revision``."""
    async with anyio.create_task_group() as group:
        reply = later(group, agent.call_action, "board", "add", {"text": "x"})
        await hands.answer({"ok": True, "revision": revision})
        shown: str = json.loads((await reply.wait()).text)["revision"]
    return shown


@pytest.mark.rule("G-3", "C-2", "R-2", "B-1")
async def test_a_desk_is_as_it_was_when_its_host_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    async with a_desk(path=path) as desk:
        await desk.hands.deska.storage.set("key", {"a": [1]})
        kept = (await desk.hands.deska.files.put(Blob(picture(), "image/png")))["id"]
        assert await a_write(desk.agent, desk.hands, "one") == "r1"
        assert await a_write(desk.agent, desk.hands, "two") == "r2"
        await desk.host.install(NOOK)
        await connect(desk.host, "task-1", "nook")
        assert (await desk.call("nothing")).code is AgentCode.UNKNOWN_ACTION
        before = await desk.host.person.activity("board")
        sheet = desk.host.person.sheet("board")

    hands = Hands()
    async with Host(path, images=Images(), clock=ManualClock()) as host:
        assert list(host.installed()) == ["board", "nook"]
        assert host.installed()["board"].text == json.dumps(a_panel(), separators=(",", ":"))
        assert host.person.sheet("board") == sheet
        assert host.person.connected("task-1") == ("board", "nook")
        assert not host.person.held("board")
        assert await host.person.activity("board") == before
        # Nothing runs yet, and page code that was a value has to be given again.
        with pytest.raises(PageNotLoaded):
            await host.start_page("board")
        await host.start_page("board", page=hands.main)
        await host.start_page("nook")
        await hands.up.wait()
        assert hands.init == {"agent": {"tasks": 0}}
        task = host.attach_task("task-1")
        async with task.turn() as agent:
            listed = json.loads((await agent.list_panels()).text)
            assert [panel["panel"] for panel in listed["panels"]] == ["board", "nook"]
            assert await hands.deska.storage.get("key") == {"a": [1]}
            assert await hands.deska.files.ids() == [kept]
            async with anyio.create_task_group() as group:
                # "after a restart [...] an old counter is plain text".
                reply = later(group, agent.call_action, "board", "edit", {"revision": "r1"})
                call = await hands.answer({"ok": True})
                assert call["input"] == {"revision": "r1"}
                await reply.wait()
            shown = [await a_write(agent, hands, revision) for revision in ("two", "one")]
            assert not {"r1", "r2"} & set(shown)
            assert len(set(shown)) == 2
            assert (await agent.call_action("nook", "read_board", {})).code is None
        assert host.pending == 0


@pytest.mark.rule("R-2")
async def test_a_number_is_never_given_twice_over_many_restarts_and_disconnects(
    tmp_path: Path,
) -> None:
    path = tmp_path / "desk.db"
    meaning: dict[str, str] = {}
    for run in range(6):
        async with a_desk(path=path) as desk:
            for n in range(3 if run % 2 else 70):
                revision = f"run-{run}-{n}"
                counter = await a_write(desk.agent, desk.hands, revision)
                assert meaning.setdefault(counter, revision) == revision
            if run == 2:
                await desk.host.person.disconnect("task-1", "board")
            if run == 4:
                await desk.host.uninstall("board")


@pytest.mark.rule("C-6", "C-7", "P-6", "C-2")
async def test_turned_off_disconnected_updated_and_held_stay_so(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    async with a_desk(path=path) as desk:
        await desk.host.install(a_panel("shelf"))
        await connect(desk.host, "task-1", "shelf")
        await desk.host.person.disconnect("task-1", "board")
        await desk.host.update(a_panel("shelf", name="Renamed"))
        await desk.host.install(a_panel("gone"))
        await desk.host.uninstall("gone")
        await desk.host.person.turn_actions_off()
    async with Host(path) as host:
        task = host.attach_task("task-1")
        assert host.person.connected("task-1") == ("shelf",)
        assert host.person.held("shelf")
        async with task.turn() as agent:
            assert (await agent.call_action("shelf", "read", {})).code is AgentCode.TURNED_OFF
            await host.person.turn_actions_on()
            reply = await agent.call_action("shelf", "read", {})
            assert reply.code is AgentCode.CONSENT_CHANGED
        with pytest.raises(ConsentNeeded):
            await host.person.connect("task-1", "shelf")
        # Agreed once: the person is not asked again to connect the same panel.
        await host.person.connect("task-1", "board")
        for panel in ("gone", "shelf"):
            with pytest.raises(Refused) as refused:
                await host.install(offline_panel(panel, network=["a.example"]))
            assert refused.value.code is PersonCode.LEDGER_REFUSED
    async with Host(path) as host:
        assert host.person.connected("task-1") == ("shelf", "board")


@pytest.mark.rule("G-3", "C-2", "B-1", "R-2", "P-6")
@pytest.mark.parametrize("in_file", [False, True])
async def test_uninstalling_deletes_what_the_panel_kept_but_not_its_ledger_nor_its_numbers(
    tmp_path: Path, in_file: bool
) -> None:
    path = tmp_path / "desk.db" if in_file else None
    async with a_desk(path=path) as desk:
        host = desk.host
        other = Hands()
        await host.install(a_panel("shelf"))
        await host.start_page("shelf", page=other.main)
        await other.up.wait()
        await connect(host, "task-1", "shelf")
        for deska in (desk.hands.deska, other.deska):
            await deska.storage.set("key", 1)
            await deska.files.put(Blob(b"x"))
        assert await a_write(desk.agent, desk.hands, "one") == "r1"
        assert (await host.person.activity("board")).actions

        await host.uninstall("board")

        assert desk.page.closed
        assert list(host.installed()) == ["shelf"]
        assert host.person.connected("task-1") == ("shelf",)
        assert (await desk.call("read")).code is AgentCode.NOT_CONNECTED
        assert not (await host.person.activity("board")).actions
        assert await other.deska.storage.get("key") == 1
        assert len(await other.deska.files.ids()) == 1

        new = Hands()
        await host.install(a_panel())
        await host.start_page("board", page=new.main)
        await new.up.wait()
        assert await new.deska.storage.get("key") is None
        assert await new.deska.files.ids() == []
        assert host.person.connected("task-1") == ("shelf",)
        with pytest.raises(ConsentNeeded):
            await host.person.connect("task-1", "board")
        await connect(host, "task-1", "board")
        # "The ledger and counter high-water marks stay."
        assert await a_write(desk.agent, new, "two") != "r1"
        with pytest.raises(Refused) as refused:
            await host.install(offline_panel("board", network=["a.example"]))
        assert refused.value.code is PersonCode.LEDGER_REFUSED


@pytest.mark.rule("G-3")
async def test_what_a_page_asks_for_behind_its_panel_s_uninstalling_is_not_kept(
    tmp_path: Path,
) -> None:
    async with a_desk(path=tmp_path / "desk.db") as desk, anyio.create_task_group() as group:
        gone = later(group, desk.host.uninstall, "board")
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        late = Hands()

        async def put() -> None:
            try:
                await desk.host.start_page("board", page=late.main)
            except Refused:
                return
            await late.up.wait()
            await late.deska.storage.set("late", 1)
            await late.deska.files.put(Blob(b"late"))

        written = later(group, put)
        await gone.wait()
        await written.ended()
        again = Hands()
        await desk.host.install(a_panel())
        await desk.host.start_page("board", page=again.main)
        await again.up.wait()
        assert await again.deska.storage.get("late") is None
        assert await again.deska.files.ids() == []


@pytest.mark.rule("G-3")
async def test_a_second_host_on_the_same_file_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    async with a_desk(path=path) as desk:
        for _ in range(2):
            with pytest.raises(StoreInUse) as refused:
                async with Host(path):
                    raise AssertionError
            assert str(path) not in str(refused.value)
        await desk.hands.deska.storage.set("key", 1)
    assert path.stat().st_mode & 0o777 == 0o600
    async with Host(path) as host:
        assert list(host.installed()) == ["board"]


@pytest.mark.rule("G-3")
async def test_a_file_of_a_later_version_is_refused_and_a_host_opens_once(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "desk.db"
    host = Host(path)
    async with host:
        pass
    with pytest.raises(RuntimeError):
        async with host:
            raise AssertionError
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(StoreTooNew):
        async with Host(path):
            raise AssertionError


@pytest.mark.rule("G-4")
async def test_a_folder_panel_starts_from_its_folder_after_a_restart(tmp_path: Path) -> None:
    path, folder = tmp_path / "desk.db", tmp_path / "nook \udcff"
    folder.mkdir()
    for name in ("panel.json", "page.py"):
        (folder / name).write_bytes((NOOK / name).read_bytes())
    async with Host(path) as host:
        await host.install(folder)
        await host.start_page("nook")
        host.attach_task("task-1")
        await connect(host, "task-1", "nook")
    async with Host(path) as host:
        await host.start_page("nook")
        async with host.attach_task("task-1").turn() as agent:
            reply = await agent.call_action("nook", "add_note", {"text": "x"})
            assert json.loads(reply.text)["ok"] is True


@pytest.mark.rule("B-1")
async def test_activity_counts_calls_and_refusals_and_no_name_an_agent_chose() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        for _ in range(3):
            reply = later(group, desk.call, "add", {"text": "x"})
            await desk.hands.answer({"ok": False, "error": "failed"})
            await reply.wait()
        desk.clock.advance(5)
        reply = later(group, desk.call, "read")
        await desk.hands.calls.get()
        desk.clock.advance(30)
        await reply.wait()
        await desk.call("add", {"secret": "value"})
        for name in ("secret-1", "secret-2"):
            await desk.call(name)
        await desk.call("add", {"text": "x"}, "secret-panel")
        activity = await desk.host.person.activity("board")
        now = desk.clock.wall()
        assert [(a.action, a.called, a.last) for a in activity.actions] == [
            ("add", 4, now),
            ("read", 1, now),
        ]
        assert {(r.action, r.code, r.count, r.last) for r in activity.refusals} == {
            ("", "unknown_action", 2, now),
            ("add", "invalid_input", 1, now),
            ("read", "panel_timeout", 1, now),
        }
        assert "secret" not in repr(activity)
        empty: Any = await desk.host.person.activity("secret-panel")
        assert (empty.actions, empty.refusals) == ((), ())


@pytest.mark.rule("B-1")
async def test_counts_are_kept_across_restarts_and_added_up(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    for run in range(1, 4):
        async with a_desk(path=path) as desk:
            await desk.call("add", {})
        async with Host(path) as host:
            (refused,) = (await host.person.activity("board")).refusals
            assert (refused.code, refused.count) == ("invalid_input", run)
