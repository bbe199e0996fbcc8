"""lakefs-sdk: commits, reference expressions, the log."""

from __future__ import annotations

import datetime as dt
import time

import lakefs_sdk
import pytest

from anabranch.testing.server import USER_NAME


def messages(commits):
    return [commit.message for commit in commits]


def test_a_commit_takes_in_what_is_staged(repo):
    before = repo.head()
    repo.put("a", b"one")
    commit = repo.commit("Add a", metadata={"ticket": "1234", "who": "ana"})
    assert commit.parents == [before.id]
    assert commit.message == "Add a"
    assert commit.metadata == {"ticket": "1234", "who": "ana"}
    assert commit.committer == USER_NAME
    assert len(commit.id) == len(commit.meta_range_id) == 64
    assert abs(commit.creation_date - time.time()) < 60
    assert repo.head() == commit
    assert repo.get("a", commit.id) == b"one"
    assert repo.sdk.branches_api.diff_branch(repo.id, "main").results == []


def test_commit_without_changes_fails(repo, refused):
    head = repo.save("a", b"one")
    with refused(400, "commit: no changes"):
        repo.commit()
    repo.put("a", b"one")
    with refused(400, "commit: no changes"):
        repo.commit()
    assert repo.head().id == head.id


def test_an_empty_commit_is_made_when_asked_for(repo):
    head = repo.save("a")
    empty = repo.commit("Nothing", allow_empty=True)
    assert empty.parents == [head.id]
    assert empty.meta_range_id == head.meta_range_id


def test_a_commit_may_be_dated(repo):
    repo.put("a")
    assert repo.commit("Long ago", date=1_000_000_000).creation_date == 1_000_000_000


def test_a_tree_may_be_committed_again(repo, refused):
    first, _ = repo.save("a"), repo.save("b")
    creation = lakefs_sdk.CommitCreation(message="Back to the first")
    back = repo.sdk.commits_api.commit(
        repo.id, "main", creation, source_metarange=first.meta_range_id
    )
    assert back.meta_range_id == first.meta_range_id
    assert repo.paths() == ["a"]
    repo.put("c")
    with refused(400, "cannot use source MetaRange on a branch with uncommitted changes"):
        repo.sdk.commits_api.commit(repo.id, "main", creation, source_metarange=first.meta_range_id)


def test_a_commit_needs_a_branch(repo, refused):
    with refused(404):
        repo.commit(branch="nope")
    head = repo.save("a")
    with refused(404):
        repo.commit(branch=head.id)


def test_a_commit_is_named_in_many_ways(repo):
    first, second, third = repo.save("a"), repo.save("b"), repo.save("c")
    repo.sdk.tags_api.create_tag(repo.id, lakefs_sdk.TagCreation(id="v1", ref="main"))
    for expression, commit in {
        "main": third,
        "main@": third,
        "main~": second,
        "main^": second,
        "main~2": first,
        "main^^": first,
        "main^0": third,
        "main~1^1": first,
        "v1~2": first,
        third.id[:16] + "~1": second,
    }.items():
        assert repo.head(expression).id == commit.id, expression


@pytest.mark.parametrize("expression", ["nope", "main~9", "0" * 64, "nope~1"])
def test_an_unknown_commit_is_not_found(repo, refused, expression):
    repo.save("a")
    with refused(404, "not found"):
        repo.head(expression)


@pytest.mark.parametrize("expression", ["main^9", "main~x", "main^-1"])
def test_a_commit_that_cannot_be_is_refused(repo, refused, expression):
    repo.save("a")
    with refused(400):
        repo.head(expression)


def test_the_log_goes_back_to_the_first_commit(repo):
    for path in "abc":
        repo.save(path)
    assert messages(repo.log()) == ["Save c", "Save b", "Save a", "Repository created"]
    assert messages(repo.log("main~2")) == ["Save a", "Repository created"]


def test_the_log_comes_page_by_page(repo):
    for path in "abcd":
        repo.save(path)
    api = repo.sdk.refs_api
    page = api.log_commits(repo.id, "main", amount=2)
    assert messages(page.results) == ["Save d", "Save c"]
    assert (page.pagination.has_more, page.pagination.results) == (True, 2)
    assert page.pagination.next_offset == page.results[-1].id
    rest = repo.log(after=page.pagination.next_offset)
    assert messages(rest) == ["Save b", "Save a", "Repository created"]
    limited = api.log_commits(repo.id, "main", amount=2, limit=True)
    assert messages(limited.results) == ["Save d", "Save c"]
    assert limited.pagination.has_more is False


def test_the_log_of_a_merge_follows_both_sides_or_the_first(repo):
    repo.branch("side")
    repo.save("b", branch="side")
    repo.save("a")
    repo.merge("side", message="Merged")
    assert set(messages(repo.log())) == {"Merged", "Save a", "Save b", "Repository created"}
    assert messages(repo.log(first_parent=True)) == ["Merged", "Save a", "Repository created"]


def test_the_log_is_narrowed_to_objects_and_prefixes(repo):
    for path in ("dir/a", "dir/b", "dirt", "other"):
        repo.save(path)
    repo.delete("dir/a")
    repo.commit("Remove dir/a")
    assert messages(repo.log(objects=["dir/a"])) == ["Remove dir/a", "Save dir/a"]
    assert messages(repo.log(prefixes=["dir/"])) == ["Remove dir/a", "Save dir/b", "Save dir/a"]
    both = repo.log(objects=["other", "dir/b"], prefixes=["dirt"])
    assert messages(both) == ["Save other", "Save dirt", "Save dir/b"]


def test_the_log_ends_where_asked(repo):
    commits = [repo.save(path) for path in "abcd"]
    assert messages(repo.log(stop_at=commits[1].id)) == ["Save d", "Save c", "Save b"]
    later = dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)
    assert repo.log(since=later) == []
    earlier = later - dt.timedelta(hours=2)
    assert len(repo.log(since=earlier)) == 5


def test_the_log_of_what_is_unknown_is_not_found(repo, refused):
    with refused(404, "not found"):
        repo.log("nope")
