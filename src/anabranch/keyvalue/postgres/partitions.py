"""lakeFS's table of keys and values, and which of its PostgreSQL partitions holds a partition.

    kv (partition_key bytea, key bytea, value bytea), hash-partitioned into kv_0 … kv_99

PostgreSQL plans a statement on `kv` each time, or else locks all its hundred tables; a statement on
the right one of these costs half as much processor time. PostgreSQL itself is queried for the
table, once for each partition, since its hash function is internal. The first request of a
partition goes to `kv` and carries that query in the same round trip.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Sequence
from typing import NamedTuple

from anabranch.keyvalue.postgres.connection import Connection, Result, Statement

__all__ = ["MODULUS", "Layout", "PartitionTable", "make_tables"]

MODULUS = 100
"""The number of tables into which lakeFS partitions its table."""

_TABLES = b"""
SELECT format('%I.%I', n.nspname, c.relname), pg_get_expr(c.relpartbound, c.oid)
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE i.inhparent = to_regclass('kv')
"""
_BOUND = re.compile(rb"FOR VALUES WITH \(modulus (\d+), remainder (\d+)\)")
_REMAINDER = b"""
SELECT remainder FROM generate_series(0, $2::int4 - 1) AS remainder
WHERE satisfies_hash_partition('kv'::regclass, $2::int4, remainder, $1::bytea)
"""
_CREATE_KV = b"""
CREATE TABLE IF NOT EXISTS kv (
    partition_key bytea NOT NULL,
    key bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (partition_key, key)
) PARTITION BY HASH (partition_key)
"""
_MAX_CACHED = 10_000


class PartitionTable(NamedTuple):
    """A partition as bytes, and the table that holds it."""

    partition: bytes
    table: bytes


class Layout:
    """The PostgreSQL partitions of `kv`, and a cache of which one holds a partition. If the
    partitions are not of one modulus, all statements go to `kv`, which is always correct.
    """

    def __init__(self, connection: Connection) -> None:
        rows = _rows(connection.run((_TABLES, ()))[0])
        bounds = [(_BOUND.fullmatch(bound), table) for table, bound in rows]
        self._tables = {int(match[2]): table for match, table in bounds if match}
        self._modulus = len(rows)
        uniform = all(match and int(match[1]) == self._modulus for match, _ in bounds)
        if not uniform or len(self._tables) != self._modulus:
            self._tables = {}
        self._cached: dict[str, PartitionTable] = {}
        self._lock = threading.Lock()

    def table_for(self, partition: str) -> PartitionTable:
        """Returns the table of a partition: `kv` until its own table is known."""
        table = self._cached.get(partition)
        return PartitionTable(partition.encode(), b"kv") if table is None else table

    def unknown(self, partitions: Collection[str]) -> list[str]:
        """Returns the partitions whose own tables are not known yet."""
        if not self._tables:
            return []
        return [partition for partition in partitions if partition not in self._cached]

    def queries(self, partitions: Sequence[str]) -> list[Statement]:
        """Returns the statements that query the tables of partitions, one each."""
        modulus = self._modulus.to_bytes(4)
        return [(_REMAINDER, (partition.encode(), modulus)) for partition in partitions]

    def learn(self, partitions: Sequence[str], results: Sequence[Result]) -> None:
        """Stores the results of the queries for the tables of partitions."""
        with self._lock:
            if len(self._cached) + len(partitions) > _MAX_CACHED:
                self._cached.clear()
            for partition, result in zip(partitions, results, strict=True):
                remainder = int.from_bytes(result.get_value(0, 0) or b"")
                self._cached[partition] = PartitionTable(
                    partition.encode(), self._tables[remainder]
                )


def make_tables(modulus: int = MODULUS) -> list[bytes]:
    """Returns the statements that create the tables as lakeFS does."""
    partitions = (
        b"CREATE TABLE IF NOT EXISTS kv_%d PARTITION OF kv "
        b"FOR VALUES WITH (MODULUS %d, REMAINDER %d)" % (number, modulus, number)
        for number in range(modulus)
    )
    return [_CREATE_KV, *partitions]


def _rows(result: Result) -> list[tuple[bytes, bytes]]:
    return [
        (result.get_value(row, 0) or b"", result.get_value(row, 1) or b"")
        for row in range(result.ntuples)
    ]
