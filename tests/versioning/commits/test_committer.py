"""Commits of staged changes: what they hold, what they are named, what they leave staged."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.errors import DirtyBranch, NoChanges, NotFound
from anabranch.versioning.commits.staged_commits import ClientTree

contents = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("xyz"), max_size=6)


@given(st.lists(contents, min_size=1, max_size=4))
@settings(max_examples=examples(30))
def test_each_commit_holds_what_was_staged_over_the_one_before(new_versions, trees):
    versions = new_versions()
    before = {}
    for tree in trees:
        versions.remove("main", *(path for path in before if path not in tree))
        versions.put("main", **tree)
        if tree == before:
            with pytest.raises(NoChanges):
                versions.commit("main")
        else:
            commit = versions.commit("main")
            assert versions.contents(commit.id) == tree
        assert versions.contents("main@") == tree
        before = tree


@given(contents, contents.filter(bool))
@settings(max_examples=examples(30))
def test_equal_contents_have_equal_trees_after_different_changes(new_versions, first, wanted):
    versions = new_versions()
    versions.branch("dev")
    versions.commit("main", **wanted)
    if first:
        versions.commit("dev", **first)
    versions.remove("dev", *(path for path in first if path not in wanted))
    versions.put("dev", **wanted)
    if first != wanted:
        versions.commit("dev")
    assert versions.head("main").metarange_id == versions.head("dev").metarange_id


def test_a_commit_names_its_parent_and_says_when_and_by_whom(versions):
    first = versions.head("main")
    commit = versions.commit("main", message="One", a="x")
    assert list(commit.parents) == [first.id]
    assert (commit.committer, commit.message) == ("ada", "One")
    assert commit.creation_date == versions.clock.now
    assert commit.generation == first.generation + 1


def test_a_commit_without_changes_raises_no_changes_unless_it_may_be_empty(versions):
    versions.commit("main", a="x")
    head = versions.head("main")
    with pytest.raises(NoChanges):
        versions.commit("main")
    versions.put("main", a="x")  # staged, and equal to what is committed
    with pytest.raises(NoChanges):
        versions.commit("main")
    assert versions.head("main") == head
    empty = versions.commit_staged("main", allow_empty=True)
    assert empty.metarange_id == head.metarange_id
    assert list(empty.parents) == [head.id]


def test_what_is_staged_while_a_commit_runs_stays_staged(versions, other):
    versions.put("main", a="x")
    staged = []

    def stage_once(operation, subject):
        if operation == "apply" and not staged:
            staged.append(subject)
            other.put("main", b="x")
            versions.keyvalue.before = stage_later

    def stage_later(operation, subject):
        if operation == "apply" and len(staged) == 1:
            staged.append(subject)
            other.put("main", c="x")

    versions.keyvalue.before = stage_once
    versions.commit("main")
    versions.keyvalue.before = lambda *_: None
    assert versions.contents("main") == {"a": "x", "b": "x", "c": "x"}
    assert versions.contents("main@").get("a") == "x"
    if versions.contents("main@") != versions.contents("main"):
        versions.commit("main")
    assert versions.contents("main@") == {"a": "x", "b": "x", "c": "x"}


def test_two_commits_at_once_make_one_line_of_history(versions, other):
    versions.put("main", a="x")
    made = []

    def commit_between(operation, _subject):
        if operation == "apply" and not made:
            made.append(None)
            versions.keyvalue.before = lambda *_: None
            made[0] = other.commit("main")

    versions.keyvalue.before = commit_between
    with pytest.raises(NoChanges):
        versions.commit("main")
    assert versions.head("main") == made[0]
    assert versions.contents("main@") == {"a": "x"}


def test_a_source_metarange_becomes_the_tree(versions):
    wanted = versions.commit("main", a="x")
    versions.commit("main", b="x")

    def commit(metarange_id):
        return versions.commit_staged("main", tree=ClientTree(metarange_id))

    commit(wanted.metarange_id)
    assert versions.contents("main") == {"a": "x"}
    with pytest.raises(NotFound):
        commit("0" * 64)
    versions.put("main", c="x")
    with pytest.raises(DirtyBranch):
        commit(wanted.metarange_id)
