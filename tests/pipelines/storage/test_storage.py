"""Reports on storage, compared with plain counting over listings."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from anabranch.errors import NotFound
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.storage import measurement
from anabranch.pipelines.storage.report import Totals
from anabranch.pipelines.storage.storage import Storage

DAY = 86400


@pytest.fixture
def report(lake):
    storage = Storage(lake.core, lake.blocks)
    return lambda **given: storage.report("sea", **{"points": 50, **given})


def put(lake, branch, path, size):
    lake.objects.upload("sea", branch, path, [random.Random(path + branch).randbytes(size)])


def commit(lake, branch="main"):
    return lake.commits.commit("sea", branch, message="data", committer="ada").id


def entries(lake, reference):
    """Returns the addresses and sizes of all objects at a reference, by listing it."""
    page = lake.objects.listing("sea", reference, amount=1000)
    assert not page.has_more
    return [(item.physical_address, item.entry.size) for item in page.items]


def expected(lake, names):
    """Returns the totals of branches, of what each alone has, and of all distinct addresses."""
    holders, sizes, totals = defaultdict(set), {}, {}
    for name in names:
        listed = entries(lake, f"{name}@")
        totals[name] = Totals(len(listed), sum(size for _, size in listed))
        for address, size in listed:
            holders[address].add(name)
            sizes[address] = size
    unique = {}
    for name in names:
        own = [address for address, who in holders.items() if who == {name}]
        unique[name] = Totals(len(own), sum(sizes[address] for address in own))
    return totals, unique, Totals(len(sizes), sum(sizes.values()))


def test_branches_that_share_most_are_measured_exactly(lake, report):
    chance = random.Random(7)
    for number in range(60):
        put(lake, "main", f"a/{number:03}", chance.randrange(50))
    commit(lake)
    names = ["main", "dev", "same", "hotfix"]
    for name in names[1:]:
        lake.branches.create("sea", name, "main")
    for name in ("dev", "hotfix"):
        for number in chance.sample(range(80), 12):
            put(lake, name, f"a/{number:03}", chance.randrange(50))
        commit(lake, name)
    lake.objects.delete("sea", "dev", "a/059")
    lake.transfers.copy("sea", "dev", "a/000", "copy", source_reference="dev")
    commit(lake, "dev")
    put(lake, "main", "not committed", 1000)
    result = report()
    totals, unique, distinct = expected(lake, names)
    assert {each.branch: each.total for each in result.branches} == totals
    assert {each.branch: each.unique for each in result.branches} == unique
    assert result.distinct == distinct
    assert unique["same"] == Totals(0, 0)
    assert unique["dev"].objects > 5
    assert result.complete
    assert report().branches == result.branches
    lake.objects.delete("sea", "hotfix", "a/001")
    commit(lake, "hotfix")
    again = {each.branch: each.unique for each in report().branches}
    assert again == expected(lake, names)[1]


def test_growth_shows_the_size_at_commits(lake, report, clock):
    sizes = {}
    for number in range(12):
        put(lake, "main", f"day/{number}", 100 + number)
        clock.advance(DAY)
        sizes[commit(lake)] = sum(100 + each for each in range(number + 1))
    growth = report().growth
    assert [point.total.objects for point in growth] == list(range(13))
    assert {point.commit_id: point.total.bytes for point in growth[1:]} == sizes
    few = report(points=4).growth
    assert [point.total.objects for point in few] == [0, 4, 8, 12]
    assert few[0].created_at < few[-1].created_at


def test_branches_beyond_the_limit_are_left_out(lake, report, monkeypatch):
    for number in range(5):
        put(lake, "main", f"a/{number}", 10)
    commit(lake)
    lake.branches.create("sea", "other", "main")
    lake.branches.create("sea", "equal", "main")
    put(lake, "other", "b", 10)
    commit(lake, "other")
    monkeypatch.setattr(measurement, "MAX_ENTRIES", 5)
    result = report()
    assert {each.branch for each in result.branches} == {"main", "equal"}
    assert not result.complete


def test_found_garbage_is_that_of_a_run_of_garbage_collection_and_stays(
    lake, report, clock, tmp_path
):
    put(lake, "main", "a", 10)
    put(lake, "main", "a", 20)  # the first is referenced by nothing now
    put(lake, "main", "b", 30)
    commit(lake)
    before = entries(lake, "main")
    clock.now += 3 * DAY
    put(lake, "main", "young", 40)
    storage = Storage(lake.core, lake.blocks, clock)
    found = storage.find_garbage("sea")
    assert (found.candidates, found.due, found.young) == (Totals(1, 10), Totals(), 1)
    assert report().garbage == found
    clock.now += 2 * DAY
    again = storage.find_garbage("sea")
    assert (again.candidates, again.due) == (Totals(1, 10), Totals(1, 10))
    with Collector(lake.core, lake.blocks, tmp_path / "marks", clock=clock).mark("sea") as run:
        assert run.summary.due.objects == again.due.objects
    assert entries(lake, "main@") == before
    with pytest.raises(NotFound):
        storage.find_garbage("lake")


def test_run_that_failed_does_not_count(lake, report, clock, tmp_path):
    found = Storage(lake.core, lake.blocks, clock).find_garbage("sea")
    clock.now += DAY
    collector = Collector(lake.core, lake.blocks, tmp_path / "marks", clock=clock)
    with pytest.raises(RuntimeError), collector.mark("sea") as run, run.record_failure():
        raise RuntimeError
    assert report().garbage == found


def test_the_newest_garbage_collection_is_in_the_report(lake, report, clock, tmp_path):
    assert report().garbage is None
    put(lake, "main", "a", 10)
    put(lake, "main", "a", 20)
    commit(lake)
    clock.advance(3 * DAY)
    collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=clock)
    with collector.mark("sea", grace_seconds=0) as run:
        found = run.summary
    garbage = report().garbage
    assert (garbage.run_id, garbage.state) == (found.run_id, found.state)
    assert garbage.candidates == Totals(1, 10)


def test_an_empty_repository_takes_nothing(report):
    result = report()
    assert [(each.branch, each.total) for each in result.branches] == [("main", Totals())]
    assert result.distinct == Totals()


def test_unknown_names_are_not_found(lake, report):
    with pytest.raises(NotFound):
        report(branch="nowhere")
    with pytest.raises(NotFound):
        Storage(lake.core, lake.blocks).report("nowhere", points=3)


def test_what_is_kept_for_undo_is_counted_apart(lake, report):
    """Compared with what was put: committed and staged on a branch that is gone, and reset."""
    put(lake, "main", "a", 10)
    commit(lake)
    lake.operations.set_undo_days("sea", 30)
    lake.branches.create("sea", "dev", "main")
    put(lake, "dev", "committed", 100)
    commit(lake, "dev")
    put(lake, "dev", "staged", 1000)
    assert report().kept_for_undo == Totals()
    lake.branches.delete("sea", "dev")
    assert report().kept_for_undo == Totals(2, 1100)
    assert [each.branch for each in report().branches] == ["main"]
    put(lake, "main", "reset", 5)
    lake.branches.reset("sea", "main", "reset")
    assert report().kept_for_undo == Totals(3, 1105)
    for path, size in (("some/1", 20), ("some/2", 300)):
        put(lake, "main", path, size)
    lake.branches.reset("sea", "main", "common_prefix", "some/")
    assert report().kept_for_undo == Totals(5, 1425)
    lake.operations.give_up("sea", lake.operations.list("sea", amount=1).items[0].id)
    assert report().kept_for_undo == Totals(3, 1105)
    # the history of a branch is not kept for undo
    put(lake, "main", "b", 7)
    commit(lake)
    lake.objects.delete("sea", "main", "b")
    commit(lake)
    assert report().kept_for_undo == Totals(3, 1105)
    lake.objects.delete("sea", "main", "a")  # only `dev` has it then
    commit(lake)
    assert report().kept_for_undo == Totals(4, 1115)
    lake.operations.restore_branch("sea", "dev")
    assert report().kept_for_undo == Totals(1, 5)
    lake.operations.set_undo_days("sea", 0)
    lake.operations.compact()
    assert report().kept_for_undo == Totals()
