"""Watching: what a run tells while it goes on."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Silence", "Watching"]


class Watching(Protocol):
    """Hears of a run's steps, one after another; called from several threads."""

    def begin(self, step: str, total: int) -> None:
        """Notes that a step begins, of so many things; 0 if nobody knows how many."""

    def advance(self, amount: int) -> None:
        """Notes that so many more are done."""


class Silence:
    """Keeps it to itself."""

    def begin(self, step: str, total: int) -> None:
        """Does nothing."""

    def advance(self, amount: int) -> None:
        """Does nothing."""
