"""Batching: what calls wait for is done for all of them at once, and each has its own outcome."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.batching.scheduler import BatchScheduler, batch


class Stage:
    """Something that calls wait for, which makes the tenfold of numbers and notes for how many."""

    def __init__(self):
        self.groups = []

    def tenfold(self, items):
        self.groups.append(list(items))
        return [item * 10 for item in items]


def run(scheduler, *calls):
    """Runs calls, given as a function and its arguments, to their ends; returns what came of
    each.
    """
    ends = {}
    for number, (function, *arguments) in enumerate(calls):
        scheduler.start(
            function,
            tuple(arguments),
            lambda result, error, number=number: ends.update({number: (result, error)}),
        )
    while scheduler.busy:
        list(scheduler.steps())
    return [ends[number] for number in range(len(calls))]


@pytest.fixture
def scheduler():
    scheduler = BatchScheduler()
    yield scheduler
    scheduler.close()


def test_outside_of_a_lane_it_is_done_at_once():
    stage = Stage()
    assert batch(stage.tenfold, 7) == 70
    assert stage.groups == [[7]]


def test_calls_that_wait_for_the_same_wait_together(scheduler):
    stage = Stage()
    calls = [(batch, stage.tenfold, number) for number in range(16)]
    assert run(scheduler, *calls) == [(number * 10, None) for number in range(16)]
    assert stage.groups == [list(range(16))]


def test_those_behind_catch_up_with_those_in_front(scheduler):
    first, second = Stage(), Stage()

    def both(number):
        return batch(second.tenfold, batch(first.tenfold, number))

    ends = []
    scheduler.start(both, (1,), lambda result, _: ends.append(result))
    list(scheduler.steps())  # the first has come to the second stage
    scheduler.start(both, (2,), lambda result, _: ends.append(result))
    list(scheduler.steps())
    assert ends == [100, 200]
    assert second.groups == [[10, 20]]


def test_everything_that_is_waited_for_is_done_each_time(scheduler):
    """No call waits forever while others keep coming to an earlier stage."""
    early, late = Stage(), Stage()
    ends = []
    scheduler.start(batch, (late.tenfold, 1), lambda result, _: ends.append(result))
    for number in range(5):
        scheduler.start(batch, (early.tenfold, number), lambda *_: None)
        list(scheduler.steps())
        assert ends == [10]


def test_errors_of_a_batch_are_raised_by_all_its_callers_only(scheduler):
    stage = Stage()

    def fails(items):
        raise ValueError(f"{len(items)} items")

    def goes_on(number):
        with pytest.raises(ValueError, match="3 items"):
            batch(fails, number)
        return number

    ends = run(scheduler, (batch, fails, 1), (batch, stage.tenfold, 2), *[(goes_on, 3)] * 2)
    assert repr(ends[0]) == repr((None, ValueError("3 items")))
    assert ends[1:] == [(20, None), (3, None), (3, None)]


def test_failed_call_is_reported_and_its_runner_is_reused(scheduler):
    ((result, error),) = run(scheduler, (int, "abc"))
    assert result is None
    assert isinstance(error, ValueError)
    assert run(scheduler, *[(int, "7")] * 200) == [(7, None)] * 200


def test_each_call_has_variables_of_its_own_thread(scheduler):
    """All run on the thread that owns the scheduler; what they keep there they share."""
    names = run(scheduler, *[(threading.get_ident,)] * 3)
    assert names == [(threading.get_ident(), None)] * 3


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=12), st.data())
def test_any_calls_in_any_order(programs, data):
    """Calls that go through stages in any order get what they would get alone."""
    stages = [Stage() for _ in range(4)]

    def walk(number, program):
        for stage in program:
            number = batch(stages[stage].tenfold, number)
        return number

    scheduler, ends = BatchScheduler(), {}
    left = list(enumerate(programs))
    while left or scheduler.busy:
        if left and (not scheduler.busy or data.draw(st.booleans())):
            number, program = left.pop()
            scheduler.start(
                walk,
                (number + 1, program),
                lambda result, error, number=number: ends.update({number: (result, error)}),
            )
        else:
            list(scheduler.steps())
    scheduler.close()
    assert ends == {
        number: ((number + 1) * 10 ** len(program), None) for number, program in enumerate(programs)
    }
    assert sum(len(group) for stage in stages for group in stage.groups) == sum(map(len, programs))
