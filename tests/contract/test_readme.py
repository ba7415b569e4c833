"""The README's two commands are the ones that CI runs."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [block.strip() for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)]


def test_there_are_two_commands_and_each_is_one_line():
    assert len(commands()) == 2
    assert not any("\n" in command for command in commands())


def test_each_command_makes_its_own_environment():
    for command in commands():
        place = command.split()[3]
        assert command.startswith(f"python3 -m venv {place} && {place}/bin/pip install")


def test_ci_runs_the_second_command_as_it_is_written():
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert commands()[1].endswith("-m pytest")
