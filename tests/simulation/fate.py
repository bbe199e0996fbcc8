"""What chance decides in a simulated world: its random numbers, what becomes of calls, and the end
of a server.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

__all__ = ["FATES", "Chance", "Fate", "Killed"]

T = TypeVar("T")


class Killed(BaseException):
    """The server was killed. What would clean up behind an error gets this again."""


class Fate(enum.Enum):
    """What becomes of a call to a store."""

    DONE = "it is performed"
    REFUSED = "it is not performed, and the caller learns that"
    LOST = "it is performed, and the caller does not learn whether"
    UNKNOWN = "it is not performed, and the caller does not learn whether"
    LAST = "it is performed, and the server is killed"

    @property
    def is_performed(self) -> bool:
        """Whether the call takes effect."""
        return self is Fate.DONE or self is Fate.LOST or self is Fate.LAST


FATES = (Fate.REFUSED, Fate.LOST, Fate.UNKNOWN)
"""What may become of a call that fails."""


class Chance(Random):
    """Random numbers, as `Random` makes them. A world chooses thousands of times: its `choice` does
    what that of CPython does, in one call.
    """

    def choice(self, seq: Sequence[T]) -> T:
        """Returns one of the items."""
        count, draw = len(seq), self.getrandbits
        if not count:
            raise IndexError("there is nothing to choose from")
        bits = count.bit_length()
        number = draw(bits)
        while number >= count:
            number = draw(bits)
        return seq[number]

    def chooser(self, items: Sequence[T]) -> Callable[[], T]:
        """Returns a function that does what `choice` does with these items, sooner."""
        count, draw = len(items), self.getrandbits
        bits = count.bit_length()

        def choose() -> T:
            number = draw(bits)
            while number >= count:
                number = draw(bits)
            return items[number]

        return choose
