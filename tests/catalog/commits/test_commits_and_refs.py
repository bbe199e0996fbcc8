"""Use cases of commits, logs, diffs and merges."""

from __future__ import annotations

import pytest

from anabranch.errors import (
    Conflict,
    DirtyBranch,
    Invalid,
    MergeConflict,
    NoChanges,
    NotFound,
)

EMPTY_TREE = "00fb7eff1a97c500eb3ca8d2ef5464131d6b6a5f9512e41eba97843522213b66"


def put(lake, branch, **bodies):
    for path, body in bodies.items():
        if body is None:
            lake.objects.delete("sea", branch, path)
        else:
            lake.objects.upload("sea", branch, path, [body])


def commit(lake, branch="main", **bodies):
    put(lake, branch, **bodies)
    return lake.commits.commit("sea", branch, message=str(sorted(bodies)), committer="ada")


def kinds(page):
    return {change.path: change.kind for change in page.items}


def content(lake, reference):
    page = lake.objects.listing("sea", reference, amount=1000)
    return {
        item.path: lake.objects.open("sea", reference, item.path).read_bytes()
        for item in page.items
    }


def test_a_commit_without_changes_is_refused_unless_allowed(lake):
    with pytest.raises(NoChanges, match="commit: no changes"):
        lake.commits.commit("sea", "main", message="m", committer="ada")
    empty = lake.commits.commit("sea", "main", message="m", committer="ada", allow_empty=True)
    assert empty.metarange_id == EMPTY_TREE
    put(lake, "main", a=b"1")
    put(lake, "main", a=None)
    with pytest.raises(NoChanges):
        lake.commits.commit("sea", "main", message="m", committer="ada")


def test_a_refused_commit_leaves_no_sealed_areas_behind(lake):
    commit(lake, a=b"1")
    put(lake, "main", a=b"1")
    with pytest.raises(NoChanges):
        lake.commits.commit("sea", "main", message="m", committer="ada")
    assert lake.branches.get("sea", "main").sealed_tokens == ()


def test_commit_has_committer_date_and_message(lake):
    put(lake, "main", a=b"1")
    made = lake.commits.commit(
        "sea", "main", message="m", committer="ada", metadata={"k": "v"}, date=1_000_000
    )
    assert (made.committer, made.message, made.metadata) == ("ada", "m", {"k": "v"})
    assert made.creation_date == 1_000_000
    assert made.generation == 2
    assert lake.commits.get("sea", made.id) == made


def test_deleting_everything_commits_the_empty_tree(lake):
    commit(lake, a=b"1", b=b"2")
    assert commit(lake, a=None, b=None).metarange_id == EMPTY_TREE
    assert content(lake, "main") == {}
    assert commit(lake, a=b"3").metarange_id != EMPTY_TREE
    assert content(lake, "main") == {"a": b"3"}


def test_an_empty_commit_of_a_new_repository_has_the_empty_tree(lake):
    """As in lakeFS 1.84, whose first commit alone has none."""
    head = lake.branches.get("sea", "main").commit_id
    assert lake.commits.get("sea", head).metarange_id == ""
    for message in ("one", "two"):
        made = lake.commits.commit(
            "sea", "main", message=message, committer="ada", allow_empty=True
        )
        assert made.metarange_id == EMPTY_TREE
    assert content(lake, "main") == {}


def test_a_source_metarange_needs_a_clean_branch(lake):
    first = commit(lake, a=b"1")
    commit(lake, b=b"2")
    put(lake, "main", c=b"3")
    take = lambda: lake.commits.commit(  # noqa: E731
        "sea", "main", message="m", committer="ada", source_metarange=first.metarange_id
    )
    with pytest.raises(DirtyBranch, match="cannot use source MetaRange"):
        take()
    lake.branches.reset("sea", "main", "reset")
    take()
    assert content(lake, "main") == {"a": b"1"}


def test_the_log_filtered_by_objects_and_prefixes(lake, clock):
    for bodies in ({"a": b"1"}, {"b": b"1"}, {"a": b"2"}, {"b": None}):
        clock.advance(1)
        commit(lake, **bodies)
    log = lambda **by: [c.message for c in lake.commits.log("sea", "main", amount=9, **by).items]  # noqa: E731
    assert log(objects=["a"]) == ["['a']", "['a']"]
    assert log(prefixes=["b"]) == ["['b']", "['b']"]
    assert len(log()) == 5
    page = lake.commits.log("sea", "main", amount=2)
    assert page.has_more
    rest = lake.commits.log("sea", "main", amount=9, after=page.next_offset)
    assert [c.id for c in [*page.items, *rest.items]] == [
        c.id for c in lake.commits.log("sea", "main", amount=9).items
    ]


def test_differences_of_two_and_three_dots(lake):
    commit(lake, a=b"1", b=b"1", c=b"1")
    lake.branches.create("sea", "x", "main")
    commit(lake, "x", a=b"2", d=b"1")
    commit(lake, "main", b=None)
    diff = lambda left, right, **by: kinds(lake.refs.diff("sea", left, right, amount=9, **by))  # noqa: E731
    assert diff("main", "x") == {"a": "changed", "d": "added"}
    assert diff("x", "main") == {"b": "removed"}
    assert diff("main", "x", two_dot=True) == {"a": "changed", "b": "added", "d": "added"}
    commit(lake, "main", a=b"3")
    assert diff("main", "x") == {"a": "conflict", "d": "added"}


def test_a_difference_can_include_what_is_staged(lake):
    commit(lake, a=b"1", b=b"1")
    lake.branches.create("sea", "x", "main")
    put(lake, "x", a=None, c=b"1")
    diff = lambda right, **by: kinds(lake.refs.diff("sea", "main", right, amount=9, **by))  # noqa: E731
    assert diff("x") == diff("x@") == {}
    assert diff("x$") == diff("x$", two_dot=True) == {"a": "removed", "c": "added"}


def test_a_merge_brings_changes_and_keeps_both_parents(lake):
    commit(lake, a=b"1")
    lake.branches.create("sea", "x", "main")
    theirs = commit(lake, "x", b=b"2")
    ours = commit(lake, "main", c=b"3")
    merged = lake.commits.get("sea", lake.refs.merge("sea", "x", "main", committer="ada"))
    assert merged.parents == (ours.id, theirs.id)
    assert merged.message == "Merge 'x' into 'main'"
    assert merged.metadata == {".lakefs.merge.strategy": "default"}
    assert content(lake, "main") == {"a": b"1", "b": b"2", "c": b"3"}
    with pytest.raises(NoChanges, match="update branch main: no changes"):
        lake.refs.merge("sea", "x", "main", committer="ada")


def test_a_squash_has_one_parent(lake):
    lake.branches.create("sea", "x", "main")
    commit(lake, "x", a=b"1")
    head = lake.commits.get("sea", "main")
    made = lake.refs.merge("sea", "x", "main", committer="ada", squash=True)
    assert lake.commits.get("sea", made).parents == (head.id,)


def test_a_conflict_lists_its_paths_and_changes_nothing(lake):
    commit(lake, a=b"1", b=b"1", c=b"1")
    lake.branches.create("sea", "x", "main")
    commit(lake, "x", a=b"x", b=None, c=b"x", d=b"x")
    commit(lake, "main", a=b"m", b=b"m", d=b"m")
    head = lake.branches.get("sea", "main").commit_id
    with pytest.raises(MergeConflict, match="conflict found") as refused:
        lake.refs.merge("sea", "x", "main", committer="ada")
    assert refused.value.paths == ("a", "b", "d")
    assert refused.value.count == 3
    assert lake.branches.get("sea", "main").commit_id == head
    lake.branches.create("sea", "y", "main")
    lake.refs.merge("sea", "x", "main", committer="ada", strategy="source-wins")
    assert content(lake, "main") == {"a": b"x", "c": b"x", "d": b"x"}
    lake.refs.merge("sea", "x", "y", committer="ada", strategy="dest-wins")
    assert content(lake, "y") == {"a": b"m", "b": b"m", "c": b"x", "d": b"m"}


def test_a_merge_needs_a_clean_branch_and_a_known_strategy(lake):
    lake.branches.create("sea", "x", "main")
    commit(lake, "x", a=b"1")
    put(lake, "main", b=b"2")
    with pytest.raises(DirtyBranch, match=r"uncommitted changes \(dirty branch\)"):
        lake.refs.merge("sea", "x", "main", committer="ada")
    assert content(lake, "main") == {"b": b"2"}
    lake.branches.reset("sea", "main", "reset")
    with pytest.raises(Invalid, match="strategy"):
        lake.refs.merge("sea", "x", "main", committer="ada", strategy="mine")
    with pytest.raises(NotFound, match="get commit by ref nope: not found"):
        lake.refs.merge("sea", "nope", "main", committer="ada")
    with pytest.raises(NotFound, match="branch not found"):
        lake.refs.merge("sea", "x", "nope", committer="ada")


def test_branches_that_both_merged_main_do_not_conflict(lake):
    """The history in which lakeFS 1.84 takes an ancestor of the merge base for the base."""
    commit(lake, a=b"1")
    lake.branches.create("sea", "x", "main")
    lake.branches.create("sea", "y", "main")
    commit(lake, "main", a=b"2")
    commit(lake, "x", b=b"1")
    commit(lake, "y", c=b"1")
    lake.refs.merge("sea", "main", "x", committer="ada")
    lake.refs.merge("sea", "main", "y", committer="ada")
    commit(lake, "x", a=b"3")
    lake.refs.merge("sea", "x", "y", committer="ada")
    assert content(lake, "y") == {"a": b"3", "b": b"1", "c": b"1"}


def test_revert_and_cherry_pick(lake):
    commit(lake, a=b"1")
    picked = commit(lake, b=b"2")
    lake.branches.create("sea", "x", "main~1")
    made = lake.branches.cherry_pick("sea", "x", "main", committer="bob")
    assert content(lake, "x") == {"a": b"1", "b": b"2"}
    assert made.message == picked.message
    assert made.metadata == {"cherry-pick-origin": picked.id, "cherry-pick-committer": "ada"}
    assert lake.commits.get("sea", picked.id).metadata == {}
    lake.branches.revert("sea", "main", "main", committer="bob")
    assert content(lake, "main") == {"a": b"1"}
    assert lake.commits.get("sea", "main").message == "Revert main"


def test_reverting_and_picking_merges_needs_a_parent(lake):
    commit(lake, a=b"1")
    lake.branches.create("sea", "x", "main")
    commit(lake, "x", b=b"2")
    commit(lake, "main", c=b"3")
    lake.refs.merge("sea", "x", "main", committer="ada")
    with pytest.raises(Conflict, match="must specify 1-based parent number"):
        lake.branches.revert("sea", "main", "main", committer="ada")
    lake.branches.create("sea", "y", "main~1")
    with pytest.raises(Invalid, match="must specify 1-based parent number"):
        lake.branches.cherry_pick("sea", "y", "main", committer="ada")
    with pytest.raises(Invalid, match="does not have the given parent number"):
        lake.branches.cherry_pick("sea", "y", "main", parent_number=3, committer="ada")
    with pytest.raises(Invalid, match="does not have the given parent number"):
        lake.branches.revert("sea", "main", "main~3", parent_number=1, committer="ada")
    lake.branches.revert("sea", "main", "main", parent_number=1, committer="ada")
    assert content(lake, "main") == {"a": b"1", "c": b"3"}


def test_an_emptied_tree_merges_into_a_branch_at_the_first_commit(lake):
    lake.branches.create("sea", "early", "main")
    commit(lake, a=b"1")
    commit(lake, a=None)
    merged = lake.refs.merge("sea", "main", "early", committer="ada")
    assert lake.commits.get("sea", merged).metarange_id == EMPTY_TREE
    with pytest.raises(NoChanges):
        lake.refs.merge("sea", "main", "early", committer="ada")


@pytest.mark.parametrize("squash", [False, True])
def test_no_change_merges_into_the_first_commit_as_the_empty_tree(lake, squash):
    commit(lake, a=b"1")
    lake.branches.create("sea", "dev", "main")
    lake.branches.revert("sea", "dev", "main", committer="ada")
    assert lake.commits.get("sea", "dev").metarange_id == ""
    with pytest.raises(NoChanges):
        lake.refs.merge("sea", "main", "dev", committer="ada")
    for _ in range(2):
        merged = lake.refs.merge(
            "sea", "main", "dev", committer="ada", allow_empty=True, squash=squash
        )
        assert lake.commits.get("sea", merged).metarange_id == EMPTY_TREE
    assert content(lake, "dev") == {}
    assert commit(lake, "dev", b=b"2").metarange_id != EMPTY_TREE
