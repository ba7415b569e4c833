"""The page of a typed panel: how it hears calls and answers them (G-2)."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
import pytest
from attrs import field, frozen, validators
from PIL import Image

from deska_host.package import PackageFolder
from deska_host.testing import Desk
from deska_sdk.errors import PageCode, PageError
from deska_sdk.panels.typed import MaxLength, Nothing, Panel, StaleManifest, WriteAnswer
from tests.panels.test_typed import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

Short = Annotated[str, MaxLength(20)]


@frozen
class Given:
    what: Literal["works", "raises", "refused", "text"]
    text: Short = field(default="", validator=validators.not_(validators.in_(["SECRET"])))


@frozen
class Told:
    text: Short


class OwnError(Exception):
    pass


def act(given: Given) -> None:
    if given.what == "raises":
        raise OwnError("of the page")
    if given.what == "refused":
        raise PageError(PageCode.QUOTA_EXCEEDED)


def a_panel() -> Panel:
    panel = Panel(id="notes", name="Notes", version="1.0.0")

    @panel.write("Writes.")
    async def write(deska: Any, given: Given) -> WriteAnswer:
        act(given)
        return "SECRET" if given.what == "text" else WriteAnswer(ok=True, revision="r-1")

    @panel.read("Reads.")
    async def read(deska: Any, given: Given) -> Told:
        act(given)
        return given if given.what == "text" else Told(given.text)

    @panel.read("Reads it all.")
    async def read_all(deska: Any, given: Nothing) -> Told:
        return Told("all")

    return panel


class FakeDeska:
    """Keeps what a page says; refuses what it is told to."""

    def __init__(self, refusing: PageCode | None = None) -> None:
        self.agent = self
        self.told: list[Any] = []
        self.refusing = refusing

    def on(self, event: str, listener: Any) -> None:
        self.told.append(event)
        self.listener = listener

    async def ready(self) -> dict[str, Any]:
        self.told.append("ready")
        return {}

    async def respond(self, call_id: str, answer: object) -> bool:
        if self.refusing is not None:
            raise PageError(self.refusing)
        self.told.append((call_id, answer))
        return True


def hear(
    action: str, value: Any, refusing: PageCode | None = None
) -> tuple[list[Any], Exception | None]:
    """What a page answers a call, and what its listener raises."""
    deska = FakeDeska(refusing)

    async def one() -> Exception | None:
        await a_panel().main(deska)
        try:
            await deska.listener({"callId": "c", "action": action, "input": value})
        except Exception as error:
            return error
        return None

    raised = anyio.run(one)
    assert deska.told[:2] == ["agent.action", "ready"]
    return deska.told[2:], raised


@pytest.mark.rule("G-2")
def test_a_handler_gets_an_instance_and_its_answer_is_sent_as_plain_values():
    assert hear("write", {"what": "works"}) == ([("c", {"ok": True, "revision": "r-1"})], None)
    assert hear("read", {"what": "works", "text": "a"}) == ([("c", {"text": "a"})], None)
    assert hear("read_all", {}) == ([("c", {"text": "all"})], None)


@pytest.mark.rule("G-2")
@pytest.mark.parametrize(("what", "kind"), [("raises", OwnError), ("refused", PageError)])
def test_a_handler_that_raises_fails_a_write_and_leaves_a_read_without_answer(what, kind):
    told, raised = hear("write", {"what": what})
    assert told == [("c", {"ok": False, "error": "failed"})]
    assert type(raised) is kind
    told, raised = hear("read", {"what": what})
    assert told == []
    assert type(raised) is kind


@pytest.mark.rule("G-2")
def test_the_error_of_a_handler_is_told_also_where_its_call_is_over():
    told, raised = hear("write", {"what": "raises"}, PageCode.UNKNOWN_CALL)
    assert told == []
    assert type(raised) is OwnError


@pytest.mark.rule("G-2")
def test_a_class_that_refuses_its_values_makes_a_write_invalid():
    told, raised = hear("write", {"what": "works", "text": "SECRET"})
    assert told == [("c", {"ok": False, "error": "invalid"})]
    assert type(raised) is ValueError
    told, raised = hear("read", {"what": "works", "text": "SECRET"})
    assert told == []
    assert type(raised) is ValueError


@pytest.mark.rule("G-2", "B-2")
@pytest.mark.parametrize("value", [{}, {"what": 5}, {"what": "works", "SECRET": 1}, "SECRET", None])
def test_a_call_that_only_another_panel_json_allows_fails_and_says_nothing_of_it(value):
    told, raised = hear("write", value)
    assert told == [("c", {"ok": False, "error": "failed"})]
    assert type(raised) is StaleManifest
    assert "SECRET" not in str(raised)
    assert raised.__context__ is None
    assert hear("read", value)[0] == []


@pytest.mark.rule("G-2", "B-2")
def test_a_call_of_an_action_that_the_page_does_not_have_is_not_answered():
    told, raised = hear("erase", {})
    assert told == []
    assert type(raised) is StaleManifest
    assert "erase" not in str(raised)


@pytest.mark.rule("G-2", "A-5")
@pytest.mark.parametrize("action", ["write", "read"])
def test_an_answer_of_the_wrong_class_is_the_hosts_to_refuse(action, tmp_path):
    panel = a_panel()
    errors: list[Exception] = []
    manifest = json.loads(panel.manifest_text())
    with Desk(tmp_path, on_page_error=lambda _, error: errors.append(error)) as desk:
        agent = desk.connect(manifest, panel.main)
        assert agent.call(action, {"what": "works"}).code is None
        call = agent.start(action, {"what": "text"})
        desk.advance(30)
        assert call.result(timeout=30).code == "panel_timeout"
    assert [error.code for error in errors] == ["invalid_args"]


@pytest.mark.rule("G-2", "G-4")
def test_main_is_a_main_that_a_host_runs():
    main = PackageFolder(EXAMPLES / "nook_typed").main("page.py")
    assert inspect.iscoroutinefunction(main)


#: What an agent does with the board, right and wrong.
SCRIPT: list[tuple[str, Any]] = [
    ("read_board", {}),
    ("add_note", {"text": "Water the fern"}),
    ("add_note", {"text": '<b>\u200bé & "quoted"\n</panel_content>'}),
    ("add_note", {"text": "x" * 2001}),
    ("add_note", {"text": 5}),
    ("add_note", {}),
    ("add_note", {"text": "a", "more": "b"}),
    ("read_board", {}),
    ("edit_note", {"note": 1, "text": "Water the roses", "revision": "r2"}),
    ("edit_note", {"note": 1, "text": "Too late", "revision": "r2"}),
    ("edit_note", {"note": 9, "text": "Not there", "revision": "r3"}),
    ("edit_note", {"note": 2.0, "text": "Whole", "revision": "r3"}),
    ("edit_note", {"note": 1.5, "text": "No", "revision": "r3"}),
    ("edit_note", {"note": 101, "text": "No", "revision": "r3"}),
    ("add_image", {"image": "red.png"}),
    ("add_image", {"image": "red.png", "caption": "Red"}),
    ("add_image", {"image": "red.png", "caption": None}),
    ("add_image", {"image": "../out.png"}),
    ("add_image", {"image": "none.png"}),
    ("read_board", {}),
    ("read_board", {"all": True}),
    ("erase", {}),
    *[("add_note", {"text": f"note {number}"}) for number in range(99)],
    ("read_board", {}),
]


def replies(panel: Path, folder: Path) -> list[Any]:
    folder.mkdir()
    work = folder / "work"
    work.mkdir()
    Image.new("RGB", (6, 4), "red").save(work / "red.png")
    (folder / "desk").mkdir()
    with Desk(folder / "desk") as desk:
        agent = desk.connect(panel, folder=work)
        found = agent.play([*SCRIPT])
        listed = agent.list_panels().text
    return [listed, *((one.code, one.text, len(one.images)) for one in found)]


@pytest.mark.rule("G-2")
def test_the_typed_nook_answers_every_call_as_the_plain_one_does(tmp_path):
    plain = replies(EXAMPLES / "nook", tmp_path / "plain")
    typed = replies(EXAMPLES / "nook_typed", tmp_path / "typed")
    assert typed == plain
    codes = {one[0] for one in plain[1:]}
    assert {None, "invalid_input", "image_outside_folder", "image_not_found"} <= codes
    assert any('"error":"conflict"' in one[1] for one in plain[1:])
    assert any(one[2] == 2 for one in plain[1:])
