"""Which of the ranked files of tests run within a budget of seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from support.selection.ranking import Candidate, Nearness

__all__ = ["SECONDS_VARIABLE", "STARTUP_SECONDS", "Choice", "choose"]

SECONDS_VARIABLE = "ANABRANCH_TEST_SECONDS"
"""The variable that has the seconds in which tests may begin, for the plugin `deadline`."""

STARTUP_SECONDS = 4.0
"""What passes before the first test: the controller and its workers import the conftest."""
COLLECTION_SECONDS = 0.12
"""What each worker needs to import a file of tests."""


class Choice(NamedTuple):
    """What runs, what does not, and the seconds that it takes by estimate.

    `cut` are files that take longer than the budget but are the closest: they run until it ends.
    """

    chosen: Sequence[Candidate]
    cut: Sequence[Candidate]
    skipped: Sequence[Candidate]
    seconds: float


def choose(ranked: Sequence[Candidate], budget: float, workers: int) -> Choice:
    """Returns the choice among `ranked`, in order: each that still fits, and what has changed.

    A file runs on one worker, so each worker has a budget of its own.
    """
    spent = [0.0] * workers
    room = budget - STARTUP_SECONDS
    chosen: list[Candidate] = []
    cut: list[Candidate] = []
    skipped: list[Candidate] = []
    for candidate in ranked:
        least = min(range(workers), key=spent.__getitem__)
        fits = spent[least] + candidate.cost + COLLECTION_SECONDS <= room
        if fits or candidate.nearness is Nearness.CHANGED:
            spent[least] += candidate.cost
            spent = [seconds + COLLECTION_SECONDS for seconds in spent]
            chosen.append(candidate)
        elif candidate.nearness is Nearness.MIRRORS and not cut:
            spent[least] = room
            cut.append(candidate)
        else:
            skipped.append(candidate)
    return Choice(chosen, cut, skipped, min(STARTUP_SECONDS + max(spent), budget))
