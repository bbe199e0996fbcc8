"""Prefetching: reads in one round trip the keys that the previous similar request has read.

A request reads a repository, then the branch whose key the repository's record gives, then the
staged entry whose partition the branch's record gives: three round trips to the database, one after
another. The keys are mostly those of the previous request of that kind. So the keys (not the
values) that a request reads are remembered under its pattern key; the next request with that
pattern key fetches all of them in one round trip. A key that was not prefetched is read as usual.

A request never gets a value that was read before it began, and gets each prefetched value once.
What it reads by `get_recent` may be a moment old (see `recent_values`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.postgres.store import PostgresStore

__all__ = ["PrefetchedReads"]

_MAX_PATTERNS = 10_000
_MAX_PATTERN_KEYS = 8

_Location = tuple[str, bytes]
"""A partition and a key."""

_Pattern = tuple[tuple[str, bytes | int], ...]
"""For each read the partition, and the key or an index into the keys that the request names."""


class _Request(NamedTuple):
    """The prefetched values that a request has not read yet, and the locations it has read."""

    prefetched: dict[_Location, bytes | None]
    read: list[_Location]


class PrefetchedReads:
    """A store over `store` whose `get` returns prefetched values; it passes other calls through."""

    # the contract has the docstrings of the methods
    # ruff: noqa: D102

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._patterns: dict[Hashable, _Pattern] = {}
        # a context variable, not a thread-local one: the batch scheduler runs many on one thread
        self._request: ContextVar[_Request | None] = ContextVar("request", default=None)
        self.get_recent = store.get_recent
        self.get_many = store.get_many
        self.scan = store.scan
        self.snapshot = store.snapshot
        self.drop = store.drop
        self.close = store.close

    @contextmanager
    def prefetch(self, pattern_key: Hashable, *keys: bytes) -> Iterator[None]:
        """Returns a context manager that prefetches what the last request with this pattern key
        has read, with `keys` in location of the keys which that request named. Within another such
        context it does nothing.
        """
        if self._request.get() is not None:
            yield
            return
        pattern = self._patterns.get(pattern_key)
        request = _Request({}, [])
        if pattern is not None:
            locations = [
                (partition, keys[key] if isinstance(key, int) else key)
                for partition, key in pattern
            ]
            values = self._store.get_across_partitions(locations)
            request.prefetched.update(zip(locations, values, strict=True))
        token = self._request.set(request)
        try:
            yield
        finally:
            self._request.reset(token)
            self._remember(pattern_key, keys, request.read, pattern)

    def get(self, partition: str, key: bytes) -> bytes | None:
        request = self._request.get()
        if request is None:
            return self._store.get(partition, key)
        location = (partition, key)
        request.read.append(location)
        if location in request.prefetched:
            return request.prefetched.pop(location)
        return self._store.get(partition, key)

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        request = self._request.get()
        if request is not None:
            request.prefetched.clear()
        return self._store.apply(writes, expect)

    def _remember(
        self,
        pattern_key: Hashable,
        keys: Sequence[bytes],
        read: Sequence[_Location],
        previous: _Pattern | None,
    ) -> None:
        pattern = tuple(
            (partition, keys.index(key) if key in keys else key)
            for partition, key in dict.fromkeys(read[:_MAX_PATTERN_KEYS])
        )
        if pattern != previous and len(pattern) > 1:
            if len(self._patterns) >= _MAX_PATTERNS:
                self._patterns.clear()
            self._patterns[pattern_key] = pattern
