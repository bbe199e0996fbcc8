"""Reads that are foreseen: over a store on another machine, asked for in one go.

A request reads a repository, then the branch that lies where the repository says, then what is
staged where the branch says: three waits, one after another. But where they lie is seldom another
place than last time. So what a request of one topic has read is remembered, by its places and not
by its values; the next request of that topic asks for all those places together, and what it then
reads is there already. A place that was not foreseen is read as ever.

Nothing is answered that was read before the request began, and nothing twice from one reading.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.postgres import PostgresStore

__all__ = ["ForeseenReads"]

_MOST_TOPICS = 10_000
_MOST_PLACES = 8

_Place = tuple[str, bytes]
_Pattern = tuple[tuple[str, bytes | int], ...]
"""Places: of each the partition, and the key or which of the request's own keys it is."""


class _Request(NamedTuple):
    """What a request has foreseen and has not read yet, and the places it has read."""

    foreseen: dict[_Place, bytes | None]
    read: list[_Place]


class ForeseenReads:
    """The store `store`, whose `get` knows what was foreseen. The rest is as it is there."""

    # each method's docstring stands in the contract that it fulfils
    # ruff: noqa: D102

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._patterns: dict[Hashable, _Pattern] = {}
        # of a context, not of a thread, on which the requests of a lane take turns
        self._request: ContextVar[_Request | None] = ContextVar("request", default=None)
        self.get_many = store.get_many
        self.scan = store.scan
        self.drop = store.drop
        self.close = store.close

    @contextmanager
    def foreseen(self, topic: Hashable, *keys: bytes) -> Iterator[None]:
        """Reads at once what will probably be read until the end of the context: what the last
        request of the topic has read, with these `keys` in place of those it was given. A context
        within another one is part of it.
        """
        if self._request.get() is not None:
            yield
            return
        pattern = self._patterns.get(topic)
        request = _Request({}, [])
        if pattern is not None:
            places = [
                (partition, keys[own] if isinstance(own, int) else own)
                for partition, own in pattern
            ]
            values = self._store.get_together(places)
            request.foreseen.update(zip(places, values, strict=True))
        token = self._request.set(request)
        try:
            yield
        finally:
            self._request.reset(token)
            self._remember(topic, keys, request.read, pattern)

    def get(self, partition: str, key: bytes) -> bytes | None:
        request = self._request.get()
        if request is None:
            return self._store.get(partition, key)
        place = (partition, key)
        request.read.append(place)
        if place in request.foreseen:
            return request.foreseen.pop(place)
        return self._store.get(partition, key)

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        request = self._request.get()
        if request is not None:
            request.foreseen.clear()
        return self._store.apply(writes, expect)

    def _remember(
        self,
        topic: Hashable,
        keys: Sequence[bytes],
        read: Sequence[_Place],
        before: _Pattern | None,
    ) -> None:
        pattern = tuple(
            (partition, keys.index(key) if key in keys else key)
            for partition, key in dict.fromkeys(read[:_MOST_PLACES])
        )
        if pattern != before and len(pattern) > 1:
            if len(self._patterns) >= _MOST_TOPICS:
                self._patterns.clear()
            self._patterns[topic] = pattern
