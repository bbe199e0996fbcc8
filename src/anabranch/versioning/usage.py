"""Usage counts: how many requests an installation received in each month.

    partition        key       value
    anabranch-usage  YYYY-MM   the number of requests, in decimal digits

Months are those of UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from anabranch.errors import Busy
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write

__all__ = ["MonthlyUsage", "UsageCounts"]

_PARTITION = "anabranch-usage"
_MAX_ATTEMPTS = 100


class MonthlyUsage(NamedTuple):
    """The number of requests in a month, 1 to 12."""

    year: int
    month: int
    requests: int


class UsageCounts:
    """The stored counts of all servers."""

    def __init__(self, keyvalue: KeyValueStore) -> None:
        self._keyvalue = keyvalue

    def add(self, moment: float, count: int) -> None:
        """Adds requests to the month of a moment, in seconds since 1970. Raises Busy when too many
        servers do so at once.
        """
        key = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m").encode()
        for _ in range(_MAX_ATTEMPTS):
            raw = self._keyvalue.get(_PARTITION, key)
            total = int(raw or b"0") + count
            expect = Expect(_PARTITION, key, raw)
            if self._keyvalue.apply([Write(_PARTITION, key, b"%d" % total)], [expect]):
                return
        raise Busy("the usage counts are changed by too many servers at once")

    def all(self) -> list[MonthlyUsage]:
        """Returns the counts of all months with requests, the oldest first."""
        counts = []
        for key, raw in self._keyvalue.scan(_PARTITION):
            year, _, month = key.decode().partition("-")
            counts.append(MonthlyUsage(int(year), int(month), int(raw)))
        return counts
