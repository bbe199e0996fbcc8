"""What a group commit needs to know of what it writes to: a lock against other processes, and
checkpoints. The defaults are for what one process writes and what needs no checkpoints.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["Checkpoints", "CommitLock", "NoCheckpoints", "Unlocked"]


class CommitLock(Protocol):
    """A lock against other processes, held during a commit."""

    def acquire(self) -> None:
        """Waits until no other process commits."""

    def try_acquire(self) -> bool:
        """Takes the lock if no other process holds it or waits for it; returns whether it did."""

    def release(self) -> None:
        """Lets the next process commit."""


class Checkpoints(Protocol):
    """Work between commits that no item waits for. No commit runs meanwhile."""

    def needs_checkpoint(self) -> bool:
        """Returns whether a checkpoint is due."""

    def checkpoint(self) -> None:
        """Makes a checkpoint. Raises nothing: one that fails is made later."""


class Unlocked:
    """The `CommitLock` of what no other process writes."""

    def acquire(self) -> None:
        """Returns at once."""

    def try_acquire(self) -> bool:
        """Returns True."""
        return True

    def release(self) -> None:
        """Does nothing."""


class NoCheckpoints:
    """The `Checkpoints` of what needs none."""

    def needs_checkpoint(self) -> bool:
        """Returns False."""
        return False

    def checkpoint(self) -> None:
        """Does nothing."""
