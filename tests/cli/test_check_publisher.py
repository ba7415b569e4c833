"""``deska check --publisher``: the rule across versions, by a publisher's ledger (K-12, P-6)."""

from __future__ import annotations

import fcntl
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from deska_host._commands import check as check_command
from deska_host._commands.files import write_whole
from deska_host._commands.ledger import recording
from deska_host.cli import main
from tests.panels.support_manifest import plain, working

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[..., str]

EMPTY = b'{"deska-ledger": 1, "panels": []}'


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a version of a panel over the one before."""

    def written(manifest: dict[str, Any], name: str = "panel.json") -> str:
        file = tmp_path / name
        file.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        return str(file)

    return written


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger in a folder of its own, which holds nothing yet."""
    (tmp_path / "published").mkdir()
    file = tmp_path / "published" / "ledger.json"
    file.write_bytes(EMPTY)
    return file


def check(file: str, ledger: Path, *options: str) -> int:
    return main(["check", file, "--publisher", str(ledger), *options])


def panels(ledger: Path) -> list[str]:
    return json.loads(ledger.read_bytes())["panels"]


@pytest.mark.rule("K-12", "P-6")
def test_a_panel_that_worked_with_agents_may_never_reach_out_again(write, ledger, capsys):
    assert check(write(working(id="notes")), ledger, "--record") == 0
    assert panels(ledger) == ["notes"]
    capsys.readouterr()
    later = plain(id="notes", version="0.0.1", network=["a.example"], permissions=["account"])
    assert check(write(later), ledger, "--record") == 1
    out = capsys.readouterr().out
    assert "panel.json:6:2: an earlier version of this panel worked with agents" in out
    assert out.count("[ledger_refused]") == 2
    assert check(write(plain(id="notes", version="2.0.0")), ledger, "--record") == 0
    assert panels(ledger) == ["notes"]
    assert check(write({**later, "id": "notes-online"}), ledger, "--record") == 0
    assert panels(ledger) == ["notes"]
    assert main(["check", write(later)]) == 0


@pytest.mark.rule("K-12")
def test_what_was_noted_is_said(write, ledger, capsys):
    assert check(write(working(id="notes")), ledger, "--record") == 0
    assert capsys.readouterr().out.endswith(f"{ledger}: noted notes\n")
    assert check(write(working(id="notes")), ledger, "--record") == 0
    assert f"{ledger}: noted" not in capsys.readouterr().out
    assert check(write(working(id="shelf")), ledger, "--record", "--format=json") == 0
    json.loads(capsys.readouterr().out)
    assert panels(ledger) == ["notes", "shelf"]


@pytest.mark.rule("K-12")
def test_nothing_is_recorded_unless_it_is_asked_for_and_all_is_clean(write, ledger, tmp_path):
    good = write(working(id="notes"))
    bad = write(working(id="shelf", sdk=9), "bad.json")
    assert check(good, ledger) == 0
    assert check(good, ledger, "--record", bad) == 1
    assert check(good, ledger, "--record", str(tmp_path / "gone")) == 2
    assert check(good, ledger, "--record", write(working(id="notes"), "twin.json")) == 1
    assert ledger.read_bytes() == EMPTY


@pytest.mark.rule("K-12")
def test_what_adds_nothing_leaves_the_file_as_it_is(write, ledger):
    assert check(write(plain(id="quiet")), ledger, "--record") == 0
    assert ledger.read_bytes() == EMPTY


@pytest.mark.rule("K-12")
def test_a_ledger_that_is_not_there_is_never_taken_for_an_empty_one(write, ledger, capsys):
    other = ledger.with_name("ledgre.json")
    good = write(working(id="notes"))
    for options in ([], ["--record"]):
        assert check(good, other, *options) == 2
        assert "there is no such ledger; --new-ledger makes" in capsys.readouterr().err
    assert not other.exists()
    assert check(write(plain(id="quiet"), "quiet.json"), other, "--new-ledger") == 0
    assert panels(other) == []
    assert check(good, other, "--new-ledger") == 2
    assert "this is there already" in capsys.readouterr().err
    assert panels(other) == []
    assert check(good, ledger.parent / "nowhere" / "ledger.json", "--new-ledger") == 2
    assert "nothing was recorded: No such file" in capsys.readouterr().err
    assert main(["check", good, "--record"]) == 2
    assert main(["check", good, "--new-ledger"]) == 2


@pytest.mark.rule("K-12")
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "line 1, column 1"),
        (EMPTY[:-1], "line 1, column"),
        (b"\xff", "not UTF-8"),
        (b"[]", "this is no ledger"),
        (b"{}", "this is no ledger"),
        (b'{"panels": ["notes"]}', "this is no ledger"),
        (b'{"deska-ledger": 2, "panels": []}', "knows no other"),
        (b'{"deska-ledger": true, "panels": []}', "knows no other"),
        (b'{"deska-ledger": 1.0, "panels": []}', "knows no other"),
        (b'{"deska-ledger": 1}', "the keys deska-ledger and panels"),
        (b'{"deska-ledger": 1, "panels": [], "more": 1}', "the keys deska-ledger and panels"),
        (b'{"deska-ledger": 1, "panels": [], "panels": []}', "line 1, column 35"),
        (b'{"deska-ledger": 1, "panels": {}}', "an array of ids"),
        (b'{"deska-ledger": 1, "panels": "a"}', "an array of ids"),
        (b'{"deska-ledger": 1, "panels": [\n"a",\n"B"]}', "line 3: this is no panel's id"),
        (b'{"deska-ledger": 1, "panels": [\n1]}', "line 2: this is no panel's id"),
        (b'{"deska-ledger": 1, "panels": ["' + b"a" * 65 + b'"]}', "this is no panel's id"),
        (b'{"deska-ledger": 1, "panels": [\n"a",\n"a"]}', "line 3: this id stands here twice"),
    ],
)
def test_a_damaged_ledger_is_refused_and_left_as_it_is(data, said, write, ledger, capsys):
    ledger.write_bytes(data)
    for options in ([], ["--record"]):
        assert check(write(working(id="notes")), ledger, *options) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"deska check: {ledger}: ")
        assert said in err
        assert ledger.read_bytes() == data


@pytest.mark.rule("K-12")
def test_a_ledger_of_every_panel_of_a_large_publisher_is_read(write, ledger):
    ids = [f"panel-{number}" for number in range(20_000)]
    ledger.write_text(json.dumps({"deska-ledger": 1, "panels": ids}))
    assert check(write(working(id="notes")), ledger, "--record") == 0
    assert panels(ledger) == sorted([*ids, "notes"])
    with ledger.open("ab") as file:
        file.truncate(17 * 1_048_576)
    assert check(write(working(id="notes")), ledger) == 2


@pytest.mark.rule("K-12")
def test_a_ledger_that_cannot_be_written_whole_is_the_one_from_before(
    write, ledger, monkeypatch, capsys
):
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert check(write(working(id="notes")), ledger, "--record") == 2
    out, err = capsys.readouterr()
    assert "no problems" in out
    assert f"{ledger}: noted" not in out
    assert err.endswith("nothing was recorded: No space left on device\n")
    assert ledger.read_bytes() == EMPTY
    assert list(ledger.parent.iterdir()) == [ledger]


@pytest.mark.rule("K-12")
def test_a_file_is_replaced_at_its_own_place_with_its_own_permissions(tmp_path):
    (tmp_path / "real").write_bytes(b"before")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"after"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    assert sorted(tmp_path.iterdir()) == [tmp_path / "link", tmp_path / "real"]


def locked(folder: Path) -> bool:
    """Whether somebody keeps others from recording in this folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@pytest.mark.rule("K-12")
def test_nobody_else_records_between_the_reading_and_the_writing(write, ledger, monkeypatch):
    seen: list[tuple[str, bool]] = []

    def watched(name: str) -> None:
        real = getattr(check_command, name)

        def seeing(*given: Any, **named: Any) -> Any:
            seen.append((name, locked(ledger.parent)))
            return real(*given, **named)

        monkeypatch.setattr(check_command, name, seeing)

    for name in ("read_ledger", "check_panel", "write_ledger"):
        watched(name)
    assert check(write(working(id="notes")), ledger, "--record") == 0
    assert seen == [("read_ledger", True), ("check_panel", True), ("write_ledger", True)]
    assert not locked(ledger.parent)
    seen.clear()
    assert check(write(working(id="notes")), ledger) == 0
    assert seen == [("read_ledger", False), ("check_panel", False)]
    with recording(ledger):
        assert locked(ledger.parent)
