"""JSON values by themselves, without a schema: which values are one, and their compact line.

"A JSON value" is one of exactly ``dict`` with ``str`` keys, ``list``, ``str``, ``bool``, ``int``,
``float`` and ``None`` (D-8, N-6). Subclasses are none: what they would be written as is for their
class to say, and may differ from what was measured and checked.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field

from deska_sdk.codec import encode, find
from deska_sdk.errors import InvalidValue, TooLarge
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.problems import Fault, Rule, pointer
from deska_sdk.text import strip_invisible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deska_sdk.codec import Codec, Engine

#: D-8: beyond it, readers of JSON no longer agree on a number.
LARGEST: Final = 2**53 - 1

# ``type`` for values of which nothing is known yet.
_type_of: Callable[[Any], type[Any]] = type


def compact(
    value: Any, limit: int, *, limits: Limits = DEFAULT_LIMITS, codec: Codec = "auto"
) -> str:
    """``value`` as one line of JSON without spaces, of at most ``limit`` code points (N-4).

    Characters outside ASCII stand as they are. A float without a fraction is written as an int,
    ``-0.0`` as 0 (D-8). The value is measured before it is written and measuring stops at the
    limit, so the line of a huge value is never built. ``value`` is not changed.

    :raises InvalidValue: ``value`` is no JSON value, holds a number that is not finite or beyond
        ±(2^53 − 1), or is cyclic or nested deeper than ``limits.json_nesting``. A fault's
        ``where`` ends at the first object on the way, for keys are the page's own text.
    :raises TooLarge: the line would be longer than ``limit``.
    :raises ImportError: ``codec`` is ``speed`` and its libraries are not installed.
    """
    engine = find(codec)
    return written(checked(value, limit, limits=limits), limit, engine)


def checked(value: Any, limit: int, *, limits: Limits = DEFAULT_LIMITS) -> object:
    """``value`` with its floats without a fraction as ints: itself, or a new one if it has some.

    :raises InvalidValue: as :func:`compact`.
    :raises TooLarge: its line is sure to be longer than ``limit`` code points; one that gets
        through here may still be, but by no more than what JSON escapes add.
    """
    if _measure(value, limits.json_nesting, limit) >= 0:
        return value
    survey = _Survey(left=limit, most=limits.faults)
    value = survey.copy(value, limits.json_nesting, "", keyed=False)
    if survey.faults:
        raise InvalidValue(tuple(survey.faults), more=survey.stopped)
    if survey.stopped:
        raise TooLarge(limit)
    return value


def written(value: Any, limit: int, engine: Engine) -> str:
    """The compact line of a value that :func:`checked` handed on.

    :raises TooLarge: it is longer than ``limit`` code points.
    """
    data = engine.dumps(value)
    # What has no UTF-8, a lone surrogate, has a line nonetheless, until it is stripped.
    line = encode(value) if data is None else data.decode()
    if len(line) > limit:
        raise TooLarge(limit)
    return line


def strip_all(value: Any) -> object:
    """A checked value without invisible characters (T-1), in its strings and in its keys.

    :raises InvalidValue: two keys of one object become the same; one of them would be lost.
    """
    kind = _type_of(value)
    if kind is str:
        return strip_invisible(value)
    if kind is list:
        return [strip_all(item) for item in value]
    if kind is not dict:
        return value
    stripped = {strip_invisible(key): strip_all(item) for key, item in value.items()}
    if len(stripped) != len(value):
        raise InvalidValue((_wrong("", "keys that differ in what can be seen"),))
    return stripped


# The least a value is written in, escapes left aside: 1 + 4n for an object of n members (braces,
# and per member two quotes, colon, comma) and 1 + n for an array of n items.


def _measure(value: Any, levels: int, left: int) -> int:
    """What ``value`` leaves of ``left`` code points at the least.

    Negative where it leaves nothing, or where only a closer look can tell what is wrong or has to
    be written otherwise. This is the fast way of the values that are fine as they are.
    """
    kind = _type_of(value)
    items: Iterable[Any] = (value,)
    if kind is dict:
        left -= 1 + 4 * len(value)
        if left < 0 or not levels:
            return -1
        for key in value:
            if type(key) is not str:
                return -1
            left -= len(key)
        items = value.values()
    elif kind is list:
        left -= 1 + len(value)
        if left < 0 or not levels:
            return -1
        items = value
    for item in items:
        kind = _type_of(item)
        if kind is str:
            left -= 2 + len(item)
        elif kind is int:
            if not -LARGEST <= item <= LARGEST:
                return -1
            left -= 1
        elif kind is bool or item is None:
            left -= 4
        elif kind is dict or kind is list:
            left = _measure(item, levels - 1, left)
        elif kind is not float or not 0 < abs(item) % 1 < 1:
            return -1
        if left < 0:
            return -1
    return left


@define
class _Survey:
    """The closer look: a copy of the value, the faults met on the way, and when to stop."""

    left: int
    most: int
    faults: list[Fault] = field(factory=list[Fault])
    #: True once the size is passed, or there is one fault more than may be told.
    stopped: bool = False

    def copy(self, value: Any, levels: int, where: str, *, keyed: bool) -> object:
        """``value`` anew; worthless once there is a fault or the survey has stopped."""
        kind = _type_of(value)
        if kind is dict or kind is list:
            if not levels:
                self._fault(_wrong(where, "nothing nested so deep"))
                return None
            if kind is list:
                return self._array(value, levels, where, keyed=keyed)
            return self._object(value, levels, where)
        if kind is str:
            self._spend(2 + len(value))
            return value
        if kind is bool or value is None:
            self._spend(4)
            return value
        if kind is int or kind is float:
            return self._number(value, where)
        self._fault(_wrong(where, "a JSON value"))
        return None

    def _array(self, items: list[Any], levels: int, where: str, *, keyed: bool) -> object:
        self._spend(1 + len(items))
        copied: list[Any] = []
        for index, item in enumerate(items):
            if self.stopped:
                break
            # Below an object no place is told: the way there is made of the page's own words.
            place = where if keyed else pointer(where, index)
            copied.append(self.copy(item, levels - 1, place, keyed=keyed))
        return copied

    def _object(self, members: dict[Any, Any], levels: int, where: str) -> object:
        self._spend(1 + 4 * len(members))
        copied: dict[str, Any] = {}
        for key, item in members.items():
            if self.stopped:
                break
            if type(key) is str:
                self._spend(len(key))
                copied[key] = self.copy(item, levels - 1, where, keyed=True)
            else:
                self._fault(_wrong(where, "an object whose keys are text"))
        return copied

    def _number(self, number: int | float, where: str) -> object:
        self._spend(1)
        if type(number) is float and not isfinite(number):
            self._fault(Fault(where=where, rule=Rule.NOT_FINITE))
            return None
        if not -LARGEST <= number <= LARGEST:
            limit = LARGEST if number > 0 else -LARGEST
            self._fault(Fault(where=where, rule=Rule.OUT_OF_RANGE, limit=limit))
            return None
        return int(number) if number == int(number) else number

    def _spend(self, least: int) -> None:
        self.left -= least
        if self.left < 0:
            self.stopped = True

    def _fault(self, fault: Fault) -> None:
        if len(self.faults) < self.most:
            self.faults.append(fault)
        else:
            self.stopped = True


def _wrong(where: str, expected: str) -> Fault:
    return Fault(where=where, rule=Rule.WRONG_TYPE, expected=expected)
