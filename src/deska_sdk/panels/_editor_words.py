"""Pieces of the JSON Schema for editors: every one says what it is (P-8)."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def titled(title: str, description: str, /, **words: Any) -> Schema:
    """A schema with what an editor shows above and below its name."""
    return {"title": title, "description": description, **words}


def text(title: str, description: str, /, **words: Any) -> Schema:
    """A string."""
    return titled(title, description, type="string", **words)


def shaped(title: str, description: str, pattern: str, otherwise: str, /, **words: Any) -> Schema:
    """A string of one shape; ``otherwise`` is what an editor says of another one."""
    shape = {"pattern": whole(pattern), "patternErrorMessage": otherwise}
    return text(title, description, **shape, **words)


def choice(title: str, description: str, meanings: dict[str, str], /, **words: Any) -> Schema:
    """One of a few words, each with its meaning."""
    return titled(
        title,
        description,
        enum=list(meanings),
        enumDescriptions=list(meanings.values()),
        **words,
    )


def when(key: str, value: str, then: Schema) -> Schema:
    """``then`` for an object in which ``key`` is ``value``."""
    return {"if": {"properties": {key: {"const": value}}, "required": [key]}, "then": then}


def snippet(label: str, description: str, body: Any) -> Schema:
    """What an editor offers to write at once; ``^`` in a body starts what is no text."""
    return {"label": label, "description": description, "body": body}


def whole(pattern: str) -> str:
    """The pattern for the whole of a text; JSON Schema looks for it anywhere."""
    return f"^(?:{pattern})$"
