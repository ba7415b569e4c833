"""Read a JSON document that a person wrote, and say where each thing in it stands.

::

    document = parse_document(b'{"id": "nook", "id": "nook"}')
    for problem in document.problems:
        print(problem.line, problem.column, problem.sentence)
    document.place("/id", key=True)  # (1, 16)

The reader of panel.json and of other manifests (P-1, P-7). Unlike :mod:`deska_sdk.strictjson`,
which is made for speed and tells one fault, this one is made for authors: it goes on after what is
wrong but readable, and it keeps the place of every key and value.
"""

from __future__ import annotations

import json
from typing import cast

from attrs import field, frozen

from deska_sdk._scanner import LINE_END, Place, Scanner, line_and_column, line_starts
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.problems import Problem


@frozen
class Document:
    """What :func:`parse_document` read.

    ``value`` is the JSON value when ``complete`` is true, and ``None`` when the text could not be
    read to its end. A complete document may still have problems; what they are about is then
    replaced in ``value`` (``None`` for a number or for what is nested too deep, U+FFFD for a lone
    surrogate, the last one for duplicate keys).
    """

    value: object = field(repr=False)
    complete: bool
    #: In document order, each with line and column.
    problems: tuple[Problem, ...]
    _text: str = field(default="", repr=False)
    _root: Place | None = field(default=None, repr=False, eq=False)
    _line_starts: tuple[int, ...] = field(default=(0,), repr=False, eq=False)

    def place(self, where: str, *, key: bool = False) -> tuple[int, int] | None:
        """One-based line and column (in code points) of the value at the JSON Pointer ``where``.

        With ``key`` the place of the key that names it. ``None`` where nothing stands there. Of
        duplicate keys the last one counts.
        """
        place = self._root if where[:1] in ("", "/") else None
        for part in where.split("/")[1:]:
            if place is None or place.children is None:
                return None
            place = place.children.get(part.replace("~1", "/").replace("~0", "~"))
        if place is None:
            return None
        return line_and_column(self._line_starts, place.key_at if key else place.at)

    def line(self, number: int) -> str:
        """The text of one line, counted from 1, without its line end; ``""`` if there is none."""
        if not 1 <= number <= len(self._line_starts):
            return ""
        start = self._line_starts[number - 1]
        end = LINE_END.search(self._text, start)
        return self._text[start : end.start() if end else len(self._text)]


def parse_document(
    data: bytes | str, *, limits: Limits = DEFAULT_LIMITS, max_bytes: int | None = None
) -> Document:
    """Read strict JSON (P-1) and tell everything that is wrong with it as JSON.

    ``data`` is UTF-8 or text, at most ``max_bytes`` bytes of UTF-8 (default: P-1's
    ``limits.manifest_bytes``). Problems are ``byte_order_mark``, ``not_utf8``, ``too_large``,
    ``syntax``, ``duplicate_key``, ``not_finite``, ``number_too_large``, ``integer_too_long``,
    ``nesting_too_deep``, ``lone_surrogate``, and ``too_many_problems`` where a hostile document
    has so many that not all are told. Nothing is raised, whatever ``data`` holds.
    """
    allowed = limits.manifest_bytes if max_bytes is None else max_bytes
    # A text of n code points has at least n bytes, so a huge one is never encoded to be measured.
    size = len(data)
    if isinstance(data, str) and size <= allowed:
        size = len(data.encode("utf-8", "surrogatepass"))
    if size > allowed:
        return _unread("too_large", f"the file is larger than the {allowed} bytes allowed")
    if isinstance(data, str):
        text = data
    else:
        bad: int | None = None
        text = ""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            bad = error.start
        if bad is not None:
            before = data[:bad].decode("utf-8")
            line, column = line_and_column(line_starts(before), len(before))
            sentence = "the file is not UTF-8 text from here on"
            return _unread("not_utf8", sentence, line=line, column=column)
    scanner = Scanner(text, limits, budget=4 * allowed + 65_536)
    scanner.scan()
    return Document(
        scanner.value,
        scanner.complete,
        tuple(scanner.problems),
        text,
        scanner.root,
        scanner.starts,
    )


def document_of(value: object, *, limits: Limits = DEFAULT_LIMITS) -> Document:
    """The document of a value that never was text, checked like one (P-1).

    What JSON cannot say (another type, a key that is no text, a cycle) is the problem
    ``not_json``; the value is never coerced into JSON. Places are those of the compact text, so
    they are good for sorting and not for showing.
    """
    refusal = _not_plain(value, limits)
    if refusal is not None:
        return Document(None, complete=False, problems=(refusal,))
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return parse_document(text, limits=limits)


def _unread(code: str, sentence: str, *, line: int = 1, column: int = 1) -> Document:
    problem = Problem(code=code, where="", sentence=sentence, line=line, column=column)
    return Document(None, complete=False, problems=(problem,))


def _not_plain(value: object, limits: Limits) -> Problem | None:
    """The first thing in ``value`` that JSON text could not hold as it is.

    Every value takes at least a byte of text, so the count of bytes also ends the walk through
    lists that hold each other or the same list many times.
    """
    allowed = limits.manifest_bytes
    largest = 10**limits.integer_digits - 1
    size = 0
    left: list[tuple[object, int]] = [(value, 1)]
    no_json = Problem(
        code="not_json", where="", sentence="the manifest holds a value that JSON has no form for"
    )
    while left:
        item, depth = left.pop()
        kind = type(item)
        inner: list[object] = []
        size += 1
        if kind is str:
            size += len(cast("str", item))
        elif kind is int:
            if abs(cast("int", item)) > largest:
                sentence = f"an integer has at most {limits.integer_digits} digits"
                return Problem(code="integer_too_long", where="", sentence=sentence)
        elif kind is list:
            inner = cast("list[object]", item)
        elif kind is dict:
            members = cast("dict[object, object]", item)
            if any(type(key) is not str for key in members):
                return no_json
            size += sum(len(cast("str", key)) for key in members)
            inner = list(members.values())
        elif item is not None and kind is not bool and kind is not float:
            return no_json
        if kind in (dict, list) and depth > limits.json_nesting:
            sentence = f"values are nested at most {limits.json_nesting} deep"
            return Problem(code="nesting_too_deep", where="", sentence=sentence)
        if size + len(inner) > allowed:
            sentence = f"the manifest is larger than the {allowed} bytes allowed"
            return Problem(code="too_large", where="", sentence=sentence)
        left.extend((one, depth + 1) for one in inner)
    return None
