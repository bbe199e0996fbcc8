"""Attribution of dead objects, compared with a history of known objects."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.garbage import DAY

from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.marking import attribution
from anabranch.pipelines.garbage.totals import ObjectTotals


def put(lake, path, body, branch="main"):
    return lake.objects.upload("sea", branch, path, [body]).entry.address


def commit(lake, branch="main"):
    return lake.commits.commit("sea", branch, committer="me", message="m")


@pytest.fixture
def history(lake, clock):
    """Creates dead objects of `main`, `dev` and a deleted branch, and one that was never committed.
    Returns the first commit.
    """
    put(lake, "a/1", b"1" * 10)
    put(lake, "top", b"1" * 20)
    put(lake, "a/kept", b"1")
    first = commit(lake)
    lake.branches.create("sea", "dev", "main")
    lake.branches.create("sea", "gone", "main")
    put(lake, "b/1", b"2" * 100, "dev")
    commit(lake, "dev")
    lake.objects.delete("sea", "dev", "b/1")
    commit(lake, "dev")
    put(lake, "c/1", b"3" * 1000, "gone")
    commit(lake, "gone")
    lake.branches.delete("sea", "gone")
    for path in ("a/1", "top"):
        put(lake, path, b"4")
    put(lake, "d/1", b"5" * 10_000)
    put(lake, "d/1", b"6")
    commit(lake)
    lake.objects.delete("sea", "dev", "a/1")
    lake.objects.delete("sea", "dev", "top")
    commit(lake, "dev")
    lake.garbage_rules.set("sea", RetentionRules(1))
    clock.advance(10 * DAY)
    return first


@pytest.mark.usefixtures("history")
def test_dead_object_is_counted_once_by_branch_and_folder(collector):
    with collector.mark("sea") as run:
        found = run.summary.origins
        assert run.summary.candidates == ObjectTotals(5, 11_130)
    assert found.by_branch == {
        "main": ObjectTotals(2, 30),
        "dev": ObjectTotals(1, 100),
        "": ObjectTotals(1, 1000),
    }
    assert found.by_folder == {
        "a/": ObjectTotals(1, 10),
        "": ObjectTotals(1, 20),
        "b/": ObjectTotals(1, 100),
        "c/": ObjectTotals(1, 1000),
    }
    assert found.never_committed == ObjectTotals(1, 10_000)
    assert found.not_traced == found.other_folders == ObjectTotals()


@pytest.mark.usefixtures("history")
def test_only_the_largest_folders_are_named(collector, monkeypatch):
    monkeypatch.setattr(attribution, "MAX_SHOWN_FOLDERS", 1)
    with collector.mark("sea") as run:
        found = run.summary.origins
    assert found.by_folder == {"c/": ObjectTotals(1, 1000)}
    assert found.other_folders == ObjectTotals(3, 130)


@pytest.mark.usefixtures("history")
def test_objects_beyond_the_entry_limit_are_not_traced(collector, monkeypatch):
    monkeypatch.setattr(attribution, "_MAX_ENTRIES", 1)
    with collector.mark("sea") as run:
        found = run.summary.origins
    counted = sum(amount.objects for amount in found.by_branch.values())
    assert 0 < counted < 4
    assert found.not_traced.objects == 5 - counted
    assert found.never_committed == ObjectTotals()


def test_missing_range_of_expired_commits_does_not_fail_the_run(lake, collector, history, tmp_path):
    tree = lake.core.trees.open(lake.core.repositories.get("sea"), history.metarange_id)
    (lost,) = tree.ranges()
    lake.blocks.delete([f"mem://sea/_lakefs/{lost.id}"])
    for cached in Path(tmp_path, "cache").rglob(lost.id):
        cached.unlink()
    with collector.mark("sea") as run:
        found = run.summary.origins
        assert run.summary.candidates.objects == 5
    # other commits of `dev` reference the objects of the missing range
    assert found.by_branch == {"dev": ObjectTotals(3, 130), "": ObjectTotals(1, 1000)}
    assert found.not_traced == ObjectTotals(1, 10_000)


def test_without_rules_no_commit_has_expired(lake, clock, collector):
    put(lake, "a", b"1")
    put(lake, "a", b"2")
    commit(lake)
    clock.advance(2 * DAY)
    with collector.mark("sea") as run:
        assert run.summary.origins.never_committed == run.summary.candidates == ObjectTotals(1, 1)
