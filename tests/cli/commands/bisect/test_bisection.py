"""The choice of commits to test, against git, and searches that find the first bad commit."""

from __future__ import annotations

import math
from random import Random

import pytest
from support.histories.git_mirror import GitMirror

from anabranch.cli.commands.bisect.bisection import Bisection
from anabranch.testing.histories import random_history
from anabranch.versioning.history.revision_walk import ancestors


def bisection_of(history, bad, good):
    known = ancestors(history.read, good)
    commits = {key: c for key, c in ancestors(history.read, bad).items() if key not in known}
    return Bisection(
        repository="sea",
        bad=bad,
        parents={key: commit.parents for key, commit in commits.items()},
        messages=dict.fromkeys(commits, ""),
    )


def test_commit_to_test_halves_the_candidates_as_well_as_that_of_git(tmp_path):
    made = [random_history(Random(seed), 40, f"seed {seed}") for seed in range(20)]
    mirror = GitMirror(tmp_path / "git", made)
    compared = 0
    for history in made:
        bad, good = history.ids[-1], history.ids[0]
        search = bisection_of(history, bad, good)
        if not search.untested():
            continue
        distances = mirror.bisection_distances(good, bad)
        best = max(distance for key, distance in distances.items() if key != bad)
        assert distances[search.next()] == best
        compared += 1
    assert compared > 10


@pytest.mark.parametrize("seed", range(30))
def test_search_finds_the_first_bad_commit(seed):
    random = Random(seed)
    history = random_history(random, 60, f"seed {seed}")
    bad, good = history.ids[-1], history.ids[0]
    search = bisection_of(history, bad, good)
    culprit = random.choice(list(search.parents))
    total, steps = len(search.parents), 0
    while not search.first_bad:
        tested = search.next()
        is_bad = culprit in ancestors(history.read, tested)
        search = search.mark("bad" if is_bad else "good", tested)
        steps += 1
    assert list(search.first_bad) == [culprit]
    assert steps <= 2 * math.log2(total) + 1
    assert len(search.log) == steps


def test_skipped_commits_are_named_if_one_of_them_may_be_the_first_bad_one():
    parents = {f"{number}": [f"{number - 1}"] for number in range(1, 6)}
    search = Bisection(
        repository="sea", bad="5", parents=parents, messages=dict.fromkeys(parents, "")
    )
    search = search.mark("good", "2").mark("skip", "3")
    assert search.next() == "4"
    assert list(search.mark("bad", "4").first_bad) == ["4", "3"]
    assert list(search.mark("good", "4").first_bad) == ["5"]
    assert search.first_bad == ()


def test_long_histories_take_no_recursion():
    parents = {f"{number}": [f"{number - 1}"] for number in reversed(range(1, 20_001))}
    search = Bisection(repository="sea", bad="20000", parents=parents, messages={})
    assert search.next() == "10000"
