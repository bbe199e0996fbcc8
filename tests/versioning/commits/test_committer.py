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
def test_each_commit_holds_what_was_staged_over_the_one_before(new_sea, trees):
    sea = new_sea()
    before = {}
    for tree in trees:
        sea.remove("main", *(path for path in before if path not in tree))
        sea.put("main", **tree)
        if tree == before:
            with pytest.raises(NoChanges):
                sea.commit("main")
        else:
            commit = sea.commit("main")
            assert sea.contents(commit.id) == tree
        assert sea.contents("main@") == tree
        before = tree


@given(contents, contents.filter(bool))
@settings(max_examples=examples(30))
def test_equal_contents_have_equal_trees_after_different_changes(new_sea, first, wanted):
    sea = new_sea()
    sea.branch("dev")
    sea.commit("main", **wanted)
    if first:
        sea.commit("dev", **first)
    sea.remove("dev", *(path for path in first if path not in wanted))
    sea.put("dev", **wanted)
    if first != wanted:
        sea.commit("dev")
    assert sea.head("main").metarange_id == sea.head("dev").metarange_id


def test_a_commit_names_its_parent_and_says_when_and_by_whom(sea):
    first = sea.head("main")
    commit = sea.commit("main", message="One", a="x")
    assert list(commit.parents) == [first.id]
    assert (commit.committer, commit.message) == ("ada", "One")
    assert commit.creation_date == sea.clock.now
    assert commit.generation == first.generation + 1


def test_a_commit_without_changes_raises_no_changes_unless_it_may_be_empty(sea):
    sea.commit("main", a="x")
    head = sea.head("main")
    with pytest.raises(NoChanges):
        sea.commit("main")
    sea.put("main", a="x")  # staged, and equal to what is committed
    with pytest.raises(NoChanges):
        sea.commit("main")
    assert sea.head("main") == head
    empty = sea.commit_staged("main", allow_empty=True)
    assert empty.metarange_id == head.metarange_id
    assert list(empty.parents) == [head.id]


def test_what_is_staged_while_a_commit_runs_stays_staged(sea, other):
    sea.put("main", a="x")
    staged = []

    def stage_once(operation, subject):
        if operation == "apply" and not staged:
            staged.append(subject)
            other.put("main", b="x")
            sea.keyvalue.before = stage_later

    def stage_later(operation, subject):
        if operation == "apply" and len(staged) == 1:
            staged.append(subject)
            other.put("main", c="x")

    sea.keyvalue.before = stage_once
    sea.commit("main")
    sea.keyvalue.before = lambda *_: None
    assert sea.contents("main") == {"a": "x", "b": "x", "c": "x"}
    assert sea.contents("main@").get("a") == "x"
    if sea.contents("main@") != sea.contents("main"):
        sea.commit("main")
    assert sea.contents("main@") == {"a": "x", "b": "x", "c": "x"}


def test_two_commits_at_once_make_one_line_of_history(sea, other):
    sea.put("main", a="x")
    made = []

    def commit_between(operation, _subject):
        if operation == "apply" and not made:
            made.append(None)
            sea.keyvalue.before = lambda *_: None
            made[0] = other.commit("main")

    sea.keyvalue.before = commit_between
    with pytest.raises(NoChanges):
        sea.commit("main")
    assert sea.head("main") == made[0]
    assert sea.contents("main@") == {"a": "x"}


def test_a_source_metarange_becomes_the_tree(sea):
    wanted = sea.commit("main", a="x")
    sea.commit("main", b="x")

    def commit(metarange_id):
        return sea.commit_staged("main", tree=ClientTree(metarange_id))

    commit(wanted.metarange_id)
    assert sea.contents("main") == {"a": "x"}
    with pytest.raises(NotFound):
        commit("0" * 64)
    sea.put("main", c="x")
    with pytest.raises(DirtyBranch):
        commit(wanted.metarange_id)
