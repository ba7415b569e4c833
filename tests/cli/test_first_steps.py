"""The first steps that docs/cli.md tells a newcomer, each of them taken."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from tests.cli.support_desk import PATIENCE, AtTerminal, environment
from tests.support_installed import KNOWN_TO_PYTEST

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
STEPS = PAGE.partition("\n## First steps\n")[2].partition("\n## ")[0]
CLIENT = re.search(r"<!-- file: client.py -->\n\n```python\n(.*?)```", STEPS, re.DOTALL)
#: What installs is not done here: there may be no network. The suite runs where it was done.
INSTALLED = ("python3 -m venv", ". .venv/bin/activate")


def commands():
    """Every line of the blocks that a shell takes."""
    blocks = re.findall(r"```sh\n(.*?)```", STEPS, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.rule("K-2", "K-3", "K-10")
def test_a_newcomer_gets_from_a_new_panel_to_a_call_by_a_client_in_under_ten_commands(tmp_path):
    steps = [line for line in commands() if not line.startswith(INSTALLED)]
    assert len(commands()) < 10
    assert len(steps) == len(commands()) - 2
    assert CLIENT is not None
    clone, programs = tmp_path / "clone", tmp_path / "bin"
    panels = tmp_path / "panels"
    clone.mkdir()
    programs.mkdir()
    for name, run in (("deska", "-m deska_host"), ("pytest", "-m pytest"), ("python", "")):
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {run} "$@"\n')
        script.chmod(0o700)
    env = environment(tmp_path / "state")
    env |= {"PATH": f"{programs}{os.pathsep}{env['PATH']}", "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    if not KNOWN_TO_PYTEST:
        env["PYTEST_PLUGINS"] = "deska_host.pytest_plugin"
    shown = ""
    where = clone
    for step in steps:
        if step.startswith("python client.py"):
            # A source tree that is not installed is found by a variable, which no client hands on.
            config = json.loads((tmp_path / "garden" / ".mcp.json").read_text())
            config["mcpServers"]["deska"]["env"] = {"PYTHONPATH": env["PYTHONPATH"]}
            (tmp_path / "garden" / ".mcp.json").write_text(json.dumps(config))
        if step.startswith("deska try"):
            with AtTerminal(["/bin/sh", "-c", step], env, where) as person:
                assert "“Reading list” (reading-list)" in person.until("anything else for no:")
                for typed, answered in (
                    ("y", "deska>"),
                    (re.findall(r"`(call .*?)`", STEPS)[0], '{"ok":true,"revision":"r1"}'),
                ):
                    person.type(f"{typed}\r")
                    person.until(answered)
                person.until("deska>")
                person.type("quit\r")
                assert person.status() == 0
            continue
        done = subprocess.run(
            ["/bin/sh", "-ec", step],
            cwd=where,
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{step}\n{done.stdout}{done.stderr}"
        shown = done.stdout
        if panels.is_dir() and where != panels:
            where = panels  # the step that went there did so for all that follow
            (where / "client.py").write_text(CLIENT[1])
    (last,) = re.findall(r"It prints `(\{.*?\})`", STEPS)
    assert shown == f"{last}\n"
