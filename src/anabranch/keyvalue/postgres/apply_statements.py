"""The SQL statements of an apply: locks, expectations, writes, all sent in one round trip.

Each step is a statement of one transaction under READ COMMITTED, so each sees what is committed
when it begins:

    1. takes shared locks of all keys that are expected and exclusive locks of all keys that are
       written, in the order of their numbers, so that applies cannot deadlock;
    2. evaluates each expectation and records in the transaction's setting `anabranch.holds` whether
       all have held so far;
    3. makes each write if they have.

The locks are advisory locks on a hash of the key, held until the transaction has committed. They
guarantee that no expected key changes before the writes are visible, whether the key exists or not,
and PostgreSQL grants them in order. Row locks would not do: they need a row, and many applies that
only expect a branch's record would starve the one that changes it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.postgres.connection import Result, Statement
from anabranch.keyvalue.postgres.partitions import PartitionTable
from anabranch.keyvalue.postgres.statements import bytes_array, number_array

__all__ = ["is_applied", "statements"]

_LOCKS = 4096
_FIRST_LOCK = 0x416E6162 << 32  # "Anab": marks Anabranch's among the database's advisory locks

_TAKE_LOCKS = b"""
SELECT set_config('anabranch.holds', 'true', true), count(
    CASE WHEN lock < 0 THEN pg_advisory_xact_lock_shared(-lock)::text
    ELSE pg_advisory_xact_lock(lock)::text END)
FROM unnest($1::int8[]) AS lock
"""
_IF_HELD = b"current_setting('anabranch.holds') = 'true'"


def statements(
    writes: Sequence[Write], expect: Sequence[Expect], tables: Mapping[str, PartitionTable]
) -> list[Statement]:
    """Returns the statements of an apply with at least one write or expectation."""
    sql = [_take_locks(writes, expect)]
    sql += [_check(tables[partition], key, value) for partition, key, value in expect]
    values: dict[str, dict[bytes, bytes | None]] = {}
    for partition, key, value in writes:
        values.setdefault(partition, {})[key] = value  # of two writes of one key, the later
    for partition, partition_values in values.items():
        sql += _write(tables[partition], partition_values)
    return sql


def is_applied(results: Sequence[Result], expectations: int) -> bool:
    """Returns whether all expectations held, given the results of an apply's statements and the
    number of its expectations.
    """
    return results[expectations].get_value(0, 0) == b"true"


def _take_locks(writes: Sequence[Write], expect: Sequence[Expect]) -> Statement:
    exclusive = {_lock(partition, key) for partition, key, _ in writes}
    shared = {_lock(partition, key) for partition, key, _ in expect} - exclusive
    ordered = sorted(exclusive | shared)
    return _TAKE_LOCKS, (number_array(-n if n in shared else n for n in ordered),)


def _lock(partition: str, key: bytes) -> int:
    return _FIRST_LOCK + zlib.crc32(key, zlib.crc32(partition.encode())) % _LOCKS


def _check(target: PartitionTable, key: bytes, value: bytes | None) -> Statement:
    sql = (
        b"SELECT set_config('anabranch.holds', (%b AND (SELECT value FROM %b "
        b"WHERE partition_key = $1 AND key = $2) IS NOT DISTINCT FROM $3)::text, true)"
        % (_IF_HELD, target.table)
    )
    return sql, (target.partition, key, value)


def _write(target: PartitionTable, values: dict[bytes, bytes | None]) -> list[Statement]:
    new = {key: value for key, value in values.items() if value is not None}
    removed = [key for key, value in values.items() if value is None]
    sql = []
    if new:
        sql.append(_set(target, new))
    if removed:
        sql.append(_remove(target, removed))
    return sql


def _set(target: PartitionTable, values: dict[bytes, bytes]) -> Statement:
    end = b" ON CONFLICT (partition_key, key) DO UPDATE SET value = excluded.value"
    if len(values) == 1:
        ((key, value),) = values.items()
        sql = b"INSERT INTO %b SELECT $1::bytea, $2::bytea, $3::bytea" % target.table
        return sql + b" WHERE " + _IF_HELD + end, (target.partition, key, value)
    sql = (
        b"INSERT INTO %b SELECT $1::bytea, key, value "
        b"FROM unnest($2::bytea[], $3::bytea[]) AS new (key, value) WHERE " % target.table
    )
    arrays = bytes_array(values), bytes_array(values.values())
    return sql + _IF_HELD + end, (target.partition, *arrays)


def _remove(target: PartitionTable, keys: list[bytes]) -> Statement:
    sql = b"DELETE FROM %b WHERE partition_key = $1 AND key = ANY ($2::bytea[]) AND " % target.table
    return sql + _IF_HELD, (target.partition, bytes_array(keys))
