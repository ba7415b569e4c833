"""The documentation, held to the code: its examples run, its generated parts are fresh."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deska_host.testing import Desk
from deska_sdk.limits import Limits
from deska_sdk.router import Effect, Event

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
#: All that is written for readers. The README need not be there yet.
TEXTS = [
    path
    for path in (*PAGES, *(ROOT / name for name in ("README.md", "SECURITY.md", "CHANGELOG.md")))
    if path.exists()
]
#: The rules of panel actions, section by section.
RULES = [
    f"{section}-{number}"
    for section, numbers in {
        "P": range(1, 9),
        "D": range(1, 12),
        "T": range(1, 5),
        "C": range(1, 8),
        "L": range(1, 5),
        "A": range(1, 10),
        "W": (1, 2),
        "R": range(1, 5),
        "N": range(1, 7),
        "I": range(1, 7),
        "S": range(1, 9),
        "O": range(1, 5),
        "B": (1, 2),
        "G": range(1, 6),
        "K": range(1, 14),
        "M": range(1, 13),
    }.items()
    for number in numbers
]

#: A fenced block: the file it is to be written to, its language, its text, and where that starts.
BLOCK = re.compile(
    r"(?:^<!-- file: (?P<file>\S+) -->\n\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
A_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
AN_ID = re.compile(r"(?<![\w-])[A-Z]-\d+(?![\w-])")
A_RULE = re.compile(r"^\*\*([A-Z]-\d+)\*\*", re.MULTILINE)


def named(path: Path) -> str:
    return path.name


def load_diagrams() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_diagrams", DOCS / "diagrams.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # attrs and inspect look a class's module up by its name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def call_test(function: Any, folder: Path) -> None:
    """What pytest would do with a test function of a page."""
    folder.mkdir()
    given: dict[str, Any] = {}
    wanted = set(inspect.signature(function).parameters)
    assert wanted <= {"deska_desk", "tmp_path"}
    if "tmp_path" in wanted:
        given["tmp_path"] = folder
    desk_folder = folder / "desk"
    desk_folder.mkdir()
    with Desk(desk_folder) as desk:
        function(**given, deska_desk=desk)


@pytest.mark.parametrize("path", [p for p in TEXTS if "```python" in p.read_text()], ids=named)
def test_every_python_block_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "a_page_of_the_docs"}
    tested: set[str] = set()
    ran = 0
    for found in BLOCK.finditer(text):
        # As many lines before it as in the page, so that a failure names the page's line.
        source = "\n" * text.count("\n", 0, found.start("text")) + found["text"]
        if found["file"] is not None:
            target = tmp_path / found["file"]
            assert target.resolve().is_relative_to(tmp_path.resolve())
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(found["text"], encoding="utf-8")
        if found["language"] == "json":
            json.loads(found["text"])
        if found["language"] != "python":
            continue
        # As the reader runs it: none of the flags of this file.
        exec(compile(source, str(path), "exec", dont_inherit=True), namespace)
        ran += 1
        for name in [name for name in namespace if name.startswith("test_")]:
            if name not in tested:
                tested.add(name)
                call_test(namespace[name], tmp_path / name)
    assert ran


def test_the_generated_parts_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert load_diagrams().main(["--check"]) == 0, capsys.readouterr().err


def test_a_stale_part_is_found_and_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    diagrams = load_diagrams()
    for name in diagrams.MADE:
        shutil.copy(DOCS / name, tmp_path / name)
    page = tmp_path / "limits.md"
    fresh = page.read_text(encoding="utf-8")
    page.write_text(fresh.replace("| 262,144 bytes |", "| 9 bytes |"), encoding="utf-8")
    monkeypatch.setattr(diagrams, "DOCS", tmp_path)
    assert diagrams.main(["--check"]) == 1
    assert "limits.md" in capsys.readouterr().err
    assert diagrams.main([]) == 0
    assert page.read_text(encoding="utf-8") == fresh


def test_a_page_without_the_place_of_a_generated_part_is_an_error() -> None:
    with pytest.raises(ValueError, match="has places for"):
        load_diagrams().renewed("limits.md", "# Limits\n")


def test_every_limit_event_and_effect_is_in_its_page() -> None:
    limits = (DOCS / "limits.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", limits, re.MULTILINE) == list(Limits.__annotations__)
    router = (DOCS / "router.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(\w+)` \|", router, re.MULTILINE))
    assert {kind.__name__ for kind in (*Event.__args__, *Effect.__args__)} <= told


def test_each_rule_has_one_paragraph_in_order() -> None:
    text = (DOCS / "rules.md").read_text(encoding="utf-8")
    assert A_RULE.findall(text) == RULES
    for paragraph in re.split(r"^\*\*[A-Z]-\d+\*\*", text, flags=re.MULTILINE)[1:]:
        assert len(paragraph.split()) > 10


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_no_page_names_a_rule_that_does_not_exist(path: Path) -> None:
    assert set(AN_ID.findall(path.read_text(encoding="utf-8"))) <= set(RULES)


def anchors(text: str) -> set[str]:
    """What a heading can be linked by, as GitHub makes it."""
    bare = BLOCK.sub("", text)
    made: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", bare, re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        made.add(words)
    return made


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    for found in A_LINK.finditer(BLOCK.sub("", path.read_text(encoding="utf-8"))):
        target, _, anchor = found["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        there = (path.parent / target) if target else path
        assert there.exists(), found["target"]
        assert there.resolve().is_relative_to(ROOT), found["target"]
        if anchor:
            assert anchor in anchors(there.read_text(encoding="utf-8")), found["target"]


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_no_prose_is_wider_than_a_hundred_columns(path: Path) -> None:
    prose = BLOCK.sub("", path.read_text(encoding="utf-8"))
    wide = [line for line in prose.splitlines() if len(line) > 100 and not line.startswith("|")]
    assert wide == []
