"""What ``deska serve --print-config`` gives to paste into clients (K-3)."""

from __future__ import annotations

import json
import re
import shlex

import anyio
import pytest

pytest.importorskip("mcp")

from tests.cli.support_desk import environment, write_panel
from tests.cli.support_serve import bearer, say, served, started


@pytest.fixture
def agreed(deska, echo):
    """A panel to which the person agreed before."""
    assert deska("call", echo, "say", "--yes").status == 0
    return echo


def snippets(text):
    return [json.loads(found) for found in re.findall(r"^\{.*?^\}", text, re.MULTILINE | re.DOTALL)]


@pytest.mark.rule("K-3")
def test_what_is_to_be_pasted_starts_a_server_that_works(deska, agreed, tmp_path):
    desk = tmp_path / "a desk.db"
    assert deska("call", agreed, "say", "--yes", "--desk", desk).status == 0
    flags = ["--desk", desk, "--yes", "--trust-unpaused"]
    done = deska("serve", agreed, "--print-config", *flags)
    assert done.status == 0
    # Nobody can be asked then, so how to agree is said beside it.
    command = shlex.join(map(str, ["deska", "try", agreed, "--task", deska.task, "--desk", desk]))
    assert done.err == f"Whoever starts this cannot ask you, so agree first: {command}\n"
    for name in ("Claude Desktop", "Claude Code", "Cursor", "VS Code"):
        assert name in done.out
    first, code = snippets(done.out)
    server = first["mcpServers"]["deska"]
    assert code == {"servers": {"deska": {"type": "stdio", **server}}}
    # A version that nobody looked at is agreed to by nobody.
    assert "--yes" not in server["args"]

    async def use():
        with (tmp_path / "stderr").open("w") as errors:
            # From anywhere, and with no more around it than a program with windows has.
            env = environment(tmp_path / "another-state")
            async with started(server["command"], server["args"], env, errors) as client:
                assert await say(client, "fern") == '{"ok":true}'
                assert "fern" in await say(client, "", "hear")

    anyio.run(use)


@pytest.mark.rule("K-3")
def test_what_is_to_be_pasted_needs_no_variable_and_runs_nothing_of_the_folder_it_starts_in(
    deska, agreed, tmp_path
):
    done = deska("serve", agreed, "--print-config", "--json")
    assert done.status == 0
    config = json.loads(done.out)
    assert list(config) == ["mcpServers"]
    server = config["mcpServers"]["deska"]
    # Most clients start it in the task's folder, where the agent may have written these.
    for name in ("deska_host", "anyio", "attrs", "json", "mcp"):
        (deska.task / f"{name}.py").write_text("raise SystemExit('the agent was here')\n")

    async def use():
        with (tmp_path / "stderr").open("w") as errors:
            env = environment(tmp_path / "another-state")
            del env["XDG_STATE_HOME"]
            folder = str(deska.task)
            async with started(server["command"], server["args"], env, errors, cwd=folder) as one:
                assert await say(one, "fern") == '{"ok":true}'

    anyio.run(use)
    assert "the agent was here" not in (tmp_path / "stderr").read_text()
    assert len(deska.desks) == 1


@pytest.mark.rule("K-3")
def test_json_to_paste_for_http_is_nothing_else(deska, echo, monkeypatch):
    monkeypatch.setenv("DESKA_TOKEN", "a-token-that-stays-the-same")
    done = deska("serve", echo, "--print-config", "--json", "--http", "8000")
    server = json.loads(done.out)["mcpServers"]["deska"]
    assert (done.status, done.err, server["url"]) == (0, "", "http://127.0.0.1:8000/mcp")


@pytest.mark.rule("K-1")
def test_a_panel_whose_code_the_agent_may_write_is_warned_of(deska, echo):
    inside = write_panel(deska.task / "inside", panel="echo")
    link = deska.tmp_path / "link"
    link.symlink_to(inside)
    for panel, warned in ((inside, True), (link, True), (echo, False)):
        done = deska("serve", panel, "--print-config")
        assert ("is inside the task's folder" in done.err) == warned
        with served(deska, panel, "--yes") as server:
            told = [one["sentence"] for one in server.before if one["event"] == "warning"]
        assert any("is inside the task's folder" in one for one in told) == warned


@pytest.mark.rule("K-3")
def test_a_path_with_what_nobody_sees_is_pasted_as_json_and_not_as_a_terminal_shows_it(
    deska, echo, tmp_path
):
    hidden = tmp_path / "gar\u200bd\u00e9n"
    hidden.mkdir()
    done = deska("serve", echo, "--print-config", task=hidden)
    for config in snippets(done.out):
        (server,) = (servers["deska"] for servers in config.values())
        assert str(hidden) in server["args"]
    plain = tmp_path / "gard\u00e9n"
    plain.mkdir()
    assert "gard\u00e9n" in deska("serve", echo, "--print-config", task=plain).out


@pytest.mark.rule("K-3")
def test_what_is_to_be_pasted_for_http_names_a_port_and_a_token_that_stay(deska, echo, monkeypatch):
    monkeypatch.delenv("DESKA_TOKEN", raising=False)
    refusal = "choose a port with --http PORT, and a token with the variable DESKA_TOKEN"
    assert refusal in deska("serve", echo, "--print-config", "--http", "8000").err
    monkeypatch.setenv("DESKA_TOKEN", "a-token-that-stays-the-same")
    assert refusal in deska("serve", echo, "--print-config", "--http", "0").err
    done = deska("serve", echo, "--print-config", "--http", "8000")
    for config in snippets(done.out):
        (server,) = (servers["deska"] for servers in config.values())
        assert server["url"] == "http://127.0.0.1:8000/mcp"
        assert server["headers"] == bearer("a-token-that-stays-the-same")
    assert deska.desks == []
