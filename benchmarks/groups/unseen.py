"""JSON bytes to a checked, stripped dict, on payloads that no threshold was tuned on."""

from __future__ import annotations

from benchmarks import ours
from benchmarks.bench import Options, Outcome, duration, table, times
from benchmarks.generator import payloads
from benchmarks.groups.json_text import RS, agree, by_jsonschema_rs, by_ours
from benchmarks.harness import geometric_mean, measure

_STRIPS = ("guard", "tuned", "none")


def run(options: Options) -> Outcome:
    """Measure every payload of the seed; claim the mean and the worst of the ratios."""
    outcome = Outcome()
    rng = options.rng("unseen")
    cases = payloads(options.seed)
    codecs = ours.codecs()
    ratios: dict[tuple[str, str], list[float]] = {}
    rows: list[list[str]] = []
    for case in cases:
        candidates = [*by_ours(case), *by_jsonschema_rs(case)]
        agree(candidates, ours.oracle(case.schema, "input").check_json(case.data))
        timing = measure(candidates, rng, rounds=options.rounds(15), sample=options.sample)
        row = [case.name, f"{len(case.data):,}"]
        for codec in codecs:
            row.append(duration(timing.median(ours.NAMES[codec])))
            for strip in _STRIPS:
                if RS.format(strip) in timing:
                    ratio = timing.ratio(RS.format(strip), ours.NAMES[codec])
                    ratios.setdefault((codec, strip), []).append(ratio)
                    row.append(times(ratio))
        rows.append(row)
    columns = ["payload", "bytes"]
    last = ["geometric mean", ""]
    for codec in codecs:
        measured = [strip for strip in _STRIPS if (codec, strip) in ratios]
        columns += [ours.NAMES[codec], *measured]
        last += ["", *(times(geometric_mean(ratios[codec, strip])) for strip in measured)]
        for strip in measured:
            if strip != "none":
                name = f"unseen.jsonschema-rs.{strip}"
                outcome.claim(f"{name}.mean", codec, geometric_mean(ratios[codec, strip]))
                outcome.claim(f"{name}.worst", codec, min(ratios[codec, strip]))
    title = f"Unseen payloads (seed {options.seed}) beside orjson + jsonschema-rs + each strip"
    outcome.tables.append(table(title, columns, [*rows, last]))
    return outcome
