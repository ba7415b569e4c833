"""Do the tests notice a wrong compiler? ``python -m tests.byhand.mutants``.

Each mutant is one small change to the source of ``deska_sdk.schema.compile``, made in a copy of the
package; the schema tests then run against the copy and have to fail. A mutant that survives is a
hole in the tests, and the run ends with 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MUTATED = Path("deska_sdk/schema/compile.py")
#: From the quickest to the longest; the first failure ends the run.
TESTS = [
    "tests/kernel/test_schema_check.py",
    "tests/kernel/test_schema_handed_on.py",
    "tests/kernel/test_schema_compile.py",
    "tests/kernel/test_schema_properties.py",
    "tests/kernel/test_schema_differential.py",
]


class Mutant(NamedTuple):
    name: str
    old: str
    new: str


MUTANTS = [
    Mutant("an input is not stripped", 'side == "input" and given is not Given.CLEAN', "False"),
    Mutant("an output is stripped early", 'side == "input" and given is not Given.CLEAN', "True"),
    Mutant("a parsed text counts as clean", "given is not Given.CLEAN", "given is Given.OBJECT"),
    Mutant("outputs carry counters", 'self.counts = side == "input"', "self.counts = True"),
    Mutant("no counters", 'self.counts = side == "input"', "self.counts = self.strips"),
    Mutant("the caller's value is changed", "given is Given.OBJECT", "False"),
    Mutant("a dict's subclass fits", "type({x}) is not dict or", "not {x}.__class__ or"),
    Mutant("unknown properties beside required ones", 'f"len({x}) != {most}" if', '"False" if'),
    Mutant("more than is required is refused", "if least == most else", "if least else"),
    Mutant(
        "a closed object is open",
        'self.refuse_if(f"{left} != 0")',
        "self.refuse_if('False')",
    ),
    Mutant("unknown properties hide missing ones", '{missing} != 0")', '{missing} > 99")'),
    Mutant(
        "a new object is not put in its place",
        'self.line(f"{place.target} = {x}")\n            # D-8',
        'self.line("pass")\n            # D-8',
    ),
    Mutant("keys are not looked at", '"    if type(key) is not str: return None"', '"    pass"'),
    Mutant(
        "images in the order of the schema",
        "for member in members) > 1:",
        "for member in members) > 99:",
    ),
    Mutant(
        "only two properties with images are ordered",
        "> 1:\n            self.members_in",
        "> 2:\n            self.members_in",
    ),
    Mutant(
        "unknown names pass among images",
        'self.line("else: return None")\n        self.depth',
        'self.line("else: pass")\n        self.depth',
    ),
    Mutant(
        "required counts as optional",
        "if member.name not in required:\n                self.line",
        "if True:\n                self.line",
    ),
    Mutant("an optional property is not counted", 'self.line(f"{left} -= 1")', 'self.line("pass")'),
    Mutant(
        "required ones are counted twice",
        'f" - {len(required)}" if required else ""',
        'f" - {len(required) - 1}" if required else ""',
    ),
    Mutant("a list's subclass fits", "type({x}) is not list", "not {x}.__class__"),
    Mutant("a list is cut to its limit", "[:{most} + 1]", "[:{most}]"),
    Mutant(
        "a list is one item too short",
        'self.refuse_if(f"len({x}) > {most}")\n        if',
        'self.refuse_if(f"len({x}) >= {most}")\n        if',
    ),
    Mutant(
        "a list has no limit",
        'self.refuse_if(f"len({x}) > {most}")\n        if',
        'self.refuse_if("False")\n        if',
    ),
    Mutant("a new list is not put in its place", "{_standing(place).target} = {x}", "pass"),
    Mutant("texts in lists are not measured", "or len({item}) > {_integer(node.max_length)}", ""),
    Mutant("counters in lists are missed", " or 'r1' <= {item} < 'r:':", ":"),
    Mutant("dirty texts in lists are missed", "has_invisible(''.join({x}))", "False"),
    Mutant(
        "only the first text of a list is looked at",
        "has_invisible(''.join({x}))",
        "has_invisible(''.join({x}[:1]))",
    ),
    Mutant("an image's place is forgotten", 'self.line(f"images.append({place.slot})")', "pass"),
    Mutant(
        "a path has no limit",
        'self.refuse_if(f"type({x}) is not str or len({x}) > {most}")\n            self.line',
        'self.refuse_if(f"type({x}) is not str")\n            self.line',
    ),
    Mutant(
        "a path is checked as text",
        "if node.format is not None:\n            # T-3",
        "if not self.strips and node.format:\n            # T-3",
    ),
    Mutant(
        "a text too long as sent is refused",
        'self.line(f"    {x} = strip({x})")\n            self.line(f"    if len',
        'self.line(f"    if len({x}) > {most}: return None")\n'
        '            self.line(f"    {x} = strip({x})")\n            self.line(f"    if len',
    ),
    Mutant("a stripped text has no limit", "    if len({x}) > {most}: return None", "    pass"),
    Mutant(
        "a stripped text is not handed on",
        'self.line(f"    {place.target} = {x}")\n        else',
        "pass\n        else",
    ),
    Mutant("printable is enough", "{x}.isascii() and {x}.isprintable()", "{x}.isprintable()"),
    Mutant("ASCII is enough", "{x}.isascii() and {x}.isprintable()", "{x}.isascii()"),
    Mutant("a text before r1 is no counter", "'r1' <= {x} < 'r:'", "'r2' <= {x} < 'r:'"),
    Mutant("r9 is no counter", "'r1' <= {x} < 'r:'", "'r1' <= {x} < 'r9'"),
    Mutant("what starts like a counter is one", " and is_counter({x}):", ":"),
    Mutant(
        "r01 is a counter",
        "'r1' <= {x} < 'r:' and is_counter({x})",
        "{x}[:1] == 'r' and {x}[1:].isdecimal()",
    ),
    Mutant("an enum's length is ignored", "if longest is None or len(word) <= longest", ""),
    Mutant("an enum's length is one less", "len(word) <= longest", "len(word) < longest"),
    Mutant(
        "a dirty enum value is refused",
        'self.line(f"    {x} = strip({x})")\n        self',
        "pass\n        self",
    ),
    Mutant(
        "a dirty enum value is handed on", 'self.line(f"    {place.target} = {x}")\n\n', "pass\n\n"
    ),
    Mutant("an enum takes any text", "    if {x} not in {listed}: return None", "    pass"),
    Mutant(
        "the lowest number is refused",
        "not {_bound(node.lowest)} <=",
        "not {_bound(node.lowest)} <",
    ),
    Mutant(
        "the highest number is refused", "<= {_bound(node.highest)}", "< {_bound(node.highest)}"
    ),
    Mutant("minimum is ignored", "_bound(node.lowest)", "_bound(-(2**53) + 1)"),
    Mutant("a bool is an integer", "if type({x}) is int:", "if isinstance({x}, int):"),
    Mutant("floats have no bounds", "is not float or {outside}: return", "is not float: return"),
    Mutant("a float stays a float", "{place.target} = int({x})", "pass"),
    Mutant("a fraction is cut", "elif {x}.is_integer(): {place.target}", "else: {place.target}"),
    Mutant("an integer may have a fraction", "if node.whole:", "if False:"),
    Mutant("no number may have a fraction", "if node.whole:", "if True:"),
    Mutant("1 is true", "{x} is not True and {x} is not False", "{x} not in (True, False)"),
    Mutant("false is refused", "{x} is not True and {x} is not False", "{x} is not True"),
    Mutant("names are written unlooked at", "if not is_token(plain, len(plain)):", "if False:"),
    Mutant("names write themselves", "return repr(plain)", "return repr(text)"),
    Mutant("limits are written unlooked at", "if type(value) is not int:\n", "if False:\n"),
    Mutant("infinite bounds are written", "value - value != 0", "False"),
    Mutant("generated code has builtins", '"__builtins__": {},', ""),
    Mutant("no function is shared", "maxsize=512", "maxsize=0"),
    Mutant("any schema is compiled", "_MOST_NODES: Final = 1_000", "_MOST_NODES: Final = 10**9"),
    Mutant("any digit makes a counter", '"r[1-9][0-9]*"', r'r"r[1-9]\\d*"'),
]


def test(mutant: Mutant | None) -> tuple[str, float]:
    """What became of one mutant, and after how long; ``None`` is the package as it is."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "src")
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            path = copy / MUTATED
            source = path.read_text()
            if mutant.old not in source:
                return "no such source", 0.0
            path.write_text(source.replace(mutant.old, mutant.new, 1))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-o", "addopts=", "--no-header"]
        command += ["-p", "no:cacheprovider", "--import-mode=importlib", *TESTS]
        environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    # 1 is pytest's word for failing tests; all else means that nothing was tested.
    outcome = {0: "SURVIVED", 1: "caught"}.get(done.returncode, f"pytest ended {done.returncode}")
    by = lines[0].partition("::")[2].partition(" - ")[0][:70] if lines else ""
    return f"{outcome:<9} {by}", time.monotonic() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="run the mutants whose name holds this")
    options = parser.parse_args()
    outcome, _ = test(None)
    if not outcome.startswith("SURVIVED"):
        print(f"the tests fail without a mutant: {outcome}")
        return 1
    chosen = [mutant for mutant in MUTANTS if options.only in mutant.name]
    alive = 0
    with ThreadPoolExecutor(options.processes) as pool:
        for mutant, (outcome, seconds) in zip(chosen, pool.map(test, chosen), strict=True):
            alive += not outcome.startswith("caught")
            print(f"{mutant.name:<44} {seconds:5.1f} s  {outcome}", flush=True)
    print(f"{len(chosen) - alive} of {len(chosen)} mutants caught")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
