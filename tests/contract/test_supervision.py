"""The table of docs/supervision.md: each test it names is there and is marked with the rule."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RULES = [f"S-{number}" for number in range(1, 9)] + [f"O-{number}" for number in range(1, 5)]


def page() -> str:
    return (DOCS / "supervision.md").read_text(encoding="utf-8")


def rows() -> list[tuple[str, str, list[str]]]:
    found = re.findall(r"^\| ([SO]-\d) \| (.+?) \| (.+) \|$", page(), re.MULTILINE)
    return [(rule, said, re.findall(r"`([^`]+::[^`]+)`", tests)) for rule, said, tests in found]


@lru_cache
def marked(path: str) -> dict[str, set[str]]:
    """The tests of a file, each with the rules it is marked with."""
    tests: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            tests[node.name] = {
                ast.literal_eval(argument)
                for mark in node.decorator_list
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.rule"
                for argument in mark.args
            }
    return tests


def test_every_rule_of_supervision_has_a_row_in_order():
    told = [rule for rule, _, _ in rows()]
    assert list(dict.fromkeys(told)) == RULES
    assert told == sorted(told, key=RULES.index)


@pytest.mark.parametrize(("rule", "said", "tests"), rows(), ids=lambda one: str(one)[:40])
def test_each_row_names_tests_that_are_there_and_are_of_its_rule(rule, said, tests):
    assert said.endswith(".")
    assert tests
    for test in tests:
        path, _, name = test.partition("::")
        assert rule in marked(path)[name], test


@pytest.mark.rule("S-8")
def test_the_six_limits_of_the_pause_are_said_in_the_docs_and_in_security():
    _, _, section = page().partition("## What the pause does not hold\n")
    said = re.findall(r"^- (.+?)(?=\n- |\n\n)", section, re.MULTILINE | re.DOTALL)[:6]
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    _, _, held = security.partition("## What is not held back\n")
    held, _, _ = held.partition("\n## ")
    about = [
        ("always allow", "always allow"),
        ("Subagents that run already", "started before may go on in its own mode"),
        ("agent's choice", "agent's choice"),
        ("outside of the task's folder", "runtime's matter"),
        ("resource hint", "resource hint"),
        ("inside an image", "inside an image"),
    ]
    assert len(said) == len(about)
    for line, (here, there) in zip(said, about, strict=True):
        assert here in " ".join(line.split())
        assert there in " ".join(held.split())
