"""Python objects, checked by exact types and stripped: the path of a call that comes as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks import ours, peers, strips
from benchmarks.bench import Options, Outcome
from benchmarks.cases import CASES
from benchmarks.groups.json_text import agree, compared
from benchmarks.harness import Candidate, Timings, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.cases import Case

#: Whom the claims name, by the part of the claim's id.
_CLAIMED = {name: f"{name} + guard" for name in ("fastjsonschema", "jsonschema", "jsonschema-rs")}


def _checked(check: Callable[[Any], Any], strip: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def stack(value: Any) -> Any:
        new = strip(value)
        check(new)
        return new

    return stack


def _candidates(case: Case) -> Iterator[Candidate]:
    schema, value = case.schema, case.value
    for codec in ours.codecs():
        yield Candidate(ours.NAMES[codec], ours.checker(schema, "input", codec).check, value)
    if check := peers.by_jsonschema_rs(schema):
        yield Candidate("jsonschema-rs + none", check, value)
        yield Candidate("jsonschema-rs + guard", _checked(check, strips.guard), value)
        yield Candidate("jsonschema-rs + tuned", _checked(check, strips.tuned), value)
    if check := peers.by_fastjsonschema(schema):
        yield Candidate("fastjsonschema + guard", _checked(check, strips.guard), value)
    if check := peers.by_jsonschema(schema):
        yield Candidate("jsonschema + guard", _checked(check, strips.guard), value)
    if check := peers.by_cattrs(schema):
        yield Candidate("cattrs + guard", _checked(check, strips.guard), value)
    if msgspec := peers.load("msgspec"):
        kind, convert = peers.msgspec_type(schema), msgspec.convert
        yield Candidate("msgspec.convert + none", lambda given: convert(given, kind), value)

        def exact(given: Any) -> Any:
            new = strips.guard_exact(given)
            convert(new, kind)
            return new

        yield Candidate("msgspec.convert + exact-type guard", exact, value)
    if validator := peers.by_pydantic_core(schema):
        stack = _checked(validator.validate_python, strips.guard)
        yield Candidate("pydantic-core + guard", stack, value)


def run(options: Options) -> Outcome:
    """Measure the five cases."""
    outcome = Outcome()
    rng = options.rng("objects")
    timings: dict[str, Timings] = {}
    for case in CASES:
        candidates = list(_candidates(case))
        agree(candidates, ours.oracle(case.schema, "input").check(case.value))
        timings[case.name] = measure(
            candidates, rng, rounds=options.rounds(25), sample=options.sample
        )
    for codec in ours.codecs():
        mine = ours.NAMES[codec]
        outcome.tables.append(compared("Objects, checked and stripped", mine, timings))
        for peer, candidate in _CLAIMED.items():
            for name, timing in timings.items():
                if candidate in timing:
                    ratio = timing.ratio(candidate, mine)
                    outcome.claim(f"objects.{peer}.guard.{name}", codec, ratio)
    return outcome
