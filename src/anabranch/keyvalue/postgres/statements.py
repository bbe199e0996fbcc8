"""The SQL statements that read and drop keys, on the table of a partition.

Values are in PostgreSQL's binary form (see `connection`): bytes unchanged, an integer as eight
bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from anabranch.keyvalue.contract import KeyRange
from anabranch.keyvalue.postgres.connection import Statement
from anabranch.keyvalue.postgres.partitions import PartitionTable

__all__ = ["bytes_array", "drop_slice", "get", "get_many", "number_array", "page", "ranges"]

_BYTEA, _INT8 = 17, 20
_ARRAY = struct.Struct(">iiIii")
_LENGTH = struct.Struct(">i")
_NUMBER = struct.Struct(">iq")


def get(target: PartitionTable, key: bytes) -> Statement:
    """Returns the statement that selects a key and its value, if it exists."""
    sql = b"SELECT key, value FROM %b WHERE partition_key = $1 AND key = $2" % target.table
    return sql, (target.partition, key)


def get_many(target: PartitionTable, keys: Iterable[bytes]) -> Statement:
    """Returns the statement that selects those of the keys that exist, and their values."""
    sql = b"SELECT key, value FROM %b WHERE partition_key = $1 AND key = ANY ($2)" % target.table
    return sql, (target.partition, bytes_array(keys))


def page(target: PartitionTable, start: bytes, end: bytes | None, max_rows: int) -> Statement:
    """Returns the statement that selects the first keys from `start` on, and their values."""
    limit = max_rows.to_bytes(8)
    if end is None:
        sql = b"SELECT key, value FROM %b WHERE partition_key = $1 AND key >= $2 " % target.table
        return sql + b"ORDER BY key LIMIT $3", (target.partition, start, limit)
    sql = (
        b"SELECT key, value FROM %b WHERE partition_key = $1 AND key >= $2 AND key < $3 "
        % target.table
    )
    return sql + b"ORDER BY key LIMIT $4", (target.partition, start, end, limit)


def ranges(target: PartitionTable, bounds: Sequence[KeyRange]) -> Statement:
    """Returns the statement that selects all keys of several ranges, and their values, in no
    particular order.
    """
    sql = (
        b"SELECT key, value FROM unnest($2::bytea[], $3::bytea[]) AS bounds (first, past) "
        b"JOIN %b ON partition_key = $1 AND key >= first AND key < past" % target.table
    )
    starts, ends = zip(*bounds, strict=True)
    return sql, (target.partition, bytes_array(starts), bytes_array(ends))


def drop_slice(target: PartitionTable, limit: int) -> Statement:
    """Returns the statement that removes the first `limit` keys of a partition."""
    sql = (
        b"DELETE FROM %b WHERE partition_key = $1 AND key IN "
        b"(SELECT key FROM %b WHERE partition_key = $1 ORDER BY key LIMIT $2)"
        % (target.table, target.table)
    )
    return sql, (target.partition, limit.to_bytes(8))


def bytes_array(items: Iterable[bytes]) -> bytes:
    """Returns a `bytea[]` in PostgreSQL's binary form."""
    parts = [part for item in items for part in (_LENGTH.pack(len(item)), item)]
    return _ARRAY.pack(1, 0, _BYTEA, len(parts) // 2, 1) + b"".join(parts)


def number_array(numbers: Iterable[int]) -> bytes:
    """Returns an `int8[]` in PostgreSQL's binary form."""
    parts = [_NUMBER.pack(8, number) for number in numbers]
    return _ARRAY.pack(1, 0, _INT8, len(parts), 1) + b"".join(parts)
