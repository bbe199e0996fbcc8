"""Undo of resets of some paths: by whom, and with others who change the branch meanwhile."""

from __future__ import annotations

import threading

import pytest
from support.histories.undone_operations import last, put, without

from anabranch.errors import Denied, ProtectedBranch
from anabranch.model.caller import Caller, acting_as

REPOSITORY = "arn:lakefs:fs:::repository/sea"


def paths_of(lake, branch="dev"):
    return [each.path for each in lake.branches.changes("sea", branch, amount=500).items]


@pytest.mark.parametrize("action", ["fs:RevertBranch", "fs:WriteObject", "fs:DeleteObject"])
def test_a_reset_of_a_prefix_is_undone_by_those_who_may_write_the_objects(lake, action):
    with acting_as(Caller("ada")):
        lake.branches.create("sea", "dev", "main")
        for path in ("secret/\u202e\U0001f40b", "secret/b", "c"):
            put(lake, "dev", path)
        before = paths_of(lake)
        lake.branches.reset("sea", "dev", "common_prefix", "secret/")
    assert paths_of(lake) == ["c"]
    operation = last(lake)
    with pytest.raises(Denied):
        lake.operations.undo("sea", operation.id, actor=without((action, "*")))
    assert paths_of(lake) == ["c"]
    ada = without(("fs:WriteObject", "object/secret/*"), name="ada")
    lake.operations.undo("sea", operation.id, actor=ada)
    assert paths_of(lake) == before
    assert last(lake).action == "undoOperation"


def test_a_reset_of_an_object_on_a_branch_that_is_protected_since_is_not_undone(lake):
    lake.branches.create("sea", "dev", "main")
    put(lake, "dev", "a")
    lake.branches.reset("sea", "dev", "object", "a")
    was_reset_to = last(lake)
    lake.protection.replace("sea", ["dev"])
    with pytest.raises(ProtectedBranch):
        lake.operations.undo("sea", was_reset_to.id)
    assert paths_of(lake) == []


def test_resets_at_once_throw_nothing_away_for_good(lake):
    """What is put meanwhile stays, or is kept by one of the operations."""
    lake.branches.create("sea", "dev", "main")
    for number in range(40):
        put(lake, "dev", f"p/{number:03d}")
    start = threading.Barrier(4)

    def reset():
        start.wait()
        lake.branches.reset("sea", "dev", "common_prefix", "p/")

    def add():
        start.wait()
        for number in range(40, 80):
            put(lake, "dev", f"p/{number:03d}")

    threads = [threading.Thread(target=each) for each in (reset, reset, add, reset)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for operation in lake.operations.list("sea", amount=50).items:
        if operation.discarded:
            lake.operations.undo("sea", operation.id)
    assert paths_of(lake) == [f"p/{number:03d}" for number in range(80)]
