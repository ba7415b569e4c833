"""What holds for every command: its status, the order of its arguments, its streams (K-9)."""

from __future__ import annotations

import io
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from deska_host._commands.interrupts import interrupted_later
from deska_host.cli import COMMANDS, main
from tests.cli.support_desk import PATIENCE, command_line, environment, write_panel

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.rule("K-9")
def test_without_a_command_all_of_them_are_told_and_the_status_is_2(capsys):
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert all(f"  {name} " in err for name in COMMANDS)


@pytest.mark.rule("K-9", "K-13")
def test_a_command_that_does_not_exist_is_told_with_the_one_that_may_be_meant(capsys):
    assert main(["manfest", "page.py"]) == 2
    assert "manfest: there is no such command; did you mean manifest?" in capsys.readouterr().err
    assert main(["\x1b[2Jqq"]) == 2
    assert "\\u{001B}[2Jqq: there is no such command" in capsys.readouterr().err


@pytest.mark.rule("K-13")
def test_a_wrong_argument_writes_no_control_to_the_terminal(capsys):
    assert main(["schema", "\x1b[2J\u202e"]) == 2
    err = capsys.readouterr().err
    assert "unrecognized arguments: \\u{001B}[2J\\u{202E}" in err
    assert "\x1b" not in err


@pytest.mark.rule("K-9")
def test_options_stand_before_between_and_behind_what_they_belong_to(
    deska, echo, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    other = write_panel(tmp_path / "other")
    task = ("--task", deska.task)
    for argv in (
        ["call", echo, *task, "say", "--yes"],
        ["call", *task, "--yes", echo, "say"],
        ["try", echo, *task, other, "--yes"],
        ["serve", echo, "--print-config", *task, other],
        ["check", echo, "--format", "json", other],
        ["new", "--in", tmp_path, "notes", "--typed"],
    ):
        assert main([str(part) for part in argv]) == 0, argv


@pytest.mark.rule("K-9")
@pytest.mark.parametrize("command", ["new", "check", "schema", "manifest", "demo"])
def test_ctrl_c_is_130_and_no_traceback_in_every_command(command, monkeypatch, capsys):
    def interrupted(argv: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"{COMMANDS[command].module}.run", interrupted)
    assert main([command]) == 130
    assert capsys.readouterr() == ("", "")


def closed(deska, how: str, *argv: object) -> subprocess.CompletedProcess[str]:
    """A command whose streams a shell has closed: ``0<&-``, ``1>&-`` or ``2>&-``."""
    return subprocess.run(
        ["/bin/sh", "-c", f"{shlex.join(command_line(*argv))} {how}"],
        env=environment(deska.state),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.rule("K-9")
def test_where_nothing_can_be_told_nothing_is_done(deska, tmp_path):
    done = closed(deska, "1>&-", "new", "notes", "--in", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "deska: standard output is closed, so nothing was done\n"
    assert not (tmp_path / "notes").exists()


@pytest.mark.rule("K-9")
def test_without_standard_error_the_status_is_what_it_would_be_with_it(deska, echo):
    for how in ("2>&-", "2>/dev/full"):
        assert closed(deska, how, "check", "nowhere").returncode == 2
    done = closed(deska, "2>&-", "call", echo, "say", "--yes", "--task", deska.task)
    assert (done.returncode, done.stdout) == (0, '{"ok":true}\n')


@pytest.mark.rule("K-9")
def test_a_standard_input_that_is_closed_is_one_that_is_empty(deska, echo):
    task = ("--yes", "--task", deska.task)
    done = closed(deska, "0<&-", "call", echo, "say", "--input", "-", *task)
    assert done.returncode == 2
    assert "line 1, column 1: it ends where a value is due" in done.stderr
    assert closed(deska, "0<&-", "try", echo, *task).returncode == 0


@pytest.mark.rule("K-9")
def test_no_file_gets_the_number_of_a_stream_that_was_closed(deska, tmp_path: Path):
    page = """\
import os


async def main(deska):
    async def hear(call):
        for number in (0, 2):
            os.write(number, b"not for a file " * 100)
        await deska.agent.respond(call["callId"], {"ok": True})

    deska.on("agent.action", hear)
    await deska.ready()
"""
    panel = write_panel(tmp_path / "echo", page)
    argv = ("call", panel, "say", "--yes", "--task", deska.task)
    for _ in range(2):
        done = closed(deska, "0<&- 2>&-", *argv)
        assert (done.returncode, done.stdout) == (0, '{"ok":true}\n')
    (desk,) = deska.desks
    assert b"not for a file" not in desk.read_bytes()


@pytest.mark.rule("K-9")
@pytest.mark.parametrize("ending", [None, RuntimeError], ids=["done", "failed"])
def test_ctrl_c_comes_at_the_end_of_what_it_must_not_divide(ending):
    reached = []

    def divided():
        with interrupted_later():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")
            if ending is not None:
                raise ending

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ending or KeyboardInterrupt):
        divided()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is before


#: Runs a command, and presses Ctrl-C when it first waits for the thread that it has started.
PRESSED = """\
import signal
import sys
from concurrent.futures import Future

from deska_host.cli import main

wait = Future.result


def pressed(future, timeout=None):
    Future.result = wait
    signal.raise_signal(signal.SIGINT)
    return wait(future, timeout)


Future.result = pressed
sys.exit(main())
"""


@pytest.mark.rule("K-9", "K-5")
@pytest.mark.parametrize("command", ["call", "try"])
def test_ctrl_c_while_the_desks_thread_starts_is_no_wait_without_end(deska, echo, command):
    argv = [command, echo, *(["say"] if command == "call" else []), "--yes", "--task", deska.task]
    done = subprocess.run(
        [sys.executable, "-c", PRESSED, *map(str, argv)],
        env=environment(deska.state),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
