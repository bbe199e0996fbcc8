"""An apply as statements: locks, then the expectations, then the writes, sent all at once.

Each step is a statement of one transaction under READ COMMITTED, so each sees what is committed
when it begins:

    1. takes the locks of all keys that are expected or written: shared or exclusive ones, in the
       order of their numbers, so that no two applies wait for each other;
    2. asks each expectation and notes in the transaction's setting `anabranch.holds` whether all
       have held so far;
    3. makes each write if they have.

The locks are advisory ones on a hash of the key, held until the transaction has committed. Who has
them knows that nothing it expects can change before its writes are seen, whether the key is there
or not, and those that wait get them in turn: with row locks, which need a row, many that only
expect a branch keep out for good the one that changes it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.postgres_connection import Answer, Statement
from anabranch.keyvalue.postgres_layout import TableOf
from anabranch.keyvalue.postgres_statements import array_of_bytes, array_of_numbers

__all__ = ["held", "statements"]

_LOCKS = 4096
_FIRST_LOCK = 0x416E6162 << 32  # "Anab": ours among all advisory locks of the database

_TAKE_LOCKS = b"""
SELECT set_config('anabranch.holds', 'true', true), count(
    CASE WHEN lock < 0 THEN pg_advisory_xact_lock_shared(-lock)::text
    ELSE pg_advisory_xact_lock(lock)::text END)
FROM unnest($1::int8[]) AS lock
"""
_IF_HELD = b"current_setting('anabranch.holds') = 'true'"


def statements(
    writes: Sequence[Write], expect: Sequence[Expect], places: Mapping[str, TableOf]
) -> list[Statement]:
    """Returns the statements of an apply; there is at least one write or expectation."""
    made = [_take_locks(writes, expect)]
    made += [_ask(places[partition], key, value) for partition, key, value in expect]
    values: dict[str, dict[bytes, bytes | None]] = {}
    for partition, key, value in writes:
        values.setdefault(partition, {})[key] = value  # of two writes of one key, the later
    for partition, of_partition in values.items():
        made += _writes(places[partition], of_partition)
    return made


def held(answers: Sequence[Answer], expectations: int) -> bool:
    """Returns whether all expectations held, from the answers to an apply's statements."""
    return answers[expectations].get_value(0, 0) == b"true"


def _take_locks(writes: Sequence[Write], expect: Sequence[Expect]) -> Statement:
    exclusive = {_lock(partition, key) for partition, key, _ in writes}
    shared = {_lock(partition, key) for partition, key, _ in expect} - exclusive
    ordered = sorted(exclusive | shared)
    return _TAKE_LOCKS, (array_of_numbers(-n if n in shared else n for n in ordered),)


def _lock(partition: str, key: bytes) -> int:
    return _FIRST_LOCK + zlib.crc32(key, zlib.crc32(partition.encode())) % _LOCKS


def _ask(place: TableOf, key: bytes, value: bytes | None) -> Statement:
    sql = (
        b"SELECT set_config('anabranch.holds', (%b AND (SELECT value FROM %b "
        b"WHERE partition_key = $1 AND key = $2) IS NOT DISTINCT FROM $3)::text, true)"
        % (_IF_HELD, place.table)
    )
    return sql, (place.partition, key, value)


def _writes(place: TableOf, values: dict[bytes, bytes | None]) -> list[Statement]:
    kept = {key: value for key, value in values.items() if value is not None}
    removed = [key for key, value in values.items() if value is None]
    made = []
    if kept:
        made.append(_set(place, kept))
    if removed:
        made.append(_remove(place, removed))
    return made


def _set(place: TableOf, values: dict[bytes, bytes]) -> Statement:
    end = b" ON CONFLICT (partition_key, key) DO UPDATE SET value = excluded.value"
    if len(values) == 1:
        ((key, value),) = values.items()
        sql = b"INSERT INTO %b SELECT $1::bytea, $2::bytea, $3::bytea" % place.table
        return sql + b" WHERE " + _IF_HELD + end, (place.partition, key, value)
    sql = (
        b"INSERT INTO %b SELECT $1::bytea, key, value "
        b"FROM unnest($2::bytea[], $3::bytea[]) AS new (key, value) WHERE " % place.table
    )
    arrays = array_of_bytes(values), array_of_bytes(values.values())
    return sql + _IF_HELD + end, (place.partition, *arrays)


def _remove(place: TableOf, keys: list[bytes]) -> Statement:
    sql = b"DELETE FROM %b WHERE partition_key = $1 AND key = ANY ($2::bytea[]) AND " % place.table
    return sql + _IF_HELD, (place.partition, array_of_bytes(keys))
