"""Progress that tests observe."""

from __future__ import annotations

from collections.abc import Callable


class CallbackProgress:
    """Progress that calls a function with the amount of each advance."""

    def __init__(self, on_advance: Callable[[int], object]) -> None:
        self._on_advance = on_advance

    def begin(self, step: str, total: int) -> None:
        """Does nothing."""

    def advance(self, amount: int) -> None:
        """Calls the function, and raises what it raises."""
        self._on_advance(amount)


class CountingProgress:
    """Progress that counts the items of the current step."""

    def __init__(self) -> None:
        self.done = 0

    def begin(self, step: str, total: int) -> None:  # noqa: ARG002  only the count is kept
        """Begins to count at 0."""
        self.done = 0

    def advance(self, amount: int) -> None:
        """Counts items."""
        self.done += amount
