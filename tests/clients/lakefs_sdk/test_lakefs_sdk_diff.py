"""lakefs-sdk: differences of two references."""

from __future__ import annotations

import hashlib

import pytest


def diff(repo, left, right, **parameters):
    listed = repo.sdk.refs_api.diff_refs(repo.id, left, right, **parameters)
    return [(change.type, change.path) for change in listed.results]


@pytest.fixture
def apart(repo):
    """Two branches that both moved: `side` changed, removed and added; `main` changed one path."""
    for path in ("changed", "both", "kept", "removed"):
        repo.put(path, b"one")
    repo.commit("Common")
    repo.branch("side")
    repo.put("changed", b"other", "side")
    repo.put("both", b"theirs", "side")
    repo.put("new", b"three", "side")
    repo.delete("removed", "side")
    repo.commit("On side", "side")
    repo.put("both", b"ours")
    repo.put("ours", b"ours")
    repo.commit("On main")
    return repo


def test_three_dots_tell_what_a_merge_would_do(apart):
    assert diff(apart, "main", "side") == [
        ("conflict", "both"),
        ("changed", "changed"),
        ("added", "new"),
        ("removed", "removed"),
    ]
    assert diff(apart, "main", "side", type="three_dot") == diff(apart, "main", "side")


def test_two_dots_tell_how_trees_differ(apart):
    assert diff(apart, "main", "side", type="two_dot") == [
        ("changed", "both"),
        ("changed", "changed"),
        ("added", "new"),
        ("removed", "ours"),
        ("removed", "removed"),
    ]


def test_a_commit_does_not_differ_from_itself(apart):
    for kind in ("two_dot", "three_dot"):
        assert diff(apart, "side", "side", type=kind) == []


def test_sizes_are_of_the_right_side_and_of_what_was_removed(apart):
    listed = apart.sdk.refs_api.diff_refs(apart.id, "main", "side", type="two_dot").results
    sizes = {change.path: change.size_bytes for change in listed}
    assert sizes == {"both": 6, "changed": 5, "new": 5, "ours": 4, "removed": 3}


def test_the_right_side_is_described_when_asked_for(apart):
    listed = apart.sdk.refs_api.diff_refs(
        apart.id, "main", "side", type="two_dot", include_right_stats=True
    ).results
    right = {change.path: change.right for change in listed}
    assert right["new"].checksum == hashlib.md5(b"three", usedforsecurity=False).hexdigest()
    assert right["new"].content_type == "application/octet-stream"
    assert right["removed"].checksum == hashlib.md5(b"one", usedforsecurity=False).hexdigest()
    plain = apart.sdk.refs_api.diff_refs(apart.id, "main", "side", type="two_dot").results
    assert [change.right for change in plain] == [None] * 5


def test_a_difference_is_listed_by_prefix_delimiter_and_page(repo):
    repo.branch("side")
    for path in ("a/1", "a/2", "b/1", "b/2", "c"):
        repo.put(path, branch="side")
    repo.commit(branch="side")
    for kind in ("two_dot", "three_dot"):
        assert diff(repo, "main", "side", type=kind, prefix="b/") == [
            ("added", "b/1"),
            ("added", "b/2"),
        ]
        assert diff(repo, "main", "side", type=kind, delimiter="/") == [
            ("prefix_changed", "a/"),
            ("prefix_changed", "b/"),
            ("added", "c"),
        ]
        assert diff(repo, "main", "side", type=kind, delimiter="/", after="a/") == [
            ("prefix_changed", "b/"),
            ("added", "c"),
        ]
        page = repo.sdk.refs_api.diff_refs(repo.id, "main", "side", type=kind, amount=2)
        assert [change.path for change in page.results] == ["a/1", "a/2"]
        assert (page.pagination.has_more, page.pagination.next_offset) == (True, "a/2")


def test_uncommitted_changes_count_only_when_asked_for(repo):
    repo.save("a")
    repo.branch("side")
    repo.put("b", branch="side")
    assert diff(repo, "main", "side") == []
    assert diff(repo, "main", "side$") == [("added", "b")]
    assert diff(repo, "main", "side$", type="two_dot") == [("added", "b")]


def test_any_commits_can_be_compared(repo):
    first, second = repo.save("a"), repo.save("b")
    assert diff(repo, first.id, second.id, type="two_dot") == [("added", "b")]
    assert diff(repo, "main", "main~1", type="two_dot") == [("removed", "b")]
    assert diff(repo, "main", "main~1") == []


@pytest.mark.parametrize(("left", "right"), [("nope", "main"), ("main", "nope")])
def test_an_unknown_side_is_not_found(repo, refused, left, right):
    with refused(404, "not found"):
        diff(repo, left, right)


def test_an_uncommitted_removal_has_no_size(repo):
    """As in lakeFS; between two references it has that of what was removed."""
    repo.save("gone", b"three")
    repo.delete("gone")
    changes = repo.sdk.branches_api.diff_branch(repo.id, "main").results
    assert [(change.path, change.type, change.size_bytes) for change in changes] == [
        ("gone", "removed", 0)
    ]
    repo.commit("Removed")
    changes = repo.sdk.refs_api.diff_refs(repo.id, "main~1", "main").results
    assert [change.size_bytes for change in changes] == [5]
