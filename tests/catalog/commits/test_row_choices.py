"""Merges with choices for rows: they are bound to the versions that were listed."""

import pytest

from anabranch.errors import Conflict, Denied, Invalid, MergeConflict, NoChanges, NotFound

BASE = b"id,a,b\n1,x,x\n2,x,x\n3,x,x\n"
THEIRS = b"id,a,b\n1,s,x\n2,s,x\n3,x,s\n"
OURS = b"id,a,b\n1,d,x\n2,d,x\n3,x,x\n4,d,d\n"


def save(lake, branch, **bodies):
    for path, body in bodies.items():
        lake.objects.upload("sea", branch, path, [body])
    return lake.commits.commit("sea", branch, message="m", committer="ada")


@pytest.fixture
def apart(lake):
    """Branches dev and main changed the rows 1 and 2 of a table, and dev another object."""
    save(lake, "main", t=BASE, other=b"1")
    lake.branches.create("sea", "dev", "main")
    save(lake, "dev", t=THEIRS, more=b"1")
    save(lake, "main", t=OURS)
    return lake


def rows(lake, **options):
    options = {"file_format": "csv", "amount": 10, **options}
    return lake.refs.row_conflicts("sea", "dev", "main", "t", **options)


def resolution(page, *sides, **fields):
    choices = [{"key": row.key, "take": side} for row, side in zip(page.items, sides, strict=True)]
    rule = {"path": "t", "strategy": "rows", "format": "csv", "key": page.key}
    return {**rule, "versions": dict(page.versions), "choices": choices, **fields}


def merge(lake, *resolutions, source="dev"):
    return lake.refs.merge("sea", source, "main", committer="ada", resolutions=resolutions)


def content(lake, path="t"):
    return lake.objects.open("sea", "main", path).read_bytes()


def test_a_merge_applies_what_is_chosen_and_nothing_else(apart):
    page = rows(apart)
    assert [row.key["id"] for row in page.items] == ["1", "2"]
    assert set(page.versions) == {"base", "source", "destination"}
    chosen = resolution(page, "source", "destination")
    preview = apart.refs.preview_merge("sea", "dev", "main", resolutions=[chosen])
    assert [tuple(each) for each in preview.settled] == [("t", "rows")]
    head = apart.branches.get("sea", "main").commit_id
    merged = merge(apart, chosen)
    assert content(apart) == b"id,a,b\n1,s,x\n2,d,x\n3,x,s\n4,d,d\n"
    assert content(apart, "more") == b"1"
    assert apart.commits.get("sea", merged).parents[0] == head


def test_pages_are_of_the_same_versions(apart):
    first = rows(apart, amount=1)
    assert first.has_more
    second = rows(apart, amount=1, after=first.next_offset)
    assert [row.key["id"] for row in (*first.items, *second.items)] == ["1", "2"]
    assert not second.has_more
    with pytest.raises(Invalid, match="next_offset"):
        rows(apart, after="1")
    with pytest.raises(Invalid, match="next_offset"):
        rows(apart, key=["a"], after=first.next_offset)
    save(apart, "main", t=OURS.replace(b"4,d,d", b"4,d,e"))
    with pytest.raises(Conflict, match="the destination of 't' changed since") as outdated:
        rows(apart, after=first.next_offset)
    assert outdated.value.kind == "outdated_choices"


@pytest.mark.parametrize("side", ["source", "destination"])
def test_choices_for_versions_that_changed_since_are_refused(apart, side):
    chosen = resolution(rows(apart), "source", "source")
    branch = {"source": "dev", "destination": "main"}[side]
    save(apart, branch, t=content(apart).replace(b"4,d,d", b"5,e,e").replace(b"2,d", b"2,q"))
    head = apart.branches.get("sea", "main").commit_id
    for attempt in (
        lambda: merge(apart, chosen),
        lambda: apart.refs.preview_merge("sea", "dev", "main", resolutions=[chosen]),
    ):
        with pytest.raises(Conflict, match=f"the {side} of 't' changed since") as outdated:
            attempt()
        assert outdated.value.kind == "outdated_choices"
    assert apart.branches.get("sea", "main").commit_id == head


def test_choices_hold_while_other_paths_change(apart):
    chosen = resolution(rows(apart), "source", "source")
    save(apart, "main", other=b"2")
    save(apart, "dev", more=b"2")
    merge(apart, chosen)
    assert content(apart) == b"id,a,b\n1,s,x\n2,s,x\n3,x,s\n4,d,d\n"
    assert content(apart, "more") == b"2"


def test_choices_for_a_path_that_no_longer_conflicts_are_refused(apart):
    chosen = resolution(rows(apart), "source", "source")
    save(apart, "main", t=THEIRS)
    head = apart.branches.get("sea", "main").commit_id
    with pytest.raises(Conflict, match="'t' is not in conflict") as outdated:
        merge(apart, chosen)
    assert outdated.value.kind == "outdated_choices"
    with pytest.raises(Conflict, match="'t' is not in conflict"):
        apart.refs.preview_merge("sea", "dev", "main", resolutions=[chosen])
    assert apart.branches.get("sea", "main").commit_id == head
    with pytest.raises(NotFound) as unknown:
        rows(apart)
    assert unknown.value.kind == "conflict_not_found"


def test_choices_do_not_apply_to_a_merge_that_needs_none(apart):
    chosen = resolution(rows(apart), "source", "source")
    apart.branches.create("sea", "ahead", "main")
    save(apart, "ahead", new=b"1")
    with pytest.raises(Conflict, match="'t' is not in conflict"):
        merge(apart, chosen, source="ahead")
    with pytest.raises(NoChanges):
        merge(apart, chosen, source="main")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"choices": [{"key": {"id": "1"}, "take": "source"}]}, ""),
        ({"choices": []}, ""),
        ({"choices": [{"key": {"id": "7"}, "take": "source"}]}, "which is not in conflict"),
        (
            {"choices": [{"key": {"id": "1"}, "cells": {"b": "source"}}]},
            "the column 'b' is not in conflict there",
        ),
    ],
)
def test_incomplete_choices_leave_the_conflict_open(apart, fields, reason):
    chosen = resolution(rows(apart), "source", "source", **fields)
    head = apart.branches.get("sea", "main").commit_id
    with pytest.raises(MergeConflict) as refused:
        merge(apart, chosen)
    (conflict,) = refused.value.conflicts
    assert (conflict.path, conflict.strategy) == ("t", "rows")
    assert reason in conflict.reason
    if not reason:
        missing = [detail.key["id"] for detail in conflict.details]
        assert missing == ["1", "2"][len(fields["choices"]) :]
    assert apart.branches.get("sea", "main").commit_id == head


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"choices": [{"key": {"id": "1"}, "take": "mine"}]}, r"resolutions\[0\]: option choices"),
        ({"versions": "x"}, r"resolutions\[0\]: versions must have"),
        ({"versions": {"source": 1}}, "versions must have"),
        ({"strategy": "source-wins"}, "has no option"),
    ],
)
def test_malformed_choices_are_refused(apart, fields, reason):
    with pytest.raises(Invalid, match=reason):
        merge(apart, resolution(rows(apart), "source", "source", **fields))


@pytest.mark.slow
def test_choices_need_versions(apart):
    chosen = resolution(rows(apart), "source", "source")
    del chosen["versions"]
    with pytest.raises(Invalid, match="need the versions"):
        merge(apart, chosen)
    versions = dict(rows(apart).versions)
    with pytest.raises(Invalid, match="reads no content"):
        merge(apart, {"path": "t", "strategy": "source-wins", "versions": versions})


def test_a_file_of_rules_has_no_choices(apart):
    rule = b"rules:\n  - {path: t, strategy: rows, format: csv, choices: []}\n"
    apart.objects.upload("sea", "main", "_lakefs_merge.yaml", [rule])
    apart.commits.commit("sea", "main", message="m", committer="ada")
    with pytest.raises(Invalid, match="need the versions"):
        merge(apart)


@pytest.mark.slow
def test_a_pull_request_is_merged_with_choices(apart):
    pull = apart.pulls.create("sea", source="dev", destination="main", title="t", author="ada")
    chosen = resolution(rows(apart), "base", "delete")
    apart.pulls.merge("sea", pull.id, committer="ada", resolutions=[chosen])
    assert content(apart) == b"id,a,b\n1,x,x\n3,x,s\n4,d,d\n"


def test_what_is_no_table_has_no_rows(apart):
    save(apart, "main", t=b"\0\1")
    with pytest.raises(Invalid) as refused:
        rows(apart, file_format="")
    assert refused.value.kind == "not_comparable"
    with pytest.raises(Invalid, match="format"):
        rows(apart, file_format="tarball")


def test_rows_are_listed_with_the_right_to_read_the_object(apart):
    class NoRights:
        def may_read(self, path):
            return path != "t"

    with pytest.raises(Denied):
        rows(apart, rights=NoRights())
