"""A busy host is killed at random moments; what it had acknowledged is there, whole (G-3, R-2).

    python -m tests.byhand.sigkill --kills 200

A child process works on a desk and writes a line before and after each durable act. This process
kills it with SIGKILL somewhere in between, opens the store, and compares. The next child goes on
with the same file. A seed is printed, and ``--seed`` plays its kills again, as far as the system's
scheduler lets it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Self

import anyio
from attrs import define, field

from deska_host import Blob, Host
from deska_host.store import open_store
from deska_sdk.records import (
    ConnectionRecord,
    ConsentRecord,
    InstallRecord,
    LedgerRecord,
    SwitchRecord,
)
from tests.host.support_host import a_panel

TASKS = ("t0", "t1")
PANELS = ("p0", "p1")
KEYS = ("k0", "k1", "k2")

# ---------------------------------------------------------------- the child: a busy desk


def tell(*line: object) -> None:
    """One line to the one who kills; a single write, so it is there whole or not at all."""
    os.write(1, json.dumps(line).encode() + b"\n")


class Busy:
    """Four workers on one host, each with things of its own."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.host: Host
        self.deska: Any = None
        self.up = anyio.Event()

    async def page(self, deska: Any) -> None:
        self.deska = deska

        async def hear(call: dict[str, Any]) -> None:
            await deska.agent.respond(
                call["callId"], {"ok": True, "revision": call["input"]["text"]}
            )

        deska.on("agent.action", hear)
        await deska.ready()
        self.up.set()

    async def run(self, path: str) -> None:
        async with Host(path) as host:
            self.host = host
            tell("up")
            tasks = [host.attach_task(task) for task in TASKS]
            if "board" not in host.installed():
                await host.install(a_panel())
            await host.start_page("board", page=self.page)
            await self.up.wait()
            async with anyio.create_task_group() as group:
                for task in tasks:
                    sheet = host.person.sheet("board")
                    await host.person.connect(task.id, "board", consent=sheet.fingerprint)
                    group.start_soon(self.write, task)
                group.start_soon(self.store)
                group.start_soon(self.keep)
                group.start_soon(self.decide)

    async def write(self, task: Any) -> None:
        luck = random.Random(f"{self.seed}{task.id}")
        revisions = [f"{self.seed}.{task.id}.{n}" for n in range(2_000)]
        async with task.turn() as agent:
            while True:
                for _ in range(10):
                    text = luck.choice(revisions)
                    reply = await agent.call_action("board", "add", {"text": text})
                    shown = json.loads(reply.text) if reply.code is None else {}
                    if "revision" in shown:
                        tell("shown", task.id, shown["revision"], text)
                # A turn in the store's queue, so that the other workers get theirs.
                await self.deska.storage.get("k0")

    async def store(self) -> None:
        luck = random.Random(f"{self.seed}store")
        number = 0
        while True:
            number += 1
            key, size = luck.choice(KEYS), luck.choice((1, 100, 50_000))
            act = {f"storage:{key}": [self.seed, number, size]}
            tell("try", "store", act)
            await self.deska.storage.set(key, [self.seed, number, "x" * size])
            tell("done", "store", act)

    async def keep(self) -> None:
        luck = random.Random(f"{self.seed}keep")
        number = 0
        while True:
            number += 1
            ids = await self.deska.files.ids()
            if len(ids) > 8:
                gone = luck.choice(ids)
                tell("try", "keep", {f"file:{gone}": None})
                await self.deska.files.delete(gone)
                tell("done", "keep", {f"file:{gone}": None})
            size = luck.choice((0, 10, 200_000))
            what = f"test/{self.seed}-{number}-{size}"
            tell("try", "keep", {"file:": what})
            kept = await self.deska.files.put(Blob(bytes_of(what), what))
            tell("done", "keep", {f"file:{kept['id']}": what})

    async def decide(self) -> None:
        luck = random.Random(f"{self.seed}decide")
        host, person = self.host, self.host.person
        number = 0
        while True:
            number += 1
            panel, task = luck.choice(PANELS), luck.choice(TASKS)
            there = panel in host.installed()
            match luck.randrange(6):
                case 0 | 1:
                    version = f"1.0.{number}"
                    manifest = a_panel(panel, version=version, name=luck.choice("ABC"))
                    act: dict[str, Any] = {f"install:{panel}": version, f"ledger:{panel}": True}
                    await self.act(act, lambda given: host.install(given), manifest)
                case 2 if there:
                    mark = person.sheet(panel).fingerprint
                    act = {f"connection:{task}:{panel}": True, f"consent:{panel}": mark}
                    await self.act(
                        act,
                        lambda given: person.connect(*given[:2], consent=given[2]),
                        (task, panel, mark),
                    )
                case 3 if there:
                    act = {f"connection:{task}:{panel}": None}
                    await self.act(act, lambda given: person.disconnect(*given), (task, panel))
                case 4 if there:
                    act = {f"install:{panel}": None, f"consent:{panel}": None}
                    act |= {f"connection:{each}:{panel}": None for each in TASKS}
                    await self.act(act, host.uninstall, panel)
                case 5:
                    await self.act({"on": False}, lambda _: person.turn_actions_off(), None)
                    await self.act({"on": True}, lambda _: person.turn_actions_on(), None)
                case _:
                    pass

    async def act(self, items: dict[str, Any], do: Any, given: Any) -> None:
        tell("try", "decide", items)
        await do(given)
        tell("done", "decide", items)


def bytes_of(what: str) -> bytes:
    """The bytes that a file of this name must hold."""
    size = int(what.rpartition("-")[2])
    return (what.encode() * (size // len(what) + 1))[:size]


def serve_children(path: str, backend: str) -> None:
    """Fork a busy child for each line: the imports are paid for once."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            anyio.run(Busy(line.strip()).run, path, backend=backend)
            os._exit(1)
        tell("child", child)
        os.waitpid(child, 0)
        tell("over")


# ---------------------------------------------------------------- the one who kills


@define
class Truth:
    """What must be on disk, as far as the lines say."""

    items: dict[str, Any] = field(factory=dict)
    #: Acts that were begun and not acknowledged, by worker.
    open: dict[str, dict[str, Any]] = field(factory=dict)
    meaning: dict[tuple[str, str], str] = field(factory=dict)
    acknowledged: int = 0
    #: How many acknowledged acts were about what.
    kinds: Counter[str] = field(factory=Counter)

    def hear(self, line: list[Any]) -> None:
        match line:
            case ["try", worker, items]:
                assert worker not in self.open
                self.open[worker] = items
            case ["done", worker, items]:
                del self.open[worker]
                self._take(items)
                self.acknowledged += 1
                kinds = {item.partition(":")[0] for item in items}
                self.kinds.update(kinds)
            case ["shown", task, counter, revision]:
                before = self.meaning.setdefault((task, counter), revision)
                assert before == revision, f"{counter} of {task} has two meanings"
                self.acknowledged += 1
            case _:
                pass

    def _take(self, items: dict[str, Any]) -> None:
        for item, value in items.items():
            if value is None:
                self.items.pop(item, None)
            else:
                self.items[item] = value

    def compare(self, kept: dict[str, Any]) -> None:
        """What is kept is what was acknowledged, and each open act wholly or not at all.

        :raises AssertionError: it is not.
        """
        for items in self.open.values():
            if "file:" in items:
                new = [item for item in kept if item.startswith("file:") and item not in self.items]
                assert len(new) <= 1, "more files than were put"
                items = dict.fromkeys(new, items["file:"])
            changed = {
                item: value for item, value in items.items() if self.items.get(item) != value
            }
            happened = {item: kept.get(item) == value for item, value in changed.items()}
            assert len(set(happened.values())) <= 1, f"half an act: {happened}"
            if any(happened.values()):
                self._take(items)
        self.open.clear()
        assert kept == self.items, {
            item: (self.items.get(item), kept.get(item))
            for item in kept.keys() | self.items.keys()
            if kept.get(item) != self.items.get(item)
        }


def what_is_kept(path: Path) -> dict[str, Any]:
    """The store's content in the words of the acts; whatever is damaged fails."""
    kept: dict[str, Any] = {"on": True}
    with open_store(path) as store:
        for record in store.load():
            match record:
                case InstallRecord(panel=panel, version=version) if panel in PANELS:
                    assert json.loads(record.manifest)["version"] == version
                    kept[f"install:{panel}"] = version
                case LedgerRecord(panel=panel) if panel in PANELS:
                    kept[f"ledger:{panel}"] = True
                case ConsentRecord(panel=panel, fingerprint=mark) if panel in PANELS:
                    kept[f"consent:{panel}"] = mark
                case ConnectionRecord(task=task, panel=panel) if panel in PANELS:
                    kept[f"connection:{task}:{panel}"] = True
                case SwitchRecord(on=on):
                    kept["on"] = on
                case _:
                    pass
        for key in KEYS:
            text = store.storage_get("board", key)
            if text is not None:
                seed, number, fill = json.loads(text)
                assert set(fill) == {"x"}
                kept[f"storage:{key}"] = [seed, number, len(fill)]
        for file_id in store.file_ids("board"):
            found = store.file_get("board", file_id)
            assert found is not None
            what, data = found
            assert data == bytes_of(what), "a file holds other bytes than it was given"
            kept[f"file:{file_id}"] = what
    return kept


class Lines:
    """The lines of the children, as they come."""

    def __init__(self, path: Path, backend: str) -> None:
        self._child: int | None = None
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.byhand.sigkill", "--child", str(path), backend],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(entry or "." for entry in sys.path)},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self.kill()
        self._server.wait()
        self._server.stdout.close()

    def start(self, seed: str) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(seed.encode() + b"\n")
        self._server.stdin.flush()
        kind, self._child = self.next()
        assert kind == "child"

    def kill(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            os.kill(child, signal.SIGKILL)

    def next(self) -> list[Any]:
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        assert line, "the children's server ended"
        heard: list[Any] = json.loads(line)
        return heard


def kill_often(path: Path, kills: int, seed: int, backend: str = "asyncio") -> Truth:
    """Kill ``kills`` children and compare after each.

    :raises AssertionError: something that was acknowledged is not there, or a counter changed its
        meaning.
    """
    luck = random.Random(seed)
    truth = Truth(items={"on": True})
    with Lines(path, backend) as lines:
        for run in range(kills):
            lines.start(f"{seed}.{run}")
            # Some are killed while they open the file, most in the middle of their work.
            acts = luck.choice((0, 1, luck.randrange(20), luck.randrange(80)))
            while acts:
                line = lines.next()
                assert line != ["over"], "the child ended by itself"
                truth.hear(line)
                acts -= line[0] == "done"
            select.select([], [], [], luck.random() * luck.choice((0, 0.002, 0.02)))
            lines.kill()
            while (line := lines.next()) != ["over"]:
                truth.hear(line)
            if path.exists():
                truth.compare(what_is_kept(path))
    return truth


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--kills", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    arguments.add_argument("--backend", choices=("asyncio", "trio"), default="asyncio")
    arguments.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.child:
        serve_children(*given.child)
        return
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        truth = kill_often(Path(folder) / "desk.db", given.kills, given.seed, given.backend)
    print(
        f"{given.kills} kills, {truth.acknowledged} acknowledged acts, "
        f"{len(truth.meaning)} counters: all there, none with two meanings"
    )
    print(", ".join(f"{kind} {count}" for kind, count in truth.kinds.most_common()))


if __name__ == "__main__":
    main()
