"""What refers anew to objects that a sweep is about to remove: between any two of its steps, and
with both taking turns at random.

The property is always this: what can be read after a reference was made stays readable. (Staging an
address, anyone may name what was removed before.)
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
from anabranch.model.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.fence import DEADLINE_SECONDS
from anabranch.versioning.garbage.sweeps import CLOCK_SECONDS, LEASE_SECONDS, REMOVAL_SECONDS

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
    """Merges a commit that is on no branch: the main line's beginning went to another branch."""
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
    """Returns what a reference made readable, or None where it was refused, or came too late."""
    try:
        place = refer(sea)
    except AnabranchError as error:
        # after the sweep the commit that is merged or picked may bring nothing
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
def test_a_reference_between_two_steps_of_a_sweep(refer, tmp_path):
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
def test_sweeps_and_references_take_turns_at_random(refer, tmp_path):
    """Two sweeps and two references, each of which may be interrupted ahead of any step."""
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


def test_after_the_sweep_everything_works_again(sea):
    with sea.mark() as run:
        run.sweep()
    assert sea.left not in stored(sea.lake, "mem://sea")
    sea.lake.tags.create("sea", "v1", sea.expired)
    sea.lake.branches.create("sea", "b", "main")
    ((_, record),) = sea.lake.keyvalue.scan("anabranch-sweeps")
    assert json.loads(record).keys() == {"", "#"}  # counters alone
    assert list(sea.lake.keyvalue.scan("anabranch-pins")) == []


def test_an_image_is_built_or_refused_and_never_loses_objects(sea):
    with sea.mark() as run:
        made = []
        sea.steps.arm(12, lambda: made.append(attempt(sea, build_image)))
        run.sweep()
    (place,) = made
    assert place is None or sea.lake.objects.open("image", *place).read_bytes() == b"old"


def test_what_a_build_reads_is_kept_until_it_has_its_tag(sea):
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
            break  # it was swept before the build began to read


class Killed(BaseException):
    """The end of a process."""


def test_a_run_that_never_came_back_forbids_nothing_after_its_lease(sea):
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
    sea.clock.advance(LEASE_SECONDS + CLOCK_SECONDS + 1)
    assert attempt(sea, stage) == ("main", "left")
    assert attempt(sea, make_branch) == ("back", "old")
    with sea.mark() as run:
        assert not {sea.left, sea.object} & addresses(run.candidates())
        run.sweep()
    assert sea.readable("main", "left")
    assert sea.readable("back", "old")


def test_a_sweep_that_has_lost_its_lease_ends(sea):
    with sea.mark() as run:
        sea.lake.core.sweeps.begin(run.summary.run_id)
        sea.clock.advance(LEASE_SECONDS + CLOCK_SECONDS + 1)
        with sea.mark() as other:
            other.sweep()
        with pytest.raises(Conflict) as refused:
            sea.lake.core.sweeps.renew(run.summary.run_id)
    assert refused.value.kind == "sweep_expired"


def test_two_collectors_at_once(sea, tmp_path):
    second = Collector(sea.lake.core, sea.lake.blocks, tmp_path / "gc2", clock=sea.clock)
    with sea.mark() as one, second.mark("sea", window_seconds=0) as two:
        sea.steps.arm(8, two.sweep)
        one.sweep()
    assert {sea.left, sea.object}.isdisjoint(stored(sea.lake, "mem://sea"))
    assert sea.readable("main", "stays")


@pytest.mark.parametrize("ahead", [-HOUR, HOUR])
def test_clocks_of_servers_may_be_an_hour_apart(ahead, tmp_path):
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


def test_a_removal_that_the_store_delays_is_fenced_until_it_takes_effect(sea):
    made = []

    def delay(operation, _subject):
        if operation == "delete" and not made:
            sea.clock.advance(DEADLINE_SECONDS + REMOVAL_SECONDS + HOUR)  # by a server's clock
            made.append((attempt(sea, stage), attempt(sea, make_branch)))
            sea.clock.advance(-HOUR)

    with sea.mark() as run:
        sea.lake.blocks.before = delay
        run.sweep()
    assert made
    assert all(place is None or sea.readable(*place) for place in made[0])


def test_rules_do_not_change_during_a_sweep(sea):
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


def test_a_sweep_waits_for_rules_that_are_being_changed(sea, monkeypatch):
    monkeypatch.setattr("anabranch.versioning.garbage.sweeps._WAIT_SECONDS", 0.001)
    with sea.mark() as run, sea.lake.core.sweeps.excluded("x"), pytest.raises(Busy):
        run.sweep()
    assert sea.left in stored(sea.lake, "mem://sea")


def test_a_batch_that_waited_too_long_is_left_to_the_next_run(sea, monkeypatch):
    monkeypatch.setattr("anabranch.pipelines.garbage.fence.DEADLINE_SECONDS", -1.0)
    monkeypatch.setattr(
        "anabranch.pipelines.garbage.fence.Fence.condemn.__defaults__", (-1.0,), raising=True
    )
    with sea.mark() as run:
        summary = run.sweep()
    assert (summary.swept.objects, summary.late) == (0, summary.due.objects)
    assert {sea.left, sea.object} <= stored(sea.lake, "mem://sea")
