"""Keys that occur more than once, found by DuckDB within a limit of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, Self

import duckdb
import pyarrow as pa

from anabranch.errors.dependency_errors import reason_of
from anabranch.files.work_folders import WorkFolder
from anabranch.tables.carriage import carriage_of, carry
from anabranch.tables.duckdb_connection import connect
from anabranch.tables.json_values import json_column
from anabranch.tables.sql_names import identifier
from anabranch.tables.table import UnreadableTable

__all__ = ["Repeated", "first_repeated"]

_MEMORY = "512MB"
_PARTS = (1, 4, 16, 64)
_PLACE = "anabranch place"
_FILE_ROWS = 1 << 40
"""The place of a row is this number times the number of its file, and the row's number in it."""


class _Places(NamedTuple):
    first: tuple[int, int]
    last: tuple[int, int]


class Repeated(NamedTuple):
    """A key in two rows, its values in their JSON form; a row is the number of a file and of the
    row in it, from 0.
    """

    key: tuple[Any, ...]
    first: tuple[int, int]
    last: tuple[int, int]


def first_repeated(
    columns: Sequence[str], batches: Callable[[], Iterator[tuple[int, Any]]]
) -> Repeated | None:
    """Returns the repeated key that occurs first, None if all are different. `batches` reads the
    table from its beginning: batches, each with the number of its file, that have exactly these
    columns and one schema. Keys with a null are not compared. Raises UnreadableTable, as they may.

    Keys that do not fit in memory are compared in parts, by their hash; each part reads the table.
    """
    for parts in _PARTS:
        try:
            found = [_first_of_part(columns, batches(), part, parts) for part in range(parts)]
        except duckdb.OutOfMemoryException as error:
            failure = error
        else:
            repeated = [each for each in found if each is not None]
            places = min(repeated, key=lambda each: each.first, default=None)
            return None if places is None else Repeated(_key_at(batches(), places.first), *places)
    raise _failure(failure) from failure


def _first_of_part(
    columns: Sequence[str], batches: Iterator[tuple[int, Any]], part: int, parts: int
) -> _Places | None:
    """Returns where the first repeated key of a part is. Raises UnreadableTable and
    OutOfMemoryException.
    """
    rows = _PlacedRows(columns, batches)
    first = next(rows, None)
    if first is None:
        return None
    reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], rows))
    names = ", ".join(map(identifier, rows.names))
    conditions = [f"{identifier(name)} IS NOT NULL" for name in rows.names]
    conditions.append(f"hash({names}) % {parts} = {part}")
    # of states of a fixed size, such as these, DuckDB writes to disk what does not fit in memory
    places = f"min({identifier(_PLACE)}) AS first, max({identifier(_PLACE)}) AS last"
    query = (
        f"SELECT {places} FROM keys WHERE {' AND '.join(conditions)} "  # noqa: S608
        f"GROUP BY {names} HAVING count(*) > 1 ORDER BY first LIMIT 1"
    )
    with WorkFolder("check") as folder:
        config = {"memory_limit": _MEMORY, "temp_directory": folder, "threads": 2}
        with connect(config) as connection:
            connection.execute("SET preserve_insertion_order = false")
            connection.register("keys", reader)
            try:
                found = connection.execute(query).fetchone()
            except duckdb.OutOfMemoryException:
                raise
            except duckdb.Error as error:
                raise rows.failure or _failure(error) from error
    if rows.failure:
        raise rows.failure
    if found is None:
        return None
    one, last = found
    return _Places(divmod(one, _FILE_ROWS), divmod(last, _FILE_ROWS))


def _key_at(batches: Iterator[tuple[int, Any]], place: tuple[int, int]) -> tuple[Any, ...]:
    """Returns the values of a row."""
    wanted, row = place
    for file, batch in batches:
        if file != wanted:
            continue
        if row < batch.num_rows:
            return tuple(json_column(column.slice(row, 1))[0] for column in batch.columns)
        row -= batch.num_rows
    raise UnreadableTable("it was changed while it was read")


class _PlacedRows:
    """The batches with the place of each row, and with each key in the type in which DuckDB holds
    its values exactly. DuckDB does not pass on what they raise, so `failure`
    keeps it.
    """

    def __init__(self, columns: Sequence[str], batches: Iterator[tuple[int, Any]]) -> None:
        self._columns = columns
        self._batches = batches
        self.names = [f"key{number}" for number in range(len(columns))]
        self._next = 0
        self.failure: UnreadableTable | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            file, batch = next(self._batches)
        except UnreadableTable as error:
            self.failure = error
            raise
        start = max(self._next, file * _FILE_ROWS)
        self._next = start + batch.num_rows
        arrays = [self._carry(name, batch.column(name)) for name in self._columns]
        arrays.append(pa.array(range(start, self._next), pa.int64()))
        return pa.RecordBatch.from_arrays(arrays, [*self.names, _PLACE])

    def _carry(self, name: str, column: Any) -> Any:
        if carriage_of(column.type).how == "refused":
            self.failure = UnreadableTable(f"column {name} of {column.type} cannot be a key")
            raise self.failure
        return carry(column)


def _failure(error: Exception) -> UnreadableTable:
    return UnreadableTable(f"its keys cannot be compared: {reason_of(error).splitlines()[0]}")
