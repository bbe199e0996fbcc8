"""Garbage collection of objects that are referenced from several places by moves and copies."""

from __future__ import annotations

import pytest
from support.garbage import DAY, commit, found, put, stored

from anabranch.model.repositories.retention import RetentionRules


@pytest.fixture
def forgetful(lake):
    """The repository `sea`, whose commits expire after a day."""
    lake.garbage_rules.set("sea", RetentionRules(1))
    return lake


def test_moved_object_is_kept_until_its_new_path_is_removed(forgetful, clock, collector):
    lake = forgetful
    address = put(lake, "a/x")
    commit(lake)
    lake.transfers.move("sea", "main", "a/", "b/")
    clock.advance(3 * DAY)
    assert found(collector) == set(), "the move is staged"
    commit(lake)
    clock.advance(3 * DAY)
    assert found(collector) == set()
    lake.objects.delete("sea", "main", "b/x")
    commit(lake)
    clock.advance(3 * DAY)
    assert found(collector) == {address}


@pytest.mark.parametrize("paths", [("a/", "b/"), ("a/x", "b/x")])
def test_object_referenced_only_by_another_repository_is_kept(forgetful, clock, collector, paths):
    lake = forgetful
    address = put(lake, "a/x")
    commit(lake)
    lake.repositories.create("lake", "mem://lake")
    lake.transfers.copy(
        *("lake", "main", *paths), source_repository="sea", source_reference="main", shallow=True
    )
    lake.objects.delete("sea", "main", "a/x")
    commit(lake)
    clock.advance(3 * DAY)
    assert found(collector) == set(), "staged in the other repository"
    lake.commits.commit("lake", "main", message="m", committer="ada")
    clock.advance(3 * DAY)
    assert found(collector) == set()
    with collector.mark("sea", window_seconds=0) as run:
        run.sweep()
    assert address in stored(lake, "mem://sea")
    assert lake.objects.open("lake", "main", "b/x").read_bytes()
    lake.repositories.delete("lake")
    clock.advance(3 * DAY)
    assert found(collector) == {address}


def test_objects_stay_readable_after_the_source_repository_is_deleted(forgetful, clock):
    lake = forgetful
    put(lake, "a/x")
    commit(lake)
    lake.repositories.create("lake", "mem://lake")
    lake.transfers.copy(
        "lake", "main", "a/", "b/", source_repository="sea", source_reference="main"
    )
    lake.repositories.delete("sea")
    clock.advance(3 * DAY)
    assert lake.objects.open("lake", "main", "b/x").read_bytes()
