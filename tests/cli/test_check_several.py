"""``deska check`` with several panels (K-11)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from deska_host.cli import main
from tests.panels.support_manifest import plain, working

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a panel's folder."""

    def written(name: str, manifest: dict[str, Any]) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "panel.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        (folder / "index.html").write_text("<!doctype html>", encoding="utf-8")
        return folder

    return written


@pytest.mark.rule("K-11")
def test_the_worst_of_several_is_the_status(write, tmp_path, capsys):
    good = str(write("good", plain(id="good")))
    bad = str(write("bad", plain(id="bad", sdk=9)))
    gone = str(tmp_path / "gone")
    assert main(["check", good, good]) == 0
    assert main(["check", good, bad]) == 1
    assert main(["check", bad, good]) == 1
    assert main(["check", gone, bad, good]) == 2
    assert main(["check", bad, gone]) == 2
    capsys.readouterr()


@pytest.mark.rule("K-11")
def test_each_is_told_in_the_order_given_and_then_how_many(write, tmp_path, capsys):
    good = write("good", plain(id="good"))
    bad = write("bad", plain(id="bad", sdk=9))
    assert main(["check", str(bad), str(tmp_path / "gone"), str(good / "panel.json")]) == 2
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith(f"{bad / 'panel.json'}:5:9: ")
    assert lines[-3:] == [
        f"{bad / 'panel.json'}: 1 problem, no warnings",
        f"{good / 'panel.json'}: no problems, no warnings",
        "2 panels, 1 with problems",
    ]
    assert err == f"deska check: {tmp_path / 'gone'}: there is no such file\n"


@pytest.mark.rule("K-11")
def test_two_panels_of_one_id_are_a_problem_of_the_second(write, capsys):
    first = write("first", working(id="notes"))
    other = write("other", working(id="other"))
    second = write("second", working(id="notes", sdk=9))
    paths = [str(first), str(other), str(second)]
    assert main(["check", *paths, "--format", "json"]) == 1
    reports = json.loads(capsys.readouterr().out)
    assert [len(report["problems"]) for report in reports] == [0, 0, 2]
    twin, sdk = reports[2]["problems"]
    assert (twin["code"], twin["where"], twin["line"], twin["column"]) == ("duplicate", "/id", 2, 8)
    assert twin["sentence"] == f"another panel here has this id: {first / 'panel.json'}"
    assert twin["quoted"] == "notes"
    assert sdk["code"] == "bad_sdk"
    assert reports[2]["reviewer_texts"] == []


@pytest.mark.rule("K-11")
def test_one_file_under_two_names_is_no_second_panel(write, tmp_path, capsys):
    folder = write("notes", plain())
    (tmp_path / "link").symlink_to(folder)
    assert main(["check", str(folder), str(folder / "panel.json"), str(tmp_path / "link")]) == 0
    assert capsys.readouterr().out.endswith("3 panels, none with problems\n")


@pytest.mark.rule("K-11")
def test_files_that_name_no_id_are_not_each_other_s_twins(write, capsys):
    paths = [str(write(name, {"id": ["notes"]})) for name in ("first", "second")]
    assert main(["check", *paths]) == 1
    assert "another panel" not in capsys.readouterr().out


@pytest.mark.rule("K-11")
def test_json_is_an_object_for_one_path_and_an_array_for_several(write, tmp_path, capsys):
    good = str(write("good", plain(id="good")))
    gone = str(tmp_path / "gone")
    assert main(["check", good, "--format", "json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert main(["check", "--format", "json", good, gone]) == 2
    assert json.loads(capsys.readouterr().out) == [one]
    assert main(["check", "--format", "json", gone, gone]) == 2
    assert json.loads(capsys.readouterr().out) == []
    assert main(["check", "--format", "json", gone]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.rule("K-11", "P-7")
def test_github_gets_the_place_of_every_problem_in_every_file(write, capsys):
    first = write("first", plain(id="first", sdk=9))
    second = write("second", plain(id="first"))
    assert main(["check", "--format", "github", str(first), str(second)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"::error file={first / 'panel.json'},line=5,col=9,title=bad_sdk::")
    place = f"::error file={second / 'panel.json'},line=2,col=8,title=duplicate::"
    assert lines[1].startswith(place)
    assert len(lines) == 2
