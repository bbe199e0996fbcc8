"""Quarantine with killed processes and with concurrent operations, between any two steps."""

from __future__ import annotations

import itertools
import random
from contextlib import suppress

import pytest
from support.garbage import DAY, addresses
from support.quarantine import NOW, Killed

from anabranch.errors import AnabranchError, Conflict, NotFound
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.sweeping.restore import PROTECTION_SECONDS
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS

# over both stores, a killed sweep alone runs each time
STORES = pytest.mark.parametrize(
    "make_scenario", ["local", pytest.param("s3", marks=pytest.mark.slow)], indirect=True
)


@pytest.fixture(params=[11, pytest.param(1, marks=pytest.mark.slow)])
def steps(request):
    """Yields the numbers of the steps to test: all, or some of them."""
    return lambda: itertools.count(0, request.param)


def test_sweep_killed_before_any_step_loses_no_object(make_scenario, steps):
    for number in steps():
        scenario = make_scenario(f"sea{number}")
        with scenario.mark() as run:
            scenario.steps.arm(number)
            with suppress(Killed):
                run.sweep()
            if scenario.steps.left >= 0:
                break
        scenario.steps.arm(-1)
        scenario.end_leases()
        for quarantined in scenario.restorer.runs("sea"):
            assert scenario.restorer.restore("sea", quarantined.run_id).failed == 0
        assert {name: scenario.read(name) for name in scenario.dead} == scenario.dead, number
        scenario.clock.advance(PROTECTION_SECONDS + 2 * CLOCK_SKEW_SECONDS)
        scenario.sweep()
        assert scenario.data() == {scenario.kept}
    assert number > 10


@STORES
def test_restoration_killed_before_any_step_can_be_repeated(make_scenario, steps):
    for number in steps():
        scenario = make_scenario(f"sea{number}")
        run = scenario.sweep().run_id
        scenario.steps.arm(number)
        with suppress(Killed):
            scenario.restorer.restore("sea", run)
        if scenario.steps.left >= 0:
            break
        scenario.steps.arm(-1)
        assert scenario.sweep().quarantined.objects == 0, number
        scenario.restorer.restore("sea", run)
        assert {name: scenario.read(name) for name in scenario.dead} == scenario.dead, number
    assert number > 5


@STORES
def test_next_purge_completes_one_killed_before_any_step(make_scenario, steps):
    for number in steps():
        scenario = make_scenario(f"sea{number}")
        scenario.sweep(DAY)
        needed = min(scenario.dead)
        scenario.stage(needed)
        scenario.clock.advance(2 * DAY)
        scenario.steps.arm(number)
        with suppress(Killed):
            scenario.collector.purge("sea")
        if scenario.steps.left >= 0:
            break
        scenario.steps.arm(-1)
        scenario.end_leases()
        scenario.collector.purge("sea")
        (run,) = scenario.restorer.runs("sea")
        assert scenario.restorer.restore("sea", run.run_id).restored.objects == 1
        assert scenario.read(needed) == scenario.dead[needed]
        assert scenario.data() == {scenario.kept, needed}
    assert number > 10


def attempt(act):
    """Calls `act`; returns its result, or None if a sweep or a purge prevented it."""
    try:
        return act()
    except (Conflict, NotFound):
        return None


@STORES
def test_restoration_before_any_step_of_a_purge_succeeds_or_reports_the_object(
    make_scenario, steps
):
    """Objects that are reported as restored are stored afterwards."""
    outcomes = set()
    for number in steps():
        scenario = make_scenario(f"sea{number}")
        run, made = scenario.sweep(DAY).run_id, []
        scenario.clock.advance(2 * DAY)
        scenario.steps.arm(
            number,
            lambda scenario=scenario, made=made, run=run: made.append(
                attempt(lambda: scenario.restorer.restore("sea", run))
            ),
        )
        scenario.collector.purge("sea")
        if not made:
            break
        (done,) = made
        present = done.restored.objects + done.present if done else 0
        outcomes.add(present)
        assert (
            sum(scenario.read(name) == body for name, body in scenario.dead.items()) == present
        ), number
    assert outcomes == {0, 3}


@pytest.mark.slow
@STORES
def test_restoration_before_any_step_of_a_sweep_succeeds_or_reports_the_object(
    make_scenario, steps
):
    """The sweep is by another collector, which listed the objects before they were removed."""
    outcomes = set()
    for number in steps():
        scenario, made = make_scenario(f"sea{number}"), []
        with scenario.collector.mark("sea", **NOW) as second:
            assert set(scenario.dead) <= addresses(second.candidates())
            run = scenario.sweep().run_id
            scenario.steps.arm(
                number,
                lambda scenario=scenario, made=made, run=run: made.append(
                    scenario.restorer.restore("sea", run)
                ),
            )
            second.sweep()  # permanently
        if not made:
            break
        (done,) = made
        outcomes.add(done.restored.objects)
        present = sum(scenario.read(name) == body for name, body in scenario.dead.items())
        assert present == done.restored.objects == 3 - done.failed, number
        assert len(done.busy) == done.failed
        # refused objects are still in quarantine
        assert scenario.restorer.restore("sea", run).failed == 0
        assert {name: scenario.read(name) for name in scenario.dead} == scenario.dead
    assert outcomes == {0, 3}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.sample(1)
def test_interleaved_sweeps_purges_and_restorations_lose_no_object(local_scenario, seed):
    scenario, made = local_scenario(), []
    other = Collector(
        scenario.lake.core, scenario.lake.blocks, scenario.folder / "gc2", clock=scenario.clock
    )
    run = scenario.sweep(DAY).run_id
    needed = min(scenario.dead)
    scenario.clock.advance(2 * DAY)

    def restore():
        with suppress(NotFound):
            made.append(scenario.restorer.restore("sea", run, prefixes=[needed]))

    def sweep():
        with other.mark("sea", quarantine_seconds=DAY, **NOW) as again:
            again.sweep()

    scenario.steps.take_turns(
        random.Random(seed), [restore, restore, sweep, lambda: scenario.collector.purge("sea")]
    )
    is_restored = any(done.restored.objects or done.present for done in made)
    assert (scenario.read(needed) == scenario.dead[needed]) == is_restored
    assert scenario.read(scenario.kept) == b"kept"


def test_object_that_the_store_refuses_to_move_is_kept(local_scenario):
    scenario = local_scenario()

    def refuse(operation, _subject):
        if operation == "remove":
            raise AnabranchError("no")

    with scenario.mark() as run:
        scenario.blocks.before = refuse
        with pytest.raises(AnabranchError, match="no"):
            run.sweep()
        scenario.blocks.before = scenario.steps
    assert scenario.data() == {scenario.kept, *scenario.dead}
    scenario.end_leases()
    assert scenario.sweep().quarantined.objects == 3
    (newer, older) = scenario.restorer.runs("sea")
    done = scenario.restorer.restore("sea", newer.run_id)
    assert (done.restored.objects, done.failed) == (3, 0)
    done = scenario.restorer.restore("sea", older.run_id)
    assert (done.restored.objects, done.present) == (0, 3)


@STORES
def test_earlier_part_of_a_killed_sweep_does_not_purge_objects_of_a_later_part(make_scenario):
    scenario = make_scenario()

    def kill(operation, _subject):
        if operation == "remove":
            raise Killed

    with scenario.mark(DAY) as run:
        scenario.blocks.before = kill
        with pytest.raises(Killed):
            run.sweep()
        scenario.blocks.before = scenario.steps
    scenario.end_leases()
    later = scenario.sweep(DAY).run_id
    scenario.clock.advance(DAY)  # the first part has expired, the second has not
    assert scenario.collector.purge("sea").purged.objects == 0
    assert scenario.restorer.restore("sea", later).restored.objects == 3
