"""Undo of branches that end: what has expired stays as it is, and no one gets more time by undo."""

from __future__ import annotations

import msgspec
import pytest
from support.histories.undone_operations import commit, last, put, without

from anabranch.errors import Conflict, Denied
from anabranch.model.references.branch_ends import BranchEnd


def names(lake):
    return [each.id for each in lake.branches.list("sea", amount=9, show_hidden=True).items]


def test_a_branch_that_has_expired_returns_without_an_end(lake, clock):
    lake.branches.create("sea", "dev", "main", expires_at=int(clock()) + 60)
    put(lake, "dev", "a")
    clock.advance(61)
    assert lake.expiry.delete_due() == 1
    lake.operations.restore_branch("sea", "dev")
    assert lake.branches.get("sea", "dev").expires_at == 0
    assert lake.objects.open("sea", "dev", "a").read_bytes() == b"a"
    commit(lake, "dev", "b")
    clock.advance(3600)
    assert lake.expiry.delete_due() == 0


@pytest.mark.parametrize("how", ["restore_branch", "undo", "restore"])
def test_a_branch_that_has_expired_returns_with_the_end_that_its_name_gets(lake, clock, how):
    lake.branch_ends.replace("sea", [BranchEnd("try-*", "1h"), BranchEnd("*", "7d")])
    lake.branches.create("sea", "try-a", "main")
    created = last(lake)
    clock.advance(3601)
    assert lake.expiry.delete_due() == 1
    name = created.id if how == "restore" else "try-a" if how == "restore_branch" else last(lake).id
    getattr(lake.operations, how)("sea", name, actor=without(("fs:DeleteBranch", "branch/*")))
    assert lake.branches.get("sea", "try-a").expires_at == int(clock()) + 3600
    lake.branch_ends.replace("sea", [])
    clock.advance(3601)
    assert lake.expiry.delete_due() == 1
    lake.operations.restore_branch("sea", "try-a")
    assert lake.branches.get("sea", "try-a").expires_at == 0


def test_a_branch_that_was_to_expire_later_does_so_after_its_return(lake, clock):
    lake.branches.create("sea", "dev", "main", expires_at=int(clock()) + 60)
    lake.branches.delete("sea", "dev")
    lake.operations.undo("sea")
    clock.advance(61)
    assert lake.expiry.delete_due() == 1
    assert names(lake) == ["main"]


def test_another_end_is_undone_and_stays_when_something_else_is(lake, clock):
    soon = int(clock()) + 60
    lake.branches.create("sea", "dev", "main")
    commit(lake, "dev", "a")
    moved_dev = last(lake)
    lake.branches.set_expiry("sea", "dev", soon)
    given_end = last(lake)
    lake.operations.undo("sea", moved_dev.id)
    assert lake.branches.get("sea", "dev").expires_at == soon
    with pytest.raises(Conflict, match="moved since"):
        lake.operations.undo("sea", given_end.id)
    lake.branches.set_expiry("sea", "dev", 0)
    lake.operations.undo("sea", last(lake).id)
    assert lake.branches.get("sea", "dev").expires_at == soon
    clock.advance(61)
    assert lake.expiry.delete_due() == 1


@pytest.mark.parametrize("action", ["fs:RevertBranch", "fs:CreateBranch", "fs:DeleteBranch"])
def test_another_end_needs_the_permissions_of_giving_one(lake, clock, action):
    lake.branches.create("sea", "dev", "main")
    lake.branches.set_expiry("sea", "dev", int(clock()) + 60)
    with pytest.raises(Denied):
        lake.operations.undo("sea", actor=without((action, "branch/dev")))


def test_an_expired_branch_is_not_moved(lake, clock):
    lake.branches.create("sea", "dev", "main", expires_at=int(clock()) + 60)
    commit(lake, "dev", "a")
    clock.advance(61)
    with pytest.raises(Conflict, match="has expired"):
        lake.operations.undo("sea", last(lake).id)


def test_an_expired_branch_is_moved_by_no_restore_and_does_not_get_more_time(lake, clock):
    soon = int(clock()) + 60
    lake.branches.create("sea", "dev", "main", expires_at=soon)
    created_dev = last(lake)
    moved_to = commit(lake, "dev", "a").id
    clock.advance(61)
    with pytest.raises(Conflict, match="has expired"):
        lake.operations.restore("sea", created_dev.id)
    found = lake.branches.get("sea", "dev")
    assert (found.commit_id, found.expires_at) == (moved_to, soon)


def test_an_expired_branch_that_is_shown_again_does_not_get_more_time(lake, clock):
    soon = int(clock()) + 60
    lake.branches.create("sea", "dev", "main", expires_at=soon)
    stored = lake.core.repositories.get("sea")
    found = lake.core.branches.read(stored, "dev")
    hidden = msgspec.structs.replace(found.branch, hidden=True)
    assert lake.core.branches.apply(stored, found, [lake.core.branches.write(stored, hidden)])
    clock.advance(61)
    lake.operations.undo("sea", last(lake).id)
    found = lake.branches.get("sea", "dev")
    assert (found.hidden, found.expires_at) == (False, soon)


@pytest.mark.parametrize("action", ["fs:CreateBranch", "fs:DeleteBranch"])
def test_a_restore_that_takes_an_end_away_needs_the_permissions_of_that(lake, clock, action):
    lake.branches.create("sea", "dev", "main", expires_at=int(clock()) + 60)
    created_dev = last(lake)
    lake.branches.set_expiry("sea", "dev", int(clock()) + 600)
    clock.advance(61)
    with pytest.raises(Denied):
        lake.operations.restore("sea", created_dev.id, actor=without((action, "branch/dev")))
