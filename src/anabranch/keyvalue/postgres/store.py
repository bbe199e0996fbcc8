"""A key-value store in PostgreSQL, for any number of machines.

A look-up is one statement, an apply one transaction in one round trip (see `apply_statements`); how
either is retried when a connection breaks is in `executor`. docs/design/0006-postgresql.md gives
the reasons.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from anabranch.batching.scheduler import batch
from anabranch.errors import AnabranchError
from anabranch.keyvalue.batching.apply_batching import Apply, ApplyResult, apply_all, unwrap
from anabranch.keyvalue.contract import Expect, KeyRange, Row, Write
from anabranch.keyvalue.postgres import apply_statements, statements
from anabranch.keyvalue.postgres.clients import connection_name
from anabranch.keyvalue.postgres.connection import Result, Statement
from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.keyvalue.postgres.executor import RequestExecutor
from anabranch.keyvalue.postgres.partitions import PartitionTable
from anabranch.keyvalue.postgres.pool import Pool
from anabranch.keyvalue.recent_values import RecentValues
from anabranch.keyvalue.scan_pages import scan_in_pages
from anabranch.spent_time import timed
from anabranch.store_observer import UNOBSERVED, StoreObserver

__all__ = ["PostgresStore"]

_SLICE_SIZE = 1_000

Location: TypeAlias = tuple[str, bytes]
"""A partition and a key."""


class PostgresStore:
    """A `KeyValueStore` in the PostgreSQL database that `connection_string` names: a URL, or
    `name=value` pairs, as libpq reads them.

    `timeout_seconds` is how long a request waits for a connection, and how long for its response; a
    `connection_max_lifetime` of 0 is unlimited. `observer` learns of requests and retries.

    Raises Invalid for a malformed connection string, Busy when the database cannot be reached,
    NotSupported unless it has been migrated to the version that is served here.
    """

    def __init__(
        self,
        connection_string: str,
        *,
        max_open_connections: int = 25,
        max_idle_connections: int = 25,
        connection_max_lifetime: float = 300.0,
        timeout_seconds: float = 20.0,
        observer: StoreObserver = UNOBSERVED,
    ) -> None:
        name = connection_name(max_open_connections)
        database = PostgresDatabase(connection_string, timeout_seconds, name)
        pool = Pool(
            database.connect,
            max_open=max_open_connections,
            max_idle=max_idle_connections,
            lifetime_seconds=connection_max_lifetime,
            timeout_seconds=timeout_seconds,
        )
        self._executor = RequestExecutor(database, pool, observer)
        self._recent = RecentValues(self.get)

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value, or None."""
        return self.get_across_partitions(((partition, key),))[0]

    def get_recent(self, partition: str, key: bytes) -> bytes | None:
        """Returns a value that the key had at some moment of the last RECENT_SECONDS, or None."""
        return self._recent.get(partition, key)

    @timed("keyvalue")
    def get_many(self, partition: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Returns the values of several keys, in their order, from one snapshot."""
        if not keys:
            return []
        distinct = set(keys)
        (result,) = self._executor.run(
            (partition,), lambda tables: [statements.get_many(tables[partition], distinct)]
        )
        return list(map(dict(_rows(result)).get, keys))

    @timed("keyvalue")
    def get_across_partitions(self, locations: Sequence[Location]) -> list[bytes | None]:
        """Returns the values of keys of any partitions, read in one round trip; not a snapshot."""
        return batch(self._read_batch, locations)

    def _read_batch(self, requests: Sequence[Sequence[Location]]) -> list[list[bytes | None]]:
        """Returns the values of each request's locations, all read in one round trip."""
        keys: dict[str, dict[bytes, None]] = {}
        for locations in requests:
            for partition, key in locations:
                keys.setdefault(partition, {})[key] = None
        results = self._executor.run(
            keys, lambda tables: [_read(tables[partition], keys[partition]) for partition in keys]
        )
        values = {
            partition: dict(_rows(result)) for partition, result in zip(keys, results, strict=True)
        }
        return [
            [values[partition].get(key) for partition, key in locations] for locations in requests
        ]

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields (key, value) with start <= key < end, in order, at most `limit` of them.

        Reads in pages, so that an unfinished scan holds no connection.
        """
        return scan_in_pages(partial(self._page, partition), start, end, limit)

    @timed("keyvalue")
    def snapshot(self, partition: str, ranges: Sequence[KeyRange]) -> list[list[Row]]:
        """Returns the pairs of each range, in order, as they were at one moment: one statement
        reads them.
        """
        if not ranges:
            return []
        (result,) = self._executor.run(
            (partition,), lambda tables: [statements.ranges(tables[partition], ranges)]
        )
        rows = sorted(set(_rows(result)))  # ranges may overlap
        return [
            rows[bisect_left(rows, (start, b"")) : bisect_left(rows, (end, b""))]
            for start, end in ranges
        ]

    @timed("keyvalue")
    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        """Makes all writes atomically if every expectation holds, else none; returns whether it
        made them.

        Raises Busy if nothing was written, OutcomeUnknown if that is not known, and Invalid for a
        key of more than about 2,600 bytes or a value of more than about 1 GB.
        """
        if not writes and not expect:
            return True
        return unwrap(batch(self._apply_all, Apply(writes, expect)))

    def _apply_all(self, applies: Sequence[Apply]) -> Sequence[ApplyResult]:
        return apply_all(applies, lambda merged: [self._apply(apply) for apply in merged])

    def _apply(self, apply: Apply) -> ApplyResult:
        writes, expect = apply.writes, apply.expect
        try:
            results = self._executor.run(
                {partition for partition, _, _ in (*writes, *expect)},
                lambda tables: apply_statements.statements(writes, expect, tables),
                once=bool(writes),
            )
        except AnabranchError as error:
            return error
        return apply_statements.is_applied(results, len(expect))

    @timed("keyvalue")
    def drop(self, partition: str) -> None:
        """Removes a whole partition, in slices, between which other requests can write."""
        removed = _SLICE_SIZE
        while removed == _SLICE_SIZE:
            (result,) = self._executor.run(
                (partition,),
                lambda tables: [statements.drop_slice(tables[partition], _SLICE_SIZE)],
            )
            removed = result.command_tuples or 0

    def close(self) -> None:
        """Finishes requests in flight and releases the store; later calls raise Busy."""
        self._executor.close()

    @timed("keyvalue")
    def _page(
        self, partition: str, start: bytes, end: bytes | None, limit: int
    ) -> list[tuple[bytes, bytes]]:
        (result,) = self._executor.run(
            (partition,),
            lambda tables: [statements.page(tables[partition], start, end, limit)],
        )
        return _rows(result)


def _read(table: PartitionTable, keys: Collection[bytes]) -> Statement:
    if len(keys) == 1:
        return statements.get(table, *keys)
    return statements.get_many(table, keys)


def _rows(result: Result) -> list[tuple[bytes, bytes]]:
    value = result.get_value
    return [(value(row, 0) or b"", value(row, 1) or b"") for row in range(result.ntuples)]
