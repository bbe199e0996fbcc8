"""Branches and tags: names, sources, conflicts, resets."""

from __future__ import annotations

import pytest

from anabranch.errors import AlreadyExists, Conflict, Denied, Invalid, NotFound


def committed(lake, branch, path, body=b"1"):
    lake.objects.upload("sea", branch, path, [body])
    return lake.commits.commit("sea", branch, message=path, committer="ada")


@pytest.mark.parametrize(
    "name", ["dev:joe-bugfix-1234", "dev:jane-before-v2.3-merge", "a", "_", "0", "a-", "a:b:c"]
)
def test_valid_names_are_accepted(lake, name):
    assert lake.branches.create("sea", name, "main").id == name
    lake.objects.upload("sea", name, "a", [b"1"])
    lake.commits.commit("sea", name, message="m", committer="ada")
    assert lake.commits.get("sea", f"{name}~1").message == "Repository created"
    lake.branches.delete("sea", name)
    assert lake.tags.create("sea", name, "main").id == name


@pytest.mark.parametrize(
    "name", ["", "-a", "a b", "a/b", "a.b", "a~1", "a^", "a@", "a$", "é", "a:", ":a", "a\n"]
)
def test_invalid_branch_names_are_rejected(lake, name):
    with pytest.raises(Invalid):
        lake.branches.create("sea", name, "main")
    assert [branch.id for branch in lake.branches.list("sea", amount=10).items] == ["main"]


@pytest.mark.parametrize("name", ["", "@", "a.", "a.lock", "a..b", "a/b", "a@{b", "a b", "a\x01"])
def test_invalid_tag_names_are_rejected(lake, name):
    with pytest.raises(Invalid):
        lake.tags.create("sea", name, "main")


def test_new_branch_points_at_the_commit_of_its_source(lake):
    first = committed(lake, "main", "a")
    second = committed(lake, "main", "b")
    for source, commit in (
        ("main", second),
        ("main@", second),
        ("main~1", first),
        (second.id, second),
        (first.id[:12], first),
    ):
        lake.branches.create("sea", "x", source)
        assert lake.branches.get("sea", "x").commit_id == commit.id
        lake.branches.delete("sea", "x")
    with pytest.raises(NotFound, match="source reference 'nope': not found"):
        lake.branches.create("sea", "x", "nope")
    with pytest.raises(Invalid):
        lake.branches.create("sea", "x", "main$")


def test_uncommitted_changes_stay_on_their_branch(lake):
    lake.objects.upload("sea", "main", "a", [b"1"])
    lake.branches.create("sea", "x", "main")
    with pytest.raises(NotFound):
        lake.objects.stat("sea", "x", "a")
    assert lake.objects.stat("sea", "main", "a").entry.size == 1
    assert lake.objects.stat("sea", "main$", "a").entry.size == 1
    with pytest.raises(NotFound):
        lake.objects.stat("sea", "main@", "a")


def test_branch_and_tag_cannot_share_a_name(lake):
    head = committed(lake, "main", "a")
    lake.branches.create("sea", "x", "main")
    lake.tags.create("sea", "v", "main")
    with pytest.raises(AlreadyExists, match="branch already exists: not unique"):
        lake.branches.create("sea", "x", "main")
    with pytest.raises(AlreadyExists, match="tag already exists: not unique"):
        lake.tags.create("sea", "v", "main")
    with pytest.raises(Conflict, match="tag ID v: conflict found"):
        lake.branches.create("sea", "v", "main")
    with pytest.raises(Conflict, match="branch name x: conflict found"):
        lake.tags.create("sea", "x", "main")
    with pytest.raises(Conflict, match="commit ID"):
        lake.branches.create("sea", head.id, "main")
    with pytest.raises(Conflict, match="commit ID"):
        lake.tags.create("sea", head.id, "main")


def test_a_branch_wins_over_the_beginning_of_a_commit_id(lake):
    head = committed(lake, "main", "a")
    lake.branches.create("sea", head.id[:8], "main~1")
    assert lake.commits.get("sea", head.id[:8]).message == "Repository created"
    assert lake.commits.get("sea", head.id[:9]).id == head.id
    assert lake.commits.get("sea", head.id).id == head.id


def test_default_branch_cannot_be_deleted(lake):
    with pytest.raises(Denied, match="cannot delete repository default branch"):
        lake.branches.delete("sea", "main")


def test_show_hidden_lists_hidden_branches(lake):
    lake.branches.create("sea", "tx", "main", hidden=True)
    names = lambda **by: [b.id for b in lake.branches.list("sea", amount=9, **by).items]  # noqa: E731
    assert names() == ["main"]
    assert names(show_hidden=True) == ["main", "tx"]


def test_recreated_branch_has_no_staged_changes(lake):
    lake.branches.create("sea", "x", "main")
    lake.objects.upload("sea", "x", "a", [b"1"])
    lake.branches.delete("sea", "x")
    lake.branches.create("sea", "x", "main")
    assert lake.branches.changes("sea", "x", amount=9).items == []
    with pytest.raises(NotFound, match="branch not found"):
        lake.branches.delete("sea", "nope")


def test_tags_do_not_move(lake):
    first = committed(lake, "main", "a")
    lake.tags.create("sea", "v1", "main")
    committed(lake, "main", "b")
    assert lake.tags.get("sea", "v1").commit_id == first.id
    assert [tag.id for tag in lake.tags.list("sea", amount=9).items] == ["v1"]
    lake.tags.delete("sea", "v1")
    with pytest.raises(NotFound, match="tag not found"):
        lake.tags.get("sea", "v1")


def test_reset_by_kind(lake):
    committed(lake, "main", "d/a")
    for path in ("d/a", "d/b", "e"):
        lake.objects.upload("sea", "main", path, [b"new"])
    changes = lambda: [c.path for c in lake.branches.changes("sea", "main", amount=9).items]  # noqa: E731
    lake.branches.reset("sea", "main", "object", "d/b")
    assert changes() == ["d/a", "e"]
    lake.branches.reset("sea", "main", "common_prefix", "d/")
    assert changes() == ["e"]
    assert lake.objects.open("sea", "main", "d/a").read_bytes() == b"1"
    lake.branches.reset("sea", "main", "reset")
    assert changes() == []
    with pytest.raises(Invalid, match="unknown reset type"):
        lake.branches.reset("sea", "main", "everything")


def test_reset_drops_many_changes(lake):
    for number in range(2_500):
        lake.staging.stage(
            "sea", "main", f"p/{number:05}", address="local://sea/x", checksum="c", size=1
        )
    lake.objects.upload("sea", "main", "q", [b"1"])
    lake.branches.reset("sea", "main", "common_prefix", "p/")
    assert [c.path for c in lake.branches.changes("sea", "main", amount=9).items] == ["q"]
