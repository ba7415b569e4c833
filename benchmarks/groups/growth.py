"""How cost grows: with the payload, with actions and connections, and with what is open."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve

from benchmarks import memory, ours
from benchmarks.asked import Asked
from benchmarks.bench import Chart, Curve, Options, Outcome, duration, table, times
from benchmarks.cases import an_array, an_object, case, sentence, text
from benchmarks.harness import Candidate, Timings, measure
from deska_sdk import check_panel
from deska_sdk.panels.consent import fingerprint
from deska_sdk.records import ConnectionRecord, ConsentRecord, InstallRecord
from deska_sdk.router import (
    CallRequested,
    PageStarted,
    Responded,
    Router,
    TaskAttached,
    TurnStarted,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.cases import Case

_KIB: Final = 1_024
_ROW: Final = an_object(
    {"id": {"type": "integer"}, "name": text(60), "done": {"type": "boolean"}, "note": text(200)}
)
_NOTES: Final = an_object({"notes": an_array(text(4_000), 1_000)})
_ROWS: Final = an_object({"rows": an_array(_ROW, 1_000)})


_STEPS: Final = {"actions": (1, 2, 4, 8, 16), "connections": (10, 100, 1_000, 10_000)}


def run(options: Options) -> Outcome:
    """Measure all curves."""
    outcome = Outcome()
    _payloads(options, outcome)
    codecs = ours.codecs()
    for codec in codecs:
        for of_what in _STEPS:
            _show_dispatch(outcome, codec, of_what, dispatch(options, of_what, codec))
    _memory(options, outcome, codecs)
    return outcome


# --- payload


def _shapes(size: int) -> list[Case]:
    """Texts and objects of about so many bytes of JSON."""
    rng = Random(f"growth/{size}")
    notes = {"notes": [sentence(rng, size // 100 - 3) for _ in range(100)]}
    made = [
        {"id": place, "name": sentence(rng, 24), "done": True, "note": sentence(rng, 160)}
        for place in range(max(1, size // 230))
    ]
    return [case("long texts", "", _NOTES, notes), case("objects", "", _ROWS, {"rows": made})]


def _payloads(options: Options, outcome: Outcome) -> None:
    rng = options.rng("growth")
    sizes = (2_000, 7_500, 15_000, 30_000, 60_000, 120_000, 220_000)
    for codec in ours.codecs():
        curves: dict[str, list[tuple[float, float]]] = {}
        candidates: dict[str, list[Candidate]] = {}
        for size in sizes:
            for one in _shapes(size):
                check = ours.checker(one.schema, "input", codec).check_json
                name = f"{one.name}, as a call"
                candidates.setdefault(name, []).append(
                    Candidate(str(len(one.data)), check, one.data)
                )
                if len(one.data) < 65_536:
                    answer = ours.answerer(one.schema, codec)
                    name = f"{one.name}, as an answer"
                    candidate = Candidate(str(len(one.data)), answer, one.value)
                    candidates.setdefault(name, []).append(candidate)
        worst = 0.0
        for name, group in candidates.items():
            timing = measure(group, rng, rounds=options.rounds(11), sample=options.sample)
            curves[name] = [(float(one.name), timing.median(one.name)) for one in group]
            if "call" in name:
                # Fifteen times the bytes, in the same rounds.
                small, large = group[2].name, group[-1].name
                worst = max(worst, timing.ratio(large, small) * int(small) / int(large))
        mine = ours.NAMES[codec]
        title = f"Time to check a payload, {mine}"
        drawn = tuple(Curve(name, tuple(points)) for name, points in curves.items())
        outcome.charts.append(
            Chart(f"payload-{codec}.svg", title, "bytes of JSON", "seconds", drawn)
        )
        rows = [
            (name, *(f"{1e9 * seconds / size:.3g}" for size, seconds in points))
            for name, points in curves.items()
        ]
        most = max(rows, key=len)
        columns = ("", *(f"{size:,}" for size in sizes))
        padded = [(*row, *[""] * (len(most) - len(row))) for row in rows]
        outcome.tables.append(table(f"{title}: ns a byte, by bytes (about)", columns, padded))
        outcome.claim("growth.payload", codec, worst)


# --- dispatch


def routed(panels: int, tasks: int, actions: int, codec: ours.Codec) -> Callable[[Any], None]:
    """What takes one write through a router with ``panels`` × ``tasks`` connections."""
    records: list[Any] = []
    for place in range(panels):
        manifest = check_panel(memory.panel(f"p{place}", actions)).manifest
        assert manifest is not None
        records.append(InstallRecord(manifest.id, manifest.version, manifest.text, None))
        records.append(ConsentRecord(manifest.id, fingerprint(manifest)))
    for number in range(tasks):
        records += [ConnectionRecord(f"t{number}", f"p{place}") for place in range(panels)]
    router = Router(records, codec=codec)
    for number in range(tasks):
        router.step(TaskAttached(f"t{number}"), 0.0)
        router.step(TurnStarted(f"t{number}", "1"), 0.0)
    for place in range(panels):
        router.step(PageStarted(f"page-{place}", f"p{place}"), 0.0)
    # The last of everything, in case something looks from the front.
    task, panel, page = f"t{tasks - 1}", f"p{panels - 1}", f"page-{panels - 1}"
    action = f"act_{actions - 1}"
    given, answer = {"text": "Water the fern"}, {"ok": True}
    step = router.step

    def call(_: Any) -> None:
        step(CallRequested("1", "c1", task, "1", panel, action, given), 0.0)
        step(Responded(page, 1, "c1", answer), 0.0)

    call(None)
    assert router.pending == 0, "the call was answered"
    return call


def dispatch(options: Options, of_what: str, codec: ours.Codec) -> Timings:
    """The times of one write, by how many of what there are."""

    def build(number: int) -> Callable[[Any], None]:
        if of_what == "actions":
            return routed(1, 1, number, codec)
        return routed(max(1, number // 100), min(100, number), 1, codec)

    candidates = [Candidate(str(number), build(number)) for number in _STEPS[of_what]]
    rounds = options.rounds(25)
    return measure(candidates, options.rng(of_what), rounds=rounds, sample=options.sample)


def _show_dispatch(outcome: Outcome, codec: ours.Codec, of_what: str, timing: Timings) -> None:
    first, *_, last = timing.seconds
    outcome.claim(f"growth.{of_what}", codec, timing.ratio(last, first))
    title = f"One write through the router by number of {of_what}, {ours.NAMES[codec]}"
    cells = [duration(timing.median(name)) for name in timing.seconds]
    columns = ("", *(f"{int(name):,}" for name in timing.seconds))
    rows = [("time", *cells), ("beside the first", *_beside(timing, first))]
    outcome.tables.append(table(title, columns, rows))
    points = tuple((float(name), timing.median(name)) for name in timing.seconds)
    curve = Curve(ours.NAMES[codec], points)
    for place, chart in enumerate(outcome.charts):
        if chart.file == f"{of_what}.svg":
            outcome.charts[place] = evolve(chart, curves=(*chart.curves, curve))
            return
    title = f"One write through the router, by number of {of_what}"
    outcome.charts.append(Chart(f"{of_what}.svg", title, of_what, "seconds", (curve,)))


def _beside(timing: Timings, first: str) -> list[str]:
    return [times(timing.ratio(name, first)) for name in timing.seconds]


# --- memory


def _memory(options: Options, outcome: Outcome, codecs: tuple[ours.Codec, ...]) -> None:
    ways = ("traced", "resident") if options.full else ("traced",)
    # Side by side, as their times do not matter.
    asked = {
        (codec, question, how): Asked("benchmarks.memory", question, how, codec)
        for codec in codecs
        for question in ("connections", "calls")
        for how in ways
    }
    told = {key: one.answer() for key, one in asked.items()}
    rows: list[tuple[str, ...]] = []
    for (codec, question, how), answer in told.items():
        name = f"{how}, {ours.NAMES[codec]}"
        if question == "connections":
            rows.append((f"one idle connection of 10,000, {name}", f"{answer['each']:,.0f} B"))
            continue
        for number, held in answer["points"]:
            rows.append((f"{number:,} open calls, {name}", f"{held / _KIB**2:.1f} MiB"))
        rows.append((f"when all have ended, {name}", f"{answer['kept'] / _KIB**2:.1f} MiB"))
    note = "Traced: what Python's objects hold. Resident: what the process has of the system."
    outcome.tables.append(table("Memory", ("", ""), rows, note))
    curves: list[Curve] = []
    for codec in codecs:
        calls = told[codec, "calls", "traced"]
        points = tuple((float(number), float(held)) for number, held in calls["points"])
        curves.append(Curve(ours.NAMES[codec], points))
        (fewest, least), *_, (most, peak) = points
        each = told[codec, "connections", "traced"]["each"]
        outcome.claim("growth.idle-connection-kib", codec, each / _KIB)
        outcome.claim("growth.open-calls.each", codec, (peak / most) / (least / fewest))
        outcome.claim("growth.open-calls.kept-mib", codec, calls["kept"] / _KIB**2)
    chart = Chart("open-calls.svg", "Memory of open calls", "open calls", "bytes", tuple(curves))
    outcome.charts.append(chart)
