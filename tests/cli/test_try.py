"""``deska try``: through a pipe, and at a terminal (K-6, K-7)."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deska_host._commands.lines import lines_from
from deska_host._commands.shell import Shell
from tests.cli.support_desk import (
    NOOK,
    PATIENCE,
    AtTerminal,
    command_line,
    environment,
    write_panel,
)


class Screen(io.StringIO):
    """A terminal as far as programs ask."""

    def isatty(self) -> bool:
        return True


HELLO = "You are the agent here, so nothing is paused"


@pytest.fixture
def played(deska, echo):
    """What is shown for these lines, after the greeting."""

    def play(*lines, panels=(echo,), **options):
        argv = [part for option in options.items() for part in option]
        done = deska("try", *panels, "--yes", *argv, stdin="\n".join(lines))
        assert (done.status, done.err) == (0, "")
        assert HELLO in done.out
        return done.out[done.out.index("can be typed.\n") + len("can be typed.\n") :]

    return play


@pytest.mark.rule("K-6")
def test_the_agents_two_tools_can_be_called_and_give_what_an_agent_gets(played):
    assert played('call say {"word": "fern"}', "call hear") == (
        '{"ok":true}\n'
        '<panel_content package="echo" panel="Echo" trust="untrusted">\n'
        '{"word":"fern"}\n'
        "</panel_content>\n"
    )
    listed = json.loads(played("list raw"))
    assert [panel["panel"] for panel in listed["panels"]] == ["echo"]


@pytest.mark.rule("K-6")
def test_list_says_what_each_action_takes(played, tmp_path):
    write_panel(tmp_path / "other")
    shown = played("list", panels=(NOOK, tmp_path / "other"))
    assert shown.startswith("nook – Nook\n  add_note (write)\n      Adds a note to")
    assert '      takes {"text": string of at most 2000}\n' in shown
    assert '{"note": integer from 1 to 100, "text": string of at most 2000, "rev' in shown
    assert '{"image": string (deska-image), "caption"?: string of at most 280}' in shown
    assert "other – Other\n" in shown
    assert '{"word"?: string of at most 20, "mood"?: one of sunny, rainy, "loud"?: boo' in shown


@pytest.mark.rule("K-6")
def test_a_panels_name_may_be_left_out_only_where_there_is_one(played, echo, tmp_path):
    other = write_panel(tmp_path / "other")
    assert played("call echo say {}", "call say") == '{"ok":true}\n' * 2
    both = (echo, other)
    assert "several panels are connected, so name one" in played("call say {}", panels=both)
    assert played("call other say", "call echo say {}", panels=both) == '{"ok":true}\n' * 2


@pytest.mark.rule("K-6")
def test_a_refusal_is_shown_as_the_agent_gets_it(played):
    assert played("call sing").startswith("unknown_action: This panel has no action with")
    assert played("call other say").startswith("not_connected: ")


@pytest.mark.rule("K-6")
def test_for_an_input_that_does_not_fit_the_author_is_told_where_and_what_is_due(played):
    shown = played('call say {"wrod":"a", "mood":"foggy", "times":1.5, "word":"%s"}' % ("x" * 30))
    agents, authors = shown.split("For you as the author (the agent gets only the above):\n")
    assert agents.startswith("invalid_input: ")
    assert authors.splitlines() == [
        "  line 1, column 2: unknown_property; the schema has here: word, mood, loud, times; "
        "did you mean word?",
        "  line 1, column 21: not_in_enum; the schema has here: "
        '{"type": "string", "enum": ["sunny", "rainy"]}',
        "  line 1, column 38: fraction; the schema has here: " + '{"type": "integer"}',
        "  line 1, column 50: too_long; the schema has here: "
        + '{"type": "string", "maxLength": 20}',
    ]


@pytest.mark.rule("K-6")
def test_the_author_is_told_of_what_is_missing_and_inside_of_arrays(deska, tmp_path):
    items = {"type": "array", "maxItems": 3, "items": {"type": "integer", "maximum": 5}}
    schema = {"type": "object", "properties": {"days": items}, "required": ["days"]}
    action = {"name": "plan", "kind": "write", "description": "Plans.", "input": schema}
    folder = write_panel(tmp_path / "plan", agent={"actions": [action]})
    script = 'call plan {"days": [1, 9]}\ncall plan {}\n'
    done = deska("try", folder, "--yes", stdin=script)
    assert 'line 1, column 14: out_of_range; the schema has here: {"type": "integer",' in done.out
    assert 'column 1: missing_property; days is {"type": "array", "maxItems": 3}' in done.out


@pytest.mark.rule("K-6")
def test_the_agent_is_told_nothing_of_the_authors_hints(played):
    shown = played('call say {"mood":"foggy"}')
    assert shown.count("sunny") == 1
    assert "sunny" in shown.split("For you as the author")[1]


@pytest.mark.rule("K-6")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('call say {"word": "a"', "line 1, column 13: it ends where a comma or a closing"),
        ("call say {word: 1}", "line 1, column 2: "),
        ('call say {"word": "a"} x', "line 1, column 15: "),
        ("call say @no-such-file", "no-such-file: No such file or directory"),
        ("call", "say what to call: call [PANEL] ACTION [JSON]"),
        ("sing", "sing: there is no such command; there are list, call, help, quit"),
        ('say {"word": "fern"}', "say is an action: call say [JSON]"),
        ("call say the word", "the input is not JSON that can be read: line 1, column 1: "),
    ],
)
def test_what_cannot_be_done_is_told_and_the_next_line_is_read(played, line, told):
    shown = played(line, "call say")
    assert told in shown
    assert shown.endswith('{"ok":true}\n')


@pytest.mark.rule("K-6")
def test_input_can_come_from_a_file(played, tmp_path):
    (tmp_path / "input.json").write_text('{"word":\n "filed"}')
    shown = played(f"call say @{tmp_path / 'input.json'}", "call hear")
    assert '{"word":"filed"}' in shown


@pytest.mark.rule("K-6")
def test_images_are_saved_and_named_with_their_number(deska, played, tmp_path):
    folder = tmp_path / "images"
    hang = 'call add_image {"image":"fern.png"}'
    shown = played(hang, hang, "call read_board", panels=(NOOK,), **{"--images": folder})
    size = len((folder / "image-1.png").read_bytes())
    one, two = shown.splitlines()[-2:]
    assert one == f"image:1 is {folder / 'image-1.png'} (6 × 4 pixels, {size} bytes)"
    assert two.startswith(f"image:2 is {folder / 'image-2.png'} ")


@pytest.mark.rule("K-6")
def test_images_go_to_a_new_folder_for_nobody_else_if_none_is_said(played, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shown = played('call add_image {"image":"fern.png"}', "call read_board", panels=(NOOK,))
    path = Path(shown.splitlines()[-1].split()[2])
    assert path.is_file()
    assert path.parent.parent == tmp_path
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.rule("K-6")
def test_quit_and_the_end_of_the_input_end_it(played):
    assert played("quit", "call say") == ""
    assert played("", "  ") == ""
    assert "call [PANEL] ACTION [JSON]" in played("help")


@pytest.mark.rule("K-8")
def test_what_a_page_raises_and_prints_is_on_standard_error(deska, echo):
    page = (echo / "page.py").read_text().replace("if word == ", "if call['input'].get('word') == ")
    raising = page.replace("await deska.agent.respond", "await answered(deska, call, word)#")
    raising += (
        "\n\nasync def answered(deska, call, word):\n"
        '    await deska.agent.respond(call["callId"], {"ok": True})\n'
        "    print('printed')\n"
        '    raise ValueError(f"no {word}\\u200b")\n'
    )
    (echo / "page.py").write_text(raising)
    done = deska("try", echo, "--yes", stdin='call say {"word":"a"}\n')
    assert done.status == 0
    assert "printed\n" in done.err
    assert "ValueError: no a\\u{200B}" in done.err
    assert "no a" not in done.out
    assert "printed" not in done.out


@pytest.mark.rule("K-6")
def test_an_interrupt_stops_the_call_that_runs_and_nothing_else(deska, echo):
    page = (
        (echo / "page.py")
        .read_text()
        .replace(
            'if word == "silence":', 'if word == "silence" and not print("silent", flush=True):'
        )
    )
    (echo / "page.py").write_text(page)
    process = subprocess.Popen(
        command_line("try", echo, "--yes", "--task", deska.task),
        env=environment(deska.state),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write('call say {"word":"silence"}\ncall say\n')
        process.stdin.flush()
        while process.stderr.readline() != "silent\n":
            pass
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert out.endswith('the call was stopped\n{"ok":true}\n')


@pytest.mark.rule("K-6")
def test_an_interrupt_outside_a_call_ends_nothing_either(deska, echo, monkeypatch):
    done: list[str] = []
    do = Shell.do

    def interrupted(shell: Shell, line: str) -> bool:
        done.append(line)
        if line == "list":
            raise KeyboardInterrupt
        return do(shell, line)

    monkeypatch.setattr(Shell, "do", interrupted)
    shown = deska("try", echo, "--yes", stdin="list\ncall say\n")
    assert (shown.status, done) == (0, ["list", "call say"])
    assert shown.out.endswith('{"ok":true}\n')


# --- at a terminal


@pytest.mark.rule("K-7")
def test_a_terminal_completes_names_and_json_and_keeps_a_history(deska, echo, tmp_path):
    pytest.importorskip("prompt_toolkit")
    argv = command_line("try", echo, "--yes", "--task", deska.task)
    env = environment(deska.state)
    with AtTerminal(argv, env, tmp_path) as person:
        person.until("deska>")
        # One choice at each Tab, so each is put in at once; what is new of it is drawn.
        for typed, drawn in (("ca\t", "ll"), ("sa\t", "y"), ('{"mo\t', 'od"'), ('"su\t', 'nny"')):
            person.type(typed)
            person.until(typed[:-1])
            person.until(drawn)
        person.type("}\r")
        person.until('{"ok":true}')
        person.until("deska>")
        # Ctrl-C gives the line up; Ctrl-D ends.
        person.type("call unfinis\x03")
        person.until("deska>")
        person.type("\x04")
        assert person.status() == 0
    history = deska.state / "deska" / "try-history"
    assert history.stat().st_mode & 0o777 == 0o600
    with AtTerminal(argv, env, tmp_path) as person:
        person.until("deska>")
        person.type("\x1b[A")
        person.until('call say {"mood": "sunny"}')
        person.type("\r")
        person.until('{"ok":true}')
        person.until("deska>")
        person.type("quit\r")
        assert person.status() == 0


def without_prompt_toolkit(tmp_path, *also):
    """A folder that hides these modules from whoever has it first on the path."""
    folder = tmp_path / "hiding"
    folder.mkdir()
    for name in ("prompt_toolkit", *also):
        (folder / f"{name}.py").write_text(f"raise ImportError({name!r})")
    return str(folder)


@pytest.mark.rule("K-7")
def test_without_the_extra_readline_completes_and_keeps_a_history(deska, echo, tmp_path):
    pytest.importorskip("readline")
    argv = command_line("try", echo, "--yes", "--task", deska.task)
    env = environment(deska.state)
    env["PYTHONPATH"] = without_prompt_toolkit(tmp_path) + ":" + env["PYTHONPATH"]
    with AtTerminal(argv, env, tmp_path) as person:
        person.until("deska>")
        person.type('ca\tsa\t{"mo\t"su\t}\r')
        person.until('{"ok":true}')
        assert '{"mood": "sunny"' in person.shown
        person.until("deska>")
        person.type("quit\r")
        assert person.status() == 0
    history = deska.state / "deska" / "try-history-readline"
    assert history.stat().st_mode & 0o777 == 0o600
    assert '{"mood": "sunny"' in history.read_text()


@pytest.mark.rule("K-7")
def test_without_any_help_lines_are_read_as_they_come(deska, echo, tmp_path):
    argv = command_line("try", echo, "--yes", "--task", deska.task)
    env = environment(deska.state)
    env["PYTHONPATH"] = without_prompt_toolkit(tmp_path, "readline") + ":" + env["PYTHONPATH"]
    with AtTerminal(argv, env, tmp_path) as person:
        person.until("deska>")
        person.type("call say\r")
        person.until('{"ok":true}')
        person.until("deska>")
        person.type("\x04")
        assert person.status() == 0


@pytest.mark.rule("K-7")
@pytest.mark.parametrize("help_", [True, False], ids=["readline", "nothing"])
def test_after_a_line_was_given_up_the_next_prompt_has_a_line_of_its_own(monkeypatch, help_):
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    if help_:
        pytest.importorskip("readline")
    else:
        monkeypatch.setitem(sys.modules, "readline", None)
    screen, keys = Screen(), Screen()
    monkeypatch.setattr("builtins.input", interrupted)
    monkeypatch.setattr(keys, "readline", interrupted)
    lines = lines_from(keys, screen, None, lambda _: ())
    with pytest.raises(KeyboardInterrupt):
        lines.read("deska> ")
    assert screen.getvalue().removeprefix("deska> ") == "\n"


@pytest.mark.rule("K-7")
def test_a_history_that_cannot_be_kept_is_no_obstacle(deska, echo, tmp_path):
    pytest.importorskip("prompt_toolkit")
    (deska.state / "deska" / "try-history").mkdir(parents=True)
    argv = command_line("try", echo, "--yes", "--task", deska.task)
    with AtTerminal(argv, environment(deska.state), tmp_path) as person:
        person.until("deska>")
        person.type("call say\r")
        person.until('{"ok":true}')
        person.until("deska>")
        person.type("\x04")
        assert person.status() == 0


@pytest.mark.rule("K-7")
def test_no_history_is_kept_inside_the_tasks_folder(deska, echo, tmp_path):
    env = environment(deska.task)
    argv = command_line("try", echo, "--yes", "--task", deska.task, "--desk", tmp_path / "desk.db")
    with AtTerminal(argv, env, tmp_path) as person:
        person.until("deska>")
        person.type("call say\r")
        person.until('{"ok":true}')
        person.until("deska>")
        person.type("quit\r")
        assert person.status() == 0
    assert [one.name for one in deska.task.iterdir()] == ["fern.png"]


@pytest.mark.rule("K-7")
def test_nothing_of_the_extra_is_loaded_for_a_pipe(deska, echo):
    code = (
        "import sys; from deska_host.cli import main; "
        f"main(['try', {str(echo)!r}, '--yes', '--task', {str(deska.task)!r}]); "
        "print({'prompt_toolkit', 'rich', 'mcp', 'readline'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(deska.state),
        input="call say\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout.endswith('{"ok":true}\nset()\n'), done.stderr
