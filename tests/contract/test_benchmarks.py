"""The benchmarks measure what they say: order, ratios, claims, peers, payloads, pictures."""

from __future__ import annotations

import asyncio
import json
import xml.etree.ElementTree as ET
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import claims, memory, ours, peers, pictures, report, strips, svg
from benchmarks.__main__ import main
from benchmarks.bench import Chart, Curve, Options, Outcome, table
from benchmarks.cases import CASES
from benchmarks.generator import payloads
from benchmarks.groups import GROUPS, calls, growth, json_text
from benchmarks.groups import images as image_group
from benchmarks.harness import Candidate, Timings, geometric_mean, measure, plan
from deska_sdk import images
from deska_sdk.text import strip_invisible

if TYPE_CHECKING:
    from pathlib import Path

#: As little as can be measured: two rounds, and one call a sample.
TINY = ("--effort", "0", "--sample", "0")


def names(count: int) -> list[Candidate]:
    return [Candidate(f"c{place}", len) for place in range(count)]


# --- the harness


@given(st.integers(1, 6), st.integers(1, 20), st.integers())
def test_every_candidate_is_timed_once_in_every_round(count: int, rounds: int, seed: int) -> None:
    steps = plan(names(count), Random(seed), rounds, 0.0)
    order = [next(steps)[0].name]
    timings = None
    while timings is None:
        try:
            order.append(steps.send(1.0)[0].name)
        except StopIteration as end:
            timings = end.value
    assert len(order) == count * rounds
    for start in range(0, len(order), count):
        assert sorted(order[start : start + count]) == [f"c{place}" for place in range(count)]
    assert all(len(seconds) == rounds for seconds in timings.seconds.values())


def test_the_order_within_rounds_changes() -> None:
    steps = plan(names(5), Random(1), 40, 0.0)
    order = [next(steps)[0].name]
    try:
        while True:
            order.append(steps.send(1.0)[0].name)
    except StopIteration:
        pass
    rounds = {tuple(order[start : start + 5]) for start in range(0, len(order), 5)}
    assert len(rounds) > 20


def test_a_sample_has_as_many_calls_as_fit_in_its_time() -> None:
    cost = {"quick": 1e-6, "slow": 2.0}
    steps = plan([Candidate("quick", len), Candidate("slow", len)], Random(1), 3, 0.001)
    numbers: dict[str, int] = {}
    candidate, number = next(steps)
    try:
        while True:
            numbers[candidate.name] = number
            candidate, number = steps.send(number * cost[candidate.name])
    except StopIteration as end:
        timings = end.value
    assert numbers["slow"] == 1
    assert 900 <= numbers["quick"] <= 1_100
    assert timings.median("slow") == 2.0
    assert timings.median("quick") == pytest.approx(1e-6)


def test_a_ratio_is_of_times_in_the_same_round() -> None:
    # Every second round the whole computer was ten times slower; the ratio does not see it.
    timings = Timings({"ours": (1.0, 10.0, 1.0, 10.0), "theirs": (3.0, 30.0, 3.0, 30.0)})
    assert timings.ratio("theirs", "ours") == 3.0


def test_a_candidate_that_does_twice_the_work_takes_longer() -> None:
    data = [Candidate("one", sorted, list(range(5_000))), Candidate("eight", sorted, [0] * 40_000)]
    timings = measure(data, Random(1), rounds=7, sample=0.0005)
    assert timings.ratio("eight", "one") > 2


def test_the_geometric_mean_treats_twice_and_half_as_opposites() -> None:
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)


# --- the claims


def test_a_claim_knows_on_which_side_of_its_target_it_is() -> None:
    assert claims.Claim("x", True, 1.4, 1.4, "most").holds
    assert not claims.Claim("x", True, 1.41, 1.4, "most").holds
    assert claims.Claim("x", True, 1.4, 1.4, "least").holds
    assert not claims.Claim("x", True, 1.39, 1.4, "least").holds


def test_a_ratio_without_a_target_is_no_claim_and_an_unknown_one_is_an_error() -> None:
    assert list(claims.claim("objects.jsonschema-rs.guard.a", speed=False, ratio=2.0)) == []
    assert len(list(claims.claim("objects.jsonschema-rs.guard.a", speed=True, ratio=2.0))) == 1
    with pytest.raises(KeyError):
        list(claims.claim("objects.jsonschema-rs.guard.z", speed=True, ratio=2.0))


def test_every_claim_against_a_peer_without_a_strip_of_its_own_names_the_strip() -> None:
    for name in claims.TARGETS:
        if "json" in name.split(".")[1] and "alone" not in name:
            assert name.split(".")[2] in ("none", "guard", "tuned"), name


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The claims of a tiny run of what needs nothing but the test extra."""
    path = tmp_path_factory.mktemp("run") / "claims.json"
    only = [
        word for group in ("json", "unseen", "objects", "answers") for word in ("--only", group)
    ]
    assert main([*only, *TINY, "--json", str(path)]) == 0
    told = json.loads(path.read_text(encoding="utf-8"))
    assert list(told) == ["claims"]
    return told["claims"]


def test_a_run_writes_its_claims_in_the_documented_shape(written: list[dict[str, Any]]) -> None:
    for one in written:
        assert list(one) == ["id", "speed", "ratio", "target", "at"]
        target = claims.TARGETS[one["id"]]
        assert one["target"] == (target.speed if one["speed"] else target.stdlib)
        assert one["at"] == target.at
        assert type(one["speed"]) is bool
        assert type(one["ratio"]) is float
        assert one["ratio"] > 0


def test_a_run_makes_each_claim_once_with_each_codec(written: list[dict[str, Any]]) -> None:
    made = [(one["id"], one["speed"]) for one in written]
    assert len(made) == len(set(made))
    if not (peers.load("jsonschema_rs") and peers.load("orjson")):
        pytest.skip("every claim of these groups is against the two")
    groups = ("json.", "unseen.", "answers.")
    for name, target in claims.TARGETS.items():
        if name.startswith(groups):
            for codec in ours.codecs():
                bound = target.speed if codec == "speed" else target.stdlib
                assert ((name, codec == "speed") in made) == (bound is not None), name


# --- the peers


def test_a_peer_that_is_not_installed_is_left_out_and_said_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(peers, "_loaded", {"jsonschema_rs": None})
    path = tmp_path / "claims.json"
    assert main(["--only", "json", *TINY, "--json", str(path)]) == 0
    said = capsys.readouterr().out
    assert "Left out: jsonschema-rs is not installed" in said
    assert "orjson + jsonschema-rs" not in said
    assert "jsonschema-rs" not in path.read_text(encoding="utf-8")


def test_a_peer_that_gives_another_value_stops_the_run() -> None:
    wrong = [Candidate("a peer + guard", lambda _: {"text": "another"})]
    with pytest.raises(AssertionError, match="a peer"):
        json_text.agree(wrong, {"text": "this"})


def test_the_cases_have_the_sizes_that_the_page_names() -> None:
    assert [len(case.data) for case in CASES] == [41, 20_709, 951, 60_709, 57_306]


@pytest.mark.rule("T-1", "T-3")
@given(st.recursive(st.text() | st.integers() | st.booleans(), lambda inner: st.lists(inner)))
def test_every_strip_that_a_peer_gets_does_what_ours_does(value: Any) -> None:
    def stripped(item: Any) -> Any:
        if isinstance(item, str):
            return strip_invisible(item)
        return [stripped(each) for each in item] if isinstance(item, list) else item

    right = stripped(value)
    assert strips.guard(value) == strips.guard_exact(value) == strips.tuned(value) == right


@pytest.mark.rule("D-8")
@pytest.mark.parametrize("value", [(1,), {1}, 1j, b""], ids=str)
def test_the_exact_guard_refuses_what_is_no_json_value(value: object) -> None:
    with pytest.raises(TypeError):
        strips.guard_exact({"a": [value]})


# --- whole calls, images, growth


def test_whole_calls_are_measured_without_any_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_loaded", {"mcp": None, "fastmcp": None})
    timings = asyncio.run(calls.measured(Options(effort=0, sample=0)))
    mine = [ours.NAMES[codec] for codec in ours.codecs()]
    timed = {tool: list(timing.seconds) for tool, timing in timings.items()}
    assert timed == {"write": mine, "read": mine}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WebP"])
def test_the_candidates_for_images_give_the_same_number_of_pixels(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "_loaded", {"pyvips": None})
    data = pictures.encoded(pictures.photograph(1, (2_300, 40)), kind)
    made = [images.check_png(one.run(data)) for one in image_group.candidates(data, full=True)]
    assert len(made) == 2 + 2 * len(image_group.codecs())
    assert {(one.width, one.height) for one in made} == {(2_048, 36)}


@pytest.mark.rule("A-8")
def test_open_calls_are_counted_while_they_are_open_and_all_end() -> None:
    told = asyncio.run(memory.calls(lambda: 5, "auto", panels=2, tasks=2))
    assert [number for number, _ in told["points"]] == [48, 100, 200]
    assert told["kept"] == 0


def test_idle_connections_are_counted_by_what_each_adds() -> None:
    counts = iter((100, 1_000))
    told = asyncio.run(memory.connections(lambda: next(counts), "auto", panels=3, tasks=4))
    assert told == {"connections": 11, "each": 900 / 11}


def test_a_routed_call_is_answered_with_any_number_of_connections() -> None:
    for codec in ours.codecs():
        growth.routed(3, 4, 2, codec)(None)


# --- the unseen payloads


def test_there_are_at_least_thirty_payloads_and_each_fits_its_schema() -> None:
    made = payloads()
    assert len(made) >= 30
    assert len({one.name for one in made}) == len(made)
    for one in made:
        assert json.loads(one.data) == one.value
        checked = ours.oracle(one.schema, "input").check_json(one.data)
        assert checked == strips.tuned(one.value)
        assert ours.answerer(one.schema, "stdlib")(one.value)


def test_the_same_seed_gives_the_same_payloads_and_another_seed_others() -> None:
    assert payloads(7) == payloads(7)
    assert all(one.data != other.data for one, other in zip(payloads(7), payloads(8), strict=True))


# --- what is shown


def test_a_growth_curve_is_a_picture_with_every_point() -> None:
    curves = (
        Curve("a <b>", ((1, 0.001), (10, 0.01), (100, 0.1))),
        Curve("flat", ((1, 0.5), (9, 0.5))),
    )
    picture = svg.draw(Chart("x.svg", "Cost & size", "bytes", "seconds", curves))
    root = ET.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{space}circle")) == 5
    assert len(root.findall(f"{space}polyline")) == 2
    assert root.findtext(f"{space}title") == "Cost & size"
    inside = [float(dot.attrib["cx"]) for dot in root.iter(f"{space}circle")]
    assert all(0 < across < 640 for across in inside)


def test_a_linear_curve_is_a_straight_line() -> None:
    points = tuple((10.0**power, 2 * 10.0**power) for power in range(5))
    picture = svg.draw(Chart("x.svg", "Linear", "x", "y", (Curve("it", points),)))
    dots = list(ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}circle"))
    across = [float(dot.attrib["cx"]) for dot in dots]
    up = [float(dot.attrib["cy"]) for dot in dots]
    steps = [(b - a) / (d - c) for a, b, c, d in zip(up, up[1:], across, across[1:], strict=False)]
    assert steps == pytest.approx([steps[0]] * 4, abs=0.01)


def test_a_run_renews_its_own_part_of_the_page_and_no_other(tmp_path: Path) -> None:
    page = tmp_path / report.PAGE
    page.write_text(
        "# Page\n\n"
        + "".join(
            f"<!-- run: {name} -->\n\nold {name}\n\n<!-- end of run -->\n\nkept\n"
            for name in (*GROUPS, "claims", "versions")
        ),
        encoding="utf-8",
    )
    outcome = Outcome(tables=[table("Times", ("", "x"), [("ours", "1")])])
    report.renew(tmp_path, {"json": outcome}, 3)
    text = page.read_text(encoding="utf-8")
    assert "old json" not in text
    assert "| ours | 1 |" in text
    assert "old growth" in text
    # One group's claims are not a run's.
    assert "old claims" in text
    report.renew(tmp_path, dict.fromkeys(GROUPS, outcome), 3)
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert "seed 3" in text
    assert text.count("kept") == len(GROUPS) + 2
    report.renew(tmp_path, dict.fromkeys(GROUPS, outcome), 3)
    assert page.read_text(encoding="utf-8") == text


def test_a_page_without_a_place_for_a_group_is_an_error(tmp_path: Path) -> None:
    (tmp_path / report.PAGE).write_text("# Page\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no place for"):
        report.renew(tmp_path, {"json": Outcome()}, 3)
