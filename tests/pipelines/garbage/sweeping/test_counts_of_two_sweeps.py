"""Two sweeps of a repository at once: each removed object is counted by one of them, in any order
of their steps, and nothing waits for one that was killed.
"""

from __future__ import annotations

import random
from contextlib import ExitStack

import pytest
from support.garbage import DAY, put, stored
from support.stepped_scenario import Scenario

from anabranch.errors import AnabranchError
from anabranch.pipelines.garbage.collector import Collector

OBJECTS = 3
"""The dead objects: `left`, `old` and one more."""


STEPS = 88
"""The number of operations on the stores that a sweep of them takes, at least."""


class Killed(BaseException):
    """The end of a process."""


class TwoSweeps:
    """A repository that two collectors have marked, each with a cache of its own."""

    def __init__(self, folder, stack, *, marked=2):
        self.scenario = scenario = Scenario(folder)
        stack.enter_context(scenario.lake)
        put(scenario.lake, "more", body=b"more")
        scenario.lake.objects.delete("sea", "main", "more")
        scenario.clock.advance(3 * DAY)
        self.collectors = [
            scenario.collector,
            Collector(
                scenario.lake.core, scenario.lake.blocks, folder / "gc2", clock=scenario.clock
            ),
        ]
        self.stack, self.runs = stack, []
        for number in range(marked):
            self.mark(number)
        self.before = stored(scenario.lake, "mem://sea/data")

    def mark(self, number):
        self.runs.append(
            self.stack.enter_context(self.collectors[number].mark("sea", window_seconds=0))
        )

    def sweep(self, number):
        self.runs[number].sweep()

    def kill(self, number, operation):
        """Sweeps in a process that is killed ahead of an operation on a store."""
        dead = []

        def stop(asked, _subject):
            if dead or asked == operation:
                dead.append(True)
                raise Killed

        lake = self.scenario.lake
        lake.blocks.before = lake.keyvalue.before = stop
        with pytest.raises(Killed):
            self.sweep(number)
        lake.blocks.before = lake.keyvalue.before = self.scenario.steps

    @property
    def gone(self):
        return len(self.before - stored(self.scenario.lake, "mem://sea/data"))

    def require_exact(self):
        """Requires that each of the objects is gone, and counted once."""
        counts = [run.summary.swept for run in self.runs]
        assert (sum(count.objects for count in counts), self.gone) == (OBJECTS, OBJECTS)
        assert sum(count.bytes for count in counts) == len(b"leftoldmore")
        for run in self.runs:
            summary = run.summary
            assert summary.swept.objects + summary.gone == summary.due.objects


@pytest.fixture
def two(tmp_path):
    with ExitStack() as stack:
        yield TwoSweeps(tmp_path, stack)


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", range(STEPS))
def test_a_second_sweep_at_any_step_of_the_first_counts_no_object_again(two, number):
    two.scenario.steps.arm(number, lambda: two.sweep(1))
    two.sweep(0)
    assert two.scenario.steps.left == -1  # the second one has swept
    two.require_exact()


def test_steps_of_a_sweep_are_those_that_the_second_is_tried_at(two):
    two.scenario.steps.arm(10 * STEPS, lambda: None)
    two.sweep(0)
    assert STEPS - 5 < two.scenario.steps.count <= STEPS + 5


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(40))
def test_interleaved_sweeps_count_each_object_once(two, seed):
    two.scenario.steps.take_turns(random.Random(seed), [lambda: two.sweep(0), lambda: two.sweep(1)])
    two.require_exact()


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(20))
def test_runs_that_are_interleaved_from_their_listings_on_count_each_object_once(tmp_path, seed):
    with ExitStack() as stack:
        two = TwoSweeps(tmp_path, stack, marked=0)

        def run(number):
            with two.collectors[number].mark("sea", window_seconds=0) as run:
                two.runs.append(run)
                run.sweep()

        two.scenario.steps.take_turns(random.Random(seed), [lambda: run(0), lambda: run(1)])
        two.require_exact()


def test_a_sweep_after_another_reports_what_that_one_has_removed(two):
    two.sweep(0)
    two.sweep(1)
    two.require_exact()
    assert (two.runs[0].summary.gone, two.runs[1].summary.gone) == (0, OBJECTS)


@pytest.mark.parametrize("operation", ["delete", "drop"])
def test_a_sweep_completes_and_counts_what_a_killed_one_has_left(two, operation):
    two.kill(0, operation)
    left = OBJECTS - two.gone
    two.sweep(1)
    assert two.gone == OBJECTS
    assert two.runs[1].summary.swept.objects == left
    assert left == (OBJECTS if operation == "delete" else 0)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(10))
def test_two_sweeps_after_a_killed_one_count_each_object_once(two, seed):
    two.kill(0, "delete")
    two.mark(0)
    two.scenario.steps.take_turns(random.Random(seed), [lambda: two.sweep(1), lambda: two.sweep(2)])
    counts = [run.summary.swept.objects for run in two.runs]
    assert (counts[0], counts[1] + counts[2], two.gone) == (0, OBJECTS, OBJECTS)


def test_a_sweep_that_failed_is_followed_by_one_that_counts_the_rest(two):
    def refuse(operation, _subject):
        if operation == "delete":
            raise AnabranchError("no", kind="injected")

    two.scenario.lake.blocks.before = refuse
    with pytest.raises(AnabranchError, match="no"):
        two.sweep(0)
    two.scenario.lake.blocks.before = two.scenario.steps
    two.sweep(1)
    assert two.runs[1].summary.swept.objects == OBJECTS


def test_a_sweep_without_others_looks_no_object_up(tmp_path):
    with ExitStack() as stack:
        one = TwoSweeps(tmp_path, stack, marked=0)
        one.scenario.lake.repositories.create("land", "mem://land")
        other = one.collectors[1].mark("land", window_seconds=0)
        one.mark(0)
        other.sweep()  # of another repository
        asked = []
        one.scenario.lake.blocks.before = lambda name, _subject: asked.append(name)
        one.sweep(0)
        one.require_exact()
    assert "delete" in asked
    assert "stat" not in asked
