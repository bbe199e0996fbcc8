"""How long a store that others run is waited for."""

from __future__ import annotations

import random
from typing import NamedTuple

__all__ = ["Patience"]


class Patience(NamedTuple):
    """A request is sent again, `retries` times at most, as long as `deadline_seconds` have not
    passed since it was first sent. An answer, or more of one, must come within `silence_seconds`,
    a connection within `connect_seconds`; the end may therefore be that much after the deadline.
    """

    deadline_seconds: float = 30.0
    retries: int = 5
    silence_seconds: float = 20.0
    connect_seconds: float = 5.0

    def pause(self, attempt: int) -> float:
        """Returns how many seconds to wait after the n-th attempt, from 0: about 0.1, 0.2, 0.4, …
        up to 5, each by chance up to twice as long so that many do not ask again at once.
        """
        return float(min(5.0, 0.1 * 2**attempt) * random.uniform(1, 2))  # noqa: S311  no secret
