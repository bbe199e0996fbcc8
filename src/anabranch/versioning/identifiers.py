"""Unique identifiers: xids, staging tokens, data addresses.

An xid is 12 bytes (4 of time in seconds, 5 of the process, 3 of a counter) written in 20 characters
of base32hex, so that its text sorts by time. A *descending* xid counts down from the year 4000,
which puts the newest first; ids of pull requests and of runs of hooks count down from the end of
November 2999, as in lakeFS, for which that is month 0 of the year 3000.
"""

from __future__ import annotations

import itertools
import secrets
import threading
import uuid
from collections.abc import Callable

from anabranch.model.objects.data_address import PARTITION_SPAN, clear_start

__all__ = ["Identifiers", "descending_time"]

_NOVEMBER_2999 = 32_500_915_200
_YEAR_4000 = 64_060_588_800
_WRAP = 1 << 32
_PARTITION_IDS = 50_000
_PARTITION_SECONDS = 3600

_PAIRS = [a + b for a, b in itertools.product("0123456789abcdefghijklmnopqrstuv", repeat=2)]
"""The two base32hex characters for each value of ten bits."""
_PREFIX_SHIFTS, _SUFFIX_SHIFTS = range(90, 29, -10), range(20, -1, -10)
"""The positions of the groups of ten bits: those that are constant for a second, and the rest."""
_TIME_DIGITS, _TIME_SPARE = 7, 3
"""The number of characters that hold an xid's time, and the number of other bits in the last."""


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
        self._partition_number = 0

    def xid(self) -> str:
        """Returns a new xid."""
        return self._xid(int(self._clock()), next(self._counter))

    def descending_xid(self) -> str:
        """Returns a new xid that sorts before all earlier ones."""
        return self._descending(_YEAR_4000, next(self._counter))

    def pull_request_id(self) -> str:
        """Returns the id of a new pull request, which sorts before all earlier ones."""
        return self._descending(_NOVEMBER_2999, next(self._counter))

    def run_id(self) -> str:
        """Returns the id of a new run of hooks, which sorts before all earlier ones."""
        return self.pull_request_id()

    def staging_token(self, repository: str, branch: str) -> str:
        """Returns a name for a new staging area: `<repository>-<branch>:<uuid>`."""
        return f"{repository}-{branch}:{uuid.UUID(bytes=self._random(16), version=4)}"

    def random_hex(self) -> str:
        """Returns 128 random bits as 32 hexadecimal digits."""
        return self._random(16).hex()

    def random_uuid(self) -> str:
        """Returns a random UUID."""
        return str(uuid.UUID(bytes=self._random(16), version=4))

    def data_address(self) -> str:
        """Returns a new relative address for an object's bytes: `data/<partition>/<xid>`. It is
        proof of its origin (`model.data_address`).

        The partition changes every hour or 50,000 addresses; newer ones sort first, so that a
        listing of the newest data is short.
        """
        with self._lock:
            now, number = self._clock(), next(self._counter)
            if (
                self._partition_ids == 0
                or now >= self._partition_end
                or number - self._partition_number > PARTITION_SPAN
            ):
                number = self._begin_partition(now, number)
            self._partition_ids -= 1
            return f"data/{self._partition}/{self._xid(int(now), number)}"

    def _begin_partition(self, now: float, number: int) -> int:
        """Begins a partition with a number, or a later one; returns the number after it."""
        start = clear_start(number)
        if start != number:
            # too far ahead to meet a number that another thread takes from the old counter
            self._counter = itertools.count(start + 1)
        self._partition = self._descending(_YEAR_4000, start)
        self._partition_ids = _PARTITION_IDS
        self._partition_end = now + _PARTITION_SECONDS
        self._partition_number = start
        return next(self._counter)

    def _descending(self, end: int, number: int) -> str:
        """Returns the xid of the time left until `end`, with the negative of a number."""
        return self._xid(end - int(self._clock()), -number)

    def _xid(self, seconds: int, number: int) -> str:
        # 96 bits fill 19 characters and a part of the 20th
        low = (self._process | number % (1 << 24)) << 4
        pairs = [_PAIRS[low >> shift & 1023] for shift in _SUFFIX_SHIFTS]
        return self._prefix(seconds) + "".join(pairs)

    def _prefix(self, seconds: int) -> str:
        """Returns the characters with which all xids of a second begin."""
        cached_second, prefix = self._last
        if cached_second != seconds:
            padded = ((seconds % _WRAP) << 64 | self._process) << 4
            prefix = "".join([_PAIRS[padded >> shift & 1023] for shift in _PREFIX_SHIFTS])
            self._last = seconds, prefix
        return prefix


def descending_time(xid: str, near: float) -> int:
    """Returns the time of a descending xid, in seconds since 1970. The time of an xid repeats every
    136 years; of these times, this is the one nearest to `near`.
    """
    encoded = int(xid[:_TIME_DIGITS], 32) >> _TIME_SPARE
    seconds = (_YEAR_4000 - encoded) % _WRAP
    return seconds + round((near - seconds) / _WRAP) * _WRAP
