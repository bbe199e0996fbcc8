"""Differences between trees and of staged changes, against dictionaries."""

from __future__ import annotations

from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

paths = st.sampled_from(["a", "b/1", "b/2", "b/c/1", "b0", "c"])
contents = st.dictionaries(paths, st.sampled_from("xyz"), max_size=6)


def commit_tree(versions, branch, wanted):
    """Makes the contents of a branch those wanted, by one commit."""
    versions.remove(branch, *versions.contents(branch))
    versions.put(branch, **wanted)
    versions.clock.advance(1)
    return versions.commit_staged(branch, allow_empty=True)


def changes_between(left, right):
    """Returns the kind of change of each path that differs."""
    return {
        path: "added" if path not in left else "changed" if path in right else "removed"
        for path in {*left, *right}
        if left.get(path) != right.get(path)
    }


def collapsed(changes, prefix, delimiter):
    """Returns the rows that a listing with a delimiter has, in order."""
    rows = {}
    for path, kind in changes.items():
        if path.startswith(prefix):
            head, mark, _ = path[len(prefix) :].partition(delimiter)
            rows[prefix + head + mark] = "prefix_changed" if mark else kind
    return sorted(rows.items())


def pages(read, amount):
    """Returns all rows of a difference, read in pages of so many."""
    rows, after = [], ""
    while True:
        page = read(after=after, amount=amount)
        assert len(page.items) <= amount
        rows += [(change.path, change.kind) for change in page.items]
        if not page.has_more:
            return rows
        assert page.items
        after = page.next_offset


def trees(versions, *references):
    return [
        versions.core.trees.open(versions.repository, versions.head(reference).metarange_id)
        for reference in references
    ]


@given(left=contents, right=contents, amount=st.integers(1, 4))
@settings(max_examples=examples(30))
def test_two_trees_differ_as_dictionaries_do(new_versions, left, right, amount):
    versions = new_versions()
    commit_tree(versions, "main", left)
    versions.branch("dev")
    commit_tree(versions, "dev", right)
    ours, theirs = trees(versions, "main", "dev")
    changes = changes_between(left, right)

    def read(**options):
        return versions.core.differ.two_dot(ours, theirs, **options)

    assert pages(read, amount) == sorted(changes.items())
    for prefix in ("", "b/"):
        wanted = collapsed(changes, prefix, "/")
        assert pages(partial(read, prefix=prefix, delimiter="/"), amount) == wanted


@given(committed=contents, wanted=contents, amount=st.integers(1, 4))
@settings(max_examples=examples(30))
def test_staged_changes_are_those_that_differ_from_the_commit(
    new_versions, committed, wanted, amount
):
    versions = new_versions()
    head = commit_tree(versions, "main", committed)
    versions.remove("main", *committed)
    versions.put("main", **wanted)
    changes = changes_between(committed, wanted)
    tokens = versions.core.branches.read(versions.repository, "main").branch.tokens

    def read(**options):
        return versions.core.differ.uncommitted(versions.repository, head, tokens, **options)

    assert pages(read, amount) == sorted(changes.items())
    assert pages(partial(read, delimiter="/"), amount) == collapsed(changes, "", "/")
    assert versions.core.differ.is_dirty(versions.repository, head.id, tokens) == bool(changes)


@given(base=contents, ours=contents, theirs=contents)
@settings(max_examples=examples(30))
def test_three_dots_show_what_a_merge_would_change(new_versions, base, ours, theirs):
    versions = new_versions()
    commit_tree(versions, "main", base)
    versions.branch("dev")
    versions.branch("base")
    commit_tree(versions, "dev", theirs)
    commit_tree(versions, "main", ours)
    page = versions.core.differ.three_dot(*trees(versions, "main", "dev", "base"), amount=100)
    found = {change.path: change.kind for change in page.items}
    for path in {*base, *ours, *theirs}:
        old, mine, other = base.get(path), ours.get(path), theirs.get(path)
        if other in (old, mine):
            assert path not in found
        elif mine == old:
            assert found[path] == changes_between(only(path, mine), only(path, other))[path]
        else:
            assert found[path] == "conflict"


def only(path, word):
    return {} if word is None else {path: word}
