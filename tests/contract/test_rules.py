"""Every rule has a test, and every test that names a rule names one that exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def written_rules():
    text = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    return re.findall(r"^\*\*([A-Z]-\d+)\*\*", text, re.MULTILINE)


def marked_rules(path):
    """The rules that a test file names, with the names of the tests."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule":
            for argument in node.args:
                yield ast.literal_eval(argument)


def rules_with_a_test():
    return {rule for path in ROOT.glob("tests/**/test_*.py") for rule in marked_rules(path)}


def test_every_rule_is_written_once():
    rules = written_rules()
    assert len(rules) == len(set(rules)) > 50


def test_every_rule_has_a_test():
    assert sorted(set(written_rules()) - rules_with_a_test()) == []


def test_every_test_of_a_rule_names_a_rule_that_exists():
    assert sorted(rules_with_a_test() - set(written_rules())) == []
