"""``deska call`` (K-5), what it hands over without a pause (K-4), and what pages do to it (K-8)."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

from deska_host import Host
from deska_sdk import Limits
from deska_sdk.errors import AgentCode, sentence
from tests.cli.support_desk import NOOK, command_line, environment, write_panel

READ = '<panel_content package="echo" panel="Echo" trust="untrusted">\n{"word":"fern"}\n'


def refused(done, code):
    return done.status == 1 and done.out.startswith(f"{code}: ") and code in done.err.split()


@pytest.mark.rule("K-5")
def test_the_reply_is_on_standard_output_and_the_status_is_0(deska, echo):
    done = deska("call", echo, "say", "--yes", "--input", '{"word": "fern"}')
    assert (done.status, done.out) == (0, '{"ok":true}\n')


@pytest.mark.rule("K-5")
def test_a_refusal_is_on_standard_output_its_code_on_standard_error_and_the_status_is_1(
    deska, echo
):
    done = deska("call", echo, "say", "--yes", "--input", '{"word": 7}')
    assert refused(done, "invalid_input")
    assert "- expected a string at /word" in done.out
    assert refused(deska("call", echo, "sing"), "unknown_action")
    again = deska("call", echo, "sing")
    assert again.err == "unknown_action\n"
    assert again.out == f"unknown_action: {sentence(AgentCode.UNKNOWN_ACTION)}\n"


@pytest.mark.rule("K-5")
def test_the_input_may_come_from_an_argument_standard_input_or_a_file(deska, echo, tmp_path):
    file = tmp_path / "input.json"
    file.write_text('{"word": "from a file"}')
    given = {"-": b'{"word": "piped \xc3\xa4"}', f"@{file}": b"", '{"word":"typed"}': b""}
    heard = []
    for text, piped in given.items():
        assert deska("call", echo, "say", "--yes", "--input", text, stdin=piped).status == 0
        heard.append(deska("call", echo, "hear", "--trust-unpaused").out.splitlines()[1])
    assert heard == ['{"word":"piped ä"}', '{"word":"from a file"}', '{"word":"typed"}']


@pytest.mark.rule("K-5")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('{"word": }', "line 1, column 10: "),
        ('{"word": "a",\n "word": "b"}', "line 2, column 2: "),
        ('{"word": NaN}', "line 1, column 10: "),
        ("", "line 1, column 1: "),
        ("-", "line 1, column 3: "),
        ("@no-such-file", "no-such-file: No such file"),
    ],
)
def test_an_input_that_is_no_json_is_told_with_its_place_and_not_sent(deska, echo, given, told):
    done = deska("call", echo, "say", "--yes", "--input", given, stdin=b'{"\xff"}')
    assert (done.status, done.out) == (2, "")
    assert told in done.err
    assert deska.desks == []


@pytest.mark.rule("K-5")
def test_an_input_that_is_too_large_is_not_read_to_its_end(deska, echo, tmp_path):
    file = tmp_path / "huge.json"
    with file.open("wb") as huge:
        huge.truncate(1 << 40)
    done = deska("call", echo, "say", "--yes", "--input", f"@{file}")
    assert (done.status, done.out) == (2, "")
    assert "larger than the 1048576 bytes allowed" in done.err


@pytest.mark.rule("K-5")
def test_list_prints_what_list_panels_gives(deska, echo):
    done = deska("call", echo, "--list", "--yes")
    assert done.status == 0
    (panel,) = json.loads(done.out)["panels"]
    assert (panel["panel"], [action["name"] for action in panel["actions"]]) == (
        "echo",
        ["say", "hear"],
    )


@pytest.mark.rule("K-5")
def test_neither_an_action_nor_list_and_both_are_refused(deska, echo):
    for argv in (["call", echo], ["call", echo, "say", "--list"]):
        done = deska(*argv)
        assert done.status == 2
        assert "name an action, or give --list" in done.err


@pytest.mark.rule("K-5")
def test_images_are_saved_where_they_are_wanted_and_else_only_counted(deska, tmp_path):
    hang = ("call", NOOK, "add_image", "--yes", "--input", '{"image":"fern.png"}')
    assert [deska(*hang).status, deska(*hang).status] == [0, 0]
    read = ("call", NOOK, "read_board", "--trust-unpaused")
    done = deska(*read)
    assert (done.status, "Images in the reply: 2. --images DIR saves them." in done.err) == (
        0,
        True,
    )
    folder = tmp_path / "new" / "images"
    done = deska(*read, "--images", folder)
    names = ["image-1.png", "image-2.png"]
    for name in names:
        size = len((folder / name).read_bytes())
        assert f"{folder / name} (6 × 4 pixels, {size} bytes)" in done.err
    # What is there already is not written to.
    (folder / "image-1.png").write_text("mine")
    told = json.loads(deska(*read, "--images", folder, "--json").out)
    assert [Path(image["path"]).name for image in told["images"]] == [
        "image-3.png",
        "image-4.png",
    ]
    assert (folder / "image-1.png").read_text() == "mine"
    assert told["images"][0]["width"] == 6


@pytest.mark.rule("K-5")
def test_images_that_cannot_be_saved_are_told(deska, tmp_path):
    hang = ("call", NOOK, "add_image", "--yes", "--input", '{"image":"fern.png"}')
    assert deska(*hang).status == 0
    (tmp_path / "file").write_text("")
    more = ("call", NOOK, "add_note", "--input", '{"text":"fern"}', "--images", tmp_path / "file")
    done = deska(*more)
    assert (done.status, done.out) == (2, "")
    assert "the folder for images cannot be made: File exists" in done.err
    # With status 2 nothing was called.
    assert "fern" not in deska("call", NOOK, "read_board", "--trust-unpaused").out


@pytest.mark.rule("K-5")
@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["text", "json"])
def test_a_reply_is_handed_over_when_its_images_cannot_all_be_saved(
    deska, tmp_path, monkeypatch, flags
):
    hang = ("call", NOOK, "add_image", "--yes", "--input", '{"image":"fern.png"}')
    assert deska(*hang).status == deska(*hang).status == 0
    full = tmp_path / "images" / "image-2.png"
    opened = Path.open

    def fills(path, *how, **options):
        file = opened(path, *how, **options)
        if path == full:
            file.close()
            return opened("/dev/full", "wb")
        return file

    monkeypatch.setattr(Path, "open", fills)
    argv = ("call", NOOK, "read_board", "--trust-unpaused", "--images", tmp_path / "images")
    done = deska(*argv, *flags)
    assert done.status == 2
    assert "image:2" in done.out
    assert "an image was not saved: No space left on device" in done.err
    assert "image-1.png" in done.out + done.err
    assert [one.name for one in (tmp_path / "images").iterdir()] == ["image-1.png"]


@pytest.mark.rule("K-5")
def test_json_says_the_whole_reply_in_one_line(deska, echo):
    done = deska("call", echo, "say", "--yes", "--json")
    assert json.loads(done.out) == {
        "text": '{"ok":true}',
        "code": None,
        "panel": "",
        "images": [],
    }
    done = deska("call", echo, "sing", "--json")
    assert (done.status, json.loads(done.out)["code"]) == (1, "unknown_action")


@pytest.mark.rule("K-4")
def test_a_read_is_refused_because_nobody_can_be_paused(deska, echo):
    assert deska("call", echo, "say", "--yes", "--input", '{"word":"fern"}').status == 0
    done = deska("call", echo, "hear")
    assert refused(done, "pause_failed")
    assert "fern" not in done.out + done.err
    assert "--trust-unpaused" in done.err


@pytest.mark.rule("K-4")
def test_a_read_is_handed_over_unpaused_only_with_the_flag_which_warns(deska, echo):
    assert deska("call", echo, "say", "--yes", "--input", '{"word":"fern"}').status == 0
    done = deska("call", echo, "hear", "--trust-unpaused")
    assert done.status == 0
    assert done.out.startswith(READ)
    first, last = done.err.splitlines()
    assert first.startswith("Warning: with --trust-unpaused, ")
    assert last == "Nothing was paused for this read of echo."


@pytest.mark.rule("K-4")
def test_for_a_write_no_line_says_that_nothing_was_paused(deska, echo):
    done = deska("call", echo, "say", "--yes", "--trust-unpaused")
    assert done.status == 0
    assert "Nothing was paused" not in done.err


@pytest.mark.rule("K-6")
def test_a_call_that_no_page_answers_says_to_its_author_what_a_page_has_to_do(
    deska, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "deska_host._commands.desk.Host", partial(Host, limits=Limits(waiting_seconds=0.01))
    )
    folder = write_panel(tmp_path / "echo", "async def main(deska):\n    pass\n")
    done = deska("call", folder, "say", "--yes")
    assert refused(done, "panel_timeout")
    assert "deska.ready()" in done.err
    assert "deska.ready()" not in done.out
    shown = deska("try", folder, stdin="call say\n").out
    assert "For you as the author (the agent gets only the above):\n" in shown
    assert "deska.agent.respond(" in shown


@pytest.mark.rule("K-8")
def test_what_a_page_prints_is_not_in_the_reply(deska, echo):
    done = deska("call", echo, "say", "--yes", "--input", '{"word":"print"}')
    assert done.out == '{"ok":true}\n'
    assert "printed by the page\n" in done.err


LOUD = """\
import os

os.system("echo while it was loaded")


async def main(deska):
    async def hear(call):
        os.write(1, b"below Python\\n")
        os.system("echo by a program")
        await deska.agent.respond(call["callId"], {"ok": True})

    deska.on("agent.action", hear)
    await deska.ready()
"""


@pytest.mark.rule("K-8", "K-5")
@pytest.mark.parametrize("command", ["call", "try"])
def test_what_is_printed_below_python_or_by_a_program_is_not_in_the_reply(deska, tmp_path, command):
    folder = write_panel(tmp_path / "loud", LOUD)
    words = [folder, "say"] if command == "call" else [folder]
    done = subprocess.run(
        command_line(command, *words, "--yes", "--task", deska.task),
        env=environment(deska.state),
        input="call say\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.endswith('{"ok":true}\n')
    for printed in ("while it was loaded\n", "below Python\n", "by a program\n"):
        assert printed in done.stderr
        assert printed not in done.stdout
    if command == "call":
        assert done.stdout == '{"ok":true}\n'


@pytest.mark.rule("K-8")
def test_what_a_page_raises_is_shown_to_its_author_with_nothing_hidden_in_it(deska, tmp_path):
    page = """\
async def main(deska):
    async def hear(call):
        await deska.agent.respond(call["callId"], {"ok": True})
        raise ValueError("boom\\u200b\\x1b[2J")

    deska.on("agent.action", hear)
    await deska.ready()
"""
    folder = write_panel(tmp_path / "echo", page)
    done = deska("call", folder, "say", "--yes")
    assert done.status == 0
    assert done.out == '{"ok":true}\n'
    assert "The page of echo raised:" in done.err
    assert f'File "{folder / "page.py"}", line 4, in hear' in done.err
    assert "ValueError: boom\\u{200B}\\u{001B}[2J" in done.err
    assert "\x1b" not in done.err


@pytest.mark.rule("K-8")
@pytest.mark.parametrize(
    ("page", "line"),
    [
        ('raise ValueError("at once")\n', "ValueError: at once"),
        ("def broken(:\n", "SyntaxError: "),
        ("async def main():\n    pass\n", "TypeError: main() takes 0 positional arguments"),
        ("async def main(deska):\n    raise SystemExit(3)\n", "SystemExit: 3"),
        (
            "async def main(deska):\n"
            "    try:\n        {}['a']\n"
            "    except KeyError as error:\n        raise ValueError('after') from error\n",
            "ValueError: after",
        ),
    ],
)
def test_a_traceback_begins_where_the_authors_code_does(deska, tmp_path, page, line):
    folder = write_panel(tmp_path / "echo", page)
    done = deska("call", folder, "say", "--yes")
    assert line in done.err
    files = re.findall(r'File "([^"]*)"', done.err)
    assert set(files) <= {str(folder / "page.py")}
    assert bool(files) == ("TypeError" not in line)


@pytest.mark.rule("K-8")
def test_a_traceback_goes_on_into_the_host_where_the_page_called_it(deska, tmp_path):
    page = 'async def main(deska):\n    await deska.storage.set("word", object())\n'
    done = deska("call", write_panel(tmp_path / "echo", page), "say", "--yes")
    assert "page.py" in done.err
    assert "in ask" in done.err
    assert "invalid_args" in done.err


@pytest.mark.rule("K-8")
def test_a_page_that_cannot_be_loaded_is_told_with_its_traceback(deska, tmp_path):
    folder = write_panel(tmp_path / "echo", "import no_such_module_at_all\n")
    done = deska("call", folder, "say", "--yes")
    assert done.status == 2
    assert "No module named 'no_such_module_at_all'" in done.err
    assert "raised an error while it was loaded" in done.err
    assert done.out == ""


@pytest.mark.rule("K-5")
def test_an_interrupt_ends_the_call_and_the_command_with_130(deska, echo):
    page = """\
async def main(deska):
    async def hear(call):
        print("heard", flush=True)

    deska.on("agent.action", hear)
    await deska.ready()
"""
    (echo / "page.py").write_text(page)
    process = subprocess.Popen(
        command_line("call", echo, "say", "--yes", "--task", deska.task),
        env=environment(deska.state),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        while process.stderr.readline() != "heard\n":
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
