"""lakefs-sdk: merges, their conflicts and strategies, merge bases."""

from __future__ import annotations

import json

import lakefs_sdk
import pytest
from lakefs_sdk.exceptions import ApiException

STRATEGY = ".lakefs.merge.strategy"


@pytest.fixture
def clash(repo):
    """Two branches that changed the same two paths, and each one of its own."""
    for path in ("changed", "deleted", "kept"):
        repo.put(path, b"one")
    repo.commit("Common")
    repo.branch("side")
    repo.put("changed", b"theirs", "side")
    repo.delete("deleted", "side")
    repo.put("theirs", b"theirs", "side")
    repo.commit("On side", "side")
    repo.put("changed", b"ours")
    repo.put("deleted", b"ours")
    repo.put("ours", b"ours")
    repo.commit("On main")
    return repo


def test_a_merge_has_two_parents_and_both_sides_changes(repo):
    repo.branch("side")
    theirs = repo.save("theirs", branch="side")
    ours = repo.save("ours")
    merged = repo.head(repo.merge("side"))
    assert merged.parents == [ours.id, theirs.id]
    assert merged.message == "Merge 'side' into 'main'"
    assert merged.metadata == {STRATEGY: "default"}
    assert repo.head().id == merged.id
    assert repo.paths() == ["ours", "theirs"]
    assert repo.paths("side") == ["theirs"]


def test_a_merge_into_an_unmoved_branch_is_a_commit_too(repo):
    before = repo.head()
    repo.branch("side")
    theirs = repo.save("a", branch="side")
    merged = repo.head(repo.merge("side"))
    assert merged.id != theirs.id
    assert merged.parents == [before.id, theirs.id]
    assert merged.meta_range_id == theirs.meta_range_id


def test_merge_has_the_given_message_and_metadata(repo):
    repo.branch("side")
    repo.save("a", branch="side")
    merged = repo.head(
        repo.merge("side", message="Take a", metadata={"ticket": "7"}, strategy="source-wins")
    )
    assert merged.message == "Take a"
    assert merged.metadata == {"ticket": "7", STRATEGY: "source-wins"}


def test_a_squash_has_one_parent(repo):
    repo.branch("side")
    for path in "abc":
        repo.save(path, branch="side")
    before = repo.head()
    merged = repo.head(repo.merge("side", squash_merge=True))
    assert merged.parents == [before.id]
    assert repo.paths() == ["a", "b", "c"]


def test_merging_again_has_no_changes(repo, refused):
    repo.branch("side")
    repo.save("a", branch="side")
    head = repo.merge("side")
    with refused(400, "update branch main: no changes"):
        repo.merge("side")
    assert repo.head().id == head
    again = repo.head(repo.merge("side", allow_empty=True))
    assert again.parents[0] == head


def test_a_branch_is_not_merged_into_itself(repo, refused):
    repo.save("a")
    with refused(400, "no changes"):
        repo.merge("main", "main")


def test_deletions_are_merged(repo):
    repo.put("a")
    repo.put("b")
    repo.commit()
    repo.branch("side")
    repo.delete("a", "side")
    repo.commit("Remove", "side")
    repo.save("c")
    repo.merge("side")
    assert repo.paths() == ["b", "c"]


def test_equal_changes_on_both_sides_are_no_conflict(repo):
    repo.branch("side")
    repo.save("a", b"same", "side")
    repo.save("a", b"same")
    repo.merge("side")
    assert repo.get("a") == b"same"


def test_a_conflict_is_refused_and_named(clash):
    head = clash.head()
    with pytest.raises(ApiException) as caught:
        clash.merge("side")
    assert caught.value.status == 409
    response = json.loads(caught.value.body)
    assert response["reference"] == ""
    assert response["conflicts"] == ["changed", "deleted"]
    assert response["conflict_count"] == 2
    assert clash.head() == head
    assert clash.sdk.branches_api.diff_branch(clash.id, "main").results == []


def test_the_source_wins(clash):
    merged = clash.head(clash.merge("side", strategy="source-wins"))
    assert merged.metadata == {STRATEGY: "source-wins"}
    assert clash.paths() == ["changed", "kept", "ours", "theirs"]
    assert clash.get("changed") == b"theirs"


def test_the_destination_wins(clash):
    merged = clash.head(clash.merge("side", strategy="dest-wins"))
    assert merged.metadata == {STRATEGY: "dest-wins"}
    assert clash.paths() == ["changed", "deleted", "kept", "ours", "theirs"]
    assert (clash.get("changed"), clash.get("deleted")) == (b"ours", b"ours")


def test_an_unknown_strategy_is_refused(clash, refused):
    with refused(400):
        clash.merge("side", strategy="both-win")


def test_a_dirty_destination_is_refused_a_dirty_source_is_not(repo, refused):
    repo.branch("side")
    repo.save("a", branch="side")
    repo.put("unsaved")
    with refused(400, "uncommitted changes (dirty branch)"):
        repo.merge("side")
    assert repo.paths() == ["unsaved"]
    repo.delete("unsaved")
    repo.put("unsaved", branch="side")
    repo.merge("side")
    assert repo.paths() == ["a"]


def test_merging_what_is_unknown_is_not_found(repo, refused):
    with refused(404, "update branch main: get commit by ref nope: not found"):
        repo.merge("nope")
    with refused(404, "branch not found"):
        repo.merge("main", "nope")


def test_any_commit_can_be_merged(repo):
    repo.branch("side")
    first = repo.save("a", branch="side")
    repo.save("b", branch="side")
    repo.sdk.tags_api.create_tag(repo.id, lakefs_sdk.TagCreation(id="v1", ref=first.id))
    assert repo.head(repo.merge("v1")).parents[1] == first.id
    assert repo.paths() == ["a"]
    repo.merge("side~0")
    assert repo.paths() == ["a", "b"]


def test_a_merge_base_is_found(repo):
    base = repo.save("a")
    repo.branch("side")
    theirs, ours = repo.save("b", branch="side"), repo.save("c")
    found = repo.sdk.refs_api.find_merge_base(repo.id, "side", "main")
    assert found.base_commit_id == base.id
    assert {found.source_commit_id, found.destination_commit_id} == {ours.id, theirs.id}
    repo.merge("side")
    after = repo.sdk.refs_api.find_merge_base(repo.id, "side", "main")
    assert after.base_commit_id == theirs.id


def test_branches_that_both_merged_main_do_not_clash(repo):
    """lakeFS 1.84 takes an older commit for the base here and reports a conflict."""
    repo.save("shared", b"1")
    repo.branch("left")
    repo.branch("right")
    repo.save("left", branch="left")
    repo.save("right", branch="right")
    repo.save("shared", b"2")
    for branch in ("left", "right"):
        repo.merge("main", branch)
    repo.save("shared", b"3", "left")
    repo.merge("left", "right")
    assert repo.get("shared", "right") == b"3"
    assert repo.paths("right") == ["left", "right", "shared"]
