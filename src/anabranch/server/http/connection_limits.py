"""Limits on the connections of one process, so that idle connections cannot exhaust it.

Requests cause no accounting: the oldest idle connection is only searched for when a new connection
would exceed a limit.
"""

from __future__ import annotations

import logging
import resource
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from anabranch.server.http.client_address import TrustedProxies, address_group
from anabranch.server.observability.count_log import CountLog

__all__ = ["ConnectionLimits", "Limited", "max_open_connections"]

_MAX_AUTOMATIC = 1 << 16
_SEARCH_PAUSE_SECONDS = 0.1

_log = logging.getLogger(__name__)


class Limited(Protocol):
    """A connection to which limits apply."""

    def idle_since(self) -> float | None:
        """Returns the time of its last response, or of its start; None while it has a request."""

    def evict(self) -> None:
        """Closes it immediately."""


class ConnectionLimits:
    """Limits of one process; 0 derives the limit from the process's limit of open files.

    `head_timeout` is in seconds. `count` is called with the reason for each connection that is
    refused or closed because of a limit; the log has a summary at most once a minute.
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
        available = max_open_connections()
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
        self._ended = CountLog("connections refused or closed")
        self._untrusted = CountLog(
            "requests with X-Forwarded-For from addresses that are not in http.trusted_proxies: if"
            " these are proxies, add them, since all of their clients count as one"
        )
        self.logs = (self._ended, self._untrusted)
        """Counts that are to be logged regularly."""

    def client_of(self, proxy: str, forwarded_for: str) -> str:
        """Returns the address of the client of a trusted proxy; see `TrustedProxies`."""
        return self._proxies.client_of(proxy, forwarded_for)

    def trust(self, host: str) -> bool:
        """Returns whether an address belongs to a trusted proxy."""
        return self._proxies.trust(host)

    def admit(self, connection: Limited, host: str) -> bool:
        """Adds a new connection, and closes the oldest idle ones if a limit is exceeded. Returns
        False if the limit is exceeded and none is idle.
        """
        group = address_group(host)
        limited = not self._proxies.trust(host)
        if limited and not self._evict_if_full(self._by_address.get(group), "address_limit"):
            return False
        if not self._evict_if_full(self._all, "connection_limit"):
            return False
        self._all.hosts[connection] = host
        if limited:
            pool = self._by_address.setdefault(group, _Pool(self._max_per_address))
            pool.hosts[connection] = host
        return True

    def release(self, connection: Limited, host: str) -> None:
        """Removes a connection that was closed."""
        self._all.hosts.pop(connection, None)
        pool = self._by_address.get(address_group(host))
        if pool is not None:
            pool.hosts.pop(connection, None)
            if not pool.hosts:
                del self._by_address[address_group(host)]

    def note(self, reason: str) -> None:
        """Counts a connection that was refused or closed."""
        self._count(reason)
        self._ended.note(reason)

    def note_untrusted(self, host: str) -> None:
        """Counts a request with the header of a proxy from an address that is not trusted: all
        clients behind it are one for the limits on connections and on failed logins.
        """
        self._untrusted.note(host)

    def _evict_if_full(self, pool: _Pool | None, reason: str) -> bool:
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
    """Connections that share a limit. Idle ones are sorted once for many evictions."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.hosts: dict[Limited, str] = {}
        self._sorted: deque[tuple[float, Limited]] = deque()
        self._search_after = 0.0

    def is_full(self) -> bool:
        return len(self.hosts) >= self._limit

    def oldest_idle(self) -> Limited | None:
        """Returns the connection that has been idle longest; None if none is."""
        oldest = self._next_sorted()
        if oldest is None and time.monotonic() >= self._search_after:
            idle = [(since, one) for one in self.hosts if (since := one.idle_since()) is not None]
            idle.sort(key=lambda pair: pair[0])
            self._sorted = deque(idle)
            oldest = self._next_sorted()
            if oldest is None:
                self._search_after = time.monotonic() + _SEARCH_PAUSE_SECONDS
        return oldest

    def _next_sorted(self) -> Limited | None:
        while self._sorted:
            since, connection = self._sorted.popleft()
            if connection in self.hosts and connection.idle_since() == since:
                return connection
        return None


def max_open_connections() -> int:
    """Returns the number of connections that leaves enough file descriptors for other files."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return _MAX_AUTOMATIC
    return max(1, min(files * 3 // 4, _MAX_AUTOMATIC))
