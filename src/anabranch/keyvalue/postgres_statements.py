"""The statements that read and drop, on the table of a partition.

Values are binary (see `postgres_connection`): bytes as they are, a whole number as eight bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from anabranch.keyvalue.postgres_connection import Statement
from anabranch.keyvalue.postgres_layout import TableOf

__all__ = ["array_of_bytes", "array_of_numbers", "drop_slice", "get", "get_many", "page"]

_BYTEA, _INT8 = 17, 20
_ARRAY = struct.Struct(">iiIii")
_LENGTH = struct.Struct(">i")
_NUMBER = struct.Struct(">iq")


def get(place: TableOf, key: bytes) -> Statement:
    """Returns the statement for a key and its value, if it is there."""
    sql = b"SELECT key, value FROM %b WHERE partition_key = $1 AND key = $2" % place.table
    return sql, (place.partition, key)


def get_many(place: TableOf, keys: Iterable[bytes]) -> Statement:
    """Returns the statement for keys and their values, of those that are there."""
    sql = b"SELECT key, value FROM %b WHERE partition_key = $1 AND key = ANY ($2)" % place.table
    return sql, (place.partition, array_of_bytes(keys))


def page(place: TableOf, start: bytes, end: bytes | None, amount: int) -> Statement:
    """Returns the statement for the first keys and values from a key on."""
    limit = amount.to_bytes(8)
    if end is None:
        sql = b"SELECT key, value FROM %b WHERE partition_key = $1 AND key >= $2 " % place.table
        return sql + b"ORDER BY key LIMIT $3", (place.partition, start, limit)
    sql = (
        b"SELECT key, value FROM %b WHERE partition_key = $1 AND key >= $2 AND key < $3 "
        % place.table
    )
    return sql + b"ORDER BY key LIMIT $4", (place.partition, start, end, limit)


def drop_slice(place: TableOf, amount: int) -> Statement:
    """Returns the statement that removes so many keys of a partition."""
    sql = (
        b"DELETE FROM %b WHERE partition_key = $1 AND key IN "
        b"(SELECT key FROM %b WHERE partition_key = $1 ORDER BY key LIMIT $2)"
        % (place.table, place.table)
    )
    return sql, (place.partition, amount.to_bytes(8))


def array_of_bytes(items: Iterable[bytes]) -> bytes:
    """Returns a `bytea[]` in PostgreSQL's binary form."""
    parts = [part for item in items for part in (_LENGTH.pack(len(item)), item)]
    return _ARRAY.pack(1, 0, _BYTEA, len(parts) // 2, 1) + b"".join(parts)


def array_of_numbers(numbers: Iterable[int]) -> bytes:
    """Returns an `int8[]` in PostgreSQL's binary form."""
    parts = [_NUMBER.pack(8, number) for number in numbers]
    return _ARRAY.pack(1, 0, _INT8, len(parts), 1) + b"".join(parts)
