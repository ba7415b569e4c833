"""``deska serve`` with clients that are not ours (K-3), and reads without a pause (K-4)."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys

import anyio
import pytest

pytest.importorskip("mcp")

from deska_host.cli import main
from tests.cli.support_desk import (
    NOOK,
    PATIENCE,
    AtTerminal,
    command_line,
    environment,
    write_panel,
)
from tests.cli.support_serve import (
    bearer,
    client_at,
    client_of,
    json_lines,
    say,
    served,
    text_of,
)

#: What no line of a server may hold.
SECRET = "MARKER-7f3"

NOISY = """\
import os
import sys

print("printed while it was loaded")
os.system("echo echoed while it was loaded")


async def main(deska):
    async def hear(call):
        print("printed in a call", flush=True)
        os.system("echo echoed in a call")
        os.write(1, b"written in a call\\n")
        assert sys.stdin.read() == ""
        if call["input"].get("word") == "die":
            os.kill(os.getpid(), 9)
        await deska.storage.set("said", (await deska.storage.get("said") or 0) + 1)
        await deska.agent.respond(call["callId"], {"ok": True})
        if call["input"].get("word") == "boom":
            raise ValueError("boom\\u200b")

    deska.on("agent.action", hear)
    await deska.ready()
"""


@pytest.fixture
def agreed(deska, echo):
    """A panel to which the person agreed before."""
    assert deska("call", echo, "say", "--yes", "--input", f'{{"word":"{SECRET}"}}').status == 0
    return echo


async def works(client, *, reads):
    """Both tools work; reads as they should."""
    listed = json.loads(text_of(await client.call_tool("list_panels", {})))
    assert [panel["panel"] for panel in listed["panels"]] == ["echo"]
    assert await say(client, SECRET) == '{"ok":true}'
    heard = await say(client, "", "hear")
    assert (SECRET in heard, heard.startswith("pause_failed: ")) == (reads, not reads)
    assert (await say(client, "x" * 21)).startswith("invalid_input: ")


# --- standard input and output


@pytest.mark.rule("K-3", "K-4")
@pytest.mark.parametrize(("era", "reads"), [("auto", False), ("legacy", True)])
def test_a_client_that_starts_it_lists_and_calls_on_standard_input_and_output(
    deska, agreed, tmp_path, era, reads
):
    log = tmp_path / "stderr"

    async def use():
        with log.open("w") as errors:
            flags = ["--json", *(["--trust-unpaused"] if reads else [])]
            async with client_of(deska, errors, agreed, *flags, era=era) as client:
                await works(client, reads=reads)

    anyio.run(use)
    told = json_lines(log)
    assert [line["event"] for line in told] == ["warning", "serving", *["call"] * 4, "ended"]
    assert told[0]["sentence"].startswith("Warning: with " if reads else "Nothing here can pause")
    assert told[1]["transport"] == "stdio"
    calls = [{k: v for k, v in line.items() if k not in ("time", "event")} for line in told[2:6]]
    nothing = {"panel": "", "action": "", "code": "", "images": 0, "unpaused": False}
    echo = nothing | {"tool": "call_action", "panel": "echo"}
    assert calls == [
        nothing | {"tool": "list_panels"},
        echo | {"action": "say"},
        echo | {"action": "hear", "code": "" if reads else "pause_failed", "unpaused": reads},
        echo | {"action": "say", "code": "invalid_input"},
    ]
    assert SECRET not in log.read_text()


@pytest.mark.rule("K-3", "K-8")
def test_what_a_page_prints_or_raises_goes_to_standard_error_and_the_protocol_goes_on(
    deska, tmp_path
):
    noisy = write_panel(tmp_path / "echo", NOISY)
    log = tmp_path / "stderr"

    async def use():
        with log.open("w") as errors:
            async with client_of(deska, errors, noisy, "--yes") as client:
                assert await say(client, "a") == '{"ok":true}'
                assert await say(client, "boom") == '{"ok":true}'
                assert await say(client, "b") == '{"ok":true}'

    anyio.run(use)
    told = log.read_text()
    for noise in ("printed while", "echoed while", "printed in", "echoed in", "written in"):
        assert noise in told
    assert "ValueError: boom\\u{200B}" in told
    assert "The page of echo raised:" in told
    assert len(re.findall(r"^\d\d:\d\d:\d\d  call_action echo say  ok$", told, re.MULTILINE)) == 3


@pytest.mark.rule("K-3")
def test_when_the_server_is_killed_the_client_gets_an_error_and_what_was_answered_is_kept(
    deska, tmp_path
):
    noisy = write_panel(tmp_path / "echo", NOISY)

    async def use():
        with (tmp_path / "stderr").open("w") as errors:
            async with client_of(deska, errors, noisy, "--yes") as client:
                for _ in range(3):
                    assert await say(client, "a") == '{"ok":true}'
                with anyio.fail_after(PATIENCE), pytest.raises(Exception, match="closed"):
                    await say(client, "die")

    anyio.run(use)
    counting = "async def main(deska):\n    raise ValueError(await deska.storage.get('said'))\n"
    write_panel(tmp_path / "echo", counting)
    # The desk is free again, the person's yes is kept, and so is what the page stored.
    assert "ValueError: 3\n" in deska("call", noisy, "say").err


@pytest.mark.rule("K-2", "K-3")
def test_on_standard_input_and_output_nobody_is_asked(deska, echo, tmp_path):
    argv = command_line("serve", echo, "--task", deska.task, "--stdio")
    with AtTerminal(argv, environment(deska.state), tmp_path) as person:
        assert person.status() == 2
        assert "the person has not agreed" in person.shown
        assert "deska serve without --stdio" in person.shown
    done = deska("serve", echo, "--stdio", stdin="y\n")
    assert (done.status, done.out) == (2, "")
    assert "or give --yes" in done.err


@pytest.mark.rule("K-3")
def test_it_ends_tidily_when_it_is_asked_to_and_also_when_nobody_reads_what_it_says(deska, agreed):
    reading, writing = os.pipe()
    process = subprocess.Popen(
        command_line("serve", agreed, "--task", deska.task, "--stdio"),
        env=environment(deska.state),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=writing,
        text=True,
    )
    os.close(writing)
    with process:
        shown = b""
        while b"Serving" not in shown:
            shown += os.read(reading, 4_096)
        os.close(reading)
        assert process.stdin is not None
        assert process.stdout is not None
        for number in (1, 2):
            call = {"name": "list_panels", "arguments": {}}
            request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


# --- HTTP


@pytest.mark.rule("K-3", "K-4")
@pytest.mark.parametrize(("era", "reads"), [("auto", True), ("legacy", False)])
def test_a_client_reaches_it_by_http_with_the_url_and_token_that_it_says(deska, agreed, era, reads):
    flags = ["--trust-unpaused"] if reads else []
    with served(deska, agreed, *flags) as server:
        begun = server.begun
        assert begun["transport"] == "http"
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", begun["url"])

        async def use():
            async with client_at(begun["url"], bearer(begun["token"]), era) as client:
                await works(client, reads=reads)
            with pytest.raises(Exception):  # noqa: B017 - the SDK's own matter which
                async with client_at(begun["url"], bearer("x" * 43), era):
                    pass

        anyio.run(use)
        told = [server.next() for _ in range(4)]
        assert [line["tool"] for line in told] == ["list_panels", *["call_action"] * 3]
        assert [line["unpaused"] for line in told] == [False, False, reads, False]
        status, out, err = server.end(signal.SIGINT)
        assert status == 0
        assert json.loads(out)["event"] == "ended"
        assert SECRET not in json.dumps([*server.before, begun, *told]) + out + err


@pytest.mark.rule("K-3")
def test_a_token_and_a_port_can_be_chosen(deska, agreed):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = deska("serve", agreed, "--http", port)
        assert done.status == 2
        assert f"the port {port} cannot be used" in done.err
    token = "a-token-that-stays-the-same"
    with served(deska, agreed, "--http", port, DESKA_TOKEN=token) as server:
        assert server.begun["url"] == f"http://127.0.0.1:{port}/mcp"
        assert server.begun["token"] == token

        async def use():
            async with client_at(server.begun["url"], bearer(token)) as client:
                assert await say(client, "a") == '{"ok":true}'

        anyio.run(use)
        # While it runs the desk is its own.
        assert "another deska has this task's desk open" in deska("call", agreed, "say").err
        assert server.end(signal.SIGTERM)[0] == 0


@pytest.mark.rule("K-8")
def test_with_json_standard_output_has_lines_of_json_and_nothing_else(deska, tmp_path):
    noisy = write_panel(tmp_path / "echo", NOISY.replace("os.system", "str").replace("(1,", "(2,"))
    with served(deska, noisy, "--yes") as server:

        async def use():
            async with client_at(server.begun["url"], bearer(server.begun["token"])) as client:
                assert await say(client, "boom") == '{"ok":true}'

        anyio.run(use)
        told = [server.next(), server.next()]
        assert {line["event"] for line in told} == {"call", "page_raised"}
        (raised,) = (line for line in told if line["event"] == "page_raised")
        assert raised["panel"] == "echo"
        assert raised["traceback"][-1] == "ValueError: boom\\u{200B}"
        status, out, err = server.end(signal.SIGTERM)
        assert (status, json.loads(out)["event"]) == (0, "ended")
        assert "printed in a call" in err


@pytest.mark.rule("K-2", "K-3", "K-4")
def test_a_person_at_a_terminal_agrees_sees_what_to_paste_and_ends_it_with_ctrl_c(
    deska, echo, tmp_path
):
    argv = command_line("serve", echo, "--task", deska.task, "--trust-unpaused")
    with AtTerminal(argv, environment(deska.state, TERM="dumb"), tmp_path) as person:
        person.until("Warning: with --trust-unpaused")
        asked = person.until("anything else for no:")
        assert "unlike the sheet says, nothing will be paused" in " ".join(asked.split())
        person.type("y\r")
        person.until("Serving echo on this computer.")
        shown = person.until("VS Code (.vscode/mcp.json):")
        (url,) = re.findall(r"^  URL    (\S+)$", shown, re.MULTILINE)
        (token,) = re.findall(r"^  token  (\S+)$", shown, re.MULTILINE)
        configs = [json.loads(line) for line in re.findall(r"^ +(\{.*\})$", shown, re.MULTILINE)]
        configs.append(json.loads(person.until("\n") and person.until("}}}}").strip()))
        assert [list(config) for config in configs] == [["mcpServers"]] * 2 + [["servers"]]
        for config in configs:
            (server,) = (servers["deska"] for servers in config.values())
            assert server["url"] == url
            assert server["headers"] == bearer(token)

        async def use():
            async with client_at(url, bearer(token)) as client:
                await works(client, reads=True)

        anyio.run(use)
        person.until("call_action echo say  ok")
        person.until("call_action echo hear  ok")
        person.until("Nothing was paused for this read of echo.")
        person.until("call_action echo say  invalid_input")
        os.kill(person.process.pid, signal.SIGINT)
        assert person.status() == 0
        assert SECRET not in person.shown


@pytest.mark.rule("K-8")
def test_what_pages_print_by_http_is_not_between_the_lines_of_json(deska, tmp_path):
    panel = write_panel(tmp_path / "noisy", NOISY.replace('assert sys.stdin.read() == ""', ""))

    async def use(server):
        begun = server.begun
        async with client_at(begun["url"], bearer(begun["token"])) as client:
            assert await say(client, "fern", panel="noisy") == '{"ok":true}'

    with served(deska, panel, "--yes") as server:
        anyio.run(use, server)
        assert server.next()["event"] == "call"
        status, out, err = server.end(signal.SIGTERM)
    assert status == 0
    assert [json.loads(line)["event"] for line in out.splitlines()] == ["ended"]
    for printed in ("printed while", "echoed while", "printed in", "echoed in", "written in"):
        assert f"{printed} " in err


# --- what is refused


@pytest.mark.rule("K-3")
def test_without_the_extra_it_says_what_to_install(deska, echo, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = deska("serve", echo, "--yes")
    assert (done.status, done.out) == (2, "")
    assert done.err == "deska serve: serving needs the extra mcp: pip install 'deska-sdk[mcp]'\n"


@pytest.mark.rule("K-3")
def test_what_cannot_be_served_is_refused_with_the_reason(deska, echo, tmp_path, monkeypatch):
    for argv, told in (
        (["--stdio", "--http", "0"], "--stdio and --http exclude each other"),
        (["--http", "70000"], "a port is a number from 0 to 65535"),
        (["--http", "٣"], "a port is a number from 0 to 65535"),
        ([], "the person has not agreed"),
    ):
        done = deska("serve", echo, *argv)
        assert (done.status, told in done.err) == (2, True)
    done = deska("serve", tmp_path / "nowhere", "--print-config")
    assert (done.status, "no such folder of a panel" in done.err) == (2, True)
    monkeypatch.setenv("DESKA_TOKEN", "short")
    done = deska("serve", echo, "--yes")
    assert done.status == 2
    assert "DESKA_TOKEN: " in done.err
    assert "short" not in done.err
    broken = write_panel(tmp_path / "broken", "import no_such_module_at_all\n")
    done = deska("serve", broken, "--yes")
    assert done.status == 2
    assert "no_such_module_at_all" in done.out
    assert "raised an error while it was loaded" in done.err
    assert main(["serve", "--help"]) == 0


@pytest.mark.rule("K-3", "K-4")
def test_the_nook_board_with_images_works_unpaused_by_the_flag(deska, tmp_path):
    log = tmp_path / "stderr"

    async def call(client, action, **given):
        arguments = {"panel": "nook", "action": action, "input": given}
        return await client.call_tool("call_action", arguments)

    async def use():
        with log.open("w") as errors:
            flags = ["--yes", "--trust-unpaused"]
            async with client_of(deska, errors, NOOK, *flags) as client:
                added = await call(client, "add_note", text="Water the fern")
                assert text_of(added) == '{"ok":true,"revision":"r1"}'
                await call(client, "add_image", image="fern.png")
                edit = await call(client, "edit_note", note=1, text="Repot it", revision="r1")
                assert text_of(edit).startswith('{"ok":false,')
                assert '"error":"conflict"' in text_of(edit)
                read = await call(client, "read_board")
                assert [block.type for block in read.content] == ["text", "image"]
                assert "image:1" in text_of(read)

    anyio.run(use)
    assert "call_action nook read_board  ok, images: 1\n" in log.read_text()
    assert "Nothing was paused for this read of nook.\n" in log.read_text()
