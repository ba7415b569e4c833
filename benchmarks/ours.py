"""The engine as a candidate: with ``[speed]`` and without, side by side in one run."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, Final, Literal

from benchmarks import peers
from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.answers import fenced, read_answer
from deska_sdk.schema import Checker, compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable

Codec = Literal["speed", "stdlib"]

#: The candidates' names.
NAMES: Final[dict[Codec, str]] = {"speed": "deska [speed]", "stdlib": "deska"}


def codecs(function: Callable[..., Any] = compile_schema) -> tuple[Codec, ...]:
    """The codecs that can be timed here: ``speed`` only where its libraries are installed.

    A function that lets nobody choose takes the quickest that is there.
    """
    if not (peers.load("msgspec") and peers.load("orjson")):
        return ("stdlib",)
    return ("speed", "stdlib") if "codec" in signature(function).parameters else ("speed",)


def chosen(function: Callable[..., Any], codec: Codec) -> dict[str, Any]:
    """The keyword argument that chooses the codec, for a function that has one."""
    return {"codec": codec} if "codec" in signature(function).parameters else {}


def checker(schema: dict[str, Any], side: Literal["input", "output"], codec: Codec) -> Checker:
    """The compiled checker of a schema."""
    return compile_schema(schema, side, **chosen(compile_schema, codec))


def oracle(schema: dict[str, Any], side: Literal["input", "output"]) -> Checker:
    """The slow one, which says what is right."""
    return compile_schema(schema, side, checker="interpreted", **chosen(compile_schema, "stdlib"))


def answerer(schema: dict[str, Any], codec: Codec) -> Callable[[Any], str]:
    """What makes a fenced text of an answer's value, as the router does it for a read."""
    output = checker(schema, "output", codec)
    read = chosen(read_answer, codec)
    fence = chosen(fenced, codec)

    def answer(value: object) -> str:
        given = read_answer(value, output, DEFAULT_LIMITS, **read)
        return fenced("nook", "Nook", given, {}, DEFAULT_LIMITS, **fence)

    return answer
