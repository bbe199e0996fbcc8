"""Identifiers that nobody else has: xids, staging tokens, data addresses.

An xid is 12 bytes (4 of time in seconds, 5 of the process, 3 of a counter) written in 20 characters
of base32hex, so that its text sorts by time. A *descending* xid counts down from the year 4000,
which puts the newest first.
"""

from __future__ import annotations

import itertools
import secrets
import threading
import uuid
from collections.abc import Callable

__all__ = ["Identifiers", "descending_time"]

_YEAR_4000 = 64_060_588_800
_WRAP = 1 << 32
_PARTITION_IDS = 50_000
_PARTITION_SECONDS = 3600

_PAIRS = [a + b for a, b in itertools.product("0123456789abcdefghijklmnopqrstuv", repeat=2)]
"""The characters of ten bits in base32hex."""
_SHIFTS, _LATE_SHIFTS = range(90, 29, -10), range(20, -1, -10)
"""Where ten bits lie: those that are the same for a second, and those that count."""
_TIME_DIGITS, _TIME_SPARE = 7, 3
"""An xid's time is in so many digits, the last of which has bits of something else."""


class Identifiers:
    """Makes identifiers from a clock (seconds since 1970) and a source of random bytes."""

    def __init__(
        self,
        clock: Callable[[], float],
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._clock = clock
        self._random = random_bytes
        self._process = int.from_bytes(random_bytes(5)) << 24
        self._counter = itertools.count(int.from_bytes(random_bytes(3)))
        self._last = (-1, "")
        self._lock = threading.Lock()
        self._partition = ""
        self._partition_ids = 0
        self._partition_end = 0.0

    def xid(self) -> str:
        """Returns a new xid."""
        return self._xid(int(self._clock()))

    def descending_xid(self) -> str:
        """Returns a new xid that sorts before all earlier ones."""
        return self._xid(_YEAR_4000 - int(self._clock()))

    def staging_token(self, repository: str, branch: str) -> str:
        """Returns a name for a new staging area: `<repository>-<branch>:<uuid>`."""
        return f"{repository}-{branch}:{uuid.UUID(bytes=self._random(16), version=4)}"

    def data_address(self) -> str:
        """Returns a new relative address for an object's bytes: `data/<partition>/<xid>`.

        The partition changes every hour or 50,000 addresses; newer ones sort first, so that a
        listing of the newest data is short.
        """
        with self._lock:
            now = self._clock()
            if self._partition_ids == 0 or now >= self._partition_end:
                self._partition = self.descending_xid()
                self._partition_ids = _PARTITION_IDS
                self._partition_end = now + _PARTITION_SECONDS
            self._partition_ids -= 1
            return f"data/{self._partition}/{self.xid()}"

    def _xid(self, seconds: int) -> str:
        # 96 bits make 19 characters and a part of one
        late = (self._process | next(self._counter) % (1 << 24)) << 4
        pairs = [_PAIRS[late >> shift & 1023] for shift in _LATE_SHIFTS]
        return self._early(seconds) + "".join(pairs)

    def _early(self, seconds: int) -> str:
        """Returns what all xids of a second begin with."""
        known, early = self._last
        if known != seconds:
            padded = ((seconds % _WRAP) << 64 | self._process) << 4
            early = "".join([_PAIRS[padded >> shift & 1023] for shift in _SHIFTS])
            self._last = seconds, early
        return early


def descending_time(xid: str, near: float) -> int:
    """Returns when a descending xid was made, in seconds since 1970: of all times that it may tell,
    which come again after 136 years, the one nearest to `near`.
    """
    told = int(xid[:_TIME_DIGITS], 32) >> _TIME_SPARE
    seconds = (_YEAR_4000 - told) % _WRAP
    return seconds + round((near - seconds) / _WRAP) * _WRAP
