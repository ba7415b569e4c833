"""The reference host of Deska: the engine in one process, under anyio (asyncio or trio).

Names are loaded when they are first used, so that importing the package costs nothing: the pytest
plugin and ``deska check`` never load the loop, the store or Pillow.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deska_host.agents import Agent, AgentReply
    from deska_host.blobs import Blob, Image
    from deska_host.blocking import BlockingHost
    from deska_host.clock import Clock, ManualClock, SystemClock
    from deska_host.host import Host
    from deska_host.imaging import ImageExecutor, ImageWorker, NoImages
    from deska_host.package import PageNotLoaded
    from deska_host.page import Deska
    from deska_host.pages import RunningPage
    from deska_host.person import ConsentNeeded, Person
    from deska_host.port import PageHandlers
    from deska_host.store import (
        NotAStore,
        StoreClosed,
        StoreError,
        StoreFailed,
        StoreInUse,
        StoreTooNew,
    )
    from deska_host.tasks import Task

_HOMES = {
    "Agent": "agents",
    "AgentReply": "agents",
    "Blob": "blobs",
    "BlockingHost": "blocking",
    "Clock": "clock",
    "ConsentNeeded": "person",
    "Deska": "page",
    "Host": "host",
    "Image": "blobs",
    "ImageExecutor": "imaging",
    "ImageWorker": "imaging",
    "ManualClock": "clock",
    "NoImages": "imaging",
    "NotAStore": "store",
    "PageHandlers": "port",
    "PageNotLoaded": "package",
    "Person": "person",
    "RunningPage": "pages",
    "StoreClosed": "store",
    "StoreError": "store",
    "StoreFailed": "store",
    "StoreInUse": "store",
    "StoreTooNew": "store",
    "SystemClock": "clock",
    "Task": "tasks",
}

__all__ = [
    "Agent",
    "AgentReply",
    "Blob",
    "BlockingHost",
    "Clock",
    "ConsentNeeded",
    "Deska",
    "Host",
    "Image",
    "ImageExecutor",
    "ImageWorker",
    "ManualClock",
    "NoImages",
    "NotAStore",
    "PageHandlers",
    "PageNotLoaded",
    "Person",
    "RunningPage",
    "StoreClosed",
    "StoreError",
    "StoreFailed",
    "StoreInUse",
    "StoreTooNew",
    "SystemClock",
    "Task",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
