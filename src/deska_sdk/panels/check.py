"""Check a panel.json: every problem, every warning, and what a reviewer has to read (P-7).

::

    report = check_panel(Path("panel.json").read_bytes())
    for problem in report.problems:
        print(problem.line, problem.column, problem.code, problem.sentence)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from attrs import evolve, field, frozen

from deska_sdk.document import document_of, parse_document
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.panels.findings import Findings, as_object
from deska_sdk.panels.formats import is_path, plain_path
from deska_sdk.panels.manifest import Manifest, manifest_of
from deska_sdk.panels.rules import DEFAULT_ENTRY, check_lineage, check_manifest, declares_agent
from deska_sdk.problems import Problem, pointer
from deska_sdk.text import fold

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from deska_sdk.panels.ledger import Ledger


@frozen
class ReviewerText:
    """One text of a package that reaches an agent (P-7)."""

    #: JSON Pointer of the text in panel.json; of its value where the text is a property name.
    where: str
    #: As the author wrote it. It may hold invisible characters.
    written: str = field(repr=False)
    #: As an agent reads it (T-4).
    folded: str = field(repr=False)


@frozen(kw_only=True)
class Report:
    """What :func:`check_panel` found."""

    #: All problems and all warnings, in document order. Line and column are ``None`` where the
    #: source was no text.
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    #: ``None`` where there is a problem.
    manifest: Manifest | None
    #: A version that declares ``agent`` is always reviewed before it is published.
    requires_review: bool
    #: Id, names, kinds, descriptions and tokens; empty where there is a problem or no action.
    reviewer_texts: tuple[ReviewerText, ...]


def check_panel(
    source: bytes | str | dict[str, Any],
    *,
    limits: Limits = DEFAULT_LIMITS,
    ledger: Ledger | None = None,
    files: Container[str] | None = None,
) -> Report:
    """Check a panel.json by P-1…P-6 and tell everything at once.

    ``source`` is the file's bytes, its text, or the value of one that never was text. With a
    ``ledger`` the panel's earlier versions count too (P-6). With ``files``, which answers whether
    a relative path (parts joined by ``/``) is a file inside the package, ``entry`` has to be one.

    Nothing is raised for any source; it is not changed.
    """
    if isinstance(source, (bytes, str)):
        document = parse_document(source, limits=limits)
    else:
        document = document_of(source, limits=limits)
    found = Findings(limits)
    value = document.value
    if document.complete:
        check_manifest(value, found)
        _check_files(value, found, files)
        panel = (as_object(value) or {}).get("id")
        if ledger is not None and type(panel) is str and ledger.ever(panel):
            check_lineage(value, found)
    problems, warnings = found.problems(document), found.warnings(document)
    if not isinstance(source, (bytes, str)):
        problems, warnings = _unplaced(problems), _unplaced(warnings)
    manifest = None if problems else manifest_of(cast("dict[str, Any]", value))
    return Report(
        problems=problems,
        warnings=warnings,
        manifest=manifest,
        requires_review=declares_agent(value),
        reviewer_texts=() if manifest is None else tuple(_reviewer_texts(manifest)),
    )


def _unplaced(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    return tuple(evolve(problem, line=None, column=None) for problem in problems)


def _check_files(value: object, found: Findings, files: Container[str] | None) -> None:
    manifest = as_object(value)
    if files is None or manifest is None:
        return
    entry = manifest.get("entry", DEFAULT_ENTRY)
    if type(entry) is str and is_path(entry) and plain_path(entry) not in files:
        where = "/entry" if "entry" in manifest else ""
        sentence = "the entry is no file inside the package"
        found.problem("entry_missing", where, sentence, entry)


def _reviewer_texts(manifest: Manifest) -> Iterator[ReviewerText]:
    if not manifest.declares_agent:
        return
    yield _as_is("/id", manifest.id)
    yield ReviewerText("/name", manifest.name, manifest.folded_name)
    for index, action in enumerate(manifest.actions):
        where = f"/agent/actions/{index}"
        yield _as_is(f"{where}/name", action.name)
        yield _as_is(f"{where}/kind", action.kind)
        place = f"{where}/description"
        yield ReviewerText(place, action.description, action.folded_description)
        yield from _tokens(action.input, f"{where}/input")
        if action.output is not None:
            yield from _tokens(action.output, f"{where}/output")


def _tokens(schema: dict[str, Any], where: str) -> Iterator[ReviewerText]:
    """The property names and enum values of a schema that was checked (D-2)."""
    properties: dict[str, Any] = schema.get("properties", {})
    for name, node in properties.items():
        place = pointer(pointer(where, "properties"), name)
        yield _as_is(place, name)
        yield from _tokens(node, place)
    if "items" in schema:
        yield from _tokens(schema["items"], pointer(where, "items"))
    for index, value in enumerate(schema.get("enum", ())):
        yield _as_is(pointer(pointer(where, "enum"), index), value)


def _as_is(where: str, text: str) -> ReviewerText:
    return ReviewerText(where, text, fold(text, len(text)))
