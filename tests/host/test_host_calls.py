"""A call through the whole host: what the page hears, and the one reply the agent gets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from attrs import evolve

from deska_host import Blob, Host, ImageWorker, ManualClock, NoImages
from deska_sdk import AgentCode, PageCode, PageError
from deska_sdk.errors import MAY_HAVE_HAPPENED, sentence
from deska_sdk.images import check_png
from deska_sdk.limits import DEFAULT_LIMITS
from tests.host.support_host import (
    NOOK,
    Hands,
    Images,
    StuckImages,
    a_desk,
    a_panel,
    answering,
    connect,
    later,
    picture,
)

if TYPE_CHECKING:
    from pathlib import Path

    from deska_host import Deska

pytestmark = pytest.mark.anyio

OK = {"ok": True}


def told(code: AgentCode) -> str:
    return f"{code.value}: {sentence(code)}"


# --- the whole way


@pytest.mark.rule("W-2", "R-1", "R-4", "N-1", "I-2", "I-4", "I-5", "L-1", "C-1")
async def test_nook_works_from_install_to_a_read_with_its_picture(tmp_path: Path) -> None:
    (tmp_path / "fern.jpg").write_bytes(picture((30, 20), "green", "JPEG"))
    async with Host() as host:
        await host.install(NOOK)
        page = await host.start_page("nook")
        task = host.attach_task("task-1", tmp_path)
        sheet = host.person.sheet("nook")
        assert [action.name for action in sheet.actions][-1] == "read_board"
        await host.person.connect("task-1", "nook", consent=sheet.fingerprint)
        async with task.turn() as agent:
            listed = json.loads((await agent.list_panels()).text)
            assert listed["panels"][0]["panel"] == "nook"

            async def call(action: str, **given: object) -> Any:
                reply = await agent.call_action("nook", action, given)
                assert reply.code is None, reply.text
                return reply

            added = await call("add_note", text="Water the fern")
            assert added.text == '{"ok":true,"revision":"r1"}'
            edited = await call("edit_note", note=1, text="Watered", revision="r1")
            assert edited.text == '{"ok":true,"revision":"r2"}'
            stale = await call("edit_note", note=1, text="No", revision="r1")
            assert stale.text == '{"ok":false,"revision":"r2","error":"conflict"}'
            hung = await call("add_image", image="fern.jpg", caption="The fern")
            assert hung.text == '{"ok":true,"revision":"r3"}'
            read = await call("read_board")
            assert read.text == (
                '<panel_content package="nook" panel="Nook" trust="untrusted">\n'
                '{"notes":["Watered"],"images":[{"file":"image:1","caption":"The fern"}]}\n'
                "</panel_content>"
            )
            (image,) = read.images
            assert (check_png(image.data).width, image.media_type) == (30, "image/png")
        assert host.pending == 0
        assert not page.closed


@pytest.mark.rule("A-2", "D-9", "T-3")
async def test_the_page_hears_exactly_call_id_action_and_the_checked_input() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        given = {"text": "a\u200bb", "count": 3.0}
        reply = later(group, desk.call, "add", given)
        call = await desk.hands.answer(OK)
        assert call.keys() == {"callId", "action", "input"}
        assert (call["action"], call["input"]) == ("add", {"text": "ab", "count": 3})
        assert type(call["input"]["count"]) is int
        assert given == {"text": "a\u200bb", "count": 3.0}
        assert (await reply.wait()).text == '{"ok":true}'


@pytest.mark.rule("A-2")
async def test_call_ids_are_long_and_never_the_same() -> None:
    async with a_desk(answering(lambda _, __: _ok())) as desk:
        ids = set()
        original = desk.page.side.receive

        def receive(message: dict[str, Any]) -> None:
            if message["type"] == "agent.action":
                ids.add(message["callId"])
            original(message)

        desk.page.side.receive = receive  # type: ignore[method-assign]
        for _ in range(20):
            await desk.call("add", {"text": "x"})
        assert len(ids) == 20
        assert all(len(call_id) >= 24 for call_id in ids)


async def _ok() -> dict[str, Any]:
    return OK


@pytest.mark.rule("I-2", "A-2")
async def test_the_page_gets_a_blob_with_the_original_bytes_where_the_path_was(
    tmp_path: Path,
) -> None:
    data = picture(kind="WEBP")
    (tmp_path / "lies.txt").write_bytes(data)
    async with a_desk(folder=tmp_path) as desk, anyio.create_task_group() as group:
        given = {"image": "lies.txt", "more": [str(tmp_path / "lies.txt")]}
        reply = later(group, desk.call, "hang", given)
        call = await desk.hands.answer(OK)
        blob = call["input"]["image"]
        assert blob == Blob(data, "image/webp") == call["input"]["more"][0]
        assert blob.size == len(data)
        assert (await reply.wait()).code is None
        assert desk.host.pending == 0


# --- every refusal an agent can cause


@pytest.mark.rule("A-9", "C-6")
async def test_turned_off() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        open_call = later(group, desk.call, "add", {"text": "x"})
        await desk.hands.calls.get()
        await desk.host.person.turn_actions_off()
        reply = await open_call.wait()
        assert reply.text == f"{told(AgentCode.TURNED_OFF)} {MAY_HAVE_HAPPENED}"
        assert (await desk.call("add", {"text": "x"})).text == told(AgentCode.TURNED_OFF)
        assert (await desk.agent.list_panels()).text == '{"panels":[]}'
        await desk.host.person.turn_actions_on()
        later_call = later(group, desk.call, "add", {"text": "x"})
        await desk.hands.answer(OK)
        assert (await later_call.wait()).code is None
        assert desk.hands.tasks == [0, 1, 0, 1]


@pytest.mark.rule("A-1", "A-9", "C-7")
async def test_not_connected_says_the_same_for_a_panel_that_is_there_and_one_that_is_not() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        open_call = later(group, desk.call, "add", {"text": "x"})
        await desk.hands.calls.get()
        await desk.host.person.disconnect("task-1", "board")
        reply = await open_call.wait()
        assert reply.text == f"{told(AgentCode.NOT_CONNECTED)} {MAY_HAVE_HAPPENED}"
        for panel in ("board", "nowhere", "", "Böard"):
            reply = await desk.call("add", {"text": "x"}, panel)
            assert (reply.code, reply.text) == (
                AgentCode.NOT_CONNECTED,
                told(AgentCode.NOT_CONNECTED),
            )


@pytest.mark.rule("C-2", "A-9")
async def test_consent_changed_until_the_person_has_seen_the_new_sheet() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        await desk.host.update(a_panel(name="Another"), page=desk.hands.main)
        assert desk.host.person.held("board")
        assert (await desk.call("read")).text == told(AgentCode.CONSENT_CHANGED)
        await connect(desk.host, "task-1", "board")
        reply = later(group, desk.call, "read")
        await desk.hands.answer({"notes": []})
        assert 'panel="Another"' in (await reply.wait()).text


@pytest.mark.rule("A-9")
@pytest.mark.parametrize("action", ["nothing", "", "ADD", "add ", 7, None])
async def test_unknown_action(action: Any) -> None:
    async with a_desk() as desk:
        assert (await desk.call(action)).text == told(AgentCode.UNKNOWN_ACTION)


@pytest.mark.rule("A-9", "A-7")
async def test_panel_not_running() -> None:
    async with a_desk() as desk:
        await desk.host.close_page(desk.page)
        assert (await desk.call("read")).text == told(AgentCode.PANEL_NOT_RUNNING)


@pytest.mark.rule("A-8", "A-9")
async def test_panel_busy_at_the_limit_of_one_task_and_of_one_panel() -> None:
    limits = evolve(DEFAULT_LIMITS, open_calls_per_connection=2, open_calls_per_panel=3)
    async with a_desk(limits=limits) as desk, anyio.create_task_group() as group:
        other = desk.host.attach_task("task-2")
        await connect(desk.host, "task-2", "board")
        async with other.turn() as agent:
            calls = [later(group, desk.call, "add", {"text": "x"}) for _ in range(2)]
            for _ in calls:
                await desk.hands.calls.get()
            assert (await desk.call("add", {"text": "x"})).text == told(AgentCode.PANEL_BUSY)
            calls.append(later(group, agent.call_action, "board", "add", {"text": "x"}))
            await desk.hands.calls.get()
            reply = await agent.call_action("board", "add", {"text": "x"})
            assert reply.code is AgentCode.PANEL_BUSY
            await desk.host.close_page(desk.page)
            assert [(await call.wait()).code for call in calls] == [AgentCode.PANEL_CLOSED] * 3
        assert desk.host.pending == 0


@pytest.mark.rule("A-9", "D-7", "D-11")
@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "text"),
        ({"text": "x", "unknown": 1}, "unknown"),
        ({"text": 5}, "/text"),
        ({"text": "x", "count": True}, "/count"),
        ([], ""),
        ("{", ""),
        (b'{"text":"\\ud800"}', ""),
        ('"{\\"text\\":\\"x\\"}"', "send an object, not text"),
        (object(), ""),
    ],
)
async def test_invalid_input_reaches_no_page_and_names_the_faults(given: Any, fault: str) -> None:
    async with a_desk() as desk:
        reply = await desk.call("add", given)
        head, *faults = reply.text.split("\n")
        assert head == told(AgentCode.INVALID_INPUT)
        assert faults
        assert fault in reply.text
        assert len(desk.hands.calls) == 0


@pytest.mark.rule("D-11")
async def test_an_input_may_be_json_text() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        for given in ('{"text":"x","count":1e2}', b'{"text":"x","count":1e2}'):
            reply = later(group, desk.call, "add", given)
            call = await desk.hands.answer(OK)
            assert call["input"] == {"text": "x", "count": 100}
            assert (await reply.wait()).code is None


@pytest.mark.rule("I-1", "I-2", "I-3", "A-9")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"more": ["missing.png"] * 11}, AgentCode.TOO_MANY_IMAGES),
        ({"image": "missing.png"}, AgentCode.IMAGE_NOT_FOUND),
        ({"image": ""}, AgentCode.IMAGE_NOT_FOUND),
        ({"image": "good.png/"}, AgentCode.IMAGE_NOT_FOUND),
        ({"image": "a\0b"}, AgentCode.IMAGE_NOT_FOUND),
        ({"image": "x" * 4_097}, AgentCode.IMAGE_NOT_FOUND),
        ({"image": "../out.png"}, AgentCode.IMAGE_OUTSIDE_FOLDER),
        ({"image": "../none.png"}, AgentCode.IMAGE_OUTSIDE_FOLDER),
        ({"image": "/etc/passwd"}, AgentCode.IMAGE_OUTSIDE_FOLDER),
        ({"image": "leaving.png"}, AgentCode.IMAGE_OUTSIDE_FOLDER),
        ({"image": "notes.txt"}, AgentCode.IMAGE_UNSUPPORTED),
        ({"image": "broken.png"}, AgentCode.IMAGE_UNSUPPORTED),
        ({"image": "."}, AgentCode.IMAGE_UNSUPPORTED),
        ({"image": "big.png"}, AgentCode.IMAGE_TOO_LARGE),
        ({"image": "wide.png"}, AgentCode.IMAGE_TOO_LARGE),
        ({"image": "good.png", "more": ["good.png", "missing.png"]}, AgentCode.IMAGE_NOT_FOUND),
    ],
)
async def test_an_image_that_cannot_be_handed_over_reaches_no_page(
    tmp_path: Path, given: dict[str, Any], code: AgentCode
) -> None:
    limits = evolve(DEFAULT_LIMITS, image_pixels=10_000, image_bytes=20_000)
    folder = tmp_path / "task"
    folder.mkdir()
    (tmp_path / "out.png").write_bytes(picture())
    (folder / "good.png").write_bytes(picture())
    (folder / "leaving.png").symlink_to(tmp_path / "out.png")
    (folder / "notes.txt").write_text("no image")
    (folder / "broken.png").write_bytes(picture()[:-30])
    (folder / "big.png").write_bytes(picture() + bytes(20_000))
    (folder / "wide.png").write_bytes(picture((200, 51)))
    async with a_desk(folder=folder, limits=limits) as desk:
        reply = await desk.call("hang", given)
        assert (reply.code, reply.text) == (code, f"{code.value}: {sentence(code, limits)}")
        assert len(desk.hands.calls) == 0
        assert desk.host.pending == 0


@pytest.mark.rule("I-1", "I-6")
async def test_a_task_without_a_folder_and_a_host_without_a_decoder_hand_over_no_image(
    tmp_path: Path,
) -> None:
    (tmp_path / "good.png").write_bytes(picture())
    async with a_desk() as desk:
        reply = await desk.call("hang", {"image": str(tmp_path / "good.png")})
        assert reply.code is AgentCode.IMAGE_NOT_FOUND
    async with a_desk(folder=tmp_path, images=NoImages()) as desk:
        reply = await desk.call("hang", {"image": "good.png"})
        assert reply.code is AgentCode.IMAGE_UNSUPPORTED


@pytest.mark.rule("A-3", "A-9")
async def test_images_that_take_ten_seconds_are_image_timeout(tmp_path: Path) -> None:
    (tmp_path / "good.png").write_bytes(picture())
    stuck = StuckImages()
    async with a_desk(folder=tmp_path, images=stuck) as desk, anyio.create_task_group() as group:
        reply = later(group, desk.call, "hang", {"image": "good.png"})
        await stuck.asked.wait()
        desk.clock.advance(9.99)
        assert desk.host.pending
        desk.clock.advance(0.02)
        assert (await reply.wait()).text == told(AgentCode.IMAGE_TIMEOUT)
        await anyio.wait_all_tasks_blocked()
        assert desk.host.pending == 0
        assert len(desk.hands.calls) == 0


@pytest.mark.rule("A-1", "C-7")
async def test_what_is_disconnected_while_its_images_are_read_is_not_delivered(
    tmp_path: Path,
) -> None:
    (tmp_path / "good.png").write_bytes(picture())
    stuck = StuckImages()
    async with a_desk(folder=tmp_path, images=stuck) as desk, anyio.create_task_group() as group:
        reply = later(group, desk.call, "hang", {"image": "good.png"})
        await stuck.asked.wait()
        await desk.host.person.disconnect("task-1", "board")
        # Nothing was handed over, so nothing may have happened.
        assert (await reply.wait()).text == told(AgentCode.NOT_CONNECTED)
        assert len(desk.hands.calls) == 0


@pytest.mark.rule("A-3", "A-5", "A-9")
@pytest.mark.parametrize("action", ["add", "read"])
async def test_a_page_that_never_answers_is_panel_timeout_after_thirty_seconds(
    action: str,
) -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        reply = later(group, desk.call, action, {"text": "x"} if action == "add" else {})
        call = await desk.hands.calls.get()
        desk.clock.advance(29.9)
        assert not reply.over
        assert desk.host.pending
        desk.clock.advance(0.1)
        expected = told(AgentCode.PANEL_TIMEOUT)
        if action == "add":
            expected += f" {MAY_HAVE_HAPPENED}"
        assert (await reply.wait()).text == expected
        with pytest.raises(PageError) as refused:
            await desk.hands.deska.agent.respond(call["callId"], OK)
        assert refused.value.code is PageCode.UNKNOWN_CALL
        assert desk.host.pending == 0


@pytest.mark.rule("N-4", "A-5")
async def test_answer_too_large_is_told_to_the_agent_and_true_to_the_page() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        frame = len('{"notes":[""]}')
        for size, code in ((65_536 - frame, None), (65_537 - frame, AgentCode.ANSWER_TOO_LARGE)):
            reply = later(group, desk.call, "read")
            await desk.hands.answer({"notes": ["x" * size]})
            assert (await reply.wait()).code == code
        reply = later(group, desk.call, "read")
        await desk.hands.answer({"notes": ["<" * 12_000]})
        assert (await reply.wait()).text == told(AgentCode.ANSWER_TOO_LARGE)


@pytest.mark.rule("A-9")
async def test_a_call_of_a_turn_that_ended_is_stopped() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        reply = later(group, desk.call, "add", {"text": "x"})
        await desk.hands.calls.get()
        desk.task.end_turn()
        assert (await reply.wait()).text == f"{told(AgentCode.STOPPED)} {MAY_HAVE_HAPPENED}"
        assert (await desk.call("read")).text == told(AgentCode.STOPPED)
        assert (await desk.agent.list_panels()).code is AgentCode.STOPPED


# --- answers


@pytest.mark.rule("A-5", "W-1", "N-1")
async def test_a_wrong_answer_is_invalid_args_and_the_call_waits_for_a_right_one() -> None:
    wrong: list[tuple[str, Any]] = [
        ("add", None),
        ("add", {"ok": 1}),
        ("add", {"ok": True, "error": "failed"}),
        ("add", {"ok": True, "note": "text for the agent"}),
        ("add", {"ok": False, "revision": "has space"}),
        ("read", {"notes": "x"}),
        ("read", {"unknown": []}),
        ("read", {"notes": [object()]}),
        ("read", {"images": [f"file-{n}" for n in range(11)]}),
    ]
    async with a_desk() as desk, anyio.create_task_group() as group:
        for action, answer in wrong:
            reply = later(group, desk.call, action, {"text": "x"} if action == "add" else {})
            call = await desk.hands.calls.get()
            for _ in range(2):
                with pytest.raises(PageError) as refused:
                    await desk.hands.deska.agent.respond(call["callId"], answer)
                assert refused.value.code is PageCode.INVALID_ARGS
            assert not reply.over
            right: dict[str, Any] = OK if action == "add" else {"notes": ["right"]}
            assert await desk.hands.deska.agent.respond(call["callId"], right) is True
            assert (await reply.wait()).code is None
            with pytest.raises(PageError) as refused:
                await desk.hands.deska.agent.respond(call["callId"], right)
            assert refused.value.code is PageCode.UNKNOWN_CALL


@pytest.mark.rule("A-2", "A-5")
async def test_a_page_answers_only_its_own_calls() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        other = Hands()
        await desk.host.install(a_panel("shelf"))
        await desk.host.start_page("shelf", page=other.main)
        await other.up.wait()
        reply = later(group, desk.call, "add", {"text": "x"})
        call = await desk.hands.calls.get()
        for hands, call_id in ((other, call["callId"]), (desk.hands, "no"), (desk.hands, 7)):
            with pytest.raises(PageError) as refused:
                await hands.deska.agent.respond(call_id, OK)
            assert refused.value.code is PageCode.UNKNOWN_CALL
        assert not reply.over
        await desk.hands.deska.agent.respond(call["callId"], OK)
        assert (await reply.wait()).code is None


@pytest.mark.rule("I-4")
async def test_images_of_an_answer_come_in_document_order_and_what_is_none_is_unavailable() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        files = desk.hands.deska.files
        red = (await files.put(Blob(picture((8, 8), "red"))))["id"]
        text = (await files.put(Blob(b"no image", "image/png")))["id"]
        blue = (await files.put(Blob(picture((9, 9), "blue", "JPEG"), "text/plain")))["id"]
        reply = later(group, desk.call, "read")
        await desk.hands.answer({"images": [blue, "gone", text, red, blue]})
        got = await reply.wait()
        line = got.text.split("\n")[1]
        assert json.loads(line) == {
            "images": ["image:1", "image:unavailable", "image:unavailable", "image:2", "image:1"]
        }
        assert [check_png(image.data).width for image in got.images] == [9, 8]
        assert desk.host.pending == 0


@pytest.mark.rule("I-4")
async def test_an_image_of_another_panel_is_unavailable() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        other = Hands()
        await desk.host.install(a_panel("shelf"))
        await desk.host.start_page("shelf", page=other.main)
        await other.up.wait()
        theirs = (await other.deska.files.put(Blob(picture())))["id"]
        reply = later(group, desk.call, "read")
        await desk.hands.answer({"images": [theirs]})
        got = await reply.wait()
        assert '{"images":["image:unavailable"]}' in got.text
        assert got.images == ()


@pytest.mark.rule("A-3", "A-7")
async def test_images_of_an_answer_that_take_too_long_are_unavailable_though_the_page_is_gone() -> (
    None
):
    stuck = StuckImages()
    async with a_desk(images=stuck) as desk, anyio.create_task_group() as group:
        kept = (await desk.hands.deska.files.put(Blob(picture())))["id"]
        reply = later(group, desk.call, "read")
        await desk.hands.answer({"images": [kept]})
        await stuck.asked.wait()
        # "after an accepted answer a close changes nothing".
        await desk.host.close_page(desk.page)
        desk.clock.advance(10)
        got = await reply.wait()
        assert '{"images":["image:unavailable"]}' in got.text
        await anyio.wait_all_tasks_blocked()
        assert desk.host.pending == 0


@pytest.mark.rule("I-2", "I-4", "I-6")
async def test_the_real_worker_checks_images_in_and_encodes_them_out(tmp_path: Path) -> None:
    (tmp_path / "good.jpg").write_bytes(picture((40, 30), "blue", "JPEG"))
    (tmp_path / "broken.png").write_bytes(picture((40, 30))[:-20])
    async with (
        a_desk(folder=tmp_path, images=ImageWorker()) as desk,
        anyio.create_task_group() as group,
    ):
        broken = await desk.call("hang", {"image": "broken.png"})
        assert broken.code is AgentCode.IMAGE_UNSUPPORTED
        reply = later(group, desk.call, "hang", {"image": "good.jpg"})
        call = await desk.hands.answer(OK)
        assert (await reply.wait()).code is None
        kept = (await desk.hands.deska.files.put(call["input"]["image"]))["id"]
        reply = later(group, desk.call, "read")
        await desk.hands.answer({"images": [kept]})
        (image,) = (await reply.wait()).images
        assert check_png(image.data).width == 40


# --- counters


@pytest.mark.rule("R-1", "R-4")
async def test_counters_belong_to_one_task_and_one_panel() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        other = desk.host.attach_task("task-2")
        await connect(desk.host, "task-2", "board")

        async def add(agent: Any, revision: str) -> str:
            reply = later(group, agent.call_action, "board", "add", {"text": "x"})
            await desk.hands.answer({"ok": True, "revision": revision})
            shown: str = json.loads((await reply.wait()).text)["revision"]
            return shown

        async def given(agent: Any, counter: str) -> str:
            reply = later(group, agent.call_action, "board", "edit", {"revision": counter})
            call = await desk.hands.answer(OK)
            await reply.wait()
            heard: str = call["input"]["revision"]
            return heard

        async with other.turn() as agent:
            shown = [
                await add(desk.agent, text) for text in ("one", "two-and-longer-than-8", "one")
            ]
            assert shown == ["r1", "r2", "r1"]
            assert await add(agent, "three") == "r1"
            # "The replaced value need not fit maxLength".
            assert await given(desk.agent, "r2") == "two-and-longer-than-8"
            assert await given(agent, "r1") == "three"
            assert await given(agent, "r2") == "r2"
            assert await given(desk.agent, "r1 ") == "r1 "


# --- many at once, and cancelled ones


@pytest.mark.rule("A-8", "A-3")
async def test_two_hundred_overlapping_calls_each_get_their_own_one_reply() -> None:
    panels = ["board", "shelf", "table"]
    hands = {panel: Hands() for panel in panels}
    async with Host(images=Images(), clock=ManualClock()) as host:
        for panel in panels:
            await host.install(a_panel(panel))
            await host.start_page(panel, page=hands[panel].main)
        tasks = [host.attach_task(f"task-{n}") for n in range(4)]
        replies: dict[str, str] = {}
        open_calls: list[tuple[Hands, dict[str, Any]]] = []

        async def call(agent: Any, panel: str, text: str) -> None:
            reply = await agent.call_action(panel, "add", {"text": text})
            assert text not in replies
            replies[text] = reply.text

        async with anyio.create_task_group() as group:
            for number, task in enumerate(tasks):
                for panel in panels:
                    await connect(host, task.id, panel)
                agent = task.start_turn()
                for n in range(51):
                    panel = panels[n % 3]
                    group.start_soon(call, agent, panel, f"{number}-{n}")
            for panel in panels:
                for _ in range(4 * 17):
                    open_calls.append((hands[panel], await hands[panel].calls.get()))
            assert len(open_calls) == 204
            assert host.pending == 2 * 204
            for number, (page, heard) in enumerate(reversed(open_calls)):
                answer = {"ok": False, "error": "failed"} if number % 2 else OK
                await page.deska.agent.respond(heard["callId"], answer)
        for number, (_, heard) in enumerate(reversed(open_calls)):
            expected = '{"ok":false,"error":"failed"}' if number % 2 else '{"ok":true}'
            assert replies[heard["input"]["text"]] == expected
        assert host.pending == 0


@pytest.mark.rule("A-8", "A-5")
async def test_a_call_cancelled_while_the_page_has_it_is_over_for_the_page() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        reply = later(group, desk.call, "add", {"text": "x"})
        call = await desk.hands.calls.get()
        reply.scope.cancel()
        await reply.ended()
        assert desk.host.pending == 0
        with pytest.raises(PageError) as refused:
            await desk.hands.deska.agent.respond(call["callId"], OK)
        assert refused.value.code is PageCode.UNKNOWN_CALL


@pytest.mark.rule("A-8")
async def test_a_call_cancelled_while_its_images_are_read_or_encoded_leaves_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "good.png").write_bytes(picture())
    for action in ("hang", "read"):
        stuck = StuckImages()
        async with (
            a_desk(folder=tmp_path, images=stuck) as desk,
            anyio.create_task_group() as group,
        ):
            kept = (await desk.hands.deska.files.put(Blob(picture())))["id"]
            given = {"image": "good.png"} if action == "hang" else {}
            reply = later(group, desk.call, action, given)
            if action == "read":
                await desk.hands.answer({"images": [kept]})
            await stuck.asked.wait()
            reply.scope.cancel()
            await reply.ended()
            await anyio.wait_all_tasks_blocked()
            assert desk.host.pending == 0


@pytest.mark.rule("A-8")
async def test_an_agent_that_is_refused_again_and_again_does_not_hold_the_loop() -> None:
    async with a_desk() as desk, anyio.create_task_group() as group:
        enough = False

        async def insist() -> None:
            for _ in range(10_000):
                if enough:
                    return
                assert (await desk.call("nothing")).code is AgentCode.UNKNOWN_ACTION
                await desk.agent.list_panels()
            raise AssertionError("nobody else had a turn")

        group.start_soon(insist)
        reply = later(group, desk.call, "read")
        await desk.hands.answer({})
        assert (await reply.wait()).code is None
        enough = True


@pytest.mark.rule("A-8")
async def test_an_agent_that_is_cancelled_at_any_step_leaves_nothing_pending(
    tmp_path: Path,
) -> None:
    (tmp_path / "good.png").write_bytes(picture())

    async def answer(deska: Deska, call: dict[str, Any]) -> object:
        if call["action"] == "hang":
            return OK
        kept = await deska.files.put(Blob(picture()))
        return {"images": [kept["id"]]}

    async with a_desk(answering(answer), folder=tmp_path) as desk:
        for steps in range(25):
            for action, given in (("hang", {"image": "good.png"}), ("read", {})):
                async with anyio.create_task_group() as group:
                    reply = later(group, desk.call, action, given)
                    for _ in range(steps):
                        await anyio.lowlevel.checkpoint()
                    reply.scope.cancel()
                    await reply.ended()
        await anyio.wait_all_tasks_blocked()
        assert desk.host.pending == 0


@pytest.mark.rule("D-11")
@pytest.mark.parametrize("codec", ["stdlib", "auto"])
async def test_a_host_gives_the_same_replies_with_either_codec(codec: Any) -> None:
    async with Host(codec=codec) as host:
        hands = Hands()
        await host.install(a_panel())
        await host.start_page("board", page=hands.main)
        task = host.attach_task("task-1")
        await connect(host, "task-1", "board")
        async with task.turn() as agent:
            for given in ({"text": 7}, '{"text": "a", "text": 7}', "{", {"text": "a", "x": 1}):
                assert (await agent.call_action("board", "add", given)).code == "invalid_input"


@pytest.mark.rule("D-10")
async def test_a_codec_that_does_not_exist_is_said_when_the_host_opens() -> None:
    with pytest.raises(ValueError, match="a codec is auto, stdlib or speed"):
        async with Host(codec="json"):  # type: ignore[arg-type]
            pass
