"""Merge, revert and cherry-pick, path by path, and the commits they make."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.errors import Conflict, DirtyBranch, Invalid, MergeConflict, NoChanges
from anabranch.model.commits.commit import CommitFields

STATES = (None, "x", "y", "z")

TABLE = [
    # base, source, destination: result, or "conflict"
    ("x", "x", "x", "x"),
    ("x", "x", "y", "y"),
    ("x", "x", None, None),
    ("x", "y", "x", "y"),
    ("x", "y", "y", "y"),
    ("x", "y", "z", "conflict"),
    ("x", "y", None, "conflict"),
    ("x", None, "x", None),
    ("x", None, "y", "conflict"),
    ("x", None, None, None),
    (None, "x", None, "x"),
    (None, "x", "x", "x"),
    (None, "x", "y", "conflict"),
    (None, None, "x", "x"),
]

contents = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz"), max_size=4)


def make(versions, branch, before, after):
    """Commits the change from `before` to `after` on a branch."""
    versions.remove(branch, *(path for path in before if path not in after))
    versions.put(branch, **{path: word for path, word in after.items() if before.get(path) != word})
    versions.commit(branch, **{f"only-{branch}".replace("-", "_"): "x"})


def three_commits(versions, base, source, destination):
    """Commits `base` on main, `destination` over it there, and `source` over it on `dev`."""
    versions.commit("main", k="x", **base)
    versions.branch("dev")
    make(versions, "dev", base, source)
    make(versions, "main", base, destination)


def only(path, word):
    return {} if word is None else {path: word}


@pytest.mark.parametrize(("base", "source", "destination", "result"), TABLE)
def test_merge_follows_the_table_of_three_states(versions, base, source, destination, result):
    three_commits(versions, only("a", base), only("a", source), only("a", destination))
    before = versions.contents("main")
    if result == "conflict":
        with pytest.raises(MergeConflict) as conflict:
            versions.merge("dev", "main")
        assert conflict.value.paths == ("a",)
        assert versions.contents("main") == before
        return
    versions.merge("dev", "main")
    assert versions.contents("main").get("a") == result


def test_the_table_holds_every_case_once():
    shapes = set()
    for base, source, destination in itertools.product(STATES, repeat=3):
        names = {None: None}
        for word in (base, source, destination):
            names.setdefault(word, "xyz"[len(names) - 1])
        shapes.add((names[base], names[source], names[destination]))
    shapes.discard((None, None, None))
    assert {row[:3] for row in TABLE} == shapes


@given(base=contents, source=contents, destination=contents)
@settings(max_examples=examples(30))
def test_a_strategy_decides_conflicts_and_nothing_else(new_versions, base, source, destination):
    for strategy, winner in (("source-wins", source), ("dest-wins", destination)):
        versions = new_versions()
        three_commits(versions, base, source, destination)
        versions.merge("dev", "main", strategy=strategy)
        merged = versions.contents("main")
        for path in "abcd":
            old, ours, theirs = base.get(path), destination.get(path), source.get(path)
            if ours in (theirs, old):
                wanted = theirs
            elif theirs == old:
                wanted = ours
            else:
                wanted = winner.get(path)
            assert merged.get(path) == wanted, path


def test_a_merge_has_both_parents_and_names_its_strategy(versions):
    three_commits(versions, {}, {"a": "x"}, {"b": "x"})
    ours, theirs = versions.head("main"), versions.head("dev")
    merged = versions.merge(
        "dev", "main", strategy="source-wins", fields=CommitFields("ada", metadata={"k": "v"})
    )
    assert list(merged.parents) == [ours.id, theirs.id]
    assert merged.message == "Merge 'dev' into 'main'"
    assert merged.metadata == {"k": "v", ".lakefs.merge.strategy": "source-wins"}
    assert versions.head("main") == merged
    assert versions.head("dev") == theirs


def test_a_squash_merge_has_one_parent_and_the_same_tree(versions):
    three_commits(versions, {}, {"a": "x"}, {"b": "x"})
    versions.branch("other", "main")
    squashed = versions.merge("dev", "main", squash=True, fields=CommitFields("ada", "All at once"))
    merged = versions.merge("dev", "other")
    assert len(squashed.parents) == 1
    assert squashed.message == "All at once"
    assert squashed.metarange_id == merged.metarange_id


def test_a_merge_without_changes_raises_no_changes(versions):
    versions.commit("main", a="x")
    versions.branch("dev")
    versions.commit("main", b="x")
    head = versions.head("main")
    with pytest.raises(NoChanges):
        versions.merge("dev", "main")
    assert versions.head("main") == head
    assert versions.merge("dev", "main", allow_empty=True).metarange_id == head.metarange_id


def test_a_merge_into_a_branch_with_staged_changes_is_refused(versions):
    three_commits(versions, {}, {"a": "x"}, {"b": "x"})
    versions.put("main", c="x")
    with pytest.raises(DirtyBranch):
        versions.merge("dev", "main")
    assert versions.contents("main").get("a") is None


def test_staged_changes_of_the_source_are_not_merged(versions):
    three_commits(versions, {}, {"a": "x"}, {"b": "x"})
    versions.put("dev", c="x")
    versions.merge("dev", "main")
    assert "c" not in versions.contents("main")


def test_a_second_merge_brings_only_what_is_new(versions):
    three_commits(versions, {"a": "x"}, {"a": "y"}, {"a": "x", "b": "x"})
    versions.merge("dev", "main")
    versions.commit("main", a="z")  # which the next merge must not bring back to y
    versions.commit("dev", c="x")
    versions.merge("dev", "main")
    assert versions.contents("main")["a"] == "z"
    assert versions.contents("main")["c"] == "x"


def test_an_unknown_strategy_is_refused(versions):
    three_commits(versions, {}, {"a": "x"}, {"b": "x"})
    with pytest.raises(Invalid) as refused:
        versions.merge("dev", "main", strategy="theirs")
    assert "source-wins" in refused.value.hint


def revert(versions, reference, parent_number=0, **options):
    versions.clock.advance(1)
    return versions.core.reverter.revert(
        versions.change("main"), [reference], parent_number=parent_number, **options
    )[0]


def pick(versions, reference, **options):
    versions.clock.advance(1)
    return versions.core.merger.cherry_pick(versions.change("main"), reference, **options)


def test_a_revert_takes_back_one_commit_and_keeps_later_ones(versions):
    versions.commit("main", a="x")
    undone = versions.commit("main", a="y", b="x")
    versions.commit("main", c="x")
    reverted = revert(versions, undone.id)
    assert versions.contents("main") == {"a": "x", "c": "x"}
    assert reverted.message == f"Revert {undone.id}"
    revert(versions, "main")  # the revert itself
    assert versions.contents("main") == {"a": "y", "b": "x", "c": "x"}


def test_a_revert_of_what_changed_since_conflicts(versions):
    versions.commit("main", a="x")
    undone = versions.commit("main", a="y")
    versions.commit("main", a="z")
    with pytest.raises(MergeConflict) as conflict:
        revert(versions, undone.id)
    assert conflict.value.paths == ("a",)
    assert versions.contents("main") == {"a": "z"}


def test_a_revert_of_a_merge_needs_the_number_of_a_parent(versions):
    three_commits(versions, {}, {"a": "x"}, {"b": "x"})
    before = versions.contents("main")
    versions.merge("dev", "main")
    with pytest.raises(Conflict):
        revert(versions, "main")
    for number in (-1, 3):
        with pytest.raises(Invalid):
            revert(versions, "main", parent_number=number)
    revert(versions, "main", parent_number=1)
    assert versions.contents("main") == before


def test_a_cherry_pick_repeats_one_commit_and_says_where_it_came_from(versions):
    versions.commit("main", a="x")
    versions.branch("dev")
    versions.commit("dev", b="x")
    picked = versions.commit("dev", message="The one", c="x")
    versions.commit("dev", d="x")
    made = pick(versions, picked.id)
    assert versions.contents("main") == {"a": "x", "c": "x"}
    assert made.message == "The one"
    assert made.metadata == {"cherry-pick-origin": picked.id, "cherry-pick-committer": "ada"}
    assert len(made.parents) == 1


def test_a_cherry_pick_of_a_merge_needs_the_number_of_a_parent(versions):
    three_commits(versions, {}, {"a": "x"}, {"b": "x"})
    versions.branch("other", "dev~1")
    merged = versions.merge("dev", "main")
    for number in (None, 0, 3):
        with pytest.raises(Invalid):
            pick(versions, merged.id, parent_number=number)
