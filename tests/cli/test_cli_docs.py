"""What the page about the command line says of options is what the commands have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deska_host.cli import COMMANDS, main

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def section(name):
    return PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("command", ["try", "call", "serve"])
def test_the_table_of_a_command_has_all_of_its_options_and_no_other(command, capsys):
    assert main([command, "--help"]) == 0
    wanted = set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    told = re.findall(r"^\| `(--[a-z-]+)", section(command), re.MULTILINE)
    assert len(told) == len(set(told))
    assert set(told) == wanted - {"--help"}


def test_every_command_is_in_the_first_table():
    table = PAGE.partition("\n| command |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`deska (\w+)`", table)) == set(COMMANDS)


@pytest.mark.parametrize("event", ["warning", "serving", "call", "page_raised", "ended"])
def test_every_event_of_serve_is_told(event):
    assert f"`{event}`" in section("serve")
