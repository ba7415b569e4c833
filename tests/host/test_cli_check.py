"""``deska check`` and ``deska schema`` (P-7, P-8)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from deska_host.cli import COMMANDS, main
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.editor_schema import panel_json_schema
from tests.panels.support_manifest import plain, working

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def package(tmp_path: Path) -> Any:
    """Writes a panel's folder: its manifest as a value or text, and whether its page is there."""

    def write(manifest: Any, *, page: bool = True) -> Path:
        folder = tmp_path / "notes"
        folder.mkdir()
        text = manifest if isinstance(manifest, str) else json.dumps(manifest, indent=1)
        (folder / "panel.json").write_text(text, encoding="utf-8")
        if page:
            (folder / "index.html").write_text("<!doctype html>", encoding="utf-8")
        return folder

    return write


@pytest.mark.rule("P-7")
def test_a_folder_without_a_problem_is_clean(package, capsys):
    assert main(["check", str(package(plain()))]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("panel.json: no problems, no warnings\n")
    assert err == ""


@pytest.mark.rule("P-7")
def test_every_problem_is_shown_at_its_line_and_column(package, capsys):
    folder = package('{"id": "Notes",\n "name": "No\u200btes", "sdk": 4,\n "version": "1"}')
    assert main(["check", str(folder)]) == 1
    file = folder / "panel.json"
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{file}:1:8: an id starts with")
    assert lines[0].endswith("[bad_id]")
    assert lines[1] == '     1 | {"id": "Notes",'
    assert lines[2] == "       |        ^"
    assert lines[3].startswith(f"{file}:2:10: warning: ")
    assert lines[4] == '     2 |  "name": "No\\u{200B}tes", "sdk": 4,'
    assert lines[6].startswith(f"{file}:3:13: ")
    assert lines[-1] == f"{file}: 2 problems, 1 warning"


@pytest.mark.rule("P-7")
def test_a_very_long_line_is_shown_around_what_is_wrong(package, capsys):
    folder = package(json.dumps(plain(description="x" * 5_000), separators=(",", ":")))
    assert main(["check", str(folder)]) == 1
    assert max(len(line) for line in capsys.readouterr().out.splitlines()[1:3]) < 100


@pytest.mark.rule("P-7")
def test_nothing_in_a_package_reaches_the_terminal_as_a_control(package, capsys):
    manifest = json.dumps(plain(name="\x1b[2J\u202eN", colour="\x07"), ensure_ascii=False)
    folder = package(manifest.replace("\\u001b", "\x9b").replace("\\u0007", "\u2028"))
    assert main(["check", str(folder)]) == 1
    out = capsys.readouterr().out
    assert out.replace("\n", "").isprintable()


@pytest.mark.rule("P-7")
def test_a_version_that_declares_agent_is_said_to_be_reviewed(package, capsys):
    folder = package(working())
    assert main(["check", str(folder)]) == 0
    assert "reviewed before it is published" in capsys.readouterr().out
    assert main(["check", "--format", "github", str(folder)]) == 0
    assert "reviewed before it is published" in capsys.readouterr().out


@pytest.mark.rule("P-7")
def test_json_holds_everything_and_every_text_that_reaches_an_agent(package, capsys):
    folder = package(working(name="No\u2060tes"))
    assert main(["check", str(folder), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["requires_review"] is True
    assert report["problems"] == []
    assert report["warnings"][0]["code"] == "invisible_characters"
    assert {"where": "/name", "written": "No\u2060tes", "folded": "No tes"} in report[
        "reviewer_texts"
    ]
    assert main(["check", str(package_of(folder, plain(sdk=9))), "--format=json"]) == 1
    problem = json.loads(capsys.readouterr().out)["problems"][0]
    assert problem["code"] == "bad_sdk"
    assert (problem["where"], problem["line"], problem["quoted"]) == ("/sdk", 5, "9")


def package_of(folder: Path, manifest: dict[str, Any]) -> Path:
    (folder / "panel.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return folder


@pytest.mark.rule("P-7")
def test_github_gets_one_command_for_each_problem_and_warning(package, capsys):
    folder = package(plain(sdk=9, name="100%\u200b", **{"a\nb": 1}))
    assert main(["check", "--format", "github", str(folder)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(f"::error file={folder / 'panel.json'},line=5,col=9,title=bad_sdk::")
    assert lines[1].startswith("::error ")
    assert lines[2].startswith("::warning ")
    assert "(100%25\\u{200B})" in lines[2]


@pytest.mark.rule("P-7")
def test_a_folder_without_its_entry_has_a_problem_and_the_file_alone_has_none(package, capsys):
    folder = package(plain(), page=False)
    assert main(["check", str(folder)]) == 1
    assert "[entry_missing]" in capsys.readouterr().out
    assert main(["check", str(folder / "panel.json")]) == 0


@pytest.mark.rule("P-7")
def test_an_entry_that_a_link_leads_out_of_the_folder_is_not_inside_it(package, tmp_path, capsys):
    folder = package(plain(), page=False)
    (tmp_path / "outside.html").write_text("x", encoding="utf-8")
    (folder / "index.html").symlink_to(tmp_path / "outside.html")
    assert main(["check", str(folder)]) == 1
    assert "[entry_missing]" in capsys.readouterr().out
    (folder / "index.html").unlink()
    (folder / "page.html").write_text("x", encoding="utf-8")
    (folder / "index.html").symlink_to("page.html")
    assert main(["check", str(folder)]) == 0
    (folder / "index.html").unlink()
    (folder / "index.html").mkdir()
    assert main(["check", str(folder)]) == 1
    (folder / "index.html").rmdir()
    (folder / "index.html").symlink_to("index.html")
    assert main(["check", str(folder)]) == 1


@pytest.mark.rule("P-7")
def test_what_cannot_be_read_is_said_and_is_no_problem_of_the_package(tmp_path, capsys):
    assert main(["check", str(tmp_path / "nowhere")]) == 2
    assert main(["check", str(tmp_path)]) == 2
    (tmp_path / "panel.json").mkdir()
    assert main(["check", str(tmp_path)]) == 2
    (tmp_path / "panel.json").rmdir()
    (tmp_path / "panel.json").symlink_to("/etc/hostname")
    assert main(["check", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.rsplit(": ", 1)[1] for line in err.splitlines()] == [
        "there is no such file",
        "there is no such file",
        "this is no file",
        "this leads out of the panel's folder",
    ]


@pytest.mark.rule("P-7")
@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no such file on this system")  # noqa: PTH110
def test_a_file_that_fails_while_it_is_read_is_said(capsys):
    assert main(["check", "/proc/self/mem"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("deska check: /proc/self/mem: ")


@pytest.mark.rule("P-1", "P-7")
def test_a_file_that_is_too_large_is_a_problem_and_not_read_to_its_end(tmp_path, capsys):
    file = tmp_path / "panel.json"
    with file.open("wb") as opened:
        opened.truncate(10 * DEFAULT_LIMITS.manifest_bytes)
    assert main(["check", str(file)]) == 1
    assert "[too_large]" in capsys.readouterr().out


@pytest.mark.rule("P-7")
def test_a_wrong_command_line_is_status_2(capsys):
    assert main([]) == 2
    assert main(["nonsense"]) == 2
    assert main(["check"]) == 2
    assert main(["check", "--format", "xml", "."]) == 2
    capsys.readouterr()
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in COMMANDS)


@pytest.mark.rule("P-8")
def test_schema_prints_the_schema_for_editors(capsys):
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == panel_json_schema()


def _python(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        [sys.executable, *argv],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.rule("P-7")
def test_the_module_is_the_command_and_shows_any_text_on_any_terminal(package):
    folder = package(plain(colour="héllo 😀"))
    done = _python("-m", "deska_host", "check", str(folder), PYTHONIOENCODING="ascii:strict")
    assert (done.returncode, done.stderr) == (1, "")
    assert "unknown_key" in done.stdout


@pytest.mark.rule("P-7")
def test_checking_loads_neither_a_loop_nor_an_image_library(package):
    script = (
        "import sys\n"
        "from deska_host.cli import main\n"
        f"assert main(['check', {str(package(working()))!r}]) == 0\n"
        "assert main(['schema']) == 0\n"
        "heavy = ('anyio', 'asyncio', 'PIL', 'sqlite3', 'rich', 'prompt_toolkit', 'mcp')\n"
        "sys.exit(any(name in sys.modules for name in heavy))\n"
    )
    done = _python("-c", script)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.rule("P-7")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_read_enough_makes_no_noise(unbuffered):
    command = [sys.executable, "-m", "deska_host", "schema"]
    paths = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait()
    assert errors == b""
