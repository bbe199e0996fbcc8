"""Generated histories: commit graphs without objects, for tests of algorithms on history.

A `History` replaces a commit store: its `read` is passed to the algorithms of `versioning`, and
counts its calls. Each generator takes its source of randomness as a parameter; equal seeds give
equal commits with equal ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from random import Random

from anabranch.errors import NotFound
from anabranch.model.commits.commit import Commit

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
    """Returns a chain of `length` commits."""
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

    The frequencies of branches, merges (two or three parents) and criss-cross merges are random. So
    is the clock of creation dates: steady, with equal dates, or running backwards.
    """
    history = History(label)
    tick = random.choice((_steady_clock, _slow_clock, _jumping_clock))
    tips = [history.add()]
    weights = [random.random() for _ in _STEPS]
    while len(history.ids) < size:
        (step,) = random.choices(_STEPS, weights)
        step(random, history, tips, lambda: tick(random, len(history.ids)))
    return history


def _extend(random: Random, history: History, tips: list[str], now: Callable[[], int]) -> None:
    index = random.randrange(len(tips))
    tips[index] = history.add(tips[index], creation_date=now())


def _branch(random: Random, history: History, tips: list[str], now: Callable[[], int]) -> None:
    tips.append(history.add(random.choice(history.ids), creation_date=now()))


def _merge(random: Random, history: History, tips: list[str], now: Callable[[], int]) -> None:
    # any older commit may be merged, even an ancestor: except for squashes, lakeFS always makes a
    # merge commit and never fast-forwards a branch
    index = random.randrange(len(tips))
    sources = _others(random, history.ids, tips[index], random.choice((1, 1, 1, 2)))
    tips[index] = history.add(tips[index], *sources, creation_date=now())


def _criss_cross(random: Random, history: History, tips: list[str], now: Callable[[], int]) -> None:
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


_STEPS = (_extend, _branch, _merge, _criss_cross)


def _steady_clock(random: Random, number: int) -> int:
    return FIRST_DATE + 60 * number + random.randrange(60)


def _slow_clock(random: Random, number: int) -> int:
    return FIRST_DATE + number // random.randint(1, 6)


def _jumping_clock(random: Random, number: int) -> int:
    return FIRST_DATE + number + random.randint(-10, 10)
