"""The versions of a table that are files, as DuckDB sees them.

Arrow reads them, and DuckDB scans them anew in each query: only the columns that it names, in
carriers of their common types (see `tables/carriage.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.errors import Conflict
from anabranch.tables.carriage import carriage_of, carry
from anabranch.tables.json_values import json_column
from anabranch.tables.sql_names import identifier
from anabranch.tables.table import Table, UnreadableTable, read_columns
from anabranch.tables.widening import convert
from anabranch.versioning.strategies.rows.aligned_rows import aligned_batches
from anabranch.versioning.strategies.rows.columns import ROW
from anabranch.versioning.strategies.rows.comparable_text import comparable_text
from anabranch.versioning.strategies.rows.loaded_sides import LoadedSides
from anabranch.versioning.strategies.rows.table_format import failure, unreadable, unreadable_table

__all__ = ["ScannedSides", "read_error"]

_MAX_COUNTED_ROWS = 1 << 16
_MAX_COUNTED_BYTES = 16 << 20
"""A column whose different values Arrow counts, which takes less time than a query of DuckDB."""


class ScannedSides:
    """Files of tables. `types` are the Arrow types in which columns are compared; None is one whose
    types clash, and are compared as texts. Raises Conflict for a type that cannot be compared.
    """

    def __init__(
        self,
        connection: Any,
        tables: Mapping[str, Table],
        types: Mapping[str, Any],
        format_name: str,
    ) -> None:
        self._connection = connection
        self.format_name = format_name
        self._failure: Conflict | None = None
        self.tables = tables
        self.types = types
        self.names = {side: list(table.schema.names) for side, table in tables.items()}
        self._has = {side: frozenset(names) for side, names in self.names.items()}
        for name, kind in types.items():
            if kind is not None and carriage_of(kind).how == "refused":
                raise failure(f"the column {name!r} has the type {kind}, which cannot be compared")

    def table(self, side: str) -> str:
        """Returns the name of a side's table as SQL."""
        return identifier(side)

    def execute(
        self,
        query: str,
        names: Sequence[str],
        *,
        rows: int | None = None,
        only: str = "",
        parameters: Sequence[Any] = (),
    ) -> list[Any]:
        """Runs SQL over the tables with these columns, and returns its rows."""
        scanned = [only] if only else self.tables
        readers = {side: self._scan(side, names, rows) for side in scanned}
        return self._run(query, readers, parameters)

    def is_surely_unique(self, side: str, name: str) -> bool:
        """Returns whether a column has no null and no value twice, as far as Arrow tells: each
        value is greater than the one before, or they are few enough to be counted.
        """
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        if carriage_of(self.types[name]).carrier not in (pa.int32(), pa.int64(), pa.binary()):
            return False
        if sum(self.tables[side].pieces) <= _MAX_COUNTED_ROWS:
            kind = carriage_of(self.types[name]).carrier
            batches = [batch.column(0) for batch in self._carried(side, [name])]
            column = pa.chunked_array(batches, kind)
            if column.nbytes <= _MAX_COUNTED_BYTES:
                return not column.null_count and len(column) == len(column.unique())
        last: Any = None
        for batch in self._carried(side, [name]):
            column = batch.column(0)
            ordered = pc.less(column.slice(0, max(len(column) - 1, 0)), column.slice(1))
            if column.null_count or not pc.all(ordered).as_py():
                return False
            if len(column):
                if last is not None and not pc.less(last, column[0]).as_py():
                    return False
                last = column[len(column) - 1]
        return True

    def column(self, side: str, name: str) -> Any:
        """Returns a column without nulls that is carried as integers, as a NumPy array."""
        import numpy as np  # noqa: PLC0415

        parts = [batch.column(0).to_numpy() for batch in self._carried(side, [name])]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def carrier_names(self, names: Sequence[str]) -> list[str]:
        """Returns the types of DuckDB in which columns are carried."""
        import pyarrow as pa  # noqa: PLC0415

        empty = pa.schema([(name, self._carrier(name)) for name in names]).empty_table()
        self._connection.register("empty carriers", empty)
        described = self._connection.execute('DESCRIBE "empty carriers"').fetchall()
        self._connection.unregister("empty carriers")
        return [str(row[1]) for row in described]

    def may_identify(self, name: str) -> bool:
        """Returns whether the type of a column is one of keys."""
        import pyarrow.types as kinds  # noqa: PLC0415

        kind = self.types[name]
        if kind is None or kinds.is_nested(kind):
            return False
        return not (kinds.is_floating(kind) or kinds.is_null(kind))

    def text(self, name: str) -> str:
        """Returns a column as SQL text; dates and times, which are carried as integers, do not
        look like numbers.
        """
        import pyarrow.types as kinds  # noqa: PLC0415

        kind = self.types[name]
        is_time = kind is not None and kinds.is_temporal(kind)
        return f"concat('t', {identifier(name)})" if is_time else f"{identifier(name)}::VARCHAR"

    def key_text(self, side: str, key: Sequence[str], row: int) -> str:
        """Returns the key of a row for a message."""
        values = _row_at(self.tables[side], key, row)
        return ", ".join(f"{name}={value}" for name, value in zip(key, values, strict=True))

    def load(self, names: Sequence[str]) -> LoadedSides:
        """Returns tables in the database with these columns, and row numbers."""
        listed = ", ".join(map(identifier, [*names, ROW]))
        loaded = {side: identifier(f"loaded {side}") for side in self.tables}
        for side, name in loaded.items():
            query = f"SELECT {listed} FROM {identifier(side)}"  # noqa: S608  quoted names
            self.execute(f"CREATE OR REPLACE TABLE {name} AS {query}", names)
        texts = {name: self.text(name) for name in names}
        return LoadedSides(self._connection, loaded, dict.fromkeys(loaded, names), texts)

    def execute_aligned(
        self, query: str, names: Sequence[str], numbers: Mapping[str, Any]
    ) -> list[Any]:
        """Runs SQL over the table `aligned`, in which a column `n` of the side `source` is called
        `source n`, and ROW `source` itself. `numbers` are those of rows that belong together, which
        are aligned.
        """
        import pyarrow as pa  # noqa: PLC0415

        schemas = {side: self._carrier_schema(side, names) for side in numbers}
        fields = [
            pa.field(f"{side} {field.name}", field.type)
            for side, schema in schemas.items()
            for field in schema
        ]
        schema = pa.schema([*fields, *(pa.field(side, pa.int64()) for side in numbers)])
        batches = {side: self._carried(side, each.names) for side, each in schemas.items()}
        rows = aligned_batches(batches, schemas, numbers, schema)
        return self._run(query, {"aligned": pa.RecordBatchReader.from_batches(schema, rows)})

    def _run(
        self, query: str, readers: Mapping[str, Any], parameters: Sequence[Any] = ()
    ) -> list[Any]:
        import duckdb  # noqa: PLC0415  an optional library

        for name, reader in readers.items():
            self._connection.register(name, reader)
        try:
            found: list[Any] = self._connection.execute(query, list(parameters)).fetchall()
        except duckdb.Error:
            if self._failure is not None:
                raise self._failure from self._failure.__cause__
            raise
        finally:
            for name in readers:
                self._connection.unregister(name)
        return found

    def _scan(self, side: str, names: Sequence[str], rows: int | None) -> Any:
        import pyarrow as pa  # noqa: PLC0415

        schema = self._carrier_schema(side, names)
        here = schema.names
        schema = schema.append(pa.field(ROW, pa.int64()))
        return pa.RecordBatchReader.from_batches(schema, self._number(side, here, schema, rows))

    def _carrier_schema(self, side: str, names: Sequence[str]) -> Any:
        """Returns those of the columns that a side has, in their carriers."""
        import pyarrow as pa  # noqa: PLC0415

        here = [name for name in names if name in self._has[side]]
        return pa.schema([(name, self._carrier(name)) for name in here])

    def _carrier(self, name: str) -> Any:
        import pyarrow as pa  # noqa: PLC0415

        kind = self.types[name]
        return pa.string() if kind is None else carriage_of(kind).carrier

    def _number(
        self, side: str, names: Sequence[str], schema: Any, rows: int | None
    ) -> Iterator[Any]:
        """Yields batches of a file in carriers, with row numbers."""
        import numpy as np  # noqa: PLC0415
        import pyarrow as pa  # noqa: PLC0415

        start = 0
        for batch in self._carried(side, names):
            numbers = pa.array(np.arange(start, start + batch.num_rows))
            start += batch.num_rows
            yield pa.RecordBatch.from_arrays([*batch.columns, numbers], schema=schema)
            if rows is not None and start >= rows:
                return

    def _carried(self, side: str, names: Sequence[str]) -> Iterator[Any]:
        """Yields batches of a file in carriers. Keeps the error that it raises: DuckDB hides it."""
        import pyarrow as pa  # noqa: PLC0415

        try:
            for batch in read_columns(self.tables[side], names):
                if not names:
                    yield batch
                    continue
                columns = [
                    self._carry(column, name)
                    for column, name in zip(batch.columns, names, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(columns, names=list(names))
        except (pa.ArrowException, OSError, ValueError, UnreadableTable) as error:
            self._failure = read_error(side, self.format_name, error)
            raise self._failure from error

    def _carry(self, column: Any, name: str) -> Any:
        kind = self.types[name]
        if kind is None:
            return comparable_text(column)
        try:
            return carry(convert(column, kind))
        except ValueError as error:
            if column.type == kind:
                raise
            raise UnreadableTable(
                f"the column {name!r} has a value of the type {column.type} that the type {kind} "
                "cannot hold"
            ) from error


def read_error(side: str, format_name: str, error: Exception) -> Conflict:
    """Returns the error for a file that cannot be read."""
    return (
        unreadable_table(side, error)
        if isinstance(error, UnreadableTable)
        else unreadable(side, format_name, error)
    )


def _row_at(table: Table, names: Sequence[str], row: int) -> list[Any]:
    """Returns a row as JSON values."""
    import numpy as np  # noqa: PLC0415

    from anabranch.tables.row_selection import rows_at  # noqa: PLC0415

    batch = next(iter(rows_at(table, names, np.array([row], np.int64))))
    return [json_column(column, cut=False)[0] for column in batch.columns]
