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
from anabranch.pipelines.garbage.marking.missing import CLOCK_SKEW_SECONDS
from anabranch.pipelines.garbage.sweeping.restore import PROTECTION_SECONDS


@pytest.fixture(params=[11, pytest.param(1, marks=pytest.mark.slow)])
def steps(request):
    """Yields the numbers of the steps to test: all, or some of them."""
    return lambda: itertools.count(0, request.param)


def test_sweep_killed_before_any_step_loses_no_object(make_sea, steps):
    for number in steps():
        sea = make_sea(f"sea{number}")
        with sea.mark() as run:
            sea.steps.arm(number)
            with suppress(Killed):
                run.sweep()
            if sea.steps.left >= 0:
                break
        sea.steps.arm(-1)
        sea.end_leases()
        for quarantined in sea.restorer.runs("sea"):
            assert sea.restorer.restore("sea", quarantined.run_id).failed == 0
        assert {name: sea.read(name) for name in sea.dead} == sea.dead, number
        sea.clock.advance(PROTECTION_SECONDS + 2 * CLOCK_SKEW_SECONDS)
        sea.sweep()
        assert sea.data() == {sea.kept}
    assert number > 10


def test_restoration_killed_before_any_step_can_be_repeated(make_sea, steps):
    for number in steps():
        sea = make_sea(f"sea{number}")
        run = sea.sweep().run_id
        sea.steps.arm(number)
        with suppress(Killed):
            sea.restorer.restore("sea", run)
        if sea.steps.left >= 0:
            break
        sea.steps.arm(-1)
        assert sea.sweep().quarantined.objects == 0, number
        sea.restorer.restore("sea", run)
        assert {name: sea.read(name) for name in sea.dead} == sea.dead, number
    assert number > 5


def test_next_purge_completes_one_killed_before_any_step(make_sea, steps):
    for number in steps():
        sea = make_sea(f"sea{number}")
        sea.sweep(DAY)
        needed = min(sea.dead)
        sea.stage(needed)
        sea.clock.advance(2 * DAY)
        sea.steps.arm(number)
        with suppress(Killed):
            sea.collector.purge("sea")
        if sea.steps.left >= 0:
            break
        sea.steps.arm(-1)
        sea.end_leases()
        sea.collector.purge("sea")
        (run,) = sea.restorer.runs("sea")
        assert sea.restorer.restore("sea", run.run_id).restored.objects == 1
        assert sea.read(needed) == sea.dead[needed]
        assert sea.data() == {sea.kept, needed}
    assert number > 10


def attempt(act):
    """Calls `act`; returns its result, or None if a sweep or a purge prevented it."""
    try:
        return act()
    except (Conflict, NotFound):
        return None


def test_restoration_before_any_step_of_a_purge_succeeds_or_reports_the_object(make_sea, steps):
    """Objects that are reported as restored are stored afterwards."""
    outcomes = set()
    for number in steps():
        sea = make_sea(f"sea{number}")
        run, made = sea.sweep(DAY).run_id, []
        sea.clock.advance(2 * DAY)
        sea.steps.arm(
            number,
            lambda sea=sea, made=made, run=run: made.append(
                attempt(lambda: sea.restorer.restore("sea", run))
            ),
        )
        sea.collector.purge("sea")
        if not made:
            break
        (done,) = made
        present = done.restored.objects + done.present if done else 0
        outcomes.add(present)
        assert sum(sea.read(name) == body for name, body in sea.dead.items()) == present, number
    assert outcomes == {0, 3}


def test_restoration_before_any_step_of_a_sweep_succeeds_or_reports_the_object(make_sea, steps):
    """The sweep is by another collector, which listed the objects before they were removed."""
    outcomes = set()
    for number in steps():
        sea, made = make_sea(f"sea{number}"), []
        with sea.collector.mark("sea", **NOW) as second:
            assert set(sea.dead) <= addresses(second.candidates())
            run = sea.sweep().run_id
            sea.steps.arm(
                number,
                lambda sea=sea, made=made, run=run: made.append(sea.restorer.restore("sea", run)),
            )
            second.sweep()  # permanently
        if not made:
            break
        (done,) = made
        outcomes.add(done.restored.objects)
        present = sum(sea.read(name) == body for name, body in sea.dead.items())
        assert present == done.restored.objects == 3 - done.failed, number
        assert len(done.busy) == done.failed
        # refused objects are still in quarantine
        assert sea.restorer.restore("sea", run).failed == 0
        assert {name: sea.read(name) for name in sea.dead} == sea.dead
    assert outcomes == {0, 3}


@pytest.mark.parametrize("seed", range(12))
def test_interleaved_sweeps_purges_and_restorations_lose_no_object(local_sea, seed):
    sea, made = local_sea(), []
    other = Collector(sea.lake.core, sea.lake.blocks, sea.folder / "gc2", clock=sea.clock)
    run = sea.sweep(DAY).run_id
    needed = min(sea.dead)
    sea.clock.advance(2 * DAY)

    def restore():
        with suppress(NotFound):
            made.append(sea.restorer.restore("sea", run, prefixes=[needed]))

    def sweep():
        with other.mark("sea", quarantine_seconds=DAY, **NOW) as again:
            again.sweep()

    sea.steps.take_turns(
        random.Random(seed), [restore, restore, sweep, lambda: sea.collector.purge("sea")]
    )
    is_restored = any(done.restored.objects or done.present for done in made)
    assert (sea.read(needed) == sea.dead[needed]) == is_restored
    assert sea.read(sea.kept) == b"kept"


def test_object_that_the_store_refuses_to_move_is_kept(local_sea):
    sea = local_sea()

    def refuse(operation, _subject):
        if operation == "remove":
            raise AnabranchError("no")

    with sea.mark() as run:
        sea.blocks.before = refuse
        with pytest.raises(AnabranchError, match="no"):
            run.sweep()
        sea.blocks.before = sea.steps
    assert sea.data() == {sea.kept, *sea.dead}
    sea.end_leases()
    assert sea.sweep().quarantined.objects == 3
    (newer, older) = sea.restorer.runs("sea")
    done = sea.restorer.restore("sea", newer.run_id)
    assert (done.restored.objects, done.failed) == (3, 0)
    done = sea.restorer.restore("sea", older.run_id)
    assert (done.restored.objects, done.present) == (0, 3)


def test_earlier_part_of_a_killed_sweep_does_not_purge_objects_of_a_later_part(make_sea):
    sea = make_sea()

    def kill(operation, _subject):
        if operation == "remove":
            raise Killed

    with sea.mark(DAY) as run:
        sea.blocks.before = kill
        with pytest.raises(Killed):
            run.sweep()
        sea.blocks.before = sea.steps
    sea.end_leases()
    later = sea.sweep(DAY).run_id
    sea.clock.advance(DAY)  # the first part has expired, the second has not
    assert sea.collector.purge("sea").purged.objects == 0
    assert sea.restorer.restore("sea", later).restored.objects == 3
