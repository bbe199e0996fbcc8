"""Rebases against git, and what they keep and refuse."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.changes import ExtraWritesFrom
from support.histories.git_contents import GitContents
from support.histories.git_mirror import GitMirror

from anabranch.errors import Busy, DirtyBranch, Invalid, MergeConflict, NoChanges
from anabranch.model.commits.commit import CommitFields
from anabranch.outbound.address_guard import AddressGuard
from anabranch.testing.histories import random_history
from anabranch.testing.history_strategies import histories
from anabranch.testing.stores import fail_at
from anabranch.versioning.history.commit_range import commit_range
from anabranch.versioning.history.log import log
from anabranch.versioning.history.revision_walk import ancestors
from anabranch.versioning.merging.patches import Patches
from anabranch.versioning.merging.rebase import Rebaser
from anabranch.versioning.merging.tree_merger import TreeMergers

PATHS = ("a", "b/c", "b/d", "e", "f/g/h", "i")


def rebase(versions, branch, onto, **options):
    versions.clock.advance(1)
    change = versions.change(branch, CommitFields(options.pop("committer", "bob")), **options)
    return versions.core.rebaser.rebase(change, versions.head(onto))


def messages(versions, reference):
    start = versions.head(reference)
    return [each.message for each in log(versions.core.commits.reader(versions.repository), start)]


def pick(versions, reference, branch):
    versions.clock.advance(1)
    return versions.core.merger.cherry_pick(versions.change(branch), reference)


def commit_nothing(versions, branch):
    return versions.commit_staged(branch, "empty", allow_empty=True)


def make_history(versions, seed, steps=14):
    """Makes a random history of three branches; returns the branches."""
    random = Random(seed)
    branches = ["main"]
    versions.commit("main", "root", **{path: random.choice("xyz") for path in PATHS})
    for number in range(steps):
        branch = random.choice(branches)
        kind = random.random()
        if kind < 0.25 and len(branches) < 3:
            branches.append(f"branch-{number}")
            versions.branch(branches[-1], branch)
        elif kind < 0.4:
            strategy = random.choice(("", "source-wins", "dest-wins"))
            with suppress(NoChanges, MergeConflict):
                versions.merge(random.choice(branches), branch, strategy=strategy)
        elif kind < 0.6:
            with suppress(NoChanges, MergeConflict, Invalid):
                pick(versions, random.choice(branches), branch)
        elif kind < 0.65:
            commit_nothing(versions, branch)
        else:
            versions.put(branch, **{random.choice(PATHS): random.choice("wxyz")})
            if random.random() < 0.2:
                versions.remove(branch, random.choice(PATHS))
            with suppress(NoChanges):
                versions.commit(branch, f"{number}")
    return branches


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.sample(1)
def test_contents_after_a_rebase_are_those_of_git(versions, tmp_path, seed):
    compare(versions, tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1100))
def test_contents_after_a_rebase_are_those_of_git_in_many_histories(versions, tmp_path, seed):
    compare(versions, tmp_path, seed)


def compare(versions, tmp_path, seed):
    branches = make_history(versions, seed)
    git = GitContents(tmp_path / "git", versions)
    heads = {branch: versions.head(branch).id for branch in branches}
    for branch in branches:
        for onto in branches:
            name = f"{branch}-onto-{onto}"
            expected = git.rebase(heads[branch], heads[onto], tmp_path / name)
            versions.branch(name, branch)
            if expected is None:
                with pytest.raises(MergeConflict) as conflict:
                    rebase(versions, name, onto)
                assert conflict.value.paths, f"seed {seed}: {name}"
                assert versions.head(name).id == heads[branch]
                continue
            rebased = rebase(versions, name, onto)
            assert versions.contents(name) == expected.contents, f"seed {seed}: {name}"
            assert rebased.head == versions.head(name)
            read = versions.core.commits.reader(versions.repository)
            own = commit_range(read, heads[onto], rebased.head.id)
            assert not any(commit.is_merge for commit in own)
            origins = [each.metadata.get("rebase-origin", each.id) for each in reversed(own)]
            assert origins == expected.origins, f"seed {seed}: {name}"


@given(histories(), st.data())
def test_range_has_the_commits_that_only_the_head_reaches(history, data):
    base, head = (data.draw(st.sampled_from(history.ids)) for _ in range(2))
    found = [commit.id for commit in commit_range(history.read, base, head)]
    expected = ancestors(history.read, head).keys() - ancestors(history.read, base).keys()
    assert len(found) == len(expected)
    assert set(found) == expected
    for commit_id in found:
        parents = set(history[commit_id].parents) & expected
        assert all(found.index(parent) > found.index(commit_id) for parent in parents)


def test_order_of_a_range_is_that_of_git(tmp_path):
    made = [random_history(Random(seed), 30, f"seed {seed}") for seed in range(30)]
    mirror = GitMirror(tmp_path / "git", made)
    for history in made:
        for base in Random(1).sample(history.ids, 4):
            head = history.ids[-1]
            expected = mirror.range(base, head, "--topo-order")
            assert [commit.id for commit in commit_range(history.read, base, head)] == expected


def test_range_reads_no_more_than_the_two_sides():
    history = random_history(Random(1), 400, "long")
    tips = history.add(history.ids[-1]), history.add(history.ids[-1])
    history.reads = 0
    assert [commit.id for commit in commit_range(history.read, *tips)] == [tips[1]]
    assert history.reads < 10


def test_replayed_commits_keep_message_and_metadata_and_name_their_origin(versions):
    versions.commit("main", "root", a="x")
    versions.branch("dev")
    versions.put("dev", b="x")
    versions.clock.advance(1)
    original = versions.commit_staged("dev", fields=CommitFields("ada", "one\ntwo", {"k": "v"}))
    versions.commit("main", "other", c="x")
    rebased = rebase(versions, "dev", "main")
    commit = versions.head("dev")
    assert rebased == (commit, 1, 0)
    assert (commit.message, commit.committer) == ("one\ntwo", "bob")
    assert commit.parents == (versions.head("main").id,)
    assert commit.creation_date == int(versions.clock.now)
    assert commit.metadata == {
        "k": "v",
        "rebase-origin": original.id,
        "rebase-committer": "ada",
        "rebase-date": "2023-11-14T22:13:22Z",
    }
    assert versions.contents("dev") == {"a": "x", "b": "x", "c": "x"}
    versions.commit("main", "again", c="y")
    rebase(versions, "dev", "main", committer="eve")
    again = versions.head("dev").metadata
    assert again == {**commit.metadata, "rebase-origin": commit.id}


def test_commit_whose_changes_the_base_has_is_dropped_and_an_empty_one_is_kept(versions):
    versions.commit("main", "root", a="x")
    versions.branch("dev")
    versions.commit("dev", "same", b="x")
    empty = commit_nothing(versions, "dev")
    assert (
        empty.metarange_id
        == versions.core.commits.get(versions.repository, empty.parents[0]).metarange_id
    )
    versions.commit("dev", "other", c="x")
    versions.commit("main", "also", b="x")
    assert rebase(versions, "dev", "main")[1:] == (2, 1)
    assert messages(versions, "dev")[:3] == ["other", "empty", "also"]


def test_commit_whose_content_the_base_has_by_other_steps_is_dropped(versions):
    versions.commit("main", "root", a="x")
    versions.branch("dev")
    versions.commit("dev", "other", c="x")
    versions.commit("dev", "at once", b="x")
    versions.commit("main", "first step", b="y")
    base = versions.commit("main", "second step", b="x")
    assert rebase(versions, "dev", "main")[1:] == (1, 1)
    assert messages(versions, "dev")[:2] == ["other", base.message]


def test_branch_that_is_on_top_already_stays_and_one_that_is_behind_moves_forward(versions):
    versions.commit("main", "root", a="x")
    versions.branch("dev")
    head = versions.commit("dev", "one", b="x")
    assert rebase(versions, "dev", "main") == (head, 0, 0)
    assert versions.head("dev") == head
    assert rebase(versions, "main", "dev") == (head, 0, 0)
    assert versions.head("main") == head
    assert rebase(versions, "main", "main") == (head, 0, 0)


def test_conflict_names_commit_and_paths_and_changes_nothing(versions):
    versions.commit("main", "root", a="x")
    versions.branch("dev")
    versions.commit("dev", "fine", b="x")
    bad = versions.commit("dev", "bad", a="y", c="y")
    versions.commit("dev", "later", d="y")
    versions.commit("main", "theirs", a="z", c="z")
    before = dict(versions.store.scan(versions.repository.partition))
    with pytest.raises(MergeConflict, match=f"commit {bad.id}") as conflict:
        rebase(versions, "dev", "main")
    assert (conflict.value.paths, conflict.value.count) == (("a", "c"), 2)
    assert conflict.value.commit_id == bad.id
    assert dict(versions.store.scan(versions.repository.partition)) == before


def test_uncommitted_changes_are_refused_and_stay(versions):
    versions.commit("main", "root", a="x")
    versions.branch("dev")
    versions.commit("dev", "one", b="x")
    versions.commit("main", "two", c="x")
    versions.put("dev", d="x")
    head = versions.head("dev")
    with pytest.raises(DirtyBranch):
        rebase(versions, "dev", "main")
    assert versions.head("dev") == head
    assert versions.contents("dev") == {"a": "x", "b": "x", "d": "x"}


def test_too_many_commits_are_refused(versions):
    versions.branch("dev")
    for word in "xyz":
        versions.commit("dev", word, a=word)
    versions.commit("main", "other", b="x")
    core, onto = versions.core, versions.head("main")
    mergers = TreeMergers(
        *(versions.blocks, core.trees, core.identifiers, AddressGuard()),
        core.row_differ.processes,
    )
    patches = Patches(core.commits, core.trees, core.history_index)

    def rebase_at_most(limit):
        rebaser = Rebaser(core.commits, core.committer, mergers, patches, max_replayed=limit)
        return rebaser.rebase(versions.change("dev"), onto)

    with pytest.raises(Invalid, match="3 commits") as refused:
        rebase_at_most(2)
    assert refused.value.kind == "too_many_commits"
    assert rebase_at_most(3).replayed == 3


def test_commits_become_visible_with_the_move_only(versions):
    versions.branch("dev")
    versions.commit("dev", "one", a="x")
    versions.commit("dev", "two", b="x")
    versions.commit("main", "other", c="x")
    before = dict(versions.store.scan(versions.repository.partition))
    versions.keyvalue.before = fail_at("apply", 1, Busy("the disk is full"))
    with pytest.raises(Busy):
        rebase(versions, "dev", "main")
    assert dict(versions.store.scan(versions.repository.partition)) == before
    assert rebase(versions, "dev", "main").replayed == 2


def test_commit_of_another_client_during_a_rebase_is_replayed_as_well(versions, other):
    versions.branch("dev")
    versions.commit("dev", "one", a="x")
    versions.commit("main", "base", c="x")
    raced = []

    def commit_first(operation, _subject):
        if operation == "apply" and not raced:
            raced.append(other.commit("dev", "raced", b="x"))

    versions.keyvalue.before = commit_first
    rebased = rebase(versions, "dev", "main")
    assert raced
    assert rebased.replayed == 2
    assert messages(versions, "dev") == ["raced", "one", "base", "Repository created"]
    assert versions.contents("dev") == {"a": "x", "b": "x", "c": "x"}


def test_extra_writes_receive_the_result(versions):
    versions.branch("dev")
    versions.commit("dev", "one", a="x")
    versions.commit("main", "base", c="x")
    seen = []

    def record(rebased):
        seen.append(rebased)
        return (), ()

    assert rebase(versions, "dev", "main", extra_writes=[ExtraWritesFrom(record)]) == seen[-1]
