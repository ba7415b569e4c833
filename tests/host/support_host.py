"""A small desk for the host's tests: a panel, a page that a test plays by hand, an agent."""

from __future__ import annotations

import io
from collections import deque
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio
import anyio.abc
import anyio.lowlevel
from attrs import define
from PIL import Image

from deska_host import Agent, AgentReply, ConsentNeeded, Host, ManualClock, Task
from deska_sdk import images
from deska_sdk.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from deska_host import Deska, RunningPage
    from deska_sdk.images import Background, ImageInfo

T = TypeVar("T")

NOOK = Path(__file__).parents[2] / "examples" / "nook"

TEXT = {"type": "string", "maxLength": 2_000}
PATH = {"type": "string", "maxLength": 5_000, "format": "deska-image"}
FILE = {"type": "string", "maxLength": 64, "format": "deska-file"}


def an_object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """An object's schema."""
    return {"type": "object", "properties": properties, "required": list(required)}


def an_array(items: dict[str, Any], most: int = 20) -> dict[str, Any]:
    """An array's schema."""
    return {"type": "array", "items": items, "maxItems": most}


def a_panel(panel: str = "board", **changes: Any) -> dict[str, Any]:
    """The panel.json of a board with two writes, a write that takes images, and a read."""
    actions = [
        {
            "name": "add",
            "kind": "write",
            "description": "Adds a note.",
            "input": an_object(("text",), text=TEXT, count={"type": "integer"}),
        },
        {
            "name": "edit",
            "kind": "write",
            "description": "Edits a note.",
            "input": an_object(("revision",), revision={"type": "string", "maxLength": 8}),
        },
        {
            "name": "hang",
            "kind": "write",
            "description": "Hangs pictures.",
            "input": an_object(image=PATH, more=an_array(PATH)),
        },
        {
            "name": "read",
            "kind": "read",
            "description": "Reads the board.",
            "input": an_object(),
            "output": an_object(
                notes=an_array({**TEXT, "maxLength": 70_000}), images=an_array(FILE)
            ),
        },
    ]
    return {
        "id": panel,
        "name": panel.title(),
        "version": "1.0.0",
        "sdk": 4,
        "permissions": ["agent"],
        "agent": {"actions": actions},
        **changes,
    }


def offline_panel(panel: str = "clock", **changes: Any) -> dict[str, Any]:
    """The panel.json of a panel that has nothing to do with agents."""
    return {"id": panel, "name": panel.title(), "version": "1.0.0", "sdk": 1, **changes}


def picture(size: tuple[int, int] = (6, 4), colour: str = "red", kind: str = "PNG") -> bytes:
    """An image of one colour."""
    target = io.BytesIO()
    Image.new("RGB", size, colour).save(target, kind)
    return target.getvalue()


class Images:
    """Decodes in this process, which is fine for images that the tests made themselves."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self.closed = False

    async def verify(self, data: bytes) -> ImageInfo:
        await anyio.lowlevel.checkpoint()
        return images.verify(data, limits=self.limits)

    async def to_png(
        self, data: bytes, max_side: int | None = None, background: Background = "white"
    ) -> bytes:
        await anyio.lowlevel.checkpoint()
        return images.to_png(data, max_side, background, limits=self.limits)

    async def aclose(self) -> None:
        self.closed = True


class StuckImages(Images):
    """An executor that never comes back by itself; ``asked`` is set when it has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = anyio.Event()

    async def verify(self, data: bytes) -> ImageInfo:
        self.asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    async def to_png(
        self, data: bytes, max_side: int | None = None, background: Background = "white"
    ) -> bytes:
        self.asked.set()
        await anyio.sleep_forever()
        raise AssertionError


class Inbox(Generic[T]):
    """What arrived, to be waited for one by one."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._more = anyio.Event()

    def put(self, item: T) -> None:
        self._items.append(item)
        self._more.set()

    async def get(self) -> T:
        while not self._items:
            self._more = anyio.Event()
            await self._more.wait()
        return self._items.popleft()

    def __len__(self) -> int:
        return len(self._items)


class Hands:
    """A page that does nothing by itself: a test sees its calls and answers them."""

    def __init__(self) -> None:
        self.deska: Deska
        self.init: dict[str, Any] | None = None
        self.calls: Inbox[dict[str, Any]] = Inbox()
        self.tasks: list[int] = []
        self.up = anyio.Event()

    async def main(self, deska: Deska) -> None:
        self.deska = deska
        deska.on("agent.action", self.calls.put)
        deska.on("agent.connected", lambda told: self.tasks.append(told["tasks"]))
        self.init = await deska.ready()
        self.up.set()

    async def answer(self, answer: object) -> dict[str, Any]:
        """Wait for the next call and answer it; the call."""
        call = await self.calls.get()
        assert await self.deska.agent.respond(call["callId"], answer) is True
        return call


def answering(answer: Callable[[Deska, dict[str, Any]], Awaitable[object]]) -> Any:
    """A page that answers every call with what ``answer`` gives."""

    async def main(deska: Deska) -> None:
        async def hear(call: dict[str, Any]) -> None:
            await deska.agent.respond(call["callId"], await answer(deska, call))

        deska.on("agent.action", hear)
        await deska.ready()

    return main


class Later(Generic[T]):
    """What a function that runs in the background will give."""

    def __init__(self) -> None:
        self._over = anyio.Event()
        self._result: list[T] = []
        self.error: BaseException | None = None
        self.scope = anyio.CancelScope()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    async def _run(self, function: Callable[..., Awaitable[T]], *args: object) -> None:
        try:
            with self.scope:
                self._result.append(await function(*args))
        except Exception as error:
            self.error = error
        finally:
            self._over.set()

    async def wait(self) -> T:
        await self._over.wait()
        if self.error is not None:
            raise self.error
        return self._result[0]

    async def ended(self) -> None:
        await self._over.wait()


def later(
    group: anyio.abc.TaskGroup, function: Callable[..., Awaitable[T]], *args: object
) -> Later[T]:
    """Start ``function`` in the background."""
    result: Later[T] = Later()
    group.start_soon(result._run, function, *args)
    return result


async def connect(host: Host, task: str, panel: str) -> None:
    """Connect as a person does: look at the sheet where there is one, and agree."""
    try:
        await host.person.connect(task, panel)
    except ConsentNeeded as needed:
        sheet = needed.sheet
    else:
        return
    await host.person.connect(task, panel, consent=sheet.fingerprint)


@define
class Desk:
    """An open host with one panel, its page, and a task in a turn that is connected to it."""

    host: Host
    clock: ManualClock
    task: Task
    agent: Agent
    hands: Hands
    page: RunningPage

    async def call(self, action: str, given: object = None, panel: str = "board") -> AgentReply:
        return await self.agent.call_action(panel, action, {} if given is None else given)


@asynccontextmanager
async def a_desk(
    page: Any = None,
    *,
    path: Path | None = None,
    panel: dict[str, Any] | None = None,
    folder: Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
    **options: Any,
) -> AsyncGenerator[Desk]:
    """A :class:`Desk`. Without a ``page`` its calls are answered by hand."""
    options.setdefault("images", Images(limits))
    clock = options.setdefault("clock", ManualClock())
    hands = Hands()
    async with Host(path, limits=limits, **options) as host:
        manifest = await host.install(a_panel() if panel is None else panel)
        running = await host.start_page(manifest.id, page=hands.main if page is None else page)
        if page is None:
            await hands.up.wait()
        task = host.attach_task("task-1", folder)
        await connect(host, task.id, manifest.id)
        async with task.turn() as agent:
            yield Desk(host, clock, task, agent, hands, running)
