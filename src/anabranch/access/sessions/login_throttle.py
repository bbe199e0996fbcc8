"""Throttling of failed logins: of wrong secrets for an access key, from one address.

After `limit` failures within WINDOW_SECONDS, the pair of key and address is locked: for
`lock_seconds` at first, then twice as long each time, at most LONGEST_LOCK_SECONDS. The same key
works from other addresses meanwhile, so that users cannot lock others out. Keys that do not exist
are not counted: they have no secret to guess.

A pair that has succeeded within TRUSTED_SECONDS is locked after a hundred times the limit: who has
the secret does not guess it, and a client that signs some requests wrongly must not stop those that
it signs rightly.

Counts are kept in memory, by each process for itself, and are bounded in number.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from anabranch.errors import Throttled

__all__ = [
    "LONGEST_LOCK_SECONDS",
    "MAX_COUNTED",
    "TRUSTED_SECONDS",
    "WINDOW_SECONDS",
    "LoginThrottle",
]

WINDOW_SECONDS = 60.0
LONGEST_LOCK_SECONDS = 900.0
MAX_COUNTED = 10_000
"""The most pairs whose failures are counted; the oldest are forgotten."""

TRUSTED_SECONDS = 3600.0
_FORGOTTEN_SECONDS = 3600.0
_TRUST = 100
_REFRESH_SECONDS = 600.0


class _Failures(msgspec.Struct):
    count: int = 0
    since: float = 0.0
    locks: int = 0
    locked_until: float = 0.0
    last: float = 0.0


class LoginThrottle:
    """Counts failures. `ticks` is a monotonic clock in seconds; a `limit` of 0 disables it.
    Thread-safe.
    """

    def __init__(self, limit: int, lock_seconds: float, ticks: Callable[[], float]) -> None:
        self._limit = limit
        self._lock_seconds = lock_seconds
        self._ticks = ticks
        self._failures: OrderedDict[tuple[str, str], _Failures] = OrderedDict()
        self._trusted: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    @property
    def has_failures(self) -> bool:
        """Whether any failures are remembered."""
        return bool(self._failures)

    def check(self, access_key_id: str, address: str) -> None:
        """Raises Throttled if the key is locked for the address."""
        failures = self._failures.get((access_key_id, address)) if self._failures else None
        if failures is None:
            return
        remaining = failures.locked_until - self._ticks()
        if remaining > 0:
            raise Throttled(
                "too many failed logins", kind="too_many_failed_logins", retry_after=remaining
            )

    def failed(self, access_key_id: str, address: str) -> None:
        """Counts a wrong secret."""
        if self._limit > 0:
            with self._lock:
                self._count((access_key_id, address))

    def succeeded(self, access_key_id: str, address: str) -> None:
        """Trusts a key from an address, and forgets its failures."""
        pair = access_key_id, address
        trusted_since = self._trusted.get(pair, -TRUSTED_SECONDS)
        if self._ticks() - trusted_since < _REFRESH_SECONDS and not self._failures:
            return
        with self._lock:
            self._failures.pop(pair, None)
            while len(self._trusted) >= MAX_COUNTED:
                del self._trusted[next(iter(self._trusted))]
            self._trusted[pair] = self._ticks()

    def _count(self, pair: tuple[str, str]) -> None:
        now = self._ticks()
        failures = self._failures.pop(pair, None)
        if failures is None or now - failures.last > _FORGOTTEN_SECONDS:
            failures = _Failures(since=now)
        self._failures[pair] = failures
        while len(self._failures) > MAX_COUNTED:
            self._failures.popitem(last=False)
        if now - failures.since > WINDOW_SECONDS:
            failures.count, failures.since = 0, now
        failures.count += 1
        failures.last = now
        trusted = now - self._trusted.get(pair, -TRUSTED_SECONDS) < TRUSTED_SECONDS
        if failures.count >= self._limit * (_TRUST if trusted else 1):
            length = min(self._lock_seconds * 2**failures.locks, LONGEST_LOCK_SECONDS)
            failures.locked_until = now + length
            failures.locks = min(failures.locks + 1, 16)
            failures.count, failures.since = 0, now
