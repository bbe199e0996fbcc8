"""lakefs-sdk: revert and cherry-pick."""

from __future__ import annotations

import lakefs_sdk
import pytest


def revert(repo, ref, parent_number=0, branch="main", **fields):
    creation = lakefs_sdk.RevertCreation(ref=ref, parent_number=parent_number, **fields)
    repo.sdk.branches_api.revert_branch(repo.id, branch, creation)
    return repo.head(branch)


def cherry_pick(repo, ref, branch="main", **fields):
    creation = lakefs_sdk.CherryPickCreation(ref=ref, **fields)
    return repo.sdk.branches_api.cherry_pick(repo.id, branch, creation)


@pytest.fixture
def merged(repo):
    """A merge of `side`, which added `theirs`, into `main`, which added `ours`."""
    repo.branch("side")
    repo.save("theirs", branch="side")
    repo.save("ours")
    repo.merge("side")
    return repo


def test_a_revert_takes_back_one_commit(repo):
    repo.save("a", b"one")
    undone = repo.save("a", b"two")
    last = repo.save("b")
    reverted = revert(repo, undone.id)
    assert reverted.parents == [last.id]
    assert reverted.message == f"Revert {undone.id}"
    assert reverted.metadata == {}
    assert repo.get("a") == b"one"
    assert repo.paths() == ["a", "b"]


def test_a_revert_may_have_words_of_its_own(repo):
    repo.save("a")
    overrides = lakefs_sdk.CommitOverrides(message="Never mind", metadata={"why": "because"})
    reverted = revert(repo, "main", commit_overrides=overrides)
    assert (reverted.message, reverted.metadata) == ("Never mind", {"why": "because"})
    assert repo.paths() == []


def test_a_merge_is_reverted_by_its_parent(merged, refused):
    with refused(409, "must specify 1-based parent number for reverting merge commit"):
        revert(merged, "main")
    assert merged.paths() == ["ours", "theirs"]
    revert(merged, "main", parent_number=1)
    assert merged.paths() == ["ours"]


def test_a_merge_is_reverted_to_the_other_side(merged):
    revert(merged, "main", parent_number=2)
    assert merged.paths() == ["theirs"]


@pytest.mark.parametrize(("ref", "number"), [("main", 3), ("side", 2)])
def test_a_parent_beyond_the_last_is_refused(merged, refused, ref, number):
    with refused(400):
        revert(merged, ref, parent_number=number)


def test_a_revert_that_clashes_is_refused(repo, refused):
    repo.save("a", b"one")
    undone = repo.save("a", b"two")
    head = repo.save("a", b"three")
    with refused(409, "conflict found"):
        revert(repo, undone.id)
    assert repo.head().id == head.id


def test_a_revert_of_nothing_is_refused_unless_allowed(repo, refused):
    repo.save("kept")
    undone = repo.save("a")
    revert(repo, undone.id)
    with refused(400, "no changes"):
        revert(repo, undone.id)
    assert revert(repo, undone.id, allow_empty=True).message == f"Revert {undone.id}"


def test_a_cherry_pick_brings_one_commit(repo):
    repo.branch("side")
    repo.save("before", branch="side")
    repo.put("a", b"picked", "side")
    picked = repo.commit("Picked", "side", metadata={"ticket": "7"})
    head = repo.save("b")
    made = cherry_pick(repo, "side")
    assert made.parents == [head.id]
    assert made.message == "Picked"
    assert made.metadata == {
        "ticket": "7",
        "cherry-pick-origin": picked.id,
        "cherry-pick-committer": picked.committer,
    }
    assert repo.paths() == ["a", "b"]
    # lakeFS 1.84 changes the picked commit's own metadata
    assert repo.head(picked.id) == picked


def test_a_cherry_pick_may_have_words_of_its_own(repo):
    repo.branch("side")
    repo.save("a", branch="side")
    overrides = lakefs_sdk.CommitOverrides(message="Mine", metadata={"why": "because"})
    made = cherry_pick(repo, "side", commit_overrides=overrides)
    assert made.message == "Mine"
    assert made.metadata["why"] == "because"
    assert "cherry-pick-origin" in made.metadata


def test_a_merge_is_picked_by_its_parent(merged, refused):
    merged.branch("other", "main~2")
    with refused(400, "cherry-picking merge commit"):
        cherry_pick(merged, "main", "other")
    cherry_pick(merged, "main", "other", parent_number=1)
    assert merged.paths("other") == ["theirs"]


def test_a_cherry_pick_that_clashes_is_refused(repo, refused):
    repo.save("a", b"one")
    repo.branch("side")
    repo.save("a", b"theirs", "side")
    head = repo.save("a", b"ours")
    with refused(409, "conflict found"):
        cherry_pick(repo, "side")
    assert repo.head().id == head.id


def test_the_first_commit_cannot_be_picked(repo, refused):
    repo.save("a")
    repo.branch("side")
    with refused(400, "given commit does not have the given parent number"):
        cherry_pick(repo, "main~1", "side")


@pytest.mark.parametrize("change", [revert, cherry_pick])
def test_a_dirty_branch_is_refused(repo, refused, change):
    repo.branch("side")
    repo.save("a", branch="side")
    repo.put("unsaved")
    with refused(400, "uncommitted changes (dirty branch)"):
        change(repo, "side")
    assert repo.paths() == ["unsaved"]


@pytest.mark.parametrize("change", [revert, cherry_pick])
def test_unknown_resource_is_not_found(repo, refused, change):
    repo.save("a")
    with refused(404, "get commit from ref nope: not found"):
        change(repo, "nope")
    with refused(404):
        change(repo, "main", branch="nope")


def test_the_first_commit_is_reverted_only_where_nothing_may_change(repo, refused):
    first = repo.save("a").parents[0]
    with refused(400, "no changes"):
        revert(repo, first)
    with refused(400, "given commit does not have the given parent number: parent 1"):
        revert(repo, first, parent_number=1)
    assert revert(repo, first, allow_empty=True).message == f"Revert {first}"
    assert repo.paths() == ["a"]


def test_a_cherry_pick_keeps_metadata_where_none_is_given(repo):
    repo.branch("side")
    repo.put("a", b"picked", "side")
    repo.commit("Picked", "side", metadata={"ticket": "7"})
    made = cherry_pick(
        repo, "side", commit_overrides=lakefs_sdk.CommitOverrides(message="", metadata={})
    )
    assert made.message == "Picked"
    assert made.metadata["ticket"] == "7"


@pytest.mark.parametrize("change", [revert, cherry_pick])
def test_a_missing_reference_is_reported_before_a_dirty_branch(repo, refused, change):
    repo.put("unsaved")
    with refused(404, "get commit from ref nope: not found"):
        change(repo, "nope")
