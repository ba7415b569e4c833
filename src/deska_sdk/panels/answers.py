"""What a page answers, checked: a write's few closed values (W-1), a read's value (N-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from attrs import define, field, frozen

from deska_sdk import fence
from deska_sdk.errors import InvalidValue, TooLarge
from deska_sdk.problems import Fault, Rule
from deska_sdk.revisions import is_revision
from deska_sdk.strictjson import shows_all

if TYPE_CHECKING:
    from deska_sdk.limits import Limits
    from deska_sdk.schema import Checked, Checker

WRITE_KEYS = frozenset({"ok", "revision", "error"})
WRITE_ERRORS = frozenset({"invalid", "conflict", "not_found", "failed"})

UNAVAILABLE = "image:unavailable"


@frozen
class WriteAnswer:
    """A write's answer as W-1 allows it. ``revision`` is the page's own text."""

    ok: bool
    revision: str | None = field(default=None, repr=False)
    error: str | None = None


def write_answer(payload: object, limits: Limits) -> WriteAnswer:
    """``payload`` as a write's answer.

    :raises InvalidValue: it is anything but W-1's ``{ok, revision?, error?}``.
    """
    if type(payload) is dict:
        answer = cast("dict[str, Any]", payload)
        ok = answer.get("ok")
        if type(ok) is bool and _are_write_keys(answer):
            revision, error = answer.get("revision"), answer.get("error")
            if (revision is None or is_revision(revision, limits.revision)) and (
                error is None or (not ok and type(error) is str and error in WRITE_ERRORS)
            ):
                return WriteAnswer(ok, revision, error)
    raise InvalidValue((Fault(where="", rule=Rule.WRONG_TYPE, expected="object"),))


def _are_write_keys(answer: dict[str, Any]) -> bool:
    # None is no way to leave a key out.
    # A loop and no generator: this is on the way of every write.
    for key, value in answer.items():
        if type(key) is not str or key not in WRITE_KEYS or value is None:
            return False
    return True


def write_text(answer: WriteAnswer, counter: str | None) -> str:
    """What the agent gets for a write: counters and closed words, no text of the page (W-2)."""
    # Nothing of it needs escaping: a counter is ``r`` and digits, an error one of four words.
    revision = "" if counter is None else f',"revision":"{counter}"'
    error = "" if answer.error is None else f',"error":"{answer.error}"'
    return f'{{"ok":{"true" if answer.ok else "false"}{revision}{error}}}'


@define(eq=False)
class ReadAnswer:
    """A read's answer that fits its schema."""

    #: Its compact JSON: as sent, or stripped already where ``checked`` is ``None``.
    line: str = field(repr=False)
    #: The value behind it, where that has to be stripped or have its images put in.
    checked: Checked | None = field(default=None, repr=False)
    #: The ids of its images, each once, in document order.
    file_ids: tuple[str, ...] = field(default=(), repr=False)


def read_answer(payload: object, output: Checker, limits: Limits) -> ReadAnswer:
    """``payload`` checked as sent (N-1, I-3).

    :raises InvalidValue: it does not fit ``output``, or names too many images.
    :raises TooLarge: its compact JSON is over N-4's limit. A schema fault wins over size.
    """
    data = output.line(payload)
    if data is not None:
        line = data.decode()
        if len(line) > limits.answer:
            raise TooLarge(limits.answer)
        if shows_all(data, line):
            return ReadAnswer(line)
        stripped = output.strip_line(data)
        if stripped is not None:
            return ReadAnswer(stripped.decode())
    checked = output.examine(payload)
    ids = tuple(dict.fromkeys(cast("str", place[key]) for place, key in checked.images))
    if len(ids) > limits.images:
        raise InvalidValue((Fault(where="", rule=Rule.TOO_MANY_ITEMS, limit=limits.images),))
    return ReadAnswer(fence.compact(checked.value, limits.answer), checked, ids)


def fenced(
    panel_id: str, panel_name: str, answer: ReadAnswer, sent: dict[str, str], limits: Limits
) -> str:
    """The fenced text of a read (N-1): stripped, with ``image:N`` where ids stood (I-4).

    ``sent`` maps the id of each image that is sent to its ``image:N``. Call it once for an
    answer: its value is changed in place.

    :raises TooLarge: the escaped line is over N-4's limit.
    """
    checked, line = answer.checked, answer.line
    if checked is not None:
        changed = checked.strip(line)
        for place, key in checked.images:
            place[key] = sent.get(place[key], UNAVAILABLE)
            changed = True
        if changed:
            line = fence.compact(checked.value, limits.answer)
    return fence.wrap(panel_id, panel_name, fence.escape(line, limits.answer), limits=limits)


def fenced_offer(
    panel_id: str,
    panel_name: str,
    text: str,
    file_ids: tuple[str, ...],
    sent: dict[str, str],
    limits: Limits,
) -> str:
    """The fenced text of what the person sends (O-3): ``{"text":…,"images":["image:1"]}``.

    What the offer does not have is left out. ``text`` is stripped already.

    :raises TooLarge: the line is over N-4's limit, as it is or escaped.
    """
    value: dict[str, object] = {"text": text} if text else {}
    if file_ids:
        value["images"] = [sent.get(file_id, UNAVAILABLE) for file_id in file_ids]
    line = fence.escape(fence.compact(value, limits.answer), limits.answer)
    return fence.wrap(panel_id, panel_name, line, limits=limits)
