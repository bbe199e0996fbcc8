from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import NotFound
from anabranch.testing.histories import History, criss_cross_history, linear_history, random_history
from anabranch.testing.history_strategies import histories
from anabranch.versioning.history.merge_base import is_ancestor, merge_base, merge_bases
from anabranch.versioning.history.revision_walk import ancestors


def best_by_definition(history, left, right):
    """The common ancestors of which no other common ancestor descends."""
    closures = {commit_id: set(ancestors(history.read, commit_id)) for commit_id in history.ids}
    common = closures[left] & closures[right]
    return {one for one in common if not any(one in closures[o] for o in common if o != one)}


@given(histories(), st.data())
def test_merge_bases_match_definition(history, data):
    left, right = (data.draw(st.sampled_from(history.ids)) for _ in range(2))
    found = merge_bases(history.read, left, right)
    assert len(found) == len(set(found))
    assert set(found) == best_by_definition(history, left, right)


@given(histories(), st.data())
def test_merge_base_is_symmetric_and_deterministic(history, data):
    left, right = (data.draw(st.sampled_from(history.ids)) for _ in range(2))
    found = merge_bases(history.read, left, right)
    assert found == merge_bases(history.read, right, left)
    assert merge_base(history.read, left, right) == merge_base(history.read, right, left)
    assert merge_base(history.read, left, right) == found[0]


@given(histories(), st.data())
def test_merge_base_with_ancestor_is_ancestor(history, data):
    one, other = (data.draw(st.sampled_from(history.ids)) for _ in range(2))
    related = one in ancestors(history.read, other)
    assert is_ancestor(history.read, one, other) == related
    assert (merge_bases(history.read, one, other) == [one]) == related


def test_merge_base_with_itself_is_itself():
    history = linear_history(3)
    for commit_id in history.ids:
        assert merge_bases(history.read, commit_id, commit_id) == [commit_id]
        assert is_ancestor(history.read, commit_id, commit_id)


def test_merge_base_of_branches_that_merged_main_is_newer_main():
    """The parents of the right merge are an ancestor and its descendant; a walk that takes the
    first commit painted from both sides answers the ancestor.
    """
    history = History()
    root = history.add()
    old = history.add(root)
    main = history.add(history.add(old))
    left = history.add(history.add(root), main)
    right = history.add(old, main)
    assert merge_bases(history.read, left, right) == [main]


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_criss_cross_has_two_merge_bases(rounds):
    history = criss_cross_history(rounds)
    before = history.ids[-4:-2]
    assert set(merge_bases(history.read, *history.ids[-2:])) == set(before)


def test_newest_merge_base_is_preferred():
    history = criss_cross_history(1)
    older, newer = history.ids[1:3]
    assert history[older].creation_date < history[newer].creation_date
    assert merge_bases(history.read, *history.ids[-2:]) == [newer, older]


def test_smallest_id_is_preferred_among_equal_dates():
    """Nanoseconds do not count: they are no part of a commit's identity."""
    history = History()
    root = history.add(creation_date=0)
    pair = [history.add(root, creation_date=1, nanos=nanos) for nanos in (0, 5, 9)]
    left, right = history.add(*pair), history.add(*reversed(pair))
    assert merge_bases(history.read, left, right) == sorted(pair)


def test_unrelated_histories_have_no_merge_base():
    history = History()
    left, right = history.add(), history.add()
    assert merge_bases(history.read, left, right) == []
    assert merge_base(history.read, left, right) is None
    assert not is_ancestor(history.read, left, right)


def test_unknown_commit_raises_not_found():
    history = linear_history(2)
    for call in (merge_bases, merge_base, is_ancestor):
        for pair in (("0" * 64, history.ids[0]), (history.ids[0], "0" * 64)):
            with pytest.raises(NotFound):
                call(history.read, *pair)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sample(20)
def test_wrong_generations_do_not_change_merge_bases(seed):
    """lakeFS's oldest records have none: all of them, or those before an upgrade, read as 0."""
    print("seed", seed)
    random = Random(seed)
    history = random_history(random, 20, f"old {seed}")
    first_known = random.choice((len(history.ids), random.randrange(len(history.ids))))
    zeroed = set(history.ids[:first_known])

    def read(commit_id):
        commit = history[commit_id]
        generation = 0 if commit_id in zeroed else commit.generation
        return msgspec.structs.replace(commit, generation=generation)

    for _ in range(20):
        left, right = random.choices(history.ids, k=2)
        assert set(merge_bases(read, left, right)) == best_by_definition(history, left, right)
        assert is_ancestor(read, left, right) == (left in ancestors(history.read, right))


@pytest.fixture(scope="module")
def long_history():
    """100,000 commits in a line, an old branch that was merged late, a new branch of 20 commits;
    with it the heads of both lines and where the new branch begins.
    """
    history = linear_history(100_000)
    old_branch = history.add(history.ids[10])
    fork = main = history.ids[-2]
    for number in range(30):
        main = history.add(main, old_branch) if number == 15 else history.add(main)
    branch = fork
    for _ in range(20):
        branch = history.add(branch)
    history.reads = 0
    return history, main, branch, fork


def count_reads(history, call, *arguments):
    before = history.reads
    answer = call(history.read, *arguments)
    return answer, history.reads - before


def test_merge_base_reads_only_distance_to_base(long_history):
    history, main, branch, fork = long_history
    answer, reads = count_reads(history, merge_bases, main, branch)
    assert answer == [fork]
    assert reads <= 30 + 20 + 5


def test_is_ancestor_reads_only_distance(long_history):
    history, main, branch, fork = long_history
    assert count_reads(history, merge_bases, main, fork)[1] <= 30 + 5
    assert count_reads(history, is_ancestor, fork, main) == (True, 32)
    assert count_reads(history, is_ancestor, branch, main)[0] is False
    assert count_reads(history, is_ancestor, branch, main)[1] <= 30 + 5


def test_failed_ancestor_search_reads_each_commit_once():
    """The number of ways through a criss-cross history doubles with each round."""
    history = criss_cross_history(100)
    aside = history.add(history.ids[0])
    answer, reads = count_reads(history, is_ancestor, aside, history.ids[-2])
    assert not answer
    assert reads <= len(history.ids) + 1


def test_merge_base_reads_each_commit_once():
    history = random_history(Random(5), 200, "once")
    for left, right in zip(history.ids[-20:-10], history.ids[-10:], strict=True):
        seen = []

        def read(commit_id, seen=seen):
            seen.append(commit_id)
            return history[commit_id]

        merge_bases(read, left, right)
        assert len(seen) == len(set(seen))
