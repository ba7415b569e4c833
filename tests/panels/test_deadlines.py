"""A-3, A-8: one heap of deadlines that holds no more than it must."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deska_sdk.steps import Deadlines


class Waiting:
    """All that a deadline asks of what waits, and when its deadline fell."""

    def __init__(self) -> None:
        self.timer: int | None = None
        self.fell: list[float] = []


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 5), st.integers(0, 20)),
        st.tuples(st.just("clear"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("due"), st.just(0), st.integers(0, 20)),
    ),
    max_size=60,
)


@pytest.mark.rule("A-3")
@given(ACTS)
def test_deadlines_fall_in_their_order_and_each_once(acts):
    deadlines: Any = Deadlines()
    requests = [Waiting() for _ in range(6)]
    order = 0
    model: dict[int, tuple[float, int]] = {}
    for act, which, when in acts:
        if act == "set":
            order += 1
            deadlines.set(requests[which], float(when), requests[which].fell.append)
            model[which] = (float(when), order)
        elif act == "clear":
            deadlines.clear(requests[which])
            model.pop(which, None)
        else:
            fallen = []
            while (due := deadlines.pop_due(float(when))) is not None:
                at, fall = due
                fall(at)
                (one,) = [number for number, each in enumerate(requests) if each.fell]
                fallen.append((requests[one].fell.pop(), one))
            expected = sorted((at, number, one) for one, (at, number) in model.items())
            due_now = [(at, one) for at, _, one in expected if at <= when]
            assert fallen == due_now
            for _, one in due_now:
                del model[one]
                assert requests[one].timer is None
        assert deadlines.next() == min((at for at, _ in model.values()), default=None)


@pytest.mark.rule("A-8")
def test_deadlines_of_ended_calls_do_not_pile_up():
    deadlines: Any = Deadlines()
    waiting = Waiting()
    deadlines.set(waiting, 1.0, waiting.fell.append)
    for number in range(10_000):
        ended = Waiting()
        deadlines.set(ended, 30.0 + number, ended.fell.append)
        deadlines.clear(ended)
    assert len(deadlines._heap) <= 65
    assert deadlines.pop_due(50_000.0) == (1.0, waiting.fell.append)
    assert deadlines.next() is None
    assert deadlines.pop_due(50_000.0) is None


@pytest.mark.rule("A-3")
def test_a_deadline_at_now_has_fallen_and_a_later_one_has_not():
    deadlines: Any = Deadlines()
    first, second = Waiting(), Waiting()
    deadlines.set(first, 5.0, first.fell.append)
    deadlines.set(second, 5.5, second.fell.append)
    assert deadlines.pop_due(4.999) is None
    assert deadlines.pop_due(5.0) == (5.0, first.fell.append)
    assert deadlines.pop_due(5.0) is None


@pytest.mark.rule("A-3")
def test_clearing_what_has_no_deadline_does_nothing():
    deadlines: Any = Deadlines()
    deadlines.clear(Waiting())
    assert deadlines.next() is None
