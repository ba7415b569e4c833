"""Timing candidates against each other.

Every candidate of a group runs in every round, in a fresh random order, so that what else the
computer does meets all of them alike. A ratio is the median, over the rounds, of two candidates'
times in the same round; it is never made of numbers from two runs.

What is timed is the processor's time, so that a sample is not spoilt by a program that got the
core in the middle of it. Where a candidate works in several threads, only the clock on the wall is
fair.

The collector of cycles is off inside a sample and runs between rounds: otherwise the candidate that
happens to trigger it pays for the garbage of all.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Awaitable, Callable, Generator
from itertools import repeat
from statistics import median
from time import perf_counter, process_time, thread_time
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

#: A candidate may cost at most this many single calls while its sample's length is looked for.
_MOST_CALLS = 1_000_000


@frozen
class Candidate:
    """One way to do the work: ``run(given)`` does it once.

    ``given`` stands apart from ``run`` so that a function written in C is timed without a Python
    function around it.
    """

    name: str
    run: Callable[[Any], Any]
    given: Any = field(default=None, repr=False)


@frozen
class Timings:
    """What one group measured: seconds a call, by candidate, one for each round."""

    seconds: dict[str, tuple[float, ...]]

    def median(self, name: str) -> float:
        """The median of a candidate, in seconds."""
        return median(self.seconds[name])

    def ratio(self, name: str, reference: str) -> float:
        """How many times as long as ``reference`` a candidate took, within the same rounds."""
        pairs = zip(self.seconds[name], self.seconds[reference], strict=True)
        return median(one / other for one, other in pairs)

    def __contains__(self, name: str) -> bool:
        return name in self.seconds


#: Yields what to time next, a candidate and a number of calls; takes the seconds they took.
Plan = Generator[tuple[Candidate, int], float, Timings]


def plan(candidates: Sequence[Candidate], rng: Random, rounds: int, sample: float) -> Plan:
    """The order of all samples of a group; it is the same for plain and for async candidates.

    :param rounds: how often each candidate is timed.
    :param sample: how long a sample should take, in seconds. A call that takes longer is a sample,
        and with 0 every call is one.
    """
    numbers = dict.fromkeys((candidate.name for candidate in candidates), 1)
    for candidate in candidates if sample else ():
        # The first call of all compiles and imports what later ones find, so it tells nothing.
        yield candidate, 1
        number, seconds = 1, (yield candidate, 1)
        while seconds < sample / 3 and number < _MOST_CALLS:
            number *= 4
            seconds = yield candidate, number
        numbers[candidate.name] = max(1, round(number * min(1.0, sample / max(seconds, 1e-9))))
    taken: dict[str, list[float]] = {candidate.name: [] for candidate in candidates}
    order = list(candidates)
    for _ in range(rounds):
        rng.shuffle(order)
        gc.collect(0)
        for candidate in order:
            number = numbers[candidate.name]
            taken[candidate.name].append((yield candidate, number) / number)
    return Timings({name: tuple(seconds) for name, seconds in taken.items()})


def measure(
    candidates: Sequence[Candidate],
    rng: Random,
    *,
    rounds: int,
    sample: float = 0.0015,
    wall: bool = False,
) -> Timings:
    """Time candidates whose ``run`` is a plain function.

    :param wall: by the clock on the wall, for candidates that use several threads.
    """
    clock = perf_counter if wall else thread_time
    steps = plan(candidates, rng, rounds, sample)
    candidate, number = next(steps)
    while True:
        seconds = _timed(candidate.run, candidate.given, number, clock)
        try:
            candidate, number = steps.send(seconds)
        except StopIteration as end:
            return end.value


async def measure_async(
    candidates: Sequence[Candidate], rng: Random, *, rounds: int, sample: float = 0.003
) -> Timings:
    """Time candidates whose ``run`` is an async function, in one running loop."""
    steps = plan(candidates, rng, rounds, sample)
    candidate, number = next(steps)
    while True:
        seconds = await _timed_async(candidate.run, candidate.given, number)
        try:
            candidate, number = steps.send(seconds)
        except StopIteration as end:
            return end.value


def _timed(
    run: Callable[[Any], Any], given: object, number: int, clock: Callable[[], float]
) -> float:
    was_on = gc.isenabled()
    gc.disable()
    try:
        start = clock()
        for _ in repeat(None, number):
            run(given)
        return clock() - start
    finally:
        if was_on:
            gc.enable()


async def _timed_async(run: Callable[[Any], Awaitable[Any]], given: object, number: int) -> float:
    was_on = gc.isenabled()
    gc.disable()
    try:
        start = process_time()
        for _ in repeat(None, number):
            await run(given)
        return process_time() - start
    finally:
        if was_on:
            gc.enable()


def geometric_mean(ratios: Sequence[float]) -> float:
    """The mean that treats 2x and 1/2x as opposites."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
