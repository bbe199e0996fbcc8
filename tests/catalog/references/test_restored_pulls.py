"""Pull requests when all references of a repository are restored: what merges have made of them is
taken back, none is open without its branches, and all else about them stays.
"""

from __future__ import annotations

import pytest
from support.histories.undone_operations import commit, last, without

from anabranch.errors import Conflict, Denied
from anabranch.model.caller import Caller, acting_as
from anabranch.model.pull_request import Reviewer


@pytest.fixture
def lake(lake):
    """A lake with the branch `dev`, which has one commit more than `main`."""
    lake.branches.create("sea", "dev", "main")
    commit(lake, "dev", "a")
    return lake


def propose(lake, source, destination="main"):
    return lake.pulls.create(
        "sea", title="t", source=source, destination=destination, author="ada"
    ).id


def get(lake, pull):
    return lake.pulls.get("sea", pull)


def statuses(lake, *pulls):
    return [get(lake, each).status.value for each in pulls]


def restore(lake, operation, **options):
    return lake.operations.restore("sea", operation.id, **options)


def names(lake):
    return [each.id for each in lake.branches.list("sea", amount=50).items]


def test_a_merge_that_is_taken_back_opens_its_pull_request_which_can_be_merged_again(lake):
    pull, twin = propose(lake, "dev"), propose(lake, "dev")
    before = last(lake)
    lake.pulls.merge("sea", pull, committer="ada")
    merged, head = get(lake, pull), lake.branches.get("sea", "main").commit_id
    restore(lake, before)
    opened = get(lake, pull)
    assert (opened.status, opened.closed_date, opened.merged_commit_id) == ("open", None, "")
    assert statuses(lake, twin) == ["open"]
    restored = last(lake)
    assert [each.name for each in restored.changes] == ["main"]
    assert sorted(each.name for each in restored.settings) == sorted([pull, twin])
    lake.operations.undo("sea", restored.id)
    assert get(lake, pull) == merged
    assert lake.branches.get("sea", "main").commit_id == head
    assert statuses(lake, twin) == ["merged"]
    restore(lake, before)
    lake.pulls.merge("sea", pull, committer="ada")
    assert statuses(lake, pull, twin) == ["merged", "merged"]


def test_a_source_that_was_deleted_after_the_merge_comes_back_with_its_open_pull_request(lake):
    pull = propose(lake, "dev")
    before = last(lake)
    lake.pulls.merge("sea", pull, committer="ada")
    lake.branches.delete("sea", "dev")
    restore(lake, before)
    assert (statuses(lake, pull), names(lake)) == (["open"], ["dev", "main"])


def test_a_pull_request_whose_branch_goes_is_closed_and_returns_with_it(lake):
    before = last(lake)
    lake.branches.create("sea", "new", "dev")
    commit(lake, "new", "b")
    waiting, merged = propose(lake, "new"), propose(lake, "new", "dev")
    into = propose(lake, "dev", "new")
    closed = propose(lake, "new", "main")
    lake.pulls.update("sea", closed, status="closed")
    at_close = get(lake, closed)
    lake.pulls.merge("sea", merged, committer="ada")
    restore(lake, before)
    assert names(lake) == ["dev", "main"]
    assert statuses(lake, waiting, merged, into, closed) == ["closed"] * 4
    assert get(lake, merged).merged_commit_id == ""
    assert get(lake, closed) == at_close
    lake.operations.undo("sea", last(lake).id)
    assert names(lake) == ["dev", "main", "new"]
    assert statuses(lake, waiting, merged, into, closed) == ["open", "merged", "open", "closed"]


def test_a_merge_before_the_operation_stays_whatever_becomes_of_its_source(lake):
    pull = propose(lake, "dev")
    lake.pulls.merge("sea", pull, committer="ada")
    lake.branches.delete("sea", "dev")
    merged, before = get(lake, pull), last(lake)
    lake.branches.create("sea", "dev", "main")
    commit(lake, "main", "c")
    restore(lake, before)
    assert get(lake, pull) == merged
    assert names(lake) == ["main"]


def test_a_merge_that_was_taken_back_since_is_one_again(lake):
    pull = propose(lake, "dev")
    lake.pulls.merge("sea", pull, committer="ada")
    merged, before = get(lake, pull), last(lake)
    lake.operations.undo("sea", before.id)
    lake.pulls.update("sea", pull, title="again", status="closed")
    commit(lake, "dev", "b")
    lake.pulls.update("sea", pull, status="open")
    lake.pulls.merge("sea", pull, committer="ada")
    restore(lake, before)
    found = get(lake, pull)
    assert found.title == "again"
    assert (found.merged_commit_id, found.source_commit_id, found.closed_date) == (
        merged.merged_commit_id,
        merged.source_commit_id,
        merged.closed_date,
    )


def test_a_merge_whose_destination_was_reset_since_is_taken_back_too(lake):
    pull = propose(lake, "dev")
    before = last(lake)
    lake.pulls.merge("sea", pull, committer="ada")
    lake.branches.hard_reset("sea", "main", "main~1")
    assert statuses(lake, pull) == ["merged"]
    restore(lake, before)
    assert statuses(lake, pull) == ["open"]


def test_what_was_done_by_hand_stays(lake):
    pull, other = propose(lake, "dev"), propose(lake, "dev")
    lake.branches.delete("sea", "dev")  # the deletion is an operation of its own
    lake.branches.create("sea", "dev", "main")
    commit(lake, "dev", "c")
    before = last(lake)
    lake.pulls.update("sea", pull, title="other", status="closed")
    lake.reviewers.change("sea", other, add=[Reviewer("jane")])
    lake.reviews.create("sea", other, "approved", author="jane")
    commit(lake, "main", "b")
    kept = [get(lake, each) for each in (pull, other)]
    restore(lake, before)
    assert [get(lake, each) for each in (pull, other)] == kept
    assert last(lake).settings == ()


def test_a_source_that_moves_back_beside_its_destination_is_not_merged_by_it(lake):
    """`main` gets the older commit of `dev`, and `dev` the newer one that `main` does not have."""
    first = lake.branches.get("sea", "dev").commit_id
    lake.branches.hard_reset("sea", "main", "dev")
    commit(lake, "dev", "b")
    pull = propose(lake, "dev")
    before = last(lake)
    lake.branches.hard_reset("sea", "main", "main~1")
    lake.branches.hard_reset("sea", "dev", first)
    restore(lake, before)
    assert statuses(lake, pull) == ["open"]


def test_who_may_not_write_pull_requests_takes_back_no_merge(lake):
    pull = propose(lake, "dev")
    before = last(lake)
    lake.pulls.merge("sea", pull, committer="ada")
    head = lake.branches.get("sea", "main").commit_id
    for action in ("pr:WritePullRequest", "pr:ReadPullRequest", "fs:RevertBranch"):
        with pytest.raises(Denied):
            restore(lake, before, actor=without((action, "*")))
    assert lake.branches.get("sea", "main").commit_id == head
    assert statuses(lake, pull) == ["merged"]
    with acting_as(Caller("jane")):
        restore(lake, before, actor=without())
    assert statuses(lake, pull) == ["open"]


def test_a_review_that_comes_first_is_kept(lake):
    pull = propose(lake, "dev")
    before = last(lake)
    lake.pulls.merge("sea", pull, committer="ada")
    changed = []

    class Meanwhile:
        def writes_for(self, _operation, /):
            if not changed:
                changed.append(lake.pulls.update("sea", pull, title="other"))
            return (), ()

    restore(lake, before, extra_writes=[Meanwhile()])
    found = get(lake, pull)
    assert (found.title, found.status) == ("other", "open")


def test_uncommitted_changes_in_the_way_leave_pull_requests_as_they_are(lake):
    pull = propose(lake, "dev")
    before = last(lake)
    lake.pulls.merge("sea", pull, committer="ada")
    merged = get(lake, pull)
    lake.objects.upload("sea", "main", "staged", [b"1"])
    with pytest.raises(Conflict, match="uncommitted"):
        restore(lake, before)
    assert get(lake, pull) == merged
