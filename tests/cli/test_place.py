"""Where the desk of a command stands, and what is said when it cannot be opened (K-1)."""

from __future__ import annotations

import json
import stat

import pytest

from deska_host import BlockingHost
from deska_host._commands.place import find_place
from tests.cli.support_desk import a_manifest, write_panel


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.rule("K-1")
def test_the_desk_is_one_file_for_each_task_folder_in_the_users_state_folder(deska, echo):
    assert deska("call", echo, "say", "--yes").status == 0
    (desk,) = deska.desks
    assert mode(desk) == 0o600
    assert mode(desk.parent) == mode(desk.parent.parent) == 0o700
    other = deska.tmp_path / "orchard"
    other.mkdir()
    assert deska("call", echo, "say", "--yes", task=other).status == 0
    assert len(deska.desks) == 2
    assert list(other.iterdir()) == []


@pytest.mark.rule("K-1")
def test_every_name_of_a_task_folder_leads_to_the_same_desk(deska, echo, monkeypatch):
    link = deska.tmp_path / "link"
    link.symlink_to(deska.task)
    assert deska("call", echo, "say", "--yes", "--input", '{"word":"fern"}').status == 0
    assert deska("call", echo, "say", task=link).status == 0
    monkeypatch.chdir(deska.task)
    assert deska("call", echo, "say", task=".").status == 0
    assert len(deska.desks) == 1


@pytest.mark.rule("K-1")
def test_a_state_folder_that_is_no_absolute_path_is_not_used(deska, echo, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(deska.tmp_path / "home"))
    monkeypatch.chdir(deska.tmp_path)
    assert deska("call", echo, "say", "--yes").status == 0
    assert not (deska.tmp_path / "state").exists()
    assert len(list((deska.tmp_path / "home/.local/state/deska/desks").iterdir())) == 1


@pytest.mark.rule("K-1")
def test_another_file_can_be_the_desk(deska, echo):
    desk = deska.tmp_path / "my.db"
    assert deska("call", echo, "say", "--yes", "--desk", desk).status == 0
    assert mode(desk) == 0o600
    assert deska.desks == []
    assert deska("call", echo, "say", "--desk", desk).status == 0


@pytest.mark.rule("K-1")
def test_two_tasks_on_one_desk_share_what_was_agreed_and_no_connection(deska, echo):
    orchard = deska.tmp_path / "orchard"
    orchard.mkdir()
    desk = deska.tmp_path / "my.db"
    other = write_panel(deska.tmp_path / "other")
    assert deska("call", echo, "say", "--yes", "--desk", desk).status == 0
    assert deska("call", other, "say", "--yes", "--desk", desk, task=orchard).status == 0
    assert deska("call", other, "say", "--desk", desk, task=orchard).status == 0
    with BlockingHost(desk) as host:
        for folder, connected in ((deska.task, ("echo",)), (orchard, ("other",))):
            task = host.attach_task(find_place(folder, desk).task)
            assert host.person.connected(task.id) == connected
    # What was agreed to for one task holds for the other.
    assert deska("call", echo, "say", "--desk", desk, task=orchard).status == 0


@pytest.mark.rule("K-1")
@pytest.mark.parametrize("below", ["desk.db", "deep/desk.db"])
def test_a_desk_inside_the_tasks_folder_is_refused_and_not_made(deska, echo, below):
    desk = deska.task / below
    desk.parent.mkdir(exist_ok=True)
    done = deska("call", echo, "say", "--yes", "--desk", desk)
    assert done.status == 2
    assert "cannot stand inside the task's folder" in done.err
    assert "--desk FILE" in done.err
    assert not desk.exists()


@pytest.mark.rule("K-1")
def test_a_desk_that_a_link_brings_into_the_tasks_folder_is_refused(deska, echo):
    link = deska.tmp_path / "link"
    link.symlink_to(deska.task)
    done = deska("call", echo, "say", "--yes", "--desk", link / "desk.db")
    assert done.status == 2
    assert "cannot stand inside the task's folder" in done.err
    assert not (deska.task / "desk.db").exists()


@pytest.mark.rule("K-1")
def test_a_state_folder_inside_the_tasks_folder_is_refused_and_not_made(deska, echo, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(deska.task / "state"))
    done = deska("call", echo, "say", "--yes")
    assert done.status == 2
    assert "cannot stand inside the task's folder" in done.err
    assert not (deska.task / "state").exists()


@pytest.mark.rule("K-1")
def test_a_desk_that_another_deska_has_open_is_told_as_that(deska, echo):
    desk = deska.tmp_path / "my.db"
    with BlockingHost(desk):
        done = deska("call", echo, "say", "--yes", "--desk", desk)
    assert done.status == 2
    assert done.err == (
        "deska call: another deska has this task's desk open; end it first, or choose another "
        "with --desk FILE\n"
    )


@pytest.mark.rule("K-1")
def test_a_file_that_is_no_desk_is_left_as_it_is(deska, echo):
    desk = deska.tmp_path / "letter.txt"
    desk.write_text("Dear fern, " * 20)
    done = deska("call", echo, "say", "--yes", "--desk", desk)
    assert done.status == 2
    assert "This is not a store" in done.err
    assert desk.read_text() == "Dear fern, " * 20


@pytest.mark.rule("K-1")
def test_a_desk_in_a_folder_that_is_not_there_is_refused(deska, echo):
    done = deska("call", echo, "say", "--yes", "--desk", deska.tmp_path / "no" / "desk.db")
    assert done.status == 2
    assert "no such folder for the desk's file" in done.err


@pytest.mark.rule("K-1")
def test_a_task_without_a_folder_is_refused(deska, echo):
    for task in (deska.tmp_path / "nowhere", deska.task / "fern.png"):
        done = deska("call", echo, "say", "--yes", task=task)
        assert done.status == 2
        assert "no such folder for the task" in done.err
    assert deska("call", echo, "say", "--yes", task="/proc").status == 2


@pytest.mark.rule("K-1")
def test_what_is_wrong_with_a_panel_is_told_with_its_places(deska, tmp_path):
    folder = write_panel(tmp_path / "bad", version="1")
    done = deska("call", folder, "say", "--yes")
    assert done.status == 2
    places, end = done.err.splitlines()
    assert places.startswith(f"{folder / 'panel.json'}:1:")
    assert places.endswith("[bad_version]")
    assert end == f"deska call: {folder}: its panel.json has 1 problem"


@pytest.mark.rule("K-1")
@pytest.mark.parametrize(
    ("page", "changes", "sentence"),
    [
        ("async def main(deska): ...", {"agent": None}, "declares no actions"),
        ("main = 7", {}, "no `async def main(deska)`"),
        ("<html>", {"entry": "index.html"}, "pages written in Python"),
    ],
)
def test_a_panel_that_cannot_be_used_is_refused_with_the_reason(
    deska, tmp_path, page, changes, sentence
):
    manifest = a_manifest() | changes
    if changes.get("agent", 1) is None:
        manifest = {k: v for k, v in manifest.items() if k not in ("agent", "permissions")}
    folder = tmp_path / "echo"
    folder.mkdir()
    (folder / "panel.json").write_text(json.dumps(manifest))
    (folder / manifest["entry"]).write_text(page)
    done = deska("call", folder, "say", "--yes")
    assert done.status == 2
    assert sentence in done.err


@pytest.mark.rule("K-1")
def test_no_folder_of_a_panel_and_two_of_one_id_are_refused(deska, echo, tmp_path):
    done = deska("call", tmp_path / "nowhere", "say", "--yes")
    assert (done.status, "no such folder of a panel" in done.err) == (2, True)
    twin = write_panel(tmp_path / "twin", panel="echo")
    done = deska("try", echo, twin, "--yes")
    assert (done.status, "the same id, echo" in done.err) == (2, True)


@pytest.mark.rule("K-1", "P-6")
def test_a_version_that_the_desks_ledger_refuses_is_told_as_that(deska, echo):
    assert deska("call", echo, "say", "--yes").status == 0
    manifest = {k: v for k, v in a_manifest().items() if k not in ("agent", "permissions")}
    (echo / "panel.json").write_text(json.dumps(manifest | {"network": ["example.com"]}))
    done = deska("call", echo, "say", "--yes")
    assert done.status == 2
    assert "has worked with agents on this computer" in done.err


@pytest.mark.rule("K-1")
@pytest.mark.parametrize("home", ["", "home", "./home"])
def test_a_home_that_is_no_absolute_path_is_not_used(deska, echo, monkeypatch, home):
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", home)
    monkeypatch.chdir(deska.tmp_path)
    done = deska("call", echo, "say", "--yes")
    assert done.status == 2
    assert "there is no home folder to keep the desk in; choose a file with --desk FILE" in done.err
    assert not (deska.tmp_path / "home").exists()
    assert deska("call", echo, "say", "--yes", "--desk", "my.db").status == 0
