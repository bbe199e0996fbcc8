"""Pull requests whose commits reach the destination by another way than their own merge."""

from __future__ import annotations

import pytest
from support.changes import ExtraWritesFrom

from anabranch.errors import DirtyBranch, Invalid
from anabranch.model.pull_request import PullRequestStatus

OPEN, CLOSED, MERGED = PullRequestStatus


def commit(lake, branch, path):
    lake.objects.upload("sea", branch, path, [path.encode()])
    return lake.commits.commit("sea", branch, message="m", committer="ada").id


def pull(lake, source="work", destination="main"):
    made = lake.pulls.create("sea", title="t", author="ada", source=source, destination=destination)
    return made.id


def merge(lake, source, destination, **options):
    return lake.refs.merge("sea", source, destination, committer="bob", **options)


def status(lake, pull_id):
    return lake.pulls.get("sea", pull_id).status


@pytest.fixture
def lake(lake):
    """A repository with a branch `work` that is one commit ahead of `main`."""
    lake.branches.create("sea", "work", "main")
    commit(lake, "work", "a")
    return lake


def test_a_merge_of_the_branches_merges_the_pull_request(lake, clock):
    made, twin = pull(lake), pull(lake)
    head = lake.branches.get("sea", "work").commit_id
    clock.advance(5)
    merged_id = merge(lake, "work", "main")
    for each in (made, twin):
        merged = lake.pulls.get("sea", each)
        assert (merged.status, merged.merged_commit_id) == (MERGED, merged_id)
        assert merged.source_commit_id == head
        assert (merged.closed_date - merged.creation_date).total_seconds() == 5
    with pytest.raises(Invalid, match="bad pull request status"):
        lake.pulls.merge("sea", made, committer="bob")


def test_merging_a_pull_request_merges_others_of_its_commits(lake):
    lake.branches.create("sea", "same", "work")
    made, twin = pull(lake), pull(lake, "same")
    merged_id = lake.pulls.merge("sea", made, committer="bob")
    assert lake.pulls.get("sea", twin).merged_commit_id == merged_id
    assert lake.pulls.get("sea", made).merged_commit_id == merged_id


def test_a_merge_by_way_of_another_branch_merges_the_pull_request(lake):
    lake.branches.create("sea", "between", "main")
    made = pull(lake)
    merge(lake, "work", "between")
    assert status(lake, made) is OPEN
    commit(lake, "between", "b")
    merge(lake, "between", "main")
    assert status(lake, made) is MERGED


def test_a_merge_of_a_part_of_the_commits_leaves_it_open(lake):
    first = lake.branches.get("sea", "work").commit_id
    commit(lake, "work", "b")
    made = pull(lake)
    merge(lake, first, "main")
    assert status(lake, made) is OPEN
    merge(lake, "work", "main")
    assert status(lake, made) is MERGED


def test_a_squash_merge_leaves_it_open(lake):
    made = pull(lake)
    merge(lake, "work", "main", squash=True)
    assert status(lake, made) is OPEN


def test_a_source_without_commits_of_its_own_stays_open(lake):
    lake.branches.create("sea", "new", "main")
    made = pull(lake, "new")
    commit(lake, "main", "c")
    merge(lake, "work", "main")
    lake.branches.hard_reset("sea", "main", "main~1")
    assert status(lake, made) is OPEN


def test_other_destinations_closed_ones_and_lost_sources_stay_as_they_are(lake):
    lake.branches.create("sea", "main2", "main")
    lake.branches.create("sea", "lost", "work")
    other, closed, lost = pull(lake, "work", "main2"), pull(lake), pull(lake, "lost")
    lake.pulls.update("sea", closed, status="closed")
    lake.branches.delete("sea", "lost")
    merge(lake, "work", "main")
    assert [status(lake, each) for each in (other, closed, lost)] == [OPEN, CLOSED, OPEN]


def test_a_reset_to_the_commits_merges_it(lake):
    made = pull(lake)
    lake.branches.hard_reset("sea", "main", "work")
    merged = lake.pulls.get("sea", made)
    assert (merged.status, merged.merged_commit_id) == (
        MERGED,
        lake.branches.get("sea", "work").commit_id,
    )


def test_a_rebase_onto_the_commits_merges_it(lake):
    made = pull(lake)
    commit(lake, "main", "c")
    rebased = lake.rebase.rebase("sea", "main", "work", committer="bob")
    assert lake.pulls.get("sea", made).merged_commit_id == rebased.head.id


def test_a_refused_merge_leaves_it_open(lake):
    made = pull(lake)
    lake.objects.upload("sea", "main", "staged", [b"1"])
    with pytest.raises(DirtyBranch):
        merge(lake, "work", "main")
    assert status(lake, made) is OPEN


def test_a_review_during_the_merge_is_kept(lake):
    made = pull(lake)
    reviewed = []

    def review(_):
        if not reviewed:
            reviewed.append(lake.reviews.create("sea", made, "approved", author="bob"))
        return (), ()

    merged_id = merge(lake, "work", "main", extra_writes=[ExtraWritesFrom(review)])
    merged = lake.pulls.get("sea", made)
    assert (merged.merged_commit_id, set(merged.approvals)) == (merged_id, {"bob"})
