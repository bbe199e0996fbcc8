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
def sea(lake):
    """A repository with a branch `work` that is one commit ahead of `main`."""
    lake.branches.create("sea", "work", "main")
    commit(lake, "work", "a")
    return lake


def test_a_merge_of_the_branches_merges_the_pull_request(sea, clock):
    made, twin = pull(sea), pull(sea)
    head = sea.branches.get("sea", "work").commit_id
    clock.advance(5)
    merged_id = merge(sea, "work", "main")
    for each in (made, twin):
        merged = sea.pulls.get("sea", each)
        assert (merged.status, merged.merged_commit_id) == (MERGED, merged_id)
        assert merged.source_commit_id == head
        assert (merged.closed_date - merged.creation_date).total_seconds() == 5
    with pytest.raises(Invalid, match="bad pull request status"):
        sea.pulls.merge("sea", made, committer="bob")


def test_merging_a_pull_request_merges_others_of_its_commits(sea):
    sea.branches.create("sea", "same", "work")
    made, twin = pull(sea), pull(sea, "same")
    merged_id = sea.pulls.merge("sea", made, committer="bob")
    assert sea.pulls.get("sea", twin).merged_commit_id == merged_id
    assert sea.pulls.get("sea", made).merged_commit_id == merged_id


def test_a_merge_by_way_of_another_branch_merges_the_pull_request(sea):
    sea.branches.create("sea", "between", "main")
    made = pull(sea)
    merge(sea, "work", "between")
    assert status(sea, made) is OPEN
    commit(sea, "between", "b")
    merge(sea, "between", "main")
    assert status(sea, made) is MERGED


def test_a_merge_of_a_part_of_the_commits_leaves_it_open(sea):
    first = sea.branches.get("sea", "work").commit_id
    commit(sea, "work", "b")
    made = pull(sea)
    merge(sea, first, "main")
    assert status(sea, made) is OPEN
    merge(sea, "work", "main")
    assert status(sea, made) is MERGED


def test_a_squash_merge_leaves_it_open(sea):
    made = pull(sea)
    merge(sea, "work", "main", squash=True)
    assert status(sea, made) is OPEN


def test_a_source_without_commits_of_its_own_stays_open(sea):
    sea.branches.create("sea", "new", "main")
    made = pull(sea, "new")
    commit(sea, "main", "c")
    merge(sea, "work", "main")
    sea.branches.hard_reset("sea", "main", "main~1")
    assert status(sea, made) is OPEN


def test_other_destinations_closed_ones_and_lost_sources_stay_as_they_are(sea):
    sea.branches.create("sea", "main2", "main")
    sea.branches.create("sea", "lost", "work")
    other, closed, lost = pull(sea, "work", "main2"), pull(sea), pull(sea, "lost")
    sea.pulls.update("sea", closed, status="closed")
    sea.branches.delete("sea", "lost")
    merge(sea, "work", "main")
    assert [status(sea, each) for each in (other, closed, lost)] == [OPEN, CLOSED, OPEN]


def test_a_reset_to_the_commits_merges_it(sea):
    made = pull(sea)
    sea.branches.hard_reset("sea", "main", "work")
    merged = sea.pulls.get("sea", made)
    assert (merged.status, merged.merged_commit_id) == (
        MERGED,
        sea.branches.get("sea", "work").commit_id,
    )


def test_a_rebase_onto_the_commits_merges_it(sea):
    made = pull(sea)
    commit(sea, "main", "c")
    rebased = sea.rebase.rebase("sea", "main", "work", committer="bob")
    assert sea.pulls.get("sea", made).merged_commit_id == rebased.head.id


def test_a_refused_merge_leaves_it_open(sea):
    made = pull(sea)
    sea.objects.upload("sea", "main", "staged", [b"1"])
    with pytest.raises(DirtyBranch):
        merge(sea, "work", "main")
    assert status(sea, made) is OPEN


def test_a_review_during_the_merge_is_kept(sea):
    made = pull(sea)
    reviewed = []

    def review(_):
        if not reviewed:
            reviewed.append(sea.reviews.create("sea", made, "approved", author="bob"))
        return (), ()

    merged_id = merge(sea, "work", "main", extra_writes=[ExtraWritesFrom(review)])
    merged = sea.pulls.get("sea", made)
    assert (merged.merged_commit_id, set(merged.approvals)) == (merged_id, {"bob"})
