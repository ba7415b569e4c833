"""Each code of an agent: caused by a client, or with a reason why no client sees it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import pytest
from attrs import evolve, field, frozen

from deska_sdk.errors import AgentCode
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.refusals import refusal_text
from tests.doors.support_door import a_client, a_door, call, code_of, text_of
from tests.host.support_host import StuckImages, a_panel, later, picture

if TYPE_CHECKING:
    from mcp.client.client import Client

    from tests.doors.support_door import Behind

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]

#: Codes that this door never shows; the docs say why.
ELSEWHERE = {AgentCode.PREVIEW_PAUSED, AgentCode.SUBAGENT_PAUSED, AgentCode.READ_DEFERRED}

CAUSES: dict[AgentCode, tuple[Any, dict[str, Any]]] = {}


@frozen
class Scene:
    """What a cause plays with."""

    behind: Behind
    client: Client
    group: anyio.abc.TaskGroup
    folder: Path = field(repr=False)

    async def under_way(self, action: str = "add", given: object = None) -> Any:
        """A call that the page has heard, and will not answer by itself."""
        result = later(self.group, call, self.client, action, given or {})
        await self.behind.hands.calls.get()
        return result


def causes(code: AgentCode, **options: Any) -> Any:
    """What follows causes ``code``, in a host with these options."""

    def take(function: Any) -> Any:
        CAUSES[code] = (function, options)
        return function

    return take


@causes(AgentCode.TURNED_OFF)
async def _(scene: Scene) -> Any:
    await scene.behind.host.person.turn_actions_off()
    return await call(scene.client, "add", {"text": "x"})


@causes(AgentCode.NOT_CONNECTED)
async def _(scene: Scene) -> Any:
    return await call(scene.client, "add", {"text": "x"}, "no-such-panel")


@causes(AgentCode.CONSENT_CHANGED)
async def _(scene: Scene) -> Any:
    changed = a_panel()
    changed["agent"]["actions"][0]["description"] = "Adds a note, and more."
    await scene.behind.host.update(changed, page=scene.behind.hands.main)
    return await call(scene.client, "add", {"text": "x"})


@causes(AgentCode.UNKNOWN_ACTION)
async def _(scene: Scene) -> Any:
    return await call(scene.client, "no_such_action")


@causes(AgentCode.PANEL_NOT_RUNNING)
async def _(scene: Scene) -> Any:
    await scene.behind.host.close_page(scene.behind.page)
    return await call(scene.client, "add", {"text": "x"})


@causes(AgentCode.PANEL_BUSY, limits=evolve(DEFAULT_LIMITS, open_calls_per_connection=1))
async def _(scene: Scene) -> Any:
    first = await scene.under_way("add", {"text": "x"})
    busy = await call(scene.client, "add", {"text": "y"})
    scene.behind.clock.advance(30)
    await first.wait()
    return busy


@causes(AgentCode.INVALID_INPUT)
async def _(scene: Scene) -> Any:
    return await call(scene.client, "add", {"text": 7})


@causes(AgentCode.TOO_MANY_IMAGES)
async def _(scene: Scene) -> Any:
    return await call(scene.client, "hang", {"more": ["a.png"] * 11})


@causes(AgentCode.IMAGE_NOT_FOUND)
async def _(scene: Scene) -> Any:
    return await call(scene.client, "hang", {"image": "no-such.png"})


@causes(AgentCode.IMAGE_OUTSIDE_FOLDER)
async def _(scene: Scene) -> Any:
    return await call(scene.client, "hang", {"image": "../fern.png"})


@causes(AgentCode.IMAGE_UNSUPPORTED)
async def _(scene: Scene) -> Any:
    (scene.folder / "notes.png").write_text("no image")
    return await call(scene.client, "hang", {"image": "notes.png"})


@causes(AgentCode.IMAGE_TOO_LARGE, limits=evolve(DEFAULT_LIMITS, image_bytes=20))
async def _(scene: Scene) -> Any:
    (scene.folder / "fern.png").write_bytes(picture())
    return await call(scene.client, "hang", {"image": "fern.png"})


@causes(AgentCode.IMAGE_TIMEOUT, images=StuckImages)
async def _(scene: Scene) -> Any:
    (scene.folder / "fern.png").write_bytes(picture())
    result = later(scene.group, call, scene.client, "hang", {"image": "fern.png"})
    await scene.behind.host._executor.asked.wait()  # type: ignore[attr-defined]
    scene.behind.clock.advance(10)
    return await result.wait()


@causes(AgentCode.PANEL_TIMEOUT)
async def _(scene: Scene) -> Any:
    result = await scene.under_way("add", {"text": "x"})
    scene.behind.clock.advance(30)
    return await result.wait()


@causes(AgentCode.PANEL_CLOSED)
async def _(scene: Scene) -> Any:
    result = await scene.under_way("add", {"text": "x"})
    await scene.behind.host.close_page(scene.behind.page)
    return await result.wait()


@causes(AgentCode.ANSWER_TOO_LARGE)
async def _(scene: Scene) -> Any:
    result = later(scene.group, call, scene.client, "read")
    await scene.behind.hands.answer({"notes": ["x" * 65_536]})
    return await result.wait()


@causes(AgentCode.STOPPED)
async def _(scene: Scene) -> Any:
    result = await scene.under_way("add", {"text": "x"})
    scene.behind.door.new_turn()
    return await result.wait()


@causes(AgentCode.PAUSE_FAILED)
async def _(scene: Scene) -> Any:
    scene.behind.modes.obeys = False
    result = later(scene.group, call, scene.client, "read")
    await scene.behind.hands.answer({"notes": []})
    return await result.wait()


@pytest.mark.rule("M-2", "A-9", "M-9")
@pytest.mark.parametrize(
    ("anyio_backend", "way", "era"),
    [("trio", "memory", "auto"), ("asyncio", "pipes", "auto"), ("asyncio", "http", "legacy")],
)
@pytest.mark.parametrize("code", CAUSES, ids=str)
async def test_each_code_is_what_the_docs_say_causes_it(
    code: AgentCode, way: str, era: str, tmp_path: Path
) -> None:
    cause, options = CAUSES[code]
    made = {name: value() if isinstance(value, type) else value for name, value in options.items()}
    async with (
        a_door(folder=tmp_path, **made) as behind,
        a_client(behind.door, way, era) as client,
        anyio.create_task_group() as group,
    ):
        result = await cause(Scene(behind, client, group, tmp_path))
        assert code_of(result) == code.value
        # The host's own words from the first to the last, whatever follows the sentence.
        first = refusal_text(code, options.get("limits", DEFAULT_LIMITS))
        assert text_of(result).startswith(first)
        heard = await behind.heard.get()
        assert (heard.tool, heard.code, heard.images) == ("call_action", code.value, 0)
        assert heard.is_error
        await behind.quiet()


@pytest.mark.rule("M-2")
def test_the_docs_have_each_code_with_its_cause_or_why_no_client_sees_it() -> None:
    text = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    _, _, codes = text.partition("\n## Codes\n")
    caused, _, others = codes.partition("\n## ")[0].partition("never shows")
    a_row = re.compile(r"^\| `(\w+)` \| \S", re.MULTILINE)
    assert a_row.findall(caused) == [code.value for code in AgentCode if code in CAUSES]
    assert set(a_row.findall(others)) == ELSEWHERE
    assert set(CAUSES) | ELSEWHERE == set(AgentCode)
    assert not set(CAUSES) & ELSEWHERE
