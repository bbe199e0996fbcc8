"""Extra writes and background changes of tests, each made of one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Background", "ExtraWritesFrom"]


class ExtraWritesFrom(NamedTuple):
    """The extra writes that a function returns for the result of a change."""

    function: Callable[[Any], Any]

    def writes_for(self, result: Any, /) -> Any:
        """Returns the writes."""
        return self.function(result)


class Background(NamedTuple):
    """A change in the background that calls a function with its extra writes."""

    function: Callable[[Any], object]

    def run(self, extra_writes: Any) -> object:
        """Makes the change."""
        return self.function(extra_writes)
