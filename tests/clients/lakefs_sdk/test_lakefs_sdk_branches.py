"""lakefs-sdk: branches, what is uncommitted on them, and their reset."""

from __future__ import annotations

import lakefs_sdk
import pytest


def uncommitted(repo, branch="main", **parameters):
    listed = repo.sdk.branches_api.diff_branch(repo.id, branch, **parameters)
    return [(change.type, change.path) for change in listed.results]


def reset(repo, kind, path=None, branch="main"):
    creation = lakefs_sdk.ResetCreation(type=kind, path=path)
    repo.sdk.branches_api.reset_branch(repo.id, branch, creation)


def names(repo, **parameters):
    return [each.id for each in repo.sdk.branches_api.list_branches(repo.id, **parameters).results]


def test_a_branch_begins_where_its_source_is(repo):
    head = repo.save("a")
    assert repo.branch("side") == head.id
    found = repo.sdk.branches_api.get_branch(repo.id, "side")
    assert (found.id, found.commit_id) == ("side", head.id)
    assert repo.paths("side") == ["a"]


def test_a_branch_begins_at_any_commit(repo):
    first, second = repo.save("a"), repo.save("b")
    repo.sdk.tags_api.create_tag(repo.id, lakefs_sdk.TagCreation(id="v1", ref=first.id))
    sources = {"by-id": first.id, "by-prefix": first.id[:12], "by-tag": "v1", "back": "main~1"}
    for branch, source in sources.items():
        assert repo.branch(branch, source) == first.id
    assert repo.branch("newest", "main@") == second.id


def test_uncommitted_changes_stay_on_their_branch(repo):
    repo.put("a")
    repo.branch("side")
    assert repo.paths("side") == []
    repo.put("b", branch="side")
    assert repo.paths("main") == ["a"]


def test_a_branch_is_made_once(repo, refused):
    repo.branch("side")
    with refused(409, "branch already exists: not unique"):
        repo.branch("side")


def test_a_branch_needs_a_source(repo, refused):
    with refused(404, "source reference 'nope': not found"):
        repo.branch("side", "nope")
    assert names(repo) == ["main"]


def test_a_branch_is_not_named_like_a_tag(repo, refused):
    repo.sdk.tags_api.create_tag(repo.id, lakefs_sdk.TagCreation(id="v1", ref="main"))
    with refused(409, "conflict found"):
        repo.branch("v1")


@pytest.mark.parametrize("name", ["-x", "a b", "a/b", "a..b", "é", "a~1", "a^", "a@", ""])
def test_a_bad_name_is_refused(repo, refused, name):
    with refused(400):
        repo.branch(name)
    assert names(repo) == ["main"]


@pytest.mark.parametrize("name", ["dev:joe-bugfix-1234", "dev:jane-before-v2.3-merge"])
def test_names_with_a_colon_work_everywhere(repo, name):
    repo.branch(name)
    commit = repo.save("a", branch=name)
    assert repo.sdk.branches_api.get_branch(repo.id, name).commit_id == commit.id
    assert repo.get("a", f"{name}~0") == b"content"
    assert repo.head(repo.merge(name)).parents[1] == commit.id
    assert repo.paths("main") == ["a"]
    repo.sdk.branches_api.delete_branch(repo.id, name)
    assert names(repo) == ["main"]


def test_branches_are_listed_page_by_page(repo):
    for name in ("dev-b", "dev-a", "other"):
        repo.branch(name)
    assert names(repo) == ["dev-a", "dev-b", "main", "other"]
    assert names(repo, prefix="dev-") == ["dev-a", "dev-b"]
    assert names(repo, after="dev-b", amount=1) == ["main"]
    page = repo.sdk.branches_api.list_branches(repo.id, amount=2).pagination
    assert (page.has_more, page.next_offset, page.results) == (True, "dev-b", 2)


def test_a_hidden_branch_is_not_listed_and_works(repo):
    repo.branch("secret", hidden=True)
    assert names(repo) == ["main"]
    assert names(repo, show_hidden=True) == ["main", "secret"]
    repo.save("a", branch="secret")
    repo.merge("secret")
    assert repo.paths() == ["a"]


def test_a_deleted_branch_is_gone_with_its_changes(repo, refused):
    repo.branch("side")
    repo.put("a", branch="side")
    repo.sdk.branches_api.delete_branch(repo.id, "side")
    with refused(404, "branch not found"):
        repo.sdk.branches_api.get_branch(repo.id, "side")
    with refused(404, "branch not found"):
        repo.sdk.branches_api.delete_branch(repo.id, "side")
    repo.branch("side")
    assert repo.paths("side") == []


def test_the_default_branch_stays(repo, refused):
    with refused(403, "cannot delete repository default branch"):
        repo.sdk.branches_api.delete_branch(repo.id, "main")
    assert names(repo) == ["main"]


def test_uncommitted_changes_have_their_kind(repo):
    for path in ("changed", "kept", "removed", "rewritten"):
        repo.put(path, b"one")
    repo.commit()
    repo.put("added", b"three")
    repo.put("changed", b"other")
    repo.put("rewritten", b"one")
    repo.delete("removed")
    repo.put("come-and-gone")
    repo.delete("come-and-gone")
    listed = repo.sdk.branches_api.diff_branch(repo.id, "main").results
    assert [(each.type, each.path, each.path_type, each.size_bytes) for each in listed] == [
        ("added", "added", "object", 5),
        ("changed", "changed", "object", 5),
        ("removed", "removed", "object", 0),  # as in lakeFS
    ]


def test_uncommitted_changes_are_listed_by_prefix_delimiter_and_page(repo):
    for path in ("a/1", "a/2", "b/1", "c"):
        repo.put(path)
    assert uncommitted(repo, prefix="a/") == [("added", "a/1"), ("added", "a/2")]
    assert uncommitted(repo, delimiter="/") == [
        ("prefix_changed", "a/"),
        ("prefix_changed", "b/"),
        ("added", "c"),
    ]
    page = repo.sdk.branches_api.diff_branch(repo.id, "main", amount=3)
    assert (page.pagination.has_more, page.pagination.next_offset) == (True, "b/1")
    assert uncommitted(repo, after="b/1") == [("added", "c")]


def test_reset_takes_back_an_object_a_prefix_or_all(repo):
    repo.save("kept", b"one")
    for path in ("dir/a", "dir/b", "dirt", "kept", "new"):
        repo.put(path, b"two")
    repo.delete("dirt")
    repo.put("dirt", b"two")
    reset(repo, "object", "kept")
    assert repo.get("kept") == b"one"
    reset(repo, "common_prefix", "dir/")
    assert uncommitted(repo) == [("added", "dirt"), ("added", "new")]
    reset(repo, "reset")
    assert uncommitted(repo) == []
    assert repo.paths() == ["kept"]


def test_reset_brings_back_what_was_deleted(repo):
    repo.save("a")
    repo.delete("a")
    assert repo.paths() == []
    reset(repo, "object", "a")
    assert repo.get("a") == b"content"


def test_reset_needs_a_branch(repo, refused):
    with refused(404, "branch not found"):
        reset(repo, "reset", branch="nope")
