"""The operation log and undo of the three lakes."""

from __future__ import annotations

import pytest

from anabranch.errors import Conflict, Invalid, NotFound


def names(lake, repository):
    return [each.id for each in lake.branches.list(repository, amount=9).items]


def read(lake, repository, reference, path):
    return lake.objects.open(repository, reference, path).read_bytes()


def test_what_was_done_is_listed_and_taken_back(lake, sea):
    lake.objects.upload(sea, "main", "a", [b"1"])
    commit = lake.commits.commit(sea, "main", message="one")
    lake.branches.create(sea, "dev", "main")
    lake.objects.upload(sea, "dev", "b", [b"staged"])
    lake.tags.create(sea, "v1", "main")
    lake.branches.delete(sea, "dev")
    lake.tags.delete(sea, "v1")
    page = lake.operations.list(sea, amount=2)
    untagged, deleted = page.items
    assert (untagged.changes[0].name, untagged.changes[0].after) == ("v1", None)
    assert deleted.changes[0].before.commit_id == commit.id
    assert page.has_more
    older = lake.operations.list(sea, after=page.next_offset, amount=9).items
    assert [each.changes[0].name for each in older] == ["v1", "dev", "main", "main"]
    assert lake.operations.get(sea, deleted.id[:16]) == deleted

    assert lake.operations.undo(sea, deleted.id).undone_at > 0
    assert read(lake, sea, "dev", "b") == b"staged"
    with pytest.raises(Conflict):
        lake.operations.undo(sea, deleted.id)
    lake.operations.restore_tag(sea, "v1")
    assert lake.tags.get(sea, "v1").commit_id == commit.id
    lake.branches.delete(sea, "dev")
    lake.operations.restore_branch(sea, "dev")
    assert read(lake, sea, "dev", "b") == b"staged"
    lake.branches.create(sea, "new", "main")
    assert lake.operations.undo(sea).changes[0].name == "new"
    assert names(lake, sea) == ["dev", "main"]


def test_all_references_are_restored(lake, sea):
    first = lake.operations.list(sea, amount=1).items[0]
    lake.objects.upload(sea, "main", "a", [b"1"])
    lake.commits.commit(sea, "main", message="one")
    lake.branches.create(sea, "dev", "main")
    lake.operations.restore(sea, first.id)
    assert names(lake, sea) == ["main"]
    assert lake.branches.get(sea, "main").commit_id == first.changes[0].after.commit_id


def test_days_are_set_and_operations_given_up(lake, sea):
    assert lake.operations.undo_days(sea) == 30
    assert lake.operations.set_undo_days(sea, 3) == 3
    assert lake.operations.undo_days(sea) == 3
    assert lake.operations.set_undo_days(sea, None) == 30
    with pytest.raises(Invalid):
        lake.operations.set_undo_days(sea, -1)
    lake.branches.create(sea, "dev", "main")
    lake.branches.delete(sea, "dev")
    deleted = lake.operations.list(sea, amount=1).items[0]
    assert lake.operations.give_up(sea, deleted.id).given_up_at > 0
    with pytest.raises(Conflict):
        lake.operations.restore_branch(sea, "dev")
    with pytest.raises(NotFound):
        lake.operations.restore_tag(sea, "v1")
