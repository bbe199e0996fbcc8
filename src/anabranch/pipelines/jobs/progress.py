"""The protocol by which long-running jobs report their progress."""

from __future__ import annotations

from typing import Final, Protocol

__all__ = ["NO_PROGRESS", "NullProgress", "Progress"]


class Progress(Protocol):
    """Receives the steps of a job, one after another; called from several threads. A method raises
    to stop the job.
    """

    def begin(self, step: str, total: int) -> None:
        """Begins a step of `total` items, 0 if their number is unknown."""

    def advance(self, amount: int) -> None:
        """Adds to the number of completed items of the current step."""


class NullProgress:
    """Progress that is not reported."""

    def begin(self, step: str, total: int) -> None:
        """Does nothing."""

    def advance(self, amount: int) -> None:
        """Does nothing."""


NO_PROGRESS: Final = NullProgress()
