"""Closed sets of words: states, causes, codes."""

from __future__ import annotations

from enum import StrEnum


class Word(StrEnum):
    """A member of a closed set of words, which is also its own text.

    It hashes as its text does, in C: an enumeration's own hash is a Python function, and every
    move of a call looks things up by such words.
    """

    __hash__ = str.__hash__
