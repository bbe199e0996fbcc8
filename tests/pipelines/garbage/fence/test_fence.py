"""References to objects that a sweep is about to remove, created between any two of its steps and
in random interleavings.

The property is always this: an object that is readable after a reference was created stays
readable. (A reference to an address can also be created after its object was removed.)
"""

from __future__ import annotations

import itertools
import json
import random
from contextlib import suppress

import pytest
from support.garbage import addresses, commit, stored
from support.stepped_sea import Sea

from anabranch.errors import AnabranchError, Busy, Conflict
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.fence import DEADLINE_SECONDS
from anabranch.versioning.garbage.sweeps import (
    CLOCK_SKEW_SECONDS,
    LEASE_SECONDS,
    MAX_REMOVAL_SECONDS,
)

REFUSALS = {"being_removed", "commit_expired", "sweep_under_way"}
LATE = {"metadata_missing", "no_changes"}
HOUR = 3600


def stage(sea, branch="main"):
    place = f"mem://sea/{sea.left}"
    sea.lake.staging.stage("sea", branch, "left", address=place, checksum=sea.checksum, size=4)
    return branch, "left"


def stage_elsewhere(sea):
    return stage(sea, "side")


def stage_and_commit(sea):
    stage(sea)
    return commit(sea.lake).id, "left"


def make_branch(sea):
    sea.lake.branches.create("sea", "back", sea.expired)
    return "back", "old"


def make_tag(sea):
    sea.lake.tags.create("sea", "v1", sea.expired)
    return "v1", "old"


def hard_reset(sea):
    sea.lake.branches.hard_reset("sea", "main", sea.expired)
    return "main", "old"


def revert(sea):
    sea.lake.branches.revert("sea", "main", sea.removal, committer="me")
    return "main", "old"


def cherry_pick(sea):
    sea.lake.branches.cherry_pick("sea", "main", sea.expired, committer="me")
    return "main", "old"


def merge(sea):
    """Merges a commit that is on no branch into a branch from its parent."""
    sea.lake.branches.create("sea", "first", f"{sea.expired}~1")
    sea.lake.refs.merge("sea", sea.expired, "first", committer="me")
    return "first", "old"


def commit_tree(sea):
    tree = sea.lake.commits.get("sea", sea.expired).metarange_id
    options = {"committer": "me", "message": "m", "source_metarange": tree}
    sea.lake.commits.commit("sea", "main", **options)
    return "main", "old"


def build_image(sea):
    sea.lake.images.build("v1", f"FROM lakefs://sea/{sea.expired}\n", creator="me")
    return "v1", "old"


REFERENCES = (
    stage,
    stage_and_commit,
    make_branch,
    make_tag,
    hard_reset,
    revert,
    cherry_pick,
    merge,
    commit_tree,
)


def attempt(sea, refer):
    """Returns the reference and path that were made readable, or None if the reference was refused
    or came too late.
    """
    try:
        place = refer(sea)
    except AnabranchError as error:
        # after the sweep, a merge or a cherry-pick may have no changes
        if (error.kind in REFUSALS and error.hint) or error.kind in LATE:
            return None
        raise
    return place if sea.readable(*place) else None


@pytest.fixture
def sea(tmp_path):
    sea = Sea(tmp_path)
    with sea.lake:
        yield sea


@pytest.mark.parametrize("refer", REFERENCES)
@pytest.mark.sample(2)
def test_reference_at_any_step_of_a_sweep_is_refused_or_keeps_its_object(refer, tmp_path):
    outcomes = set()
    for number in itertools.count():
        folder = tmp_path / str(number)
        folder.mkdir()
        sea, made = Sea(folder), []
        with sea.lake, sea.mark() as run:
            assert {sea.left, sea.object} <= addresses(run.candidates())
            sea.steps.arm(number, lambda sea=sea, made=made: made.append(attempt(sea, refer)))
            summary = run.sweep()
            swept = sea.steps.count
            if not made:
                break
            (place,) = made
            outcomes.add(place is not None)
            if place is not None:
                assert sea.readable(*place), f"lost at step {number} of {swept}"
                assert summary.revived
    assert number > 10
    assert outcomes == {True, False}


@pytest.mark.parametrize("refer", REFERENCES)
@pytest.mark.sample(2)
def test_interleaved_sweeps_and_references_lose_no_object(refer, tmp_path):
    """Runs two sweeps and two references, each of which can be paused before any step."""
    kept = 0
    for seed in range(30):
        folder = tmp_path / str(seed)
        folder.mkdir()
        sea, made = Sea(folder), []
        chance = random.Random(seed)
        second = Collector(sea.lake.core, sea.lake.blocks, folder / "gc2", clock=sea.clock)
        with sea.lake, sea.mark() as run, second.mark("sea", window_seconds=0) as again:
            actors = [
                lambda made=made, sea=sea: made.append(attempt(sea, refer)),
                lambda made=made, sea=sea: made.append(attempt(sea, stage_elsewhere)),
                run.sweep,
                again.sweep,
            ]
            sea.steps.take_turns(chance, actors)
            assert all(sea.readable(*place) for place in made if place), seed
            kept += sum(place is not None for place in made)
    assert kept


def test_references_are_admitted_after_the_sweep_but_to_what_it_removed(sea):
    with sea.mark() as run:
        run.sweep()
    assert sea.left not in stored(sea.lake, "mem://sea")
    with pytest.raises(Conflict) as refused:
        sea.lake.tags.create("sea", "v1", sea.expired)
    assert refused.value.kind == "commit_expired"
    sea.lake.branches.create("sea", "b", "main")
    ((_, record),) = sea.lake.keyvalue.scan("anabranch-sweeps")
    assert json.loads(record).keys() == {"", "#"}  # only the counters
    assert list(sea.lake.keyvalue.scan("anabranch-pins")) == []


def test_image_build_during_a_sweep_succeeds_or_is_refused_and_loses_no_object(sea):
    with sea.mark() as run:
        made = []
        sea.steps.arm(12, lambda: made.append(attempt(sea, build_image)))
        run.sweep()
    (place,) = made
    assert place is None or sea.lake.objects.open("image", *place).read_bytes() == b"old"


def test_objects_that_a_build_reads_are_kept_until_the_image_is_tagged(sea):
    def sweep():
        with sea.mark() as run:
            run.sweep()

    for number in itertools.count(10, 7):
        sea.steps.arm(number, sweep)
        with suppress(Conflict):
            sea.lake.images.build(f"v{number}", f"FROM lakefs://sea/{sea.expired}\n")
            found = sea.lake.objects.open("image", f"v{number}", "old")
            assert found.read_bytes() == b"old"
        if sea.steps.left >= 0:
            break
        if sea.object not in stored(sea.lake, "mem://sea"):
            break  # the object was swept before the build read it


class Killed(BaseException):
    """The end of a process."""


def test_killed_run_refuses_no_reference_after_its_lease(sea):
    def killed(operation, _subject):
        if operation == "delete":
            raise Killed

    with sea.mark() as run:
        sea.lake.blocks.before = killed
        with pytest.raises(Killed):
            run.sweep()
        sea.lake.blocks.before = sea.steps
    assert attempt(sea, stage) is None
    assert attempt(sea, make_branch) is None
    sea.clock.advance(LEASE_SECONDS + CLOCK_SKEW_SECONDS + 1)
    assert attempt(sea, stage) == ("main", "left")
    assert attempt(sea, make_branch) == ("back", "old")
    with sea.mark() as run:
        assert not {sea.left, sea.object} & addresses(run.candidates())
        run.sweep()
    assert sea.readable("main", "left")
    assert sea.readable("back", "old")


def test_sweep_with_an_expired_lease_fails(sea):
    with sea.mark() as run:
        sea.lake.core.sweeps.begin(run.summary.run_id)
        sea.clock.advance(LEASE_SECONDS + CLOCK_SKEW_SECONDS + 1)
        with sea.mark() as other:
            other.sweep()
        with pytest.raises(Conflict) as refused:
            sea.lake.core.sweeps.renew(run.summary.run_id)
    assert refused.value.kind == "sweep_expired"


def test_two_concurrent_collectors_remove_only_dead_objects(sea, tmp_path):
    second = Collector(sea.lake.core, sea.lake.blocks, tmp_path / "gc2", clock=sea.clock)
    with sea.mark() as one, second.mark("sea", window_seconds=0) as two:
        sea.steps.arm(8, two.sweep)
        one.sweep()
    assert {sea.left, sea.object}.isdisjoint(stored(sea.lake, "mem://sea"))
    assert sea.readable("main", "stays")


@pytest.mark.parametrize("ahead", [-HOUR, HOUR])
@pytest.mark.sample(1)
def test_references_are_safe_if_server_clocks_differ_by_an_hour(ahead, tmp_path):
    for number in itertools.count():
        folder = tmp_path / str(number)
        folder.mkdir()
        sea, made = Sea(folder), []

        def refer(sea=sea, made=made):
            sea.clock.advance(ahead)
            made.append((attempt(sea, stage), attempt(sea, make_branch)))
            sea.clock.advance(-ahead)

        with sea.lake, sea.mark() as run:
            sea.steps.arm(number, refer)
            run.sweep()
            if not made:
                break
            assert all(place is None or sea.readable(*place) for place in made[0])


def test_delayed_removal_is_fenced_until_it_takes_effect(sea):
    made = []

    def delay(operation, _subject):
        if operation == "delete" and not made:
            sea.clock.advance(DEADLINE_SECONDS + MAX_REMOVAL_SECONDS + HOUR)  # by a server's clock
            made.append((attempt(sea, stage), attempt(sea, make_branch)))
            sea.clock.advance(-HOUR)

    with sea.mark() as run:
        sea.lake.blocks.before = delay
        run.sweep()
    assert made
    assert all(place is None or sea.readable(*place) for place in made[0])


def test_changing_rules_during_a_sweep_raises_conflict(sea):
    refused = []

    def change():
        try:
            sea.lake.garbage_rules.set("sea", RetentionRules(99))
        except Conflict as error:
            refused.append(error.kind)

    with sea.mark() as run:
        sea.steps.arm(12, change)
        run.sweep()
    assert refused == ["sweep_under_way"]
    sea.lake.garbage_rules.set("sea", RetentionRules(99))


def test_sweep_fails_as_busy_while_rules_are_being_changed(sea, monkeypatch):
    monkeypatch.setattr("anabranch.versioning.garbage.sweeps._WAIT_SECONDS", 0.001)
    with sea.mark() as run, sea.lake.core.sweeps.block_sweeps("x"), pytest.raises(Busy):
        run.sweep()
    assert sea.left in stored(sea.lake, "mem://sea")


def test_batch_after_its_deadline_is_left_to_the_next_run(sea, monkeypatch):
    monkeypatch.setattr("anabranch.pipelines.garbage.fence.DEADLINE_SECONDS", -1.0)
    monkeypatch.setattr(
        "anabranch.pipelines.garbage.fence.Fence.begin_round.__defaults__", (-1.0,), raising=True
    )
    with sea.mark() as run:
        summary = run.sweep()
    assert (summary.swept.objects, summary.late) == (0, summary.due.objects)
    assert {sea.left, sea.object} <= stored(sea.lake, "mem://sea")
