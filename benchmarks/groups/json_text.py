"""JSON bytes to a checked, stripped dict: the path of every call that comes as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks import ours, peers, strips
from benchmarks.bench import Options, Outcome, duration, table, times
from benchmarks.cases import CASES
from benchmarks.harness import Candidate, Timings, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.cases import Case

ALONE = "orjson.loads alone"
RS = "orjson + jsonschema-rs + {}"


def after(
    loads: Callable[[bytes], Any], check: Callable[[Any], Any], strip: Callable[[Any], Any]
) -> Callable[[bytes], Any]:
    """A peer's stack: decode, strip, check. What was checked is what is handed on (T-3)."""
    if strip is strips.none:

        def unstripped(data: bytes) -> Any:
            value = loads(data)
            check(value)
            return value

        return unstripped

    def stack(data: bytes) -> Any:
        value = strip(loads(data))
        check(value)
        return value

    return stack


def by_jsonschema_rs(case: Case) -> Iterator[Candidate]:
    """The reference peer with each of the three strips."""
    orjson = peers.load("orjson")
    check = peers.by_jsonschema_rs(case.schema)
    if orjson and check:
        for name in ("none", "guard", "tuned"):
            stack = after(orjson.loads, check, getattr(strips, name))
            yield Candidate(RS.format(name), stack, case.data)


def by_ours(case: Case) -> Iterator[Candidate]:
    """The engine, with each codec."""
    for codec in ours.codecs():
        checker = ours.checker(case.schema, "input", codec)
        yield Candidate(ours.NAMES[codec], checker.check_json, case.data)


def _others(case: Case) -> Iterator[Candidate]:
    orjson, msgspec = peers.load("orjson"), peers.load("msgspec")
    yield Candidate("json.loads alone", json.loads, case.data)
    if orjson:
        yield Candidate(ALONE, orjson.loads, case.data)
        if check := peers.by_fastjsonschema(case.schema):
            yield Candidate(
                "orjson + fastjsonschema + guard",
                after(orjson.loads, check, strips.guard),
                case.data,
            )
        if check := peers.by_cattrs(case.schema):
            yield Candidate(
                "orjson + cattrs + guard", after(orjson.loads, check, strips.guard), case.data
            )
    if check := peers.by_jsonschema(case.schema):
        yield Candidate(
            "json + jsonschema + guard", after(json.loads, check, strips.guard), case.data
        )
    if msgspec:
        decode = msgspec.json.Decoder(peers.msgspec_type(case.schema)).decode
        yield Candidate("msgspec decode to Struct, no strip", decode, case.data)
        builtins = msgspec.to_builtins
        yield Candidate(
            "msgspec decode to dict + guard",
            lambda data: strips.guard(builtins(decode(data))),
            case.data,
        )
    if validator := peers.by_pydantic_core(case.schema):
        validate = validator.validate_json
        yield Candidate(
            "pydantic-core + guard", lambda data: strips.guard(validate(data)), case.data
        )


def agree(candidates: list[Candidate], right: object) -> None:
    """Check that everyone who strips and yields plain values yields the right one.

    :raises AssertionError: naming who does not; then times would compare different work.
    """
    for candidate in candidates:
        found = candidate.run(candidate.given)
        strict = "none" not in candidate.name and "alone" not in candidate.name
        if strict and "Struct" not in candidate.name:
            assert found == right, f"{candidate.name} gives another value"


def run(options: Options) -> Outcome:
    """Measure the five cases."""
    outcome = Outcome()
    rng = options.rng("json")
    timings: dict[str, Timings] = {}
    for case in CASES:
        candidates = [*by_ours(case), *by_jsonschema_rs(case), *_others(case)]
        agree(candidates, ours.oracle(case.schema, "input").check_json(case.data))
        timings[case.name] = measure(
            candidates, rng, rounds=options.rounds(25), sample=options.sample
        )
    for codec in ours.codecs():
        mine = ours.NAMES[codec]
        outcome.tables.append(compared("JSON bytes to a checked, stripped dict", mine, timings))
        for name, timing in timings.items():
            if RS.format("guard") in timing:
                ratio = timing.ratio(RS.format("guard"), mine)
                outcome.claim(f"json.jsonschema-rs.guard.{name}", codec, ratio)
            if ALONE in timing:
                outcome.claim(f"json.orjson-loads-alone.{name}", codec, timing.ratio(mine, ALONE))
    return outcome


def compared(title: str, mine: str, timings: dict[str, Timings]) -> Any:
    """One row a candidate: our time, and theirs as a multiple of it."""
    names = list(next(iter(timings.values())).seconds)
    rows = [(f"{mine} (the 1)", *(duration(timing.median(mine)) for timing in timings.values()))]
    for name in names:
        if name != mine:
            rows.append((name, *(times(timing.ratio(name, mine)) for timing in timings.values())))
    return table(title, ("", *(f"({name})" for name in timings)), rows)
