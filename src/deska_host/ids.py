"""Ids that nobody can guess, made in batches: asking the system for each one costs as much as the
checks of a small call."""

from __future__ import annotations

import secrets
from typing import Final

#: Bytes of randomness in an id, how many ids are made at once, and the characters of one.
_BYTES: Final = 18
_BATCH: Final = 64
_LENGTH: Final = _BYTES * 4 // 3


class CallIds:
    """Makes the ids under which pages hear calls (A-2)."""

    def __init__(self) -> None:
        self._ready: list[str] = []

    def __call__(self) -> str:
        """A new id: 24 letters, digits, ``-`` and ``_``, with 144 bits of randomness."""
        if not self._ready:
            text = secrets.token_urlsafe(_BYTES * _BATCH)
            self._ready = [text[at : at + _LENGTH] for at in range(0, len(text), _LENGTH)]
        return self._ready.pop()
