"""Unmerged branches, compared with logs and listings of all branches."""

from __future__ import annotations

import random

import pytest

from anabranch.errors import NotFound
from anabranch.pipelines.storage.storage import Storage
from anabranch.pipelines.storage.unmerged import UnmergedLimits

ALL = 1000


@pytest.fixture
def find(lake):
    storage = Storage(lake.core, lake.blocks)
    return lambda **given: storage.unmerged("sea", **{"order": "age", "amount": ALL, **given})


def commit(lake, clock, branch, sizes, removed=()):
    clock.advance(10)
    for path, size in sizes.items():
        lake.objects.upload("sea", branch, path, [random.Random(path + branch).randbytes(size)])
    for path in removed:
        lake.objects.delete("sea", branch, path)
    return lake.commits.commit("sea", branch, message="data", committer="ada")


def content(lake, reference):
    items = lake.objects.listing("sea", reference, amount=ALL).items
    return {item.path: (item.entry.checksum, item.entry.size) for item in items}


def expected(lake):
    """Returns the time, the objects and the bytes of each unmerged branch, by listing all."""
    merged = {each.id for each in lake.commits.log("sea", "main", amount=ALL).items}
    result = {}
    for branch in lake.branches.list("sea", amount=ALL, show_hidden=True).items:
        if branch.commit_id in merged:
            continue
        base = content(lake, lake.refs.merge_base("sea", "main", branch.id)[2])
        now = content(lake, f"{branch.id}@")
        added = [value[1] for path, value in now.items() if base.get(path) != value]
        head = lake.commits.get("sea", branch.commit_id)
        result[branch.id] = (head.creation_date, len(added), sum(added))
    return result


@pytest.mark.parametrize("seed", range(3))
def test_random_histories(lake, clock, find, seed):
    chosen = random.Random(seed)
    commit(lake, clock, "main", {f"m{number}": 10 + number for number in range(20)})
    for number in range(12):
        name = f"b{number}"
        lake.branches.create(
            "sea", name, chosen.choice(["main", f"b{number // 2}"][: 1 + (number > 1)])
        )
        for _ in range(chosen.randrange(3)):
            sizes = {f"m{chosen.randrange(30)}": chosen.randrange(1, 500) for _ in range(3)}
            commit(lake, clock, name, sizes)
        if chosen.random() < 0.3 and number > 1:
            lake.refs.merge(
                "sea", name, "main", committer="ada", strategy="source-wins", allow_empty=True
            )
        if chosen.random() < 0.3:
            commit(lake, clock, "main", {f"x{number}": 7})
    wanted = expected(lake)
    assert wanted
    by_age, by_size = find(), find(order="size")
    for found in (by_age, by_size):
        assert found.complete
        assert found.number == len(wanted)
        told = {each.branch: (each.changed_at, each.objects, each.bytes) for each in found.results}
        assert told == wanted
    ages = [each.changed_at for each in by_age.results]
    sizes = [each.bytes for each in by_size.results]
    assert ages == sorted(ages)
    assert sizes == sorted(sizes, reverse=True)
    assert [each.branch for each in find(amount=2).results] == [
        each.branch for each in by_age.results[:2]
    ]
    assert find(order="size", amount=1).results == by_size.results[:1]


def test_removed_objects_have_no_size_and_uncommitted_ones_do_not_count(lake, clock, find):
    commit(lake, clock, "main", {"a": 5, "b": 6})
    lake.branches.create("sea", "dev", "main", hidden=True, expires_at=int(clock()) + 1000)
    lake.objects.upload("sea", "dev", "staged", [b"x" * 100])
    assert find().results == []
    lake.branches.reset("sea", "dev", "reset")
    commit(lake, clock, "dev", {"c": 7}, removed=["a"])
    (found,) = find().results
    assert (found.objects, found.bytes, found.complete, found.hidden) == (1, 7, True, True)
    assert found.expires_at == lake.branches.get("sea", "dev").expires_at


def test_only_shown_branches_are_told(lake, clock, find):
    for name in ("a", "b"):
        lake.branches.create("sea", name, "main")
        commit(lake, clock, name, {name: 1})
    found = find(is_shown=lambda branch: branch.id == "b")
    assert ([each.branch for each in found.results], found.number) == (["b"], 1)


def test_what_exceeds_the_limits_is_said(lake, clock, find):
    for name in ("a", "b"):
        lake.branches.create("sea", name, "main")
        commit(lake, clock, name, {f"{name}{number}": 10 for number in range(5)})
    few = find(limits=UnmergedLimits(branches=1))
    assert ([each.branch for each in few.results], few.complete) == (["a"], False)
    part = find(order="size", limits=UnmergedLimits(objects_of_branch=3))
    assert [(each.bytes, each.complete) for each in part.results] == [(30, False)] * 2
    assert not part.complete
    total = find(order="size", limits=UnmergedLimits(objects=7))
    assert [(each.bytes, each.complete) for each in total.results] == [(50, True), (20, False)]
    assert find(limits=UnmergedLimits(objects=7)).complete
    late = find(limits=UnmergedLimits(seconds=-1))
    assert (late.results, late.complete) == ([], False)
    exact = find(order="size", limits=UnmergedLimits(objects_of_branch=5, objects=10))
    assert exact.complete


def test_a_missing_repository(lake):
    with pytest.raises(NotFound):
        Storage(lake.core, lake.blocks).unmerged("none", order="age", amount=1)
