"""Generated histories: commit graphs without objects, for tests of algorithms on history.

A `History` replaces a commit store: the algorithms of `versioning` take its `read`, which counts
its calls. Each generator takes its source of randomness as a parameter; equal seeds give equal
commits with equal ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from random import Random

from anabranch.errors import NotFound
from anabranch.model.commit import Commit

__all__ = [
    "FIRST_DATE",
    "History",
    "criss_cross_history",
    "linear_history",
    "random_history",
]

FIRST_DATE = 1_700_000_000
"""The creation date of initial commits, in seconds since 1970."""


class History:
    """Commits in the order of their creation, parents before children."""

    def __init__(self, label: str = "history") -> None:
        self._label = label
        self._commits: dict[str, Commit] = {}
        self.ids: list[str] = []
        self.reads = 0

    def read(self, commit_id: str) -> Commit:
        """Returns a commit by its full id; raises NotFound (commit_not_found)."""
        self.reads += 1
        return self[commit_id]

    def __getitem__(self, commit_id: str) -> Commit:
        try:
            return self._commits[commit_id]
        except KeyError:
            raise NotFound(f"commit {commit_id}: not found", kind="commit_not_found") from None

    def add(self, *parents: str, creation_date: int | None = None, nanos: int = 0) -> str:
        """Adds a commit, by default a minute after the previous one; returns its id."""
        number = len(self.ids)
        commit_id = hashlib.sha256(f"{self._label}/{number}".encode()).hexdigest()
        generations = [self._commits[parent].generation for parent in parents]
        self._commits[commit_id] = Commit(
            id=commit_id,
            committer="test",
            message=f"{self._label}/{number}",
            creation_date=FIRST_DATE + 60 * number if creation_date is None else creation_date,
            metarange_id="",
            parents=parents,
            generation=1 + max(generations, default=0),
            nanos=nanos,
        )
        self.ids.append(commit_id)
        return commit_id


def linear_history(length: int, label: str = "linear") -> History:
    """Returns `length` commits in one line."""
    history = History(label)
    parents: tuple[str, ...] = ()
    for _ in range(length):
        parents = (history.add(*parents),)
    return history


def criss_cross_history(rounds: int, label: str = "criss-cross") -> History:
    """Returns two branches that merge each other at the same time, `rounds` times; the last two
    commits are their heads, which have two merge bases.
    """
    history = History(label)
    root = history.add()
    left, right = history.add(root), history.add(root)
    for _ in range(rounds):
        left, right = history.add(left, right), history.add(right, left)
    return history


def random_history(random: Random, size: int, label: str) -> History:
    """Returns a history of at least `size` commits with one initial commit.

    Also random are how often it branches, merges (two or three parents) and criss-crosses, and
    whether its clock is steady, stands still for a while or jumps back.
    """
    history = History(label)
    tick = random.choice((_steady, _standing, _jumping))
    tips = [history.add()]
    likelihoods = [random.random() for _ in _GROWTHS]
    while len(history.ids) < size:
        (grow,) = random.choices(_GROWTHS, likelihoods)
        grow(random, history, tips, lambda: tick(random, len(history.ids)))
    return history


def _extend(random: Random, history: History, tips: list[str], now: Callable[[], int]) -> None:
    where = random.randrange(len(tips))
    tips[where] = history.add(tips[where], creation_date=now())


def _branch(random: Random, history: History, tips: list[str], now: Callable[[], int]) -> None:
    tips.append(history.add(random.choice(history.ids), creation_date=now()))


def _merge(random: Random, history: History, tips: list[str], now: Callable[[], int]) -> None:
    # any older commit may be merged, even an ancestor: except for squashes, lakeFS always makes a
    # merge commit and never fast-forwards a branch
    where = random.randrange(len(tips))
    sources = _others(random, history.ids, tips[where], random.choice((1, 1, 1, 2)))
    tips[where] = history.add(tips[where], *sources, creation_date=now())


def _cross(random: Random, history: History, tips: list[str], now: Callable[[], int]) -> None:
    if len(tips) > 1:
        left, right = random.sample(range(len(tips)), 2)
        if tips[left] != tips[right]:
            ours, theirs = tips[left], tips[right]
            tips[left] = history.add(ours, theirs, creation_date=now())
            tips[right] = history.add(theirs, ours, creation_date=now())
            return
    _branch(random, history, tips, now)


def _others(random: Random, ids: Sequence[str], one: str, count: int) -> list[str]:
    candidates = [commit_id for commit_id in ids if commit_id != one]
    return random.sample(candidates, min(count, len(candidates)))


_GROWTHS = (_extend, _branch, _merge, _cross)


def _steady(random: Random, number: int) -> int:
    return FIRST_DATE + 60 * number + random.randrange(60)


def _standing(random: Random, number: int) -> int:
    return FIRST_DATE + number // random.randint(1, 6)


def _jumping(random: Random, number: int) -> int:
    return FIRST_DATE + number + random.randint(-10, 10)
