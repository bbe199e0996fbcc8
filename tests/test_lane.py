"""A lane: what calls wait for is done for all of them at once, and each has its own outcome."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.lane import Lane, together


class Stage:
    """Something that calls wait for, which makes the tenfold of numbers and notes for how many."""

    def __init__(self):
        self.groups = []

    def tenfold(self, items):
        self.groups.append(list(items))
        return [item * 10 for item in items]


def run(lane, *calls):
    """Runs calls, given as a function and its arguments, to their ends; returns what came of
    each.
    """
    ends = {}
    for number, (function, *arguments) in enumerate(calls):
        lane.begin(
            function,
            tuple(arguments),
            lambda result, error, number=number: ends.update({number: (result, error)}),
        )
    while lane.busy:
        lane.perform()
    return [ends[number] for number in range(len(calls))]


@pytest.fixture
def lane():
    lane = Lane()
    yield lane
    lane.close()


def test_outside_of_a_lane_it_is_done_at_once():
    stage = Stage()
    assert together(stage.tenfold, 7) == 70
    assert stage.groups == [[7]]


def test_calls_that_wait_for_the_same_wait_together(lane):
    stage = Stage()
    calls = [(together, stage.tenfold, number) for number in range(16)]
    assert run(lane, *calls) == [(number * 10, None) for number in range(16)]
    assert stage.groups == [list(range(16))]


def test_those_behind_catch_up_with_those_in_front(lane):
    first, second = Stage(), Stage()

    def both(number):
        return together(second.tenfold, together(first.tenfold, number))

    ends = []
    lane.begin(both, (1,), lambda result, _: ends.append(result))
    lane.perform()  # the first has come to the second stage
    lane.begin(both, (2,), lambda result, _: ends.append(result))
    lane.perform()
    assert ends == [100, 200]
    assert second.groups == [[10, 20]]


def test_everything_that_is_waited_for_is_done_each_time(lane):
    """Nobody waits for ever while others keep coming to an earlier stage."""
    early, late = Stage(), Stage()
    ends = []
    lane.begin(together, (late.tenfold, 1), lambda result, _: ends.append(result))
    for number in range(5):
        lane.begin(together, (early.tenfold, number), lambda *_: None)
        lane.perform()
        assert ends == [10]


def test_what_is_raised_concerns_all_that_waited_and_nobody_else(lane):
    stage = Stage()

    def fails(items):
        raise ValueError(f"{len(items)} items")

    def goes_on(number):
        with pytest.raises(ValueError, match="3 items"):
            together(fails, number)
        return number

    ends = run(lane, (together, fails, 1), (together, stage.tenfold, 2), *[(goes_on, 3)] * 2)
    assert repr(ends[0]) == repr((None, ValueError("3 items")))
    assert ends[1:] == [(20, None), (3, None), (3, None)]


def test_a_call_that_fails_is_told_and_its_runner_serves_the_next(lane):
    ((result, error),) = run(lane, (int, "tea"))
    assert result is None
    assert isinstance(error, ValueError)
    assert run(lane, *[(int, "7")] * 200) == [(7, None)] * 200


def test_each_call_has_variables_of_its_own_thread(lane):
    """All run on the thread that owns the lane; what they keep there they share."""
    names = run(lane, *[(threading.get_ident,)] * 3)
    assert names == [(threading.get_ident(), None)] * 3


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=12), st.data())
def test_any_calls_in_any_order(programs, data):
    """Calls that go through stages in any order get what they would get alone."""
    stages = [Stage() for _ in range(4)]

    def walk(number, program):
        for stage in program:
            number = together(stages[stage].tenfold, number)
        return number

    lane, ends = Lane(), {}
    left = list(enumerate(programs))
    while left or lane.busy:
        if left and (not lane.busy or data.draw(st.booleans())):
            number, program = left.pop()
            lane.begin(
                walk,
                (number + 1, program),
                lambda result, error, number=number: ends.update({number: (result, error)}),
            )
        else:
            lane.perform()
    lane.close()
    assert ends == {
        number: ((number + 1) * 10 ** len(program), None) for number, program in enumerate(programs)
    }
    assert sum(len(group) for stage in stages for group in stage.groups) == sum(map(len, programs))
