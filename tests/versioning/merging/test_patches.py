"""Commits that another history has already, by their patches."""

from __future__ import annotations

import pytest

from anabranch.errors import Gone, MergeConflict
from anabranch.versioning.merging.patches import Patches


def rebase(sea):
    sea.clock.advance(1)
    return sea.core.rebaser.rebase(sea.change("dev"), sea.head("main"))


def pick(sea, reference, branch="main"):
    sea.clock.advance(1)
    return sea.core.merger.cherry_pick(sea.change(branch), reference)


@pytest.fixture
def picked(sea):
    """A commit of `dev` that was picked to `main`, where its object has changed since."""
    sea.commit("main", "root", a="x")
    sea.branch("dev")
    commit = sea.commit("dev", "fix", a="y")
    sea.commit("dev", "more", b="x")
    pick(sea, commit.id)
    sea.commit("main", "again", a="z")
    return commit


@pytest.mark.usefixtures("picked")
def test_commit_that_was_picked_to_the_new_base_is_dropped(sea):
    assert rebase(sea)[1:] == (1, 1)
    assert sea.contents("dev") == {"a": "z", "b": "x"}
    assert sea.head("dev").parents == (sea.head("main").id,)


@pytest.mark.usefixtures("picked")
def test_commit_that_was_picked_and_taken_back_is_dropped_as_by_git(sea):
    sea.commit("main", "back", a="x")
    assert rebase(sea)[1:] == (1, 1)
    assert sea.contents("dev") == {"a": "x", "b": "x"}


@pytest.mark.usefixtures("picked")
def test_both_commits_with_the_patch_of_one_commit_are_dropped(sea):
    sea.commit("dev", "back", a="x")
    sea.commit("dev", "fix again", a="y")
    with pytest.raises(MergeConflict):  # only the commit between them remains
        rebase(sea)
    assert applied_by_trees(sea) == {"fix", "fix again"}


def test_commit_with_one_more_change_is_not_the_same(sea):
    sea.commit("main", "root", a="x")
    sea.branch("dev")
    sea.commit("dev", "fix", a="y", b="y")
    sea.commit("main", "part of it", a="y")
    sea.commit("main", "again", a="z")
    with pytest.raises(MergeConflict):
        rebase(sea)


def test_change_from_other_content_is_not_the_same(sea):
    sea.commit("main", "root", a="x")
    sea.branch("dev")
    sea.commit("dev", "fix", a="y")
    sea.commit("main", "other", a="w")
    sea.commit("main", "fix", a="y")
    sea.commit("main", "again", a="z")
    with pytest.raises(MergeConflict):
        rebase(sea)


@pytest.mark.parametrize("last", ["x", "y"])
def test_patches_are_compared_to_their_ends(sea, last):
    paths = [f"p{number:04}" for number in range(1200)]
    sea.branch("dev")
    sea.commit("dev", "all", **dict.fromkeys(paths, "x"))
    sea.commit("main", "all", **dict.fromkeys(paths[:-1], "x"), **{paths[-1]: last})
    assert applied_by_trees(sea) == ({"all"} if last == "x" else set())


def applied_by_trees(sea):
    return applied(sea, Patches(sea.core.commits, sea.core.trees, sea.core.history_index))


def applied(sea, patches):
    """Returns the messages of the commits of `dev` whose patches `main` has."""
    commits = []
    head, onto = sea.head("dev"), sea.head("main")
    commit = head
    while commit.parents:
        commits.append(commit)
        commit = sea.core.commits.get(sea.repository, commit.parents[0])
    found = patches.applied(sea.repository, commits, head, onto)
    return {commit.message for commit in commits if commit.id in found}


@pytest.mark.parametrize("is_loaded", [False, True])
@pytest.mark.usefixtures("picked")
def test_long_histories_are_searched_by_the_index(sea, is_loaded):
    for number in range(20):
        sea.commit("main", f"{number}", c=str(number))
    core = sea.core
    if is_loaded:
        assert core.history_index.graph(sea.repository, sea.head("main").id) is not None
    opened = []
    open_tree = core.trees.open

    def counted(repository, metarange_id):
        opened.append(metarange_id)
        return open_tree(repository, metarange_id)

    core.trees.open = counted
    patches = Patches(core.commits, core.trees, core.history_index, max_compared=5)
    assert applied(sea, patches) == {"fix"}
    assert len(opened) < 20


def test_commits_whose_tables_are_gone_are_not_compared(sea):
    sea.branch("dev")
    commit = sea.commit("dev", "fix", a="y")
    sea.commit("main", "base", b="x")
    pick(sea, commit.id)
    sea.commit("main", "again", a="z")
    assert applied_by_trees(sea) == {"fix"}
    open_tree = sea.core.trees.open
    gone = sea.core.references.commit(sea.repository, "main~1").metarange_id

    def opened(repository, metarange_id):
        if metarange_id == gone:
            raise Gone("the metadata file is missing", kind="metadata_missing")
        return open_tree(repository, metarange_id)

    sea.core.trees.open = opened
    assert applied_by_trees(sea) == set()
