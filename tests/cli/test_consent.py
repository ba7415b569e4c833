"""The person's yes on the command line (K-2)."""

from __future__ import annotations

import json
import signal

import pytest

from tests.cli.support_desk import AtTerminal, a_manifest, command_line, environment, write_panel


@pytest.mark.rule("K-2")
@pytest.mark.parametrize("command", ["try", "call"])
def test_where_nobody_can_be_asked_nothing_is_connected(deska, echo, command):
    argv = [command, echo, *(["say"] if command == "call" else [])]
    for _ in range(2):
        done = deska(*argv, stdin="y\n")
        assert done.status == 2
        assert "the person has not agreed to what the panel echo offers now" in done.err
        assert "--yes" in done.err
        assert done.out == ""


@pytest.mark.rule("K-2")
def test_a_yes_is_kept_and_not_asked_for_again(deska, echo):
    first = deska("call", echo, "say", "--yes")
    assert first.status == 0
    assert "--yes agrees to “Echo” (echo) with say, hear." in first.err
    again = deska("call", echo, "say")
    assert (again.status, again.err) == (0, "")
    assert deska("try", echo, stdin="call say\n").status == 0


@pytest.mark.rule("K-2")
def test_a_sheet_that_says_something_else_needs_a_new_yes(deska, echo):
    assert deska("call", echo, "say", "--yes").status == 0
    manifest = a_manifest(version="2.0.0")
    (echo / "panel.json").write_text(json.dumps(manifest))
    assert deska("call", echo, "say").status == 0
    manifest["agent"]["actions"][0]["description"] = "Says it to everyone."
    (echo / "panel.json").write_text(json.dumps(manifest))
    assert deska("call", echo, "say").status == 2
    assert deska("call", echo, "say", "--yes").status == 0


@pytest.mark.rule("K-2")
def test_a_panel_that_is_not_given_is_not_connected_and_its_yes_is_kept(deska, echo, tmp_path):
    other = write_panel(tmp_path / "other")
    assert deska("call", echo, "say", "--yes").status == 0
    listed = deska("call", other, "--list", "--yes")
    assert [panel["panel"] for panel in json.loads(listed.out)["panels"]] == ["other"]
    listed = deska("call", echo, "--list")
    assert [panel["panel"] for panel in json.loads(listed.out)["panels"]] == ["echo"]


@pytest.mark.rule("K-2")
def test_the_person_reads_the_sheet_in_the_terminal_and_says_yes_or_no(deska, echo, tmp_path):
    other = write_panel(tmp_path / "other", name="Oth\u200ber")
    argv = command_line("try", echo, other, "--task", deska.task)
    env = environment(deska.state)
    with AtTerminal(argv, env, tmp_path) as person:
        sheet = person.until("anything else for no:")
        assert "Connect the panel “Echo” (echo) to this task?" in sheet
        assert "Says a word." in sheet
        assert "Connect echo?" in sheet
        person.type("no\r")
        assert "“Oth er” (other)" in person.until("anything else for no:")
        person.type("Y\r")
        person.until("deska>")
        person.type("list\r")
        assert "echo" not in person.until("other – Oth er").replace("list", "")
        person.type("quit\r")
        assert person.status() == 0
    # What was agreed to is kept; what was not is not.
    assert deska("call", other, "say").status == 0
    assert deska("call", echo, "say").status == 2


@pytest.mark.rule("K-2")
@pytest.mark.parametrize("command", ["try", "serve"])
def test_a_person_who_gives_up_at_the_question_agreed_to_nothing(deska, echo, tmp_path, command):
    argv = command_line(command, echo, "--task", deska.task)
    with AtTerminal(argv, environment(deska.state), tmp_path) as person:
        person.until("anything else for no:")
        # What a terminal makes of Ctrl-C; Enter is not pressed.
        person.process.send_signal(signal.SIGINT)
        assert person.status() == 130
        assert "Traceback" not in person.shown
    assert deska("call", echo, "say").status == 2


@pytest.mark.rule("K-2")
def test_with_a_no_to_every_panel_nothing_is_opened(deska, echo, tmp_path):
    argv = command_line("call", echo, "say", "--task", deska.task)
    with AtTerminal(argv, environment(deska.state), tmp_path) as person:
        person.until("anything else for no:")
        person.type("\r")
        assert person.status() == 2
        assert "agreed to no panel" in person.shown
