"""``deska new``: a panel to start from, which works (K-10)."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from deska_host.cli import COMMANDS, main
from deska_sdk.panels.check import check_panel
from deska_sdk.panels.editor_schema import panel_json_schema
from deska_sdk.strictjson import loads

KINDS = [[], ["--typed"]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command is run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def own_tests(*folders: str) -> subprocess.CompletedProcess[str]:
    """The panels' tests, as their author runs them; no plugin but ours, for the sake of time."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "deska_host.pytest_plugin", *folders],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


@pytest.mark.rule("K-10")
def test_a_new_panel_passes_the_check_and_its_own_tests_at_once(here, capsys):
    assert main(["new", "reading-list"]) == 0
    assert main(["new", "shelf", "--typed"]) == 0
    assert main(["check", "reading-list", "shelf"]) == 0
    assert capsys.readouterr().out.count("no problems, no warnings") == 2
    done = own_tests("reading-list", "shelf")
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout


@pytest.mark.rule("K-10")
def test_its_tests_fail_when_the_page_does_something_else(here):
    assert main(["new", "notes"]) == 0
    assert main(["new", "shelf", "--typed"]) == 0
    for name in ("notes", "shelf"):
        page = here / name / "page.py"
        page.write_text(page.read_text().replace("*notes, ", ""), encoding="utf-8")
    done = own_tests("notes", "shelf")
    assert done.returncode == 1
    for name in ("notes", "shelf"):
        broken = f"{name}/test_{name}.py::test_the_list_does_not_grow_without_end"
        assert f"FAILED {broken}" in done.stdout


@pytest.mark.rule("K-10")
@pytest.mark.parametrize("kind", KINDS, ids=["plain", "typed"])
def test_no_note_is_lost_when_calls_overlap(kind, here, deska_desk):
    assert main(["new", "notes", *kind]) == 0
    agent = deska_desk.connect(here / "notes")
    notes = [f"Note {number}" for number in range(10)]
    calls = [agent.start("add_note", {"text": note}) for note in notes]
    assert all(call.result().text.startswith('{"ok":true') for call in calls)
    read = agent.call("read_notes").text
    assert all(f'"{note}"' in read for note in notes)


@pytest.mark.rule("K-10")
def test_a_plain_panel_brings_the_schema_that_it_names_for_editors(here):
    assert main(["new", "notes"]) == 0
    assert files(here / "notes") == [
        "README.md",
        "page.py",
        "panel.json",
        "panel.schema.json",
        "test_notes.py",
    ]
    manifest = loads((here / "notes" / "panel.json").read_text())
    assert manifest["$schema"] == "./panel.schema.json"
    assert loads((here / "notes" / "panel.schema.json").read_text()) == panel_json_schema()


@pytest.mark.rule("K-10")
def test_a_typed_panel_has_a_panel_json_that_is_fresh(here):
    assert main(["new", "notes", "--typed"]) == 0
    assert files(here / "notes") == ["README.md", "page.py", "panel.json", "test_notes.py"]
    assert main(["manifest", "notes/page.py", "--check", "notes/panel.json"]) == 0


@pytest.mark.rule("K-10")
@pytest.mark.parametrize("kind", KINDS, ids=["plain", "typed"])
def test_it_has_a_write_a_read_and_the_name_that_was_given_everywhere(kind, here):
    assert main(["new", "my-reading-list", *kind]) == 0
    folder = here / "my-reading-list"
    manifest = check_panel((folder / "panel.json").read_bytes()).manifest
    assert manifest is not None
    assert (manifest.id, manifest.name) == ("my-reading-list", "My reading list")
    assert [action.kind for action in manifest.actions] == ["write", "read"]
    assert (folder / "test_my_reading_list.py").is_file()
    readme = (folder / "README.md").read_text()
    assert "`test_my_reading_list.py`" in readme
    for command in ("deska check", "pytest", "deska try", "deska serve"):
        assert f"\n{command} my-reading-list" in readme
    for file in files(folder):
        assert "starter" not in (file + (folder / file).read_text()).lower()


@pytest.mark.rule("K-10")
@pytest.mark.parametrize("name", ["a", "a" + "-b1" * 21, "panel", "test", "json", "agent"])
def test_any_id_can_be_the_name_of_a_new_panel(name, here):
    for kind in KINDS:
        assert main(["new", name, "--in", str(here), *kind]) == 0
        report = check_panel((here / name / "panel.json").read_bytes())
        assert report.manifest is not None
        assert report.manifest.id == name
        (here / name).rename(here / f"{name}-was")
        if kind:
            page = here / f"{name}-was" / "page.py"
            made = str(page.with_name("panel.json"))
            assert main(["manifest", str(page), "--check", made]) == 0
        else:
            (here / f"{name}-was").rename(here / f"{name}-plain")


@pytest.mark.rule("K-10")
@pytest.mark.parametrize(
    "name",
    ["Notes", "my_notes", "1st", "a--b", "-", "a-", "", ".", "..", "a/b", "nötes", "a\n", "x" * 65],
)
def test_a_name_that_is_no_id_is_refused_with_the_rule(name, here, capsys):
    assert main(["new", "--", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "at most 64 lower-case letters, digits and single hyphens" in err
    assert err.count("\n") == 1
    assert files(here) == []


@pytest.mark.rule("K-10")
def test_what_is_there_already_is_not_touched(here, capsys):
    (here / "notes").mkdir()
    (here / "shelf").write_text("mine")
    (here / "link").symlink_to("nowhere")
    for name in ("notes", "shelf", "link"):
        assert main(["new", name]) == 2
        assert "is there already" in capsys.readouterr().err
    assert files(here) == ["link", "notes", "shelf"]
    assert (here / "shelf").read_text() == "mine"


@pytest.mark.rule("K-10")
def test_a_folder_that_is_not_there_is_said_and_not_made(here, capsys):
    assert main(["new", "notes", "--in", "panels"]) == 2
    assert capsys.readouterr().err == "deska new: panels: there is no such folder\n"
    assert files(here) == []


@pytest.mark.rule("K-10")
@pytest.mark.parametrize(
    ("raised", "status"), [(OSError(errno.ENOSPC, "No space left"), 2), (KeyboardInterrupt(), None)]
)
def test_nothing_is_left_of_a_panel_that_could_not_be_written_whole(
    raised, status, here, monkeypatch, capsys
):
    write = Path.write_bytes
    written: list[str] = []

    def fails(path: Path, data: bytes) -> int:
        if len(written) == 3:
            raise raised
        written.append(path.name)
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", fails)
    if status is None:
        assert main(["new", "notes"]) == 130
    else:
        assert main(["new", "notes"]) == status
        assert capsys.readouterr().err == "deska new: notes: No space left\n"
    assert len(written) == 3
    assert files(here) == []


@pytest.mark.rule("K-10")
def test_what_appears_meanwhile_is_not_replaced(here, monkeypatch):
    write = Path.write_bytes

    def races(path: Path, data: bytes) -> int:
        (here / "notes").mkdir(exist_ok=True)
        (here / "notes" / "mine").touch()
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", races)
    assert main(["new", "notes"]) == 2
    assert files(here) == ["notes", "notes/mine"]


@pytest.mark.rule("K-10")
@pytest.mark.parametrize("kind", KINDS, ids=["plain", "typed"])
def test_the_next_steps_are_commands_to_paste(kind, here, capsys):
    (here / "my panels").mkdir()
    assert main(["new", "notes", "--in", "my panels", *kind]) == 0
    steps = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert len(steps) == 4 + len(kind)
    for step in steps:
        command = shlex.split(step)
        assert command[0] == "pytest" or (command[0] == "deska" and command[1] in COMMANDS)
        assert any(word.startswith("my panels/notes") for word in command)


@pytest.mark.rule("K-10")
def test_a_folder_that_begins_with_a_hyphen_is_no_option_in_the_next_steps(here, capsys):
    (here / "-panels").mkdir()
    assert main(["new", "notes", "--typed", "--in=-panels"]) == 0
    steps = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert all(" ./-panels/notes" in step for step in steps)
    assert len(steps) == 5
