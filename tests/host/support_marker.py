"""B-2: one marker in every place an agent or a page can write, looked for in every place it must
not be: logs, reprs, notices, counts, and exceptions with all their contexts."""

from __future__ import annotations

import gc
import logging
import traceback
from typing import TYPE_CHECKING, Any

import pytest
from attrs import define, field

from deska_host.engine import Engine
from deska_sdk import DeskaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deska_host import Host

#: A token, so that it passes where only tokens do; no word of ours, nor of Python's.
MARK = "Xq7marker"


@define
class Watch:
    """All that a test saw, as text."""

    seen: list[str] = field(factory=list)
    events: int = 0
    effects: int = 0

    def see(self, *things: object) -> None:
        for thing in things:
            self.seen += [repr(thing), str(thing)]

    def see_error(self, error: BaseException) -> None:
        """An exception as a log would show it, and all that hangs on to it."""
        self.seen.append("".join(traceback.format_exception_only(error)))
        known: set[int] = set()
        waiting: list[BaseException] = [error]
        while waiting:
            one = waiting.pop()
            if id(one) in known:
                continue
            known.add(id(one))
            self.see(one, one.args, vars(one), getattr(one, "__notes__", ()))
            waiting += [e for e in (one.__cause__, one.__context__) if e is not None]
            if isinstance(one, BaseExceptionGroup):
                waiting += one.exceptions

    def assert_clean(self) -> None:
        leaks = [text for text in self.seen if MARK in text]
        assert leaks == [], leaks[:5]


def watching(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Watch]:
    """Sees every event that is fed, every effect that is done, and every log record."""
    caplog.set_level(logging.DEBUG)
    watch = Watch()
    feed = Engine.feed
    perform = Engine.perform

    def watched_feed(self: Engine, event: Any) -> None:
        watch.see(event)
        watch.events += 1
        feed(self, event)

    def watched_perform(self: Engine, kind: Any, performer: Any) -> None:
        def watched(effect: Any) -> None:
            watch.see(effect)
            watch.effects += 1
            performer(effect)

        perform(self, kind, watched)

    monkeypatch.setattr(Engine, "feed", watched_feed)
    monkeypatch.setattr(Engine, "perform", watched_perform)
    yield watch
    for record in caplog.records:
        watch.see(record.getMessage(), record.args, record.__dict__)
    watch.seen.append(caplog.text)


def everything_of(host: Host) -> list[object]:
    """The host's objects that are reachable from it, page code and the store's bytes left out."""
    found: list[object] = []
    known: set[int] = set()
    waiting: list[object] = [host]
    while waiting:
        one = waiting.pop()
        if id(one) in known:
            continue
        known.add(id(one))
        module = type(one).__module__
        if module.startswith(("deska_host", "deska_sdk")):
            found.append(one)
            waiting += gc.get_referents(one)
        elif isinstance(one, (dict, list, tuple, set)):
            waiting += gc.get_referents(one)
    return found


async def refused(asked: Any, watch: Watch) -> None:
    with pytest.raises(DeskaError) as error:
        await asked
    watch.see_error(error.value)
