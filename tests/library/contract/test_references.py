"""Repositories, branches, tags, commits, differences and merges: one contract for all lakes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from anabranch.errors import MergeConflict, NoChanges, NotFound
from anabranch.model.commits.change import Change


def put(lake, repository, branch, **files):
    for path, text in files.items():
        lake.objects.upload(repository, branch, path, [text.encode()])


def save(lake, repository, branch, **files):
    put(lake, repository, branch, **files)
    return lake.commits.commit(repository, branch, message=f"{sorted(files)}").id


def kinds(page):
    return [(change.kind, change.path) for change in page.items]


def test_repositories_are_created_listed_and_deleted(lake, sea):
    created = lake.repositories.get(sea)
    assert (created.id, created.default_branch, created.read_only) == (sea, "main", False)
    assert created.shown_namespace == f"local://data/{sea}"
    other = lake.repositories.create(
        f"{sea}-b", f"local://elsewhere/{sea}", default_branch="trunk", read_only=True
    )
    assert (other.read_only, other.default_branch) == (True, "trunk")
    assert [each.id for each in lake.repositories.list(prefix=sea, amount=10).items] == [
        sea,
        f"{sea}-b",
    ]
    page = lake.repositories.list(prefix=sea, amount=1)
    assert (page.has_more, page.next_offset) == (True, sea)
    assert lake.repositories.list(prefix=sea, after=sea, amount=1).items == [other]
    assert lake.repositories.list(search=f"{sea}-b", amount=9).items == [other]
    lake.repositories.delete(f"{sea}-b", force=True)
    with pytest.raises(NotFound):
        lake.repositories.get(f"{sea}-b")


def test_metadata_of_a_repository_are_set_key_by_key(lake, sea):
    assert lake.repositories.metadata(sea) == {}
    lake.repositories.set_metadata(sea, {"a": "1", "ü": "\n"})
    lake.repositories.set_metadata(sea, {"a": "2"})
    assert lake.repositories.metadata(sea) == {"a": "2", "ü": "\n"}
    lake.repositories.delete_metadata(sea, ["a", "missing"])
    assert lake.repositories.metadata(sea) == {"ü": "\n"}


def test_branches_begin_at_a_commit_and_may_be_hidden(lake, sea):
    head = save(lake, sea, "main", a="1")
    made = lake.branches.create(sea, "dev", "main~")
    assert (made.id, made.hidden) == ("dev", False)
    assert lake.branches.get(sea, "dev").commit_id == made.commit_id != head
    hidden = lake.branches.create(sea, "dev:secret-1.2", "main", hidden=True)
    assert hidden.hidden
    assert lake.branches.get(sea, "dev:secret-1.2").hidden
    assert [each.id for each in lake.branches.list(sea, amount=9).items] == ["dev", "main"]
    shown = lake.branches.list(sea, prefix="dev", show_hidden=True, amount=9).items
    assert [(each.id, each.hidden) for each in shown] == [
        ("dev", False),
        ("dev:secret-1.2", True),
    ]
    lake.branches.delete(sea, "dev")
    with pytest.raises(NotFound):
        lake.branches.get(sea, "dev")


def test_tags_of_any_name_are_read_as_they_were_made(lake, sea):
    head = save(lake, sea, "main", a="1")
    names = ["v1", "v%5E1", "100%", "a%b%25", "ü-1", "a:b", "it's+(x)&=;,!"]
    for name in names:
        made = lake.tags.create(sea, name, "main")
        assert (made.id, made.commit_id) == (name, head)
        assert lake.tags.get(sea, name) == made
        assert lake.commits.get(sea, name).id == head
    assert {each.id for each in lake.tags.list(sea, amount=100).items} == set(names)
    for name in names:
        lake.tags.delete(sea, name)
    assert lake.tags.list(sea, amount=100).items == []


def test_commits_have_what_they_were_given(lake, sea):
    put(lake, sea, "main", a="1")
    made = lake.commits.commit(
        sea, "main", message="Grüße\n\nx", metadata={"k": "v", "ü": "✓"}, date=1_600_000_000
    )
    assert (made.committer, made.message) == ("tester", "Grüße\n\nx")
    assert (made.metadata, made.creation_date) == ({"k": "v", "ü": "✓"}, 1_600_000_000)
    assert len(made.parents) == 1
    assert made.generation == 2
    assert made.metarange_id
    assert lake.commits.get(sea, "main").id == made.id
    with pytest.raises(NoChanges):
        lake.commits.commit(sea, "main", message="none")
    empty = lake.commits.commit(sea, "main", message="", allow_empty=True)
    assert empty.parents == (made.id,)


def test_a_log_is_paged_and_limited(lake, sea):
    commits = [save(lake, sea, "main", **{name: "1"}) for name in ("a", "b", "c")]

    def log(**options):
        return [each.id for each in lake.commits.log(sea, "main", **options).items]

    assert log(amount=2) == commits[:0:-1]
    page = lake.commits.log(sea, "main", amount=2)
    assert page.has_more
    assert log(after=page.next_offset, amount=1) == commits[:1]
    assert log(objects=["b"], amount=9) == [commits[1]]
    assert log(prefixes=["a", "c"], amount=9) == [commits[2], commits[0]]
    assert log(stop_at=commits[1], amount=9) == commits[:0:-1]
    assert log(since=datetime(2100, 1, 1, tzinfo=UTC), amount=9) == []
    assert len(log(since=datetime(2000, 1, 1, tzinfo=UTC), first_parent=True, amount=9)) == 4
    assert lake.commits.log(sea, "main", amount=1, limit=True).items[0].id == commits[-1]


def test_differences_have_the_objects_of_both_sides(lake, sea):
    save(lake, sea, "main", a="1", b="22", **{"c/1": "x"})
    lake.branches.create(sea, "dev", "main")
    lake.objects.delete(sea, "dev", "a")
    lake.objects.upload(sea, "dev", "b", [b"333"], content_type="text/x", metadata={"M": "ü"})
    put(lake, sea, "dev", **{"c/2": "y", "d": ""})
    uncommitted = lake.branches.changes(sea, "dev", amount=10)
    lake.commits.commit(sea, "dev", message="m")
    page = lake.refs.diff(sea, "main", "dev", amount=10)
    expected = [("removed", "a"), ("changed", "b"), ("added", "c/2"), ("added", "d")]
    assert kinds(page) == kinds(uncommitted) == expected
    for changes in (page, uncommitted):
        removed, changed, _, added = changes.items
        assert (removed.left.size, removed.right) == (1, None)
        assert (changed.left.size, changed.right.size) == (2, 3)
        assert (changed.right.content_type, changed.right.metadata) == ("text/x", {"M": "ü"})
        assert changed.left.checksum == lake.objects.stat(sea, "main", "b").entry.checksum
        assert (added.left, added.right.size) == (None, 0)
    folders = lake.refs.diff(sea, "main", "dev", delimiter="/", prefix="c", amount=10)
    assert folders.items == [Change("prefix_changed", "c/")]
    assert kinds(lake.refs.diff(sea, "main", "dev", after="b", amount=1)) == [expected[2]]
    assert lake.refs.diff(sea, "main", "dev", amount=1).next_offset == "a"
    assert kinds(lake.refs.diff(sea, "dev", "main", two_dot=True, amount=10))[0] == ("added", "a")


def test_a_merge_moves_the_destination_and_names_conflicts(lake, sea):
    save(lake, sea, "main", a="1", b="1")
    lake.branches.create(sea, "dev", "main")
    save(lake, sea, "dev", a="2", c="3")
    ours, theirs, base = lake.refs.merge_base(sea, "dev", "main")
    assert (ours, base) == (lake.branches.get(sea, "dev").commit_id, theirs)
    preview = lake.refs.preview_merge(sea, "dev", "main")
    assert preview[:3] == (1, 1, 0)
    assert preview.conflict_count == 0
    merged = lake.refs.merge(sea, "dev", "main", message="in", metadata={"k": "v"})
    commit = lake.commits.get(sea, "main")
    assert (commit.id, commit.message, commit.metadata["k"]) == (merged, "in", "v")
    assert commit.parents == (theirs, ours)
    save(lake, sea, "main", a="3", b="3")
    save(lake, sea, "dev", a="4", b="4")
    with pytest.raises(MergeConflict) as refused:
        lake.refs.merge(sea, "dev", "main")
    assert (refused.value.paths, refused.value.count) == (("a", "b"), 2)
    found = lake.refs.merge_conflicts(sea, "dev", "main", amount=1)
    assert found.has_more
    (conflict,) = found.items
    assert (conflict.path, conflict.kind) == ("a", "both_changed")
    sizes = [side.entry.size for side in (conflict.base, conflict.source, conflict.destination)]
    assert sizes == [1, 1, 1]
    assert lake.refs.preview_merge(sea, "dev", "main").conflict_count == 2
    rules = [{"path": "a", "strategy": "source-wins"}]
    with pytest.raises(MergeConflict) as refused:
        lake.refs.merge(sea, "dev", "main", resolutions=rules)
    assert [each.path for each in refused.value.conflicts] == ["b"]
    assert refused.value.conflicts[0].source.entry.size == 1
    settled = lake.refs.preview_merge(sea, "dev", "main", resolutions=rules).settled
    assert [tuple(each) for each in settled] == [("a", "source-wins")]
    lake.refs.merge(sea, "dev", "main", strategy="source-wins", squash=True)
    assert lake.objects.open(sea, "main", "b").read_bytes() == b"4"
    assert len(lake.commits.get(sea, "main").parents) == 1


@pytest.mark.sample(1)
def test_rows_of_tables_are_compared(lake, sea):
    save(lake, sea, "main", **{"t.csv": "k,v\na,1\nb,2\nc,3\n"})
    lake.branches.create(sea, "dev", "main")
    put(lake, sea, "dev", **{"t.csv": "k,v\na,1\nb,9\nd,4\n"})
    page = lake.refs.diff_rows(sea, "main", "dev$", "t.csv", key=["k"], amount=10)
    assert [(row.kind, row.key["k"], row.columns) for row in page.items] == [
        ("changed", "b", ["v"]),
        ("removed", "c", []),
        ("added", "d", []),
    ]
    assert (page.key, page.matched_by) == (["k"], "given")
    first = lake.refs.diff_rows(sea, "main", "dev$", "t.csv", amount=1)
    assert first.has_more
    assert first.items[0].key == {"k": "b"}
    rest = lake.refs.diff_rows(sea, "main", "dev$", "t.csv", after=first.next_offset, amount=9)
    assert [row.kind for row in rest.items] == ["removed", "added"]
    whole = lake.refs.diff_rows(sea, "main", "dev$", "t.csv", whole_rows=True, amount=9)
    assert whole.matched_by == "whole_rows"


def test_changes_are_dropped_reverted_and_picked(lake, sea):
    first = save(lake, sea, "main", a="1")
    second = save(lake, sea, "main", b="2")
    put(lake, sea, "main", **{"c/1": "x", "c/2": "x", "d": "x"})
    lake.branches.reset(sea, "main", "object", "d")
    assert [change.path for change in lake.branches.changes(sea, "main", amount=9).items] == [
        "c/1",
        "c/2",
    ]
    lake.branches.reset(sea, "main", "common_prefix", "c/")
    assert lake.branches.changes(sea, "main", amount=9).items == []
    put(lake, sea, "main", e="x")
    lake.branches.reset(sea, "main", "reset")
    one, other = lake.branches.revert(sea, "main", second, first, message="undo")
    assert other.parents == (one.id,)
    assert (one.message, one.committer) == ("undo", "tester")
    assert [each for page in lake.objects.pages(sea, "main") for each in page.items] == []
    picked = lake.branches.cherry_pick(sea, "main", first, metadata={"from": "first"})
    assert picked.metadata["from"] == "first"
    assert lake.objects.open(sea, "main", "a").read_bytes() == b"1"
    lake.branches.hard_reset(sea, "main", first)
    assert lake.branches.get(sea, "main").commit_id == first


@pytest.mark.slow
def test_rows_in_conflict_are_listed_and_chosen(lake, sea):
    save(lake, sea, "main", **{"t.csv": "k,v\na,1\nb,2\nc,3\n"})
    lake.branches.create(sea, "dev", "main")
    save(lake, sea, "dev", **{"t.csv": "k,v\na,4\nb,5\nc,3\n"})
    save(lake, sea, "main", **{"t.csv": "k,v\na,6\nc,3\n"})
    first = lake.refs.row_conflicts(sea, "dev", "main", "t.csv", amount=1)
    assert (first.key, first.has_more) == (["k"], True)
    second = lake.refs.row_conflicts(
        sea, "dev", "main", "t.csv", key=["k"], amount=5, after=first.next_offset
    )
    assert second.versions == first.versions
    rows = [*first.items, *second.items]
    assert [(row.key["k"], row.kind, row.columns) for row in rows] == [
        ("a", "both_changed", ["v"]),
        ("b", "changed_deleted", []),
    ]
    assert rows[1].destination is None
    chosen = {"path": "t.csv", "strategy": "rows", "key": first.key, "versions": first.versions}
    choices = [
        {"key": rows[0].key, "cells": {"v": "source"}},
        {"key": rows[1].key, "take": "base"},
    ]
    lake.refs.merge(sea, "dev", "main", resolutions=[{**chosen, "choices": choices}])
    merged = lake.objects.open(sea, "main", "t.csv").read_bytes()
    assert merged == b"k,v\na,4\nc,3\nb,2\n"
