"""Commits that another history has already, by their patches."""

from __future__ import annotations

import pytest

from anabranch.errors import Gone, MergeConflict
from anabranch.versioning.merging.patches import Patches


def rebase(versions):
    versions.clock.advance(1)
    return versions.core.rebaser.rebase(versions.change("dev"), versions.head("main"))


def pick(versions, reference, branch="main"):
    versions.clock.advance(1)
    return versions.core.merger.cherry_pick(versions.change(branch), reference)


@pytest.fixture
def picked(versions):
    """A commit of `dev` that was picked to `main`, where its object has changed since."""
    versions.commit("main", "root", a="x")
    versions.branch("dev")
    commit = versions.commit("dev", "fix", a="y")
    versions.commit("dev", "more", b="x")
    pick(versions, commit.id)
    versions.commit("main", "again", a="z")
    return commit


@pytest.mark.usefixtures("picked")
def test_commit_that_was_picked_to_the_new_base_is_dropped(versions):
    assert rebase(versions)[1:] == (1, 1)
    assert versions.contents("dev") == {"a": "z", "b": "x"}
    assert versions.head("dev").parents == (versions.head("main").id,)


@pytest.mark.usefixtures("picked")
def test_commit_that_was_picked_and_taken_back_is_dropped_as_by_git(versions):
    versions.commit("main", "back", a="x")
    assert rebase(versions)[1:] == (1, 1)
    assert versions.contents("dev") == {"a": "x", "b": "x"}


@pytest.mark.usefixtures("picked")
def test_both_commits_with_the_patch_of_one_commit_are_dropped(versions):
    versions.commit("dev", "back", a="x")
    versions.commit("dev", "fix again", a="y")
    with pytest.raises(MergeConflict):  # only the commit between them remains
        rebase(versions)
    assert applied_by_trees(versions) == {"fix", "fix again"}


def test_commit_with_one_more_change_is_not_the_same(versions):
    versions.commit("main", "root", a="x")
    versions.branch("dev")
    versions.commit("dev", "fix", a="y", b="y")
    versions.commit("main", "part of it", a="y")
    versions.commit("main", "again", a="z")
    with pytest.raises(MergeConflict):
        rebase(versions)


def test_change_from_other_content_is_not_the_same(versions):
    versions.commit("main", "root", a="x")
    versions.branch("dev")
    versions.commit("dev", "fix", a="y")
    versions.commit("main", "other", a="w")
    versions.commit("main", "fix", a="y")
    versions.commit("main", "again", a="z")
    with pytest.raises(MergeConflict):
        rebase(versions)


@pytest.mark.parametrize("last", ["x", "y"])
def test_patches_are_compared_to_their_ends(versions, last):
    paths = [f"p{number:04}" for number in range(1200)]
    versions.branch("dev")
    versions.commit("dev", "all", **dict.fromkeys(paths, "x"))
    versions.commit("main", "all", **dict.fromkeys(paths[:-1], "x"), **{paths[-1]: last})
    assert applied_by_trees(versions) == ({"all"} if last == "x" else set())


def applied_by_trees(versions):
    return applied(
        versions, Patches(versions.core.commits, versions.core.trees, versions.core.history_index)
    )


def applied(versions, patches):
    """Returns the messages of the commits of `dev` whose patches `main` has."""
    commits = []
    head, onto = versions.head("dev"), versions.head("main")
    commit = head
    while commit.parents:
        commits.append(commit)
        commit = versions.core.commits.get(versions.repository, commit.parents[0])
    found = patches.applied(versions.repository, commits, head, onto)
    return {commit.message for commit in commits if commit.id in found}


@pytest.mark.parametrize("is_loaded", [False, True])
@pytest.mark.usefixtures("picked")
def test_long_histories_are_searched_by_the_index(versions, is_loaded):
    for number in range(20):
        versions.commit("main", f"{number}", c=str(number))
    core = versions.core
    if is_loaded:
        assert core.history_index.graph(versions.repository, versions.head("main").id) is not None
    opened = []
    open_tree = core.trees.open

    def counted(repository, metarange_id):
        opened.append(metarange_id)
        return open_tree(repository, metarange_id)

    core.trees.open = counted
    patches = Patches(core.commits, core.trees, core.history_index, max_compared=5)
    assert applied(versions, patches) == {"fix"}
    assert len(opened) < 20


def test_commits_whose_tables_are_gone_are_not_compared(versions):
    versions.branch("dev")
    commit = versions.commit("dev", "fix", a="y")
    versions.commit("main", "base", b="x")
    pick(versions, commit.id)
    versions.commit("main", "again", a="z")
    assert applied_by_trees(versions) == {"fix"}
    open_tree = versions.core.trees.open
    gone = versions.core.references.commit(versions.repository, "main~1").metarange_id

    def opened(repository, metarange_id):
        if metarange_id == gone:
            raise Gone("the metadata file is missing", kind="metadata_missing")
        return open_tree(repository, metarange_id)

    versions.core.trees.open = opened
    assert applied_by_trees(versions) == set()
