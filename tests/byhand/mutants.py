"""Do the tests notice a wrong compiler? ``python -m tests.byhand.mutants``.

Each mutant is one small change to the source of ``deska_sdk.schema.compile`` or of a module beside
it, made in a copy of the package; the schema tests then run against the copy and have to fail. A
mutant that survives is a hole in the tests, and the run ends with 1.
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
PACKAGE = Path("deska_sdk")
#: From the quickest to the longest; the first failure ends the run.
TESTS = [
    "tests/kernel/test_schema_check.py",
    "tests/kernel/test_schema_handed_on.py",
    "tests/kernel/test_schema_compile.py",
    "tests/kernel/test_schema_properties.py",
    "tests/kernel/test_codec.py",
    "tests/kernel/test_codec_objects.py",
    "tests/kernel/test_schema_differential.py",
]


class Mutant(NamedTuple):
    name: str
    old: str
    new: str
    module: str = "schema/compile.py"


SOURCE, FAST, FINISH = "schema/source.py", "schema/fast.py", "schema/finish.py"
SENT, OBJECTS, TYPED = "schema/sent.py", "schema/objects.py", "schema/typed.py"
STRICT, ANSWERS, CODEC = "strictjson.py", "panels/answers.py", "codec.py"
TEXT, UTF8 = "text.py", "_utf8.py"

MUTANTS = [
    Mutant("an input is not stripped", 'side == "input" and given is not Given.CLEAN', "False"),
    Mutant("an output is stripped early", 'side == "input" and given is not Given.CLEAN', "True"),
    Mutant("a parsed text counts as clean", "given is not Given.CLEAN", "given is Given.OBJECT"),
    Mutant("outputs carry counters", 'places and side == "input"', "places"),
    Mutant("no counters", 'places and side == "input"', "places and self.strips"),
    Mutant(
        "the caller's value is changed",
        "self.copies = given is Given.OBJECT",
        "self.copies = False",
    ),
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
        'self.line(f"{place.target} = {x}")\n        if self.doubts',
        "pass\n        if self.doubts",
    ),
    Mutant(
        "keys are not looked at", 'f"    if type(key) is not str: {self.refusal}"', '"    pass"'
    ),
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
        'self.line(f"else: {self.refusal}")\n        self.depth',
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
    Mutant("texts in lists are not measured", "or len({item}) > {most}", ""),
    Mutant("counters in lists are missed", 'if self.counts else ""', 'if False else ""'),
    Mutant("dirty texts in lists are missed", "has_invisible(''.join({x}))", "False"),
    Mutant(
        "only the first text of a list is looked at",
        "has_invisible(''.join({x}))",
        "has_invisible(''.join({x}[:1]))",
    ),
    Mutant("an image's place is forgotten", 'self.line(f"images.append({place.slot})")', "pass"),
    Mutant(
        "a path has no limit",
        'self.refuse_if(f"type({x}) is not str or len({x}) > {most}")\n            if self.places',
        'self.refuse_if(f"type({x}) is not str")\n            if self.places',
    ),
    Mutant(
        "a path is checked as text",
        "if node.format is not None:\n            # T-3",
        "if not self.strips and node.format:\n            # T-3",
    ),
    Mutant(
        "a text too long as sent is refused",
        'self.line(f"    {x} = strip({x})")\n            self.line(f"    if len',
        'self.line(f"    if len({x}) > {most}: {self.refusal}")\n'
        '            self.line(f"    {x} = strip({x})")\n            self.line(f"    if len',
    ),
    Mutant(
        "a stripped text has no limit", 'f"    if len({x}) > {most}: {self.refusal}"', '"    pass"'
    ),
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
    Mutant("an enum takes any text", 'f"    if {x} not in {listed}: {self.refusal}"', '"    pass"'),
    Mutant("the lowest number is refused", "{x} >= {low}", "{x} > {low}", SOURCE),
    Mutant("the highest number is refused", "{x} <= {high}", "{x} < {high}", SOURCE),
    Mutant("minimum is ignored", "low, high = bound(node.lowest)", "low, high = '-9e99'", SOURCE),
    Mutant("any integer below 2^30 is low enough", "node.highest > _SMALL", "True", SOURCE),
    Mutant("any integer above -2^30 is high enough", "node.lowest < -_SMALL", "True", SOURCE),
    Mutant("a bool is an integer", "if type({x}) is int:", "if isinstance({x}, int):"),
    Mutant(
        "floats have no bounds", "is not float or {outside(node, x, floats=True)}:", "is not float:"
    ),
    Mutant("a float stays a float", 'f"{place.target} = int({x})" if self', '"pass" if self'),
    Mutant("a fraction is cut", "elif {x}.is_integer(): {mended}", "else: {mended}"),
    Mutant("an integer may have a fraction", "if node.whole:", "if False:"),
    Mutant("no number may have a fraction", "if node.whole:", "if True:"),
    Mutant("1 is true", "{x} is not True and {x} is not False", "{x} not in (True, False)"),
    Mutant("false is refused", "{x} is not True and {x} is not False", "{x} is not True"),
    Mutant(
        "names are written unlooked at", "if not is_token(plain, len(plain)):", "if False:", SOURCE
    ),
    Mutant("names write themselves", "return repr(plain)", "return repr(text)", SOURCE),
    Mutant("limits are written unlooked at", "if type(value) is not int:\n", "if False:\n", SOURCE),
    Mutant("infinite bounds are written", "value - value != 0", "False", SOURCE),
    Mutant("generated code has builtins", '"__builtins__": {},', ""),
    Mutant("no function is shared", "maxsize=512", "maxsize=0"),
    Mutant("any schema is compiled", "_MOST_NODES: Final = 1_000", "_MOST_NODES: Final = 10**9"),
    Mutant("any digit makes a counter", '"r[1-9][0-9]*"', r'r"r[1-9]\\d*"'),
    # -- the quick ways
    Mutant("a list in pieces is not measured", "max(map(len, {x})) > {most}", "False"),
    Mutant("what is sent is mended", "given is not Given.SENT", "True"),
    Mutant("keys of what is sent are not looked at", " or given is Given.SENT", ""),
    Mutant(
        "an empty object is one of members",
        "not self.doubts and least and place",
        "not self.doubts and place",
    ),
    Mutant("colons are not counted", "!= {'n' if lines else surely}", "!= -1 and 0", FAST),
    Mutant("a miscount is no matter", "!= finish(x0): closed(data)", "!= finish(x0): pass", FAST),
    Mutant("DEL is clean", " and 127 not in data:\n        try", ":\n        try", FAST),
    Mutant("any escape is clean", " and 92 not in data and 127", " and 127", FAST),
    Mutant("no text is too long", "len(data) <= most and data.isascii()", "data.isascii()", FAST),
    Mutant("no long text is too long", "if len(data) > self.most:", "if False:", FAST),
    Mutant("images are stripped", "if not self.images and (", "if (", FAST),
    Mutant(
        "what does not fit is stripped",
        "line is None or self.fits(value) is None",
        "line is None",
        FAST,
    ),
    Mutant("floats are not mended", "{mend}\n            return", "pass\n            return", FAST),
    Mutant(
        "floats in UTF-8 are not mended", "{mend}\n        return", "pass\n        return", FAST
    ),
    Mutant("unknown properties pass convert", "convert(x0, struct)\n            {m", "{m", FAST),
    Mutant("optional ones are counted twice", "n += len({x})", "n += 2 * len({x})", FINISH),
    Mutant("rows are counted twice", "n += {static} * len", "n += 2 * {static} * len", FINISH),
    Mutant("floats in lists stay", "if not inner.lines:", "if True:", FINISH),
    Mutant(
        "unknown properties are let in",
        "forbid_unknown_fields=True",
        "forbid_unknown_fields=False",
        TYPED,
    ),
    Mutant("texts have no length", "(max_length=node.max_length)", "(max_length=10**9)", TYPED),
    Mutant("lists have no length", "(max_length=node.max_items)", "(max_length=10**9)", TYPED),
    Mutant("typed integers are unbounded", "(ge=ceil(low), le=floor(high))", "()", TYPED),
    Mutant("typed floats are unbounded", "(ge=low, le=high)", "()", TYPED),
    Mutant(
        "an enum's length is forgotten", "if longest is None or len(word) <= longest", "", TYPED
    ),
    Mutant("all is required of none", "Required[kind] if", "NotRequired[kind] if", TYPED),
    Mutant("tuples are lists", "if type({x}) is not list: return None", "pass", SENT),
    Mutant("members of an Enum are texts", "if type({x}) is not str: return None", "pass", SENT),
    Mutant("members of an Enum are integers", "if type({x}) is not int: return None", "pass", SENT),
    Mutant("nothing is tracked", "any(map(is_tracked, {x}))", "False", SENT),
    Mutant("whole floats are written", "if _lists_fractions(node) else", "if False else", SENT),
    Mutant("a whole float is written", " and not {x}.is_integer()", "", SENT),
    Mutant("huge answers are written", "<= _MOST_TEXT", "> 0", SENT),
    Mutant("rows are not copied", "list(map(copy, {x}))", "list({x})", OBJECTS),
    Mutant(
        "rows may be of any kind", "if not only_dicts(map(type, {x})): return None", "pass", OBJECTS
    ),
    Mutant(
        "copied lists are cut",
        "[:{integer(node.max_items)} + 1]",
        "[:{integer(node.max_items)}]",
        OBJECTS,
    ),
    Mutant(
        "a dirty copy is handed on",
        "data is not None and shows_all(data)",
        "data is not None",
        OBJECTS,
    ),
    Mutant(
        "inner objects are not copied", "{target} = {x} = {x}.copy()", "{target} = {x}", OBJECTS
    ),
    Mutant("escapes hide nothing", "if (92 in data and _HIDING", "if (False and _HIDING", STRICT),
    Mutant("DEL shows", "return 127 not in data", "return True", STRICT),
    Mutant("pairs of backslashes are no matter", 'if b"\\\\\\\\" in data:', "if False:", STRICT),
    Mutant("a lone surrogate is read", "and not _paired(text)", "and False", STRICT),
    Mutant("more text after the value", "if end == len(text) else REFUSED", "", STRICT),
    Mutant("line separators are removed", '"\\u2028": r"\\n"', '"\\u2028": ""', STRICT),
    Mutant("an answer has no length", "if len(line) > limits.answer:", "if False:", ANSWERS),
    Mutant("an answer is not stripped", "if shows_all(data, line):", "if True:", ANSWERS),
    Mutant("subclasses are written", "orjson.OPT_PASSTHROUGH_SUBCLASS\n", "0\n", CODEC),
    Mutant(
        "long texts need no escape", "if not data.translate(None, _NO_ESCAPE):", "if True:", CODEC
    ),
    Mutant(
        "few dirty texts are left", "stripped[at] = strip_invisible", "stripped[at] = str", TEXT
    ),
    Mutant(
        "texts run into each other", "if joined.count(between) == len(texts) - 1:", "if True:", TEXT
    ),
    Mutant(
        "one kind of invisible is enough",
        "for lead in set(suspects):",
        "for lead in suspects[:1]:",
        UTF8,
    ),
]


def test(mutant: Mutant | None) -> tuple[str, float]:
    """What became of one mutant, and after how long; ``None`` is the package as it is."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "src")
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            path = copy / PACKAGE / mutant.module
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
