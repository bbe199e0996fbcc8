"""The table of keys and values as lakeFS lays it out, and where in it a partition lies.

    kv (partition_key bytea, key bytea, value bytea), hash-partitioned into kv_0 … kv_99

PostgreSQL plans a statement on `kv` anew each time, or else locks all hundred tables beneath; one
on the right table beneath costs half as much processor time. Which one that is, PostgreSQL itself
says, once for each partition: how it hashes is its own business. The first request of a partition
goes to `kv`, and asks that question in the same round trip.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Sequence
from typing import NamedTuple

from anabranch.keyvalue.postgres_connection import Answer, Connection, Statement

__all__ = ["MODULUS", "Layout", "TableOf", "make_tables"]

MODULUS = 100
"""Into how many tables lakeFS divides its own."""

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
_MAKE_KV = b"""
CREATE TABLE IF NOT EXISTS kv (
    partition_key bytea NOT NULL,
    key bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (partition_key, key)
) PARTITION BY HASH (partition_key)
"""
_MOST_REMEMBERED = 10_000


class TableOf(NamedTuple):
    """A partition as bytes, and the table that holds it."""

    partition: bytes
    table: bytes


class Layout:
    """The tables beneath `kv`, and which of them holds a partition. Where they are not divided
    evenly, all statements go to `kv`, which is always right.
    """

    def __init__(self, connection: Connection) -> None:
        rows = _rows(connection.run((_TABLES, ()))[0])
        bounds = [(_BOUND.fullmatch(bound), table) for table, bound in rows]
        self._tables = {int(match[2]): table for match, table in bounds if match}
        self._modulus = len(rows)
        even = all(match and int(match[1]) == self._modulus for match, _ in bounds)
        if not even or len(self._tables) != self._modulus:
            self._tables = {}
        self._known: dict[str, TableOf] = {}
        self._remembering = threading.Lock()

    def table_of(self, partition: str) -> TableOf:
        """Returns where a partition lies: in `kv`, as long as nothing more exact is known."""
        known = self._known.get(partition)
        return TableOf(partition.encode(), b"kv") if known is None else known

    def unknown(self, partitions: Collection[str]) -> list[str]:
        """Returns the partitions whose own tables are not known yet."""
        if not self._tables:
            return []
        return [partition for partition in partitions if partition not in self._known]

    def questions(self, partitions: Sequence[str]) -> list[Statement]:
        """Returns the statements that ask for the tables of partitions, one each."""
        modulus = self._modulus.to_bytes(4)
        return [(_REMAINDER, (partition.encode(), modulus)) for partition in partitions]

    def learn(self, partitions: Sequence[str], answers: Sequence[Answer]) -> None:
        """Takes the answers to the questions about partitions."""
        with self._remembering:
            if len(self._known) + len(partitions) > _MOST_REMEMBERED:
                self._known.clear()
            for partition, answer in zip(partitions, answers, strict=True):
                remainder = int.from_bytes(answer.get_value(0, 0) or b"")
                self._known[partition] = TableOf(partition.encode(), self._tables[remainder])


def make_tables(modulus: int = MODULUS) -> list[bytes]:
    """Returns the statements that make the tables, as lakeFS does."""
    beneath = (
        b"CREATE TABLE IF NOT EXISTS kv_%d PARTITION OF kv "
        b"FOR VALUES WITH (MODULUS %d, REMAINDER %d)" % (number, modulus, number)
        for number in range(modulus)
    )
    return [_MAKE_KV, *beneath]


def _rows(answer: Answer) -> list[tuple[bytes, bytes]]:
    return [
        (answer.get_value(row, 0) or b"", answer.get_value(row, 1) or b"")
        for row in range(answer.ntuples)
    ]
