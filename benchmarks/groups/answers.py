"""A read's answer: from the object a page sent to the fenced text an agent gets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks import ours, peers, strips
from benchmarks.bench import Options, Outcome, duration, table, times
from benchmarks.cases import CASES
from benchmarks.generator import payloads
from benchmarks.groups.json_text import compared
from benchmarks.harness import Candidate, Timings, geometric_mean, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.cases import Case

_LIMIT = 65_536
_CLAIMED = "jsonschema-rs + tuned + orjson"
_ON_BYTES = "jsonschema-rs + tuned + orjson, escaped on bytes"


def _wrapped(line: str) -> str:
    return (
        f'<panel_content package="nook" panel="Nook" trust="untrusted">\n{line}\n</panel_content>'
    )


def _plain(
    check: Callable[[Any], Any], strip: Callable[[Any], Any], dumps: Callable[[Any], str]
) -> Callable[[Any], str]:
    """Check, strip, write, escape the text, wrap: what a program writes down first."""

    def stack(value: Any) -> str:
        check(value)
        line = dumps(strip(value))
        if len(line) > _LIMIT:
            raise ValueError("too large")
        line = line.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        if len(line) > _LIMIT:
            raise ValueError("too large")
        return _wrapped(line)

    return stack


def _on_bytes(
    check: Callable[[Any], Any], strip: Callable[[Any], Any], dumps: Callable[[Any], bytes]
) -> Callable[[Any], str]:
    """The same with the one thing that matters most known: escape before decoding."""

    def stack(value: Any) -> str:
        check(value)
        data = dumps(strip(value))
        data = data.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
        line = data.decode()
        if len(line) > _LIMIT:
            raise ValueError("too large")
        return _wrapped(line)

    return stack


def _candidates(case: Case) -> Iterator[Candidate]:
    for codec in ours.codecs():
        yield Candidate(ours.NAMES[codec], ours.answerer(case.schema, codec), case.value)
    check, orjson = peers.by_jsonschema_rs(case.schema), peers.load("orjson")
    if check and orjson:

        def dumps(value: object) -> str:
            return orjson.dumps(value).decode()

        yield Candidate(_CLAIMED, _plain(check, strips.tuned, dumps), case.value)
        yield Candidate(_ON_BYTES, _on_bytes(check, strips.tuned, orjson.dumps), case.value)
        guard = _plain(check, strips.guard, dumps)
        yield Candidate("jsonschema-rs + guard + orjson", guard, case.value)
        yield Candidate("orjson.dumps alone", dumps, case.value)


def _more(case: Case) -> Iterator[Candidate]:
    if check := peers.by_fastjsonschema(case.schema):
        dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        stack = _plain(check, strips.guard, dumps)
        yield Candidate("fastjsonschema + guard + json", stack, case.value)


def run(options: Options) -> Outcome:
    """Measure the cases, and the unseen payloads that an answer has room for."""
    outcome = Outcome()
    rng = options.rng("answers")
    timings: dict[str, Timings] = {}
    for case in CASES:
        candidates = [*_candidates(case), *_more(case)]
        right = ours.answerer(case.schema, "stdlib")(case.value)
        for candidate in candidates:
            if "alone" not in candidate.name:
                assert candidate.run(case.value) == right, candidate.name
        timings[case.name] = measure(
            candidates, rng, rounds=options.rounds(25), sample=options.sample
        )
    title = "An answer, from object to fenced text"
    for codec in ours.codecs():
        outcome.tables.append(compared(title, ours.NAMES[codec], timings))
        for name, timing in timings.items():
            if name != "a" and _CLAIMED in timing:
                ratio = timing.ratio(_CLAIMED, ours.NAMES[codec])
                outcome.claim(f"answers.jsonschema-rs.tuned.{name}", codec, ratio)
    _unseen(options, outcome)
    return outcome


def _unseen(options: Options, outcome: Outcome) -> None:
    """The peers do not escape what only looks like an angle bracket (N-2): they do less."""
    rng = options.rng("answers, unseen")
    names = [ours.NAMES[codec] for codec in ours.codecs()]
    seen: dict[tuple[str, str], list[float]] = {}
    rows: list[list[str]] = []
    against = (_CLAIMED, _ON_BYTES)
    for case in payloads(options.seed):
        timing = measure(
            list(_candidates(case)), rng, rounds=options.rounds(11), sample=options.sample
        )
        row = [case.name]
        for mine in names:
            row.append(duration(timing.median(mine)))
            for peer in against:
                if peer in timing:
                    ratio = timing.ratio(peer, mine)
                    seen.setdefault((mine, peer), []).append(ratio)
                    row.append(times(ratio))
        rows.append(row)
    if not seen:
        return
    last = ["geometric mean"]
    columns = ["payload"]
    for mine in names:
        columns += [mine, "escaped as text", "escaped on bytes"]
        last += ["", *(times(geometric_mean(seen[mine, peer])) for peer in against)]
    title = (
        f"Answers of unseen payloads (seed {options.seed}) beside jsonschema-rs + tuned + orjson"
    )
    outcome.tables.append(table(title, columns, [*rows, last]))
