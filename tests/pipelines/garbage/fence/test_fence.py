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
from support.session.sizes import sized
from support.stepped_scenario import Scenario

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
STRIDE = sized(5, weekly=1)


def stage(scenario, branch="main"):
    place = f"mem://sea/{scenario.left}"
    scenario.lake.staging.stage(
        "sea", branch, "left", address=place, checksum=scenario.checksum, size=4
    )
    return branch, "left"


def stage_elsewhere(scenario):
    return stage(scenario, "side")


def stage_and_commit(scenario):
    stage(scenario)
    return commit(scenario.lake).id, "left"


def make_branch(scenario):
    scenario.lake.branches.create("sea", "back", scenario.expired)
    return "back", "old"


def make_tag(scenario):
    scenario.lake.tags.create("sea", "v1", scenario.expired)
    return "v1", "old"


def hard_reset(scenario):
    scenario.lake.branches.hard_reset("sea", "main", scenario.expired)
    return "main", "old"


def revert(scenario):
    scenario.lake.branches.revert("sea", "main", scenario.removal, committer="me")
    return "main", "old"


def cherry_pick(scenario):
    scenario.lake.branches.cherry_pick("sea", "main", scenario.expired, committer="me")
    return "main", "old"


def merge(scenario):
    """Merges a commit that is on no branch into a branch from its parent."""
    scenario.lake.branches.create("sea", "first", f"{scenario.expired}~1")
    scenario.lake.refs.merge("sea", scenario.expired, "first", committer="me")
    return "first", "old"


def commit_tree(scenario):
    tree = scenario.lake.commits.get("sea", scenario.expired).metarange_id
    options = {"committer": "me", "message": "m", "source_metarange": tree}
    scenario.lake.commits.commit("sea", "main", **options)
    return "main", "old"


def build_image(scenario):
    scenario.lake.images.build("v1", f"FROM lakefs://sea/{scenario.expired}\n", creator="me")
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


def attempt(scenario, refer):
    """Returns the reference and path that were made readable, or None if the reference was refused
    or came too late.
    """
    try:
        place = refer(scenario)
    except AnabranchError as error:
        # after the sweep, a merge or a cherry-pick may have no changes
        if (error.kind in REFUSALS and error.hint) or error.kind in LATE:
            return None
        raise
    return place if scenario.readable(*place) else None


@pytest.fixture
def scenario(tmp_path):
    scenario = Scenario(tmp_path)
    with scenario.lake:
        yield scenario


@pytest.mark.parametrize("refer", REFERENCES)
@pytest.mark.sample(1)
def test_reference_at_any_step_of_a_sweep_is_refused_or_keeps_its_object(refer, tmp_path):
    outcomes = set()
    for number in itertools.count(step=STRIDE):
        folder = tmp_path / str(number)
        folder.mkdir()
        scenario, made = Scenario(folder), []
        with scenario.lake, scenario.mark() as run:
            assert {scenario.left, scenario.object} <= addresses(run.candidates())
            scenario.steps.arm(
                number, lambda scenario=scenario, made=made: made.append(attempt(scenario, refer))
            )
            summary = run.sweep()
            swept = scenario.steps.count
            if not made:
                break
            (place,) = made
            outcomes.add(place is not None)
            if place is not None:
                assert scenario.readable(*place), f"lost at step {number} of {swept}"
                assert summary.revived
    assert number > 10
    assert outcomes == {True, False}


@pytest.mark.parametrize("seeds", [range(5), pytest.param(range(5, 30), marks=pytest.mark.slow)])
@pytest.mark.parametrize("refer", REFERENCES)
@pytest.mark.sample(1)
def test_interleaved_sweeps_and_references_lose_no_object(refer, seeds, tmp_path):
    """Runs two sweeps and two references, each of which can be paused before any step."""
    kept = 0
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        scenario, made = Scenario(folder), []
        chance = random.Random(seed)
        second = Collector(
            scenario.lake.core, scenario.lake.blocks, folder / "gc2", clock=scenario.clock
        )
        with scenario.lake, scenario.mark() as run, second.mark("sea", window_seconds=0) as again:
            actors = [
                lambda made=made, scenario=scenario: made.append(attempt(scenario, refer)),
                lambda made=made, scenario=scenario: made.append(
                    attempt(scenario, stage_elsewhere)
                ),
                run.sweep,
                again.sweep,
            ]
            scenario.steps.take_turns(chance, actors)
            assert all(scenario.readable(*place) for place in made if place), seed
            kept += sum(place is not None for place in made)
    assert kept


def test_references_are_admitted_after_the_sweep_but_to_what_it_removed(scenario):
    with scenario.mark() as run:
        run.sweep()
    assert scenario.left not in stored(scenario.lake, "mem://sea")
    with pytest.raises(Conflict) as refused:
        scenario.lake.tags.create("sea", "v1", scenario.expired)
    assert refused.value.kind == "commit_expired"
    scenario.lake.branches.create("sea", "b", "main")
    ((_, record),) = scenario.lake.keyvalue.scan("anabranch-sweeps")
    assert json.loads(record).keys() == {"", "#"}  # only the counters
    assert list(scenario.lake.keyvalue.scan("anabranch-pins")) == []


def test_image_build_during_a_sweep_succeeds_or_is_refused_and_loses_no_object(scenario):
    with scenario.mark() as run:
        made = []
        scenario.steps.arm(12, lambda: made.append(attempt(scenario, build_image)))
        run.sweep()
    (place,) = made
    assert place is None or scenario.lake.objects.open("image", *place).read_bytes() == b"old"


def test_objects_that_a_build_reads_are_kept_until_the_image_is_tagged(scenario):
    def sweep():
        with scenario.mark() as run:
            run.sweep()

    for number in itertools.count(10, 7):
        scenario.steps.arm(number, sweep)
        with suppress(Conflict):
            scenario.lake.images.build(f"v{number}", f"FROM lakefs://sea/{scenario.expired}\n")
            found = scenario.lake.objects.open("image", f"v{number}", "old")
            assert found.read_bytes() == b"old"
        if scenario.steps.left >= 0:
            break
        if scenario.object not in stored(scenario.lake, "mem://sea"):
            break  # the object was swept before the build read it


class Killed(BaseException):
    """The end of a process."""


def test_killed_run_refuses_no_reference_after_its_lease(scenario):
    def killed(operation, _subject):
        if operation == "delete":
            raise Killed

    with scenario.mark() as run:
        scenario.lake.blocks.before = killed
        with pytest.raises(Killed):
            run.sweep()
        scenario.lake.blocks.before = scenario.steps
    assert attempt(scenario, stage) is None
    assert attempt(scenario, make_branch) is None
    scenario.clock.advance(LEASE_SECONDS + CLOCK_SKEW_SECONDS + 1)
    assert attempt(scenario, stage) == ("main", "left")
    assert attempt(scenario, make_branch) == ("back", "old")
    with scenario.mark() as run:
        assert not {scenario.left, scenario.object} & addresses(run.candidates())
        run.sweep()
    assert scenario.readable("main", "left")
    assert scenario.readable("back", "old")


def test_sweep_with_an_expired_lease_fails(scenario):
    with scenario.mark() as run:
        scenario.lake.core.sweeps.begin(run.summary.run_id)
        scenario.clock.advance(LEASE_SECONDS + CLOCK_SKEW_SECONDS + 1)
        with scenario.mark() as other:
            other.sweep()
        with pytest.raises(Conflict) as refused:
            scenario.lake.core.sweeps.renew(run.summary.run_id)
    assert refused.value.kind == "sweep_expired"


def test_two_concurrent_collectors_remove_only_dead_objects(scenario, tmp_path):
    second = Collector(
        scenario.lake.core, scenario.lake.blocks, tmp_path / "gc2", clock=scenario.clock
    )
    with scenario.mark() as one, second.mark("sea", window_seconds=0) as two:
        scenario.steps.arm(8, two.sweep)
        one.sweep()
    assert {scenario.left, scenario.object}.isdisjoint(stored(scenario.lake, "mem://sea"))
    assert scenario.readable("main", "stays")


@pytest.mark.parametrize("ahead", [-HOUR, HOUR])
@pytest.mark.slow
def test_references_are_safe_if_server_clocks_differ_by_an_hour(ahead, tmp_path):
    for number in itertools.count(step=STRIDE):
        folder = tmp_path / str(number)
        folder.mkdir()
        scenario, made = Scenario(folder), []

        def refer(scenario=scenario, made=made):
            scenario.clock.advance(ahead)
            made.append((attempt(scenario, stage), attempt(scenario, make_branch)))
            scenario.clock.advance(-ahead)

        with scenario.lake, scenario.mark() as run:
            scenario.steps.arm(number, refer)
            run.sweep()
            if not made:
                break
            assert all(place is None or scenario.readable(*place) for place in made[0])


def test_delayed_removal_is_fenced_until_it_takes_effect(scenario):
    made = []

    def delay(operation, _subject):
        if operation == "delete" and not made:
            scenario.clock.advance(
                DEADLINE_SECONDS + MAX_REMOVAL_SECONDS + HOUR
            )  # by a server's clock
            made.append((attempt(scenario, stage), attempt(scenario, make_branch)))
            scenario.clock.advance(-HOUR)

    with scenario.mark() as run:
        scenario.lake.blocks.before = delay
        run.sweep()
    assert made
    assert all(place is None or scenario.readable(*place) for place in made[0])


def test_changing_rules_during_a_sweep_raises_conflict(scenario):
    refused = []

    def change():
        try:
            scenario.lake.garbage_rules.set("sea", RetentionRules(99))
        except Conflict as error:
            refused.append(error.kind)

    with scenario.mark() as run:
        scenario.steps.arm(12, change)
        run.sweep()
    assert refused == ["sweep_under_way"]
    scenario.lake.garbage_rules.set("sea", RetentionRules(99))


def test_sweep_fails_as_busy_while_rules_are_being_changed(scenario, monkeypatch):
    monkeypatch.setattr("anabranch.versioning.garbage.sweeps._WAIT_SECONDS", 0.001)
    with scenario.mark() as run, scenario.lake.core.sweeps.block_sweeps("x"), pytest.raises(Busy):
        run.sweep()
    assert scenario.left in stored(scenario.lake, "mem://sea")


def test_batch_after_its_deadline_is_left_to_the_next_run(scenario, monkeypatch):
    monkeypatch.setattr("anabranch.pipelines.garbage.fence.DEADLINE_SECONDS", -1.0)
    monkeypatch.setattr(
        "anabranch.pipelines.garbage.fence.Fence.begin_round.__defaults__", (-1.0,), raising=True
    )
    with scenario.mark() as run:
        summary = run.sweep()
    assert (summary.swept.objects, summary.late) == (0, summary.due.objects)
    assert {scenario.left, scenario.object} <= stored(scenario.lake, "mem://sea")
