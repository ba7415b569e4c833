"""What an author sees in an editor: the language service of VS Code, with our schema.

    python -m tests.byhand.editor

The service is npm's ``vscode-json-languageservice``, the one that VS Code, Neovim's ``jsonls`` and
others run. It is asked to complete, to explain and to check at places in panel.json files; its
answers are printed, and the exit status is 1 when one of them is not what an author needs there.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Literal

from attrs import frozen

from deska_host.cli import main as deska
from deska_sdk.panels.check import check_panel
from deska_sdk.panels.editor_schema import panel_json_schema
from tests.byhand.npm import a_node
from tests.panels.support_manifest import vectors

EXAMPLES = Path(__file__).parents[2] / "examples"
VERSION = "5.7.2"
#: Where the cursor is.
CURSOR = "¦"

DRIVER = """
const { createRequire } = require("module");
const need = createRequire(process.argv[2] + "/");
const { getLanguageService, TextDocument, ClientCapabilities } =
  need("vscode-json-languageservice");
const { schema, asked } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { readFile } = require("fs/promises");
const made = () => getLanguageService({
  clientCapabilities: ClientCapabilities.LATEST,
  schemaRequestService: (uri) => readFile(new URL(uri), "utf8"),
  workspaceContext: { resolveRelativePath: (path, file) => new URL(path, file).href },
});
// One that was told which schema panel.json has, and one that finds out by "$schema".
const told = made();
const finds = made();
const schemas = [{ uri: "deska://panel.json", fileMatch: ["*panel.json"], schema }];
told.configure({ validate: true, schemas });
finds.configure({ validate: true, schemas: [] });
(async () => {
  const answers = [];
  for (const { what, text, offset, uri } of asked) {
    const service = uri ? finds : told;
    const document = TextDocument.create(uri ?? "file:///p/panel.json", "json", 1, text);
    const parsed = service.parseJSONDocument(document);
    const at = document.positionAt(offset);
    if (what === "complete") {
      const found = await service.doComplete(document, at, parsed);
      answers.push(found.items.map((one) => {
        const note = one.documentation ?? one.detail ?? "";
        return `${one.label} -- ${note.value ?? note}`;
      }));
    } else if (what === "explain") {
      const found = await service.doHover(document, at, parsed);
      answers.push((found?.contents ?? []).map((one) => one.value ?? one));
    } else {
      const found = await service.doValidation(document, parsed);
      answers.push(found.map((one) => {
        const from = one.range.start;
        return `${from.line + 1}:${from.character + 1} ${one.message}`;
      }));
    }
  }
  console.log(JSON.stringify(answers));
})();
"""


@frozen
class Scene:
    """A place in a file, what is asked there, and what an answer must hold."""

    title: str
    what: Literal["complete", "explain", "check"]
    text: str
    #: Each stands in one of the answers; none of the others stands in any.
    wants: tuple[str, ...]
    never: tuple[str, ...] = ()
    #: The file itself, where the schema is found by its "$schema".
    uri: str | None = None


def _panel(agent: str, head: str = '"permissions": ["agent"]') -> str:
    return (
        '{\n"id": "notes", "name": "Notes", "version": "1.0.0", "sdk": 4,\n'
        f'{head},\n"agent": {{"actions": [\n{agent}\n]}}}}'
    )


def _write(node: str) -> str:
    return _panel(
        '{"name": "add", "description": "Adds.", "kind": "write", "input": {"type": "object",\n'
        f'"properties": {{"text":\n{node}\n}}}}}}'
    )


SCENES = (
    Scene("an empty file", "complete", CURSOR, ("panel -- A panel with actions for agents",)),
    Scene(
        "the keys of a file",
        "complete",
        f'{{ "id": "notes", {CURSOR} }}',
        ("version -- A semantic version", "agent -- What agents may do", "$schema -- "),
        ("id -- ",),
    ),
    Scene(
        "permissions",
        "complete",
        f'{{ "permissions": [{CURSOR}] }}',
        ('"agent" -- The panel works with agents', '"notify" -- The page may tell'),
    ),
    Scene("an sdk", "complete", f'{{ "sdk": {CURSOR} }}', ("4 -- ",)),
    Scene(
        "actions",
        "complete",
        _panel(CURSOR),
        ("write -- An action that changes", "read -- An action that reads"),
    ),
    Scene(
        "the keys of a write",
        "complete",
        _panel(f'{{"name": "add", "kind": "write", {CURSOR}}}'),
        ("description -- 1 to 300 characters.", "input -- What an agent sends."),
    ),
    Scene(
        "a node",
        "complete",
        _write(CURSOR),
        ("text -- A text with a longest length", "image -- The path of an image", "list -- "),
    ),
    Scene(
        "the keys of a text",
        "complete",
        _write(f'{{"type": "string", {CURSOR}}}'),
        ("maxLength -- How many characters", "enum -- 1 to 256", "format -- The path"),
        ("maxItems -- ", "minimum -- "),
    ),
    Scene(
        "the types",
        "complete",
        _write(f'{{"type": {CURSOR}}}'),
        ('"integer" -- A number without a fraction.', '"array" -- A list'),
        ('"null"',),
    ),
    Scene("an id", "explain", f'{{ "i{CURSOR}d": "notes" }}', ("at most 64 characters",)),
    Scene(
        "a permission",
        "explain",
        f'{{ "permissions": ["ag{CURSOR}ent"] }}',
        ("The panel works with agents",),
    ),
    Scene(
        "a kind",
        "explain",
        _panel(f'{{"name": "add", "kind": "wri{CURSOR}te"}}'),
        ("answers only whether that worked",),
    ),
    Scene(
        "a limit",
        "explain",
        _write(f'{{"type": "string", "max{CURSOR}Length": 5}}'),
        ("1 to 262,144",),
    ),
    Scene(
        "a description in a schema",
        "explain",
        _write(f'{{"type": "boolean", "descr{CURSOR}iption": "x"}}'),
        ("An agent never gets it.",),
    ),
    Scene(
        "a wrong head",
        "check",
        '{\n"id": "No-tes",\n"version": "1",\n"sdk": 5,\n"colour": "red"}',
        (
            "2:7 an id starts with a lower-case letter",
            "3:12 a version is a semantic version",
            "4:8 ",
            "5:1 Property colour is not allowed.",
            'Missing property "name".',
        ),
    ),
    Scene(
        "a way out beside actions",
        "check",
        _panel("", '"network": ["a.example"], "permissions": ["account"]'),
        (
            '3:12 a panel that declares "agent" may not reach network hosts',
            'the key "agent" needs the permission "agent" here',
            'a panel that declares "agent" may not sign people in',
        ),
    ),
    Scene(
        "a write with an output, and a read without",
        "check",
        _panel(
            '{"name": "a", "description": "A.", "kind": "write", "input": {"type": "object"},\n'
            '"output": {"type": "object"}},\n'
            '{"name": "b", "description": "B.", "kind": "read", "input": {"type": "object"}}'
        ),
        ("6:1 a write has no output", 'Missing property "output".'),
    ),
    Scene(
        "a text without an end",
        "check",
        _write('{"type": "string"}'),
        ('Missing property "maxLength".',),
    ),
    Scene(
        "a word of another dialect",
        "check",
        _write('{"type": "string", "maxLength": 9, "pattern": "x"}'),
        ("7:36 Property pattern is not allowed.",),
    ),
    Scene(
        "a type of another dialect",
        "check",
        _write('{"type": "null"}'),
        ("7:10 the type here is one of object, array, string",),
    ),
    Scene(
        "a format on the wrong side",
        "check",
        _write('{"type": "string", "maxLength": 40, "format": "deska-file"}'),
        ("in an input, the only format is deska-image",),
    ),
    Scene(
        "a fifth level",
        "check",
        _write(
            '{"type": "array", "maxItems": 1, "items": {"type": "array", "maxItems": 1, "items":\n'
            '{"type": "array"}}}'
        ),
        ("8:10 the type here is one of object, string", "this is level 4, the last one"),
    ),
    Scene(
        "a property that trips JavaScript",
        "check",
        _write('{"type": "object", "properties": {"prototype": {"type": "boolean"}}}'),
        ("prototype are no names of properties here",),
    ),
)


def asked(scene: Scene) -> dict[str, Any]:
    """A scene as the driver takes it."""
    offset = max(scene.text.find(CURSOR), 0)
    text = scene.text.replace(CURSOR, "")
    return {"what": scene.what, "text": text, "offset": offset, "uri": scene.uri}


def new_panel(folder: Path) -> Scene:
    """What ``deska new`` makes, opened by an editor that was told nothing."""
    assert deska(["new", "reading-list", "--in", str(folder)]) == 0
    file = folder / "reading-list" / "panel.json"
    text = file.read_text(encoding="utf-8").replace('"kind": "write"', f'"kind": {CURSOR}')
    wants = ('"read" -- It answers with content', '"write" -- It changes the panel')
    return Scene("a new panel, by its $schema", "complete", text, wants, uri=file.as_uri())


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="deska-editor-") as place:
        folder = Path(place)
        node = a_node(folder)
        node.install(folder, "vscode-json-languageservice", VERSION)
        driver = folder / "driver.cjs"
        driver.write_text(DRIVER, encoding="utf-8")
        files = {
            str(file.relative_to(EXAMPLES)): file.read_text(encoding="utf-8")
            for file in sorted(EXAMPLES.rglob("panel.json"))
        }
        texts = [*files.values(), *(vector.values[0]["source"] for vector in vectors())]
        scenes = [*SCENES, new_panel(folder)]
        asks = [asked(scene) for scene in scenes]
        asks += [{"what": "check", "text": text, "offset": 0} for text in texts]
        done = subprocess.run(
            [node.node, str(driver), str(folder.resolve())],
            input=json.dumps({"schema": panel_json_schema(), "asked": asks}),
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        if done.returncode:
            sys.stderr.write(done.stderr)
            return 2
    answers: list[list[str]] = json.loads(done.stdout)
    wrong = sum(not show(scene, answer) for scene, answer in zip(scenes, answers, strict=False))
    return 1 if wrong + agree(texts, answers[len(scenes) :]) else 0


def show(scene: Scene, answers: list[str]) -> bool:
    """Print what the author sees; whether it is what is needed."""
    print(f"\n{scene.what}: {scene.title}")
    # The service escapes what Markdown would read as its own.
    answers = [re.sub(r"\\([^\w\s])", r"\1", answer.replace("\n", " ")) for answer in answers]
    for answer in answers:
        print(f"    {answer}")
    missing = [want for want in scene.wants if not any(want in answer for answer in answers)]
    extra = [never for never in scene.never if any(never in answer for answer in answers)]
    for said, texts in (("MISSING", missing), ("SHOULD NOT BE THERE", extra)):
        for text in texts:
            print(f"  {said}: {text}")
    return not missing and not extra


def agree(texts: list[str], answers: list[list[str]]) -> int:
    """How many files the service complains about although the checker accepts them."""
    print()
    wrong = 0
    silent: Counter[str] = Counter()
    for text, found in zip(texts, answers, strict=True):
        problems = check_panel(text).problems
        # Nothing is fetched here, and what "$schema" names is no rule of ours.
        answer = [one for one in found if "Unable to load schema" not in one]
        if not problems and answer:
            wrong += 1
            print(f"REFUSED, AND NO PROBLEM: {text[:200]!r}: {answer}")
        elif problems and not answer:
            silent.update({problem.code for problem in problems})
    print(f"{len(texts)} files, {wrong} refused although the check finds nothing")
    print(f"only the check finds: {', '.join(sorted(silent))}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
