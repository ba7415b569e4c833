"""``deska manifest``: the panel.json of a typed panel (G-2)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deska_host.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
MADE = (EXAMPLES / "nook_typed" / "panel.json").read_bytes()

PAGE = """\
from __future__ import annotations

from typing import Annotated

from attrs import frozen

from deska_sdk.panels.typed import MaxLength, Panel, WriteAnswer

panel = Panel(id="notes", name="Notizen für dich", version="1.0.0")


@frozen
class AddNote:
    text: Annotated[str, MaxLength(20)]


@panel.write("Adds a note.")
async def add_note(deska, given: AddNote) -> WriteAnswer:
    return WriteAnswer(ok=True)


main = panel.main
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "page.py"
    file.write_text(PAGE, encoding="utf-8")
    return file


@pytest.mark.rule("G-2")
def test_the_panel_json_of_a_file_is_written_to_the_standard_output(capfdbinary):
    assert main(["manifest", str(EXAMPLES / "nook_typed" / "page.py")]) == 0
    assert capfdbinary.readouterr().out == MADE


@pytest.mark.rule("G-2")
def test_a_module_is_found_by_its_name_from_the_folder_of_the_command(page):
    page.rename(page.with_name("my_page.py"))
    done = subprocess.run(
        [sys.executable, "-m", "deska_host", "manifest", "my_page"],
        cwd=page.parent,
        capture_output=True,
        timeout=60,
        # Not even a terminal that knows only ASCII changes a byte.
        env={
            **os.environ,
            "PYTHONIOENCODING": "ascii",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    assert done.returncode == 0, done.stderr
    assert '"name": "Notizen für dich",\n' in done.stdout.decode()


@pytest.mark.rule("G-2")
def test_it_is_written_beside_the_module_where_the_panel_passes_the_check(page, capsys):
    assert main(["manifest", "--write", str(page)]) == 0
    assert main(["check", str(page.parent)]) == 0
    assert main(["manifest", str(page), "--check", str(page.with_name("panel.json"))]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.rule("G-2")
@pytest.mark.parametrize(
    "change", [(b"20", b"21"), (b"  ", b"    "), (b"\n", b"\r\n"), (b"}", b"")]
)
def test_a_panel_json_that_differs_in_one_byte_is_stale(page, capsys, change):
    assert main(["manifest", "--write", str(page)]) == 0
    file = page.with_name("panel.json")
    file.write_bytes(file.read_bytes().replace(*change))
    assert main(["manifest", str(page), "--check", str(file)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"deska manifest: {file}: stale; make it anew with: deska manifest {page}\n"


@pytest.mark.rule("G-2")
@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("", "a page has one Panel at the top of its module, and here is no Panel"),
        (PAGE + "other = Panel(id='o', name='O', version='1.0.0')", "and here is 2 Panels"),
        (PAGE.replace("MaxLength(20)", "int"), "AddNote.text: a text says how long it may be"),
        (PAGE.replace("@panel.write", "#"), "a typed panel has at least one action"),
        ("import a_module_that_is_not_there", "the module raised ModuleNotFoundError"),
        ("raise SystemExit(0)", "the module raised SystemExit"),
        ("def broken(:", "the module raised SyntaxError"),
        ("open('/nowhere/at/all')", "the module raised FileNotFoundError"),
    ],
)
@pytest.mark.parametrize("how", [[], ["--write"]])
def test_a_module_without_one_good_panel_is_no_panel_json(page, capsys, source, told, how):
    page.write_text(source, encoding="utf-8")
    assert main(["manifest", str(page), *how]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith(f"deska manifest: {page}: ")
    assert told in err.splitlines()[-1]
    assert not page.with_name("panel.json").exists()


@pytest.mark.rule("G-2")
def test_one_panel_under_two_names_is_one_panel(page, capsys):
    page.write_text(PAGE + "the_same = panel\n", encoding="utf-8")
    assert main(["manifest", str(page)]) == 0
    assert '"id": "notes"' in capsys.readouterr().out


@pytest.mark.rule("G-2")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere.py", "there is no such .py file"),
        ("folder", "there is no such .py file"),
        ("no-such/module", "there is no such file, and this is no module's name"),
        ("no_such_module_here", "the module raised ModuleNotFoundError"),
        ("builtins", "here is no Panel"),
    ],
)
def test_a_module_that_is_not_there_is_told_so(tmp_path, monkeypatch, capsys, name, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    before = list(sys.path)
    assert main(["manifest", name]) == 2
    assert told in capsys.readouterr().err
    assert sys.path == before


@pytest.mark.rule("G-2")
def test_a_file_that_cannot_be_read_or_written_is_told_so(page, capsys):
    missing = page.with_name("other.json")
    assert main(["manifest", str(page), "--check", str(missing)]) == 2
    assert str(missing) in capsys.readouterr().err
    page.with_name("panel.json").mkdir()
    assert main(["manifest", str(page), "--write"]) == 2
    assert "panel.json" in capsys.readouterr().err


@pytest.mark.rule("G-2")
def test_checking_and_writing_at_once_is_refused(page):
    assert main(["manifest", str(page), "--check", "panel.json", "--write"]) == 2


@pytest.mark.rule("G-2")
def test_what_the_module_prints_is_not_in_the_file(page):
    expected = subprocess.run(
        [sys.executable, "-m", "deska_host", "manifest", str(page)], capture_output=True, check=True
    ).stdout
    loud = "import os\nprint('printed')\nos.system('echo echoed')\n"
    page.write_text(PAGE.replace("from typing", f"{loud}from typing"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "deska_host", "manifest", str(page)], capture_output=True, check=True
    )
    assert done.stdout == expected
    assert b"printed\n" in done.stderr
    assert b"echoed\n" in done.stderr
