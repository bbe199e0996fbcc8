"""Histories compared with git itself. Seeds are in each failure's message."""

import itertools
from random import Random

import pytest
from support.histories.git_mirror import GitMirror
from support.session.sizes import sized

from anabranch.errors import Invalid, NotFound
from anabranch.model.references.expression import parse_expression
from anabranch.testing.histories import criss_cross_history, random_history
from anabranch.versioning.history.log import log
from anabranch.versioning.history.merge_base import is_ancestor, merge_base, merge_bases
from anabranch.versioning.history.revision_walk import ancestors, walk_revisions

HISTORIES = 1200
PAIRS = (12, pytest.param(25, marks=pytest.mark.slow))
EXPRESSIONS = 12
PROCESSES = sized(40, weekly=150)


def make(seed):
    random = Random(seed)
    if seed % 20 == 0:
        return criss_cross_history(1 + random.randrange(6), f"criss-cross {seed}")
    return random_history(random, random.randint(2, 30), f"seed {seed}")


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    histories = {seed: make(seed) for seed in range(HISTORIES)}
    return histories, GitMirror(tmp_path_factory.mktemp("batch") / "git", histories.values())


def draw_pairs(histories, count):
    for seed, history in histories.items():
        random = Random(f"pairs {seed}")
        for _ in range(count):
            yield seed, history, *random.choices(history.ids, k=2)


def compare_merge_bases(histories, mirror, count):
    asked = list(draw_pairs(histories, count))
    several = 0
    answers = mirror.merge_bases([(left, right) for _, _, left, right in asked])
    for (seed, history, left, right), expected in zip(asked, answers, strict=True):
        found = merge_bases(history.read, left, right)
        assert sorted(found) == sorted(expected), f"seed {seed}: {left} {right}"
        several += len(found) > 1
    return several


@pytest.mark.parametrize("pairs", PAIRS)
def test_merge_bases_equal_git_rev_list(batch, pairs):
    histories, mirror = batch
    assert compare_merge_bases(histories, mirror, pairs) > 500, "too few criss-cross cases"


def test_merge_bases_equal_git_merge_base_all(batch):
    """And of several the one that git prefers, where dates decide."""
    histories, mirror = batch
    asked = list(draw_pairs(histories, 20))
    interesting = [one for one in asked if len(merge_bases(one[1].read, *one[2:])) > 1]
    for seed, history, left, right in itertools.islice(interesting, PROCESSES):
        expected = mirror.merge_base_all(left, right)
        assert sorted(merge_bases(history.read, left, right)) == sorted(expected), f"seed {seed}"
        preferred = merge_base(history.read, left, right)
        assert preferred in expected
        dates = sorted((history[one].creation_date for one in expected), reverse=True)
        if dates[0] > dates[1]:
            assert preferred == expected[0], f"seed {seed}"


def test_is_ancestor_equals_git(batch):
    histories, mirror = batch
    for seed, history, left, right in itertools.islice(draw_pairs(histories, 1), PROCESSES):
        expected = mirror.is_ancestor(left, right)
        assert is_ancestor(history.read, left, right) == expected, f"seed {seed}"


def test_ancestor_is_its_own_merge_base(batch):
    """A commit is its own merge base with its descendants only, which git confirmed above."""
    for seed, history, left, right in draw_pairs(batch[0], 1):
        expected = merge_bases(history.read, left, right) == [left]
        assert is_ancestor(history.read, left, right) == expected, f"seed {seed}"


def draw_modifiers(random):
    symbols = random.choices("~^", k=random.randint(1, 4))
    return "".join(symbol + random.choice(("", "", "0", "1", "2", "3", "02")) for symbol in symbols)


def follow(history, base, modifiers):
    try:
        return walk_revisions(
            history.read, history[base], parse_expression(f"x{modifiers}").modifiers
        ).id
    except (Invalid, NotFound):
        return None


def test_expressions_resolve_as_in_git(batch):
    histories, mirror = batch
    asked = []
    for seed, history in histories.items():
        random = Random(f"expressions {seed}")
        for _ in range(EXPRESSIONS):
            # the newest commits have the longest way down
            base = random.choice(history.ids[len(history.ids) // 2 :])
            asked.append((seed, history, base, draw_modifiers(random)))
    answers = mirror.resolve([(base, modifiers) for _, _, base, modifiers in asked])
    for (seed, history, base, modifiers), expected in zip(asked, answers, strict=True):
        assert follow(history, base, modifiers) == expected, f"seed {seed}: {modifiers}"
    found = sum(answer is not None for answer in answers)
    assert len(asked) // 4 < found < len(asked) * 9 // 10, "one outcome is hardly tested"


def test_logs_equal_git(batch):
    histories, mirror = batch
    in_order = 0
    for seed, history in itertools.islice(histories.items(), PROCESSES):
        start = history.ids[-1]
        ours = [commit.id for commit in log(history.read, history[start])]
        theirs = mirror.log(start)
        assert set(ours) == set(theirs) == set(ancestors(history.read, start)), f"seed {seed}"
        if len({history[one].creation_date for one in theirs}) == len(theirs):
            in_order += 1
            assert ours == theirs, f"seed {seed}"
    assert in_order > PROCESSES // 5


def test_first_parent_logs_equal_git(batch):
    histories, mirror = batch
    for seed, history in itertools.islice(histories.items(), PROCESSES):
        start = history.ids[-1]
        ours = [commit.id for commit in log(history.read, history[start], first_parent=True)]
        assert ours == mirror.log(start, "--first-parent"), f"seed {seed}"


@pytest.mark.slow
def test_large_histories_equal_git(tmp_path):
    first = Random().randrange(10**9)
    print("seeds from", first)
    several = 0
    for batch_number in range(20):
        seeds = range(first + 500 * batch_number, first + 500 * (batch_number + 1))
        histories = {
            seed: random_history(Random(seed), 2 + seed % 80, f"seed {seed}") for seed in seeds
        }
        mirror = GitMirror(tmp_path / str(batch_number), histories.values())
        several += compare_merge_bases(histories, mirror, 20)
    assert several > 1000
