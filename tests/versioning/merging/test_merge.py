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


def make(sea, branch, before, after):
    """Commits the change from `before` to `after` on a branch."""
    sea.remove(branch, *(path for path in before if path not in after))
    sea.put(branch, **{path: word for path, word in after.items() if before.get(path) != word})
    sea.commit(branch, **{f"only-{branch}".replace("-", "_"): "x"})


def three_commits(sea, base, source, destination):
    """Commits `base` on main, `destination` over it there, and `source` over it on `dev`."""
    sea.commit("main", k="x", **base)
    sea.branch("dev")
    make(sea, "dev", base, source)
    make(sea, "main", base, destination)


def only(path, word):
    return {} if word is None else {path: word}


@pytest.mark.parametrize(("base", "source", "destination", "result"), TABLE)
def test_merge_follows_the_table_of_three_states(sea, base, source, destination, result):
    three_commits(sea, only("a", base), only("a", source), only("a", destination))
    before = sea.contents("main")
    if result == "conflict":
        with pytest.raises(MergeConflict) as conflict:
            sea.merge("dev", "main")
        assert conflict.value.paths == ("a",)
        assert sea.contents("main") == before
        return
    sea.merge("dev", "main")
    assert sea.contents("main").get("a") == result


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
def test_a_strategy_decides_conflicts_and_nothing_else(new_sea, base, source, destination):
    for strategy, winner in (("source-wins", source), ("dest-wins", destination)):
        sea = new_sea()
        three_commits(sea, base, source, destination)
        sea.merge("dev", "main", strategy=strategy)
        merged = sea.contents("main")
        for path in "abcd":
            old, ours, theirs = base.get(path), destination.get(path), source.get(path)
            if ours in (theirs, old):
                wanted = theirs
            elif theirs == old:
                wanted = ours
            else:
                wanted = winner.get(path)
            assert merged.get(path) == wanted, path


def test_a_merge_has_both_parents_and_names_its_strategy(sea):
    three_commits(sea, {}, {"a": "x"}, {"b": "x"})
    ours, theirs = sea.head("main"), sea.head("dev")
    merged = sea.merge(
        "dev", "main", strategy="source-wins", fields=CommitFields("ada", metadata={"k": "v"})
    )
    assert list(merged.parents) == [ours.id, theirs.id]
    assert merged.message == "Merge 'dev' into 'main'"
    assert merged.metadata == {"k": "v", ".lakefs.merge.strategy": "source-wins"}
    assert sea.head("main") == merged
    assert sea.head("dev") == theirs


def test_a_squash_merge_has_one_parent_and_the_same_tree(sea):
    three_commits(sea, {}, {"a": "x"}, {"b": "x"})
    sea.branch("other", "main")
    squashed = sea.merge("dev", "main", squash=True, fields=CommitFields("ada", "All at once"))
    merged = sea.merge("dev", "other")
    assert len(squashed.parents) == 1
    assert squashed.message == "All at once"
    assert squashed.metarange_id == merged.metarange_id


def test_a_merge_without_changes_raises_no_changes(sea):
    sea.commit("main", a="x")
    sea.branch("dev")
    sea.commit("main", b="x")
    head = sea.head("main")
    with pytest.raises(NoChanges):
        sea.merge("dev", "main")
    assert sea.head("main") == head
    assert sea.merge("dev", "main", allow_empty=True).metarange_id == head.metarange_id


def test_a_merge_into_a_branch_with_staged_changes_is_refused(sea):
    three_commits(sea, {}, {"a": "x"}, {"b": "x"})
    sea.put("main", c="x")
    with pytest.raises(DirtyBranch):
        sea.merge("dev", "main")
    assert sea.contents("main").get("a") is None


def test_staged_changes_of_the_source_are_not_merged(sea):
    three_commits(sea, {}, {"a": "x"}, {"b": "x"})
    sea.put("dev", c="x")
    sea.merge("dev", "main")
    assert "c" not in sea.contents("main")


def test_a_second_merge_brings_only_what_is_new(sea):
    three_commits(sea, {"a": "x"}, {"a": "y"}, {"a": "x", "b": "x"})
    sea.merge("dev", "main")
    sea.commit("main", a="z")  # which the next merge must not bring back to y
    sea.commit("dev", c="x")
    sea.merge("dev", "main")
    assert sea.contents("main")["a"] == "z"
    assert sea.contents("main")["c"] == "x"


def test_an_unknown_strategy_is_refused(sea):
    three_commits(sea, {}, {"a": "x"}, {"b": "x"})
    with pytest.raises(Invalid) as refused:
        sea.merge("dev", "main", strategy="theirs")
    assert "source-wins" in refused.value.hint


def revert(sea, reference, parent_number=0, **options):
    sea.clock.advance(1)
    return sea.core.reverter.revert(
        sea.change("main"), [reference], parent_number=parent_number, **options
    )[0]


def pick(sea, reference, **options):
    sea.clock.advance(1)
    return sea.core.merger.cherry_pick(sea.change("main"), reference, **options)


def test_a_revert_takes_back_one_commit_and_keeps_later_ones(sea):
    sea.commit("main", a="x")
    undone = sea.commit("main", a="y", b="x")
    sea.commit("main", c="x")
    reverted = revert(sea, undone.id)
    assert sea.contents("main") == {"a": "x", "c": "x"}
    assert reverted.message == f"Revert {undone.id}"
    revert(sea, "main")  # the revert itself
    assert sea.contents("main") == {"a": "y", "b": "x", "c": "x"}


def test_a_revert_of_what_changed_since_conflicts(sea):
    sea.commit("main", a="x")
    undone = sea.commit("main", a="y")
    sea.commit("main", a="z")
    with pytest.raises(MergeConflict) as conflict:
        revert(sea, undone.id)
    assert conflict.value.paths == ("a",)
    assert sea.contents("main") == {"a": "z"}


def test_a_revert_of_a_merge_needs_the_number_of_a_parent(sea):
    three_commits(sea, {}, {"a": "x"}, {"b": "x"})
    before = sea.contents("main")
    sea.merge("dev", "main")
    with pytest.raises(Conflict):
        revert(sea, "main")
    for number in (-1, 3):
        with pytest.raises(Invalid):
            revert(sea, "main", parent_number=number)
    revert(sea, "main", parent_number=1)
    assert sea.contents("main") == before


def test_a_cherry_pick_repeats_one_commit_and_says_where_it_came_from(sea):
    sea.commit("main", a="x")
    sea.branch("dev")
    sea.commit("dev", b="x")
    picked = sea.commit("dev", message="The one", c="x")
    sea.commit("dev", d="x")
    made = pick(sea, picked.id)
    assert sea.contents("main") == {"a": "x", "c": "x"}
    assert made.message == "The one"
    assert made.metadata == {"cherry-pick-origin": picked.id, "cherry-pick-committer": "ada"}
    assert len(made.parents) == 1


def test_a_cherry_pick_of_a_merge_needs_the_number_of_a_parent(sea):
    three_commits(sea, {}, {"a": "x"}, {"b": "x"})
    sea.branch("other", "dev~1")
    merged = sea.merge("dev", "main")
    for number in (None, 0, 3):
        with pytest.raises(Invalid):
            pick(sea, merged.id, parent_number=number)
