"""Limits on the connections of one process, so that clients that only keep connections open cannot
keep others out.

Nothing is counted while requests are answered: the oldest idle connection is searched for when a
connection arrives for which there is no room.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

from anabranch.server.http.client_address import TrustedProxies, address_group

__all__ = ["ConnectionLimits", "Limited", "most_connections"]

_MAX_AUTOMATIC = 1 << 16
_SEARCH_PAUSE_SECONDS = 0.1
LOG_INTERVAL_SECONDS = 60.0

_log = logging.getLogger(__name__)


class Limited(Protocol):
    """A connection, as the limits see it."""

    def idle_since(self) -> float | None:
        """Returns when it last had a request answered, or began; None while it answers one."""

    def evict(self) -> None:
        """Closes it at once."""


class ConnectionLimits:
    """Limits of one process; 0 is a limit that follows from how many files the process may open.

    `head_timeout` is in seconds. `count` is called with the reason of each connection that is
    refused or closed for its limits, which one line a minute in the log sums up.
    """

    def __init__(
        self,
        *,
        head_timeout: float = 10.0,
        max_connections: int = 0,
        max_per_address: int = 0,
        proxies: TrustedProxies | None = None,
        count: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        self.head_timeout = head_timeout
        available = most_connections()
        limit = max_connections or available
        if limit > available:
            _log.warning(
                "http.max_connections is %d, but the limit on open files leaves room for %d: raise"
                " it (ulimit -n)",
                limit,
                available,
            )
            limit = available
        self._max_per_address = max_per_address or max(1, limit // 2)
        self._proxies = proxies or TrustedProxies()
        self._count = count
        self._all = _Pool(limit)
        self._by_address: dict[str, _Pool] = {}
        self._reasons: Counter[str] = Counter()
        self._logged = -LOG_INTERVAL_SECONDS

    def trust(self, host: str) -> bool:
        """Returns whether connections from an address are a trusted proxy's."""
        return self._proxies.trust(host)

    def admit(self, connection: Limited, host: str) -> bool:
        """Counts a new connection, for which the oldest idle ones are closed if need be; returns
        False if none is idle.
        """
        group = address_group(host)
        limited = not self._proxies.trust(host)
        if limited and not self._make_room(self._by_address.get(group), "address_limit"):
            return False
        if not self._make_room(self._all, "connection_limit"):
            return False
        self._all.hosts[connection] = host
        if limited:
            pool = self._by_address.setdefault(group, _Pool(self._max_per_address))
            pool.hosts[connection] = host
        return True

    def release(self, connection: Limited, host: str) -> None:
        """Forgets a connection that was closed."""
        self._all.hosts.pop(connection, None)
        pool = self._by_address.get(address_group(host))
        if pool is not None:
            pool.hosts.pop(connection, None)
            if not pool.hosts:
                del self._by_address[address_group(host)]

    def note(self, reason: str) -> None:
        """Counts a connection that was refused or closed. The first of a minute is logged at
        once.
        """
        self._count(reason)
        if not self._reasons and time.monotonic() - self._logged >= LOG_INTERVAL_SECONDS:
            self._reasons[reason] = 1
            self._log_counts()
        else:
            self._reasons[reason] += 1

    async def log_regularly(self) -> None:
        """Logs what was counted, once a minute; runs until it is cancelled."""
        while True:
            await asyncio.sleep(LOG_INTERVAL_SECONDS)
            if self._reasons:
                self._log_counts()

    def _log_counts(self) -> None:
        reasons, self._reasons = self._reasons, Counter()
        self._logged = time.monotonic()
        text = ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))
        _log.warning("connections refused or closed: %s", text)

    def _make_room(self, pool: _Pool | None, reason: str) -> bool:
        """Closes the oldest idle connections of a full pool; returns False if none is idle."""
        while pool is not None and pool.is_full():
            idle = pool.oldest_idle()
            if idle is None:
                self.note(reason)
                return False
            self.release(idle, pool.hosts[idle])
            idle.evict()
            self.note("evicted")
        return True


class _Pool:
    """Connections that share a limit. A search sorts the idle ones once for many evictions."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.hosts: dict[Limited, str] = {}
        self._sorted: deque[tuple[float, Limited]] = deque()
        self._search_after = 0.0

    def is_full(self) -> bool:
        return len(self.hosts) >= self._limit

    def oldest_idle(self) -> Limited | None:
        """Returns the connection that has been idle longest; None if none is."""
        found = self._next_sorted()
        if found is None and time.monotonic() >= self._search_after:
            idle = [(since, one) for one in self.hosts if (since := one.idle_since()) is not None]
            idle.sort(key=lambda pair: pair[0])
            self._sorted = deque(idle)
            found = self._next_sorted()
            if found is None:
                self._search_after = time.monotonic() + _SEARCH_PAUSE_SECONDS
        return found

    def _next_sorted(self) -> Limited | None:
        while self._sorted:
            since, connection = self._sorted.popleft()
            if connection in self.hosts and connection.idle_since() == since:
                return connection
        return None


def most_connections() -> int:
    """Returns the number of connections that leaves enough file descriptors for other files."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return _MAX_AUTOMATIC
    return max(1, min(files * 3 // 4, _MAX_AUTOMATIC))
