"""What PostgreSQL does with the statements of the store, on records in memory.

Each kind of statement is recognized by its first words.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

__all__ = ["WORD", "Records", "Result", "Value", "change", "select"]

Value = bytes | None
Records = dict[bytes, dict[bytes, bytes]]
"""The value of each key of each partition."""

_HEAD = struct.Struct(">iiIii")
WORD = struct.Struct(">i")


class Result(NamedTuple):
    """The result of a statement, as libpq has it."""

    rows: list[tuple[bytes, bytes]]
    command_tuples: int | None = None

    @property
    def ntuples(self) -> int:
        return len(self.rows)

    def get_value(self, row: int, column: int) -> bytes:
        return self.rows[row][column]


def change(sql: str, records: Mapping[bytes, bytes], values: Sequence[Value]) -> dict[bytes, Value]:
    """Returns what a statement changes: the new values of keys, None for those that it removes."""
    if sql.startswith("INSERT INTO kv SELECT $1::bytea, $2::bytea"):
        return {values[1] or b"": values[2] or b""}
    if sql.startswith("INSERT INTO kv SELECT $1::bytea, key, value"):
        return dict(zip(_array(values[1]), _array(values[2]), strict=True))
    if sql.startswith("DELETE") and "LIMIT" in sql:
        return dict.fromkeys(sorted(records)[: int.from_bytes(values[1] or b"")])
    if sql.startswith("DELETE"):
        return {key: None for key in _array(values[1]) if key in records}
    raise NotImplementedError(sql)


def select(
    sql: str, records: Mapping[bytes, bytes], values: Sequence[Value]
) -> list[tuple[bytes, bytes]]:
    """Returns the rows that a statement selects."""
    if "unnest($2" in sql:
        bounds = zip(_array(values[1]), _array(values[2]), strict=True)
        return [row for bound in bounds for row in _between(records, *bound)]
    if "key = ANY" in sql:
        return [(key, records[key]) for key in _array(values[1]) if key in records]
    if "key = $2" in sql:
        key = values[1] or b""
        if key not in records:
            return []
        return [(records[key], b"") if sql.startswith("SELECT value") else (key, records[key])]
    end = values[2] if "key < $3" in sql else None
    return _between(records, values[1] or b"", end)[: int.from_bytes(values[-1] or b"")]


def _between(records: Mapping[bytes, bytes], start: bytes, end: Value) -> list[tuple[bytes, bytes]]:
    keys = sorted(records)
    last = len(keys) if end is None else bisect_left(keys, end)
    return [(key, records[key]) for key in keys[bisect_left(keys, start) : last]]


def _array(value: Value) -> Iterator[bytes]:
    """Yields the items of a `bytea[]` in PostgreSQL's binary form."""
    data, at = value or b"", _HEAD.size
    while at < len(data):
        (size,) = WORD.unpack_from(data, at)
        at += WORD.size
        yield data[at : at + size]
        at += size
