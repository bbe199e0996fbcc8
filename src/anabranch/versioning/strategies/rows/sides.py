"""The versions of a table as DuckDB sees them, by side.

`ScannedSides` are files that Arrow reads: DuckDB scans them anew in each query, only the columns
that it names, in carriers of their common types (see `tables/carriage.py`). `LoadedSides` are tables
in the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from anabranch.errors import Conflict
from anabranch.tables.carriage import carriage_of, carry
from anabranch.tables.column_table import ColumnTable
from anabranch.tables.parquet.parquet_table import UnreadableColumn
from anabranch.tables.widening import convert
from anabranch.versioning.strategies.rows.columns import ROW, quoted
from anabranch.versioning.strategies.rows.json_values import comparable_text, json_value
from anabranch.versioning.strategies.rows.table_format import failed, unreadable

__all__ = ["LoadedSides", "ScannedSides", "Sides", "first_row"]


class Sides(Protocol):
    """The tables of a comparison or a merge."""

    @property
    def names(self) -> Mapping[str, Sequence[str]]:
        """The names of the columns of each side."""

    def table(self, side: str) -> str:
        """Returns the name of a side's table as SQL."""

    def execute(self, query: str, names: Sequence[str], *, rows: int | None = None) -> list[Any]:
        """Runs SQL over the tables with these columns, and ROW, and returns its rows. Each table
        may occur once. `rows` may leave out all but the first rows. Raises Conflict for a file that
        cannot be read.
        """

    def may_identify(self, name: str) -> bool:
        """Returns whether the type of a column is one of keys: no fraction, and not nested."""

    def text(self, name: str) -> str:
        """Returns a column as SQL text, by which numbers can be told from others."""

    def key_text(self, side: str, key: Sequence[str], row: int) -> str:
        """Returns the key of a row for a message."""

    def load(self, names: Sequence[str]) -> LoadedSides:
        """Returns tables in the database with these columns."""


class LoadedSides:
    """Tables of the database: `tables` are their names as SQL, `names` their columns."""

    def __init__(
        self,
        connection: Any,
        tables: Mapping[str, str],
        names: Mapping[str, Sequence[str]],
        texts: Mapping[str, str] | None = None,
    ) -> None:
        self._connection = connection
        self._tables = tables
        self._texts = texts or {}
        self.names = names

    def table(self, side: str) -> str:
        """Returns the name of a side's table as SQL."""
        return self._tables[side]

    def execute(self, query: str, names: Sequence[str], *, rows: int | None = None) -> list[Any]:  # noqa: ARG002
        """Runs SQL, and returns its rows."""
        found: list[Any] = self._connection.execute(query).fetchall()
        return found

    def may_identify(self, name: str) -> bool:  # noqa: ARG002  the values tell
        """Returns True: all columns are texts, or were chosen before."""
        return True

    def text(self, name: str) -> str:
        """Returns a column as SQL text."""
        return self._texts.get(name, f"{quoted(name)}::VARCHAR")

    def key_text(self, side: str, key: Sequence[str], row: int) -> str:
        """Returns the key of a row for a message."""
        listed = ", ".join(map(quoted, key))
        query = f"SELECT {listed} FROM {self.table(side)} WHERE {quoted(ROW)} = {row}"  # noqa: S608
        values = self._connection.execute(query).fetchone()
        return ", ".join(f"{name}={value}" for name, value in zip(key, values, strict=True))

    def load(self, names: Sequence[str]) -> LoadedSides:  # noqa: ARG002  they are
        """Returns these tables."""
        return self


class ScannedSides:
    """Files of tables. `types` are the Arrow types in which columns are compared; None is one whose
    types clash, and are compared as texts. Raises Conflict for a type that cannot be compared.
    """

    def __init__(
        self,
        connection: Any,
        tables: Mapping[str, ColumnTable],
        types: Mapping[str, Any],
        format_name: str,
    ) -> None:
        self._connection = connection
        self.format_name = format_name
        self._failure: Exception | None = None
        self.tables = tables
        self.types = types
        self.names = {side: list(table.schema.names) for side, table in tables.items()}
        for name, kind in types.items():
            if kind is not None and carriage_of(kind).how == "refused":
                raise failed(f"the column {name!r} has the type {kind}, which cannot be compared")

    def table(self, side: str) -> str:
        """Returns the name of a side's table as SQL."""
        return quoted(side)

    def execute(
        self,
        query: str,
        names: Sequence[str],
        *,
        rows: int | None = None,
        parameters: Sequence[Any] = (),
    ) -> list[Any]:
        """Runs SQL over the tables with these columns, and returns its rows."""
        import duckdb  # noqa: PLC0415  an optional library

        for side in self.tables:
            self._connection.register(side, self._scan(side, names, rows))
        try:
            found: list[Any] = self._connection.execute(query, list(parameters)).fetchall()
        except duckdb.Error as error:
            if self._failure is not None:
                raise self._failure from error
            raise
        finally:
            for side in self.tables:
                self._connection.unregister(side)
        return found

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
        return f"concat('t', {quoted(name)})" if is_time else f"{quoted(name)}::VARCHAR"

    def key_text(self, side: str, key: Sequence[str], row: int) -> str:
        """Returns the key of a row for a message."""
        values = first_row(self.tables[side], key, row)
        return ", ".join(f"{name}={value}" for name, value in zip(key, values, strict=True))

    def load(self, names: Sequence[str]) -> LoadedSides:
        """Returns tables in the database with these columns, and row numbers."""
        listed = ", ".join(map(quoted, [*names, ROW]))
        loaded = {side: quoted(f"loaded {side}") for side in self.tables}
        for side, name in loaded.items():
            self.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT {listed} FROM {quoted(side)}", names)  # noqa: S608
        texts = {name: self.text(name) for name in names}
        return LoadedSides(self._connection, loaded, dict.fromkeys(loaded, names), texts)

    def _scan(self, side: str, names: Sequence[str], rows: int | None) -> Any:
        import pyarrow as pa  # noqa: PLC0415

        table = self.tables[side]
        here = [name for name in names if name in table.schema.names]
        fields = [pa.field(name, self._carrier(name)) for name in here]
        schema = pa.schema([*fields, pa.field(ROW, pa.int64())])
        return pa.RecordBatchReader.from_batches(schema, self._carried(side, here, schema, rows))

    def _carrier(self, name: str) -> Any:
        import pyarrow as pa  # noqa: PLC0415

        kind = self.types[name]
        return pa.string() if kind is None else carriage_of(kind).carrier

    def _carried(
        self, side: str, names: Sequence[str], schema: Any, rows: int | None
    ) -> Iterator[Any]:
        """Yields batches of a file, in carriers and with row numbers. DuckDB hides an error that is
        raised here, so it is kept.
        """
        import pyarrow as pa  # noqa: PLC0415

        table, start = self.tables[side], 0
        try:
            for piece in range(len(table.pieces)):
                for batch in table.read(piece, names):
                    columns = [
                        self._carry(column, name)
                        for column, name in zip(batch.columns, names, strict=True)
                    ]
                    numbers = pa.array(range(start, start + batch.num_rows), pa.int64())
                    start += batch.num_rows
                    yield pa.RecordBatch.from_arrays([*columns, numbers], schema=schema)
                    if rows is not None and start >= rows:
                        return
        except (pa.ArrowException, OSError, ValueError) as error:
            self._failure = read_error(side, self.format_name, error)
            raise

    def _carry(self, column: Any, name: str) -> Any:
        kind = self.types[name]
        if kind is None:
            return comparable_text(column)
        try:
            return carry(convert(column, kind))
        except ValueError as error:
            if column.type == kind:
                raise
            raise UnreadableColumn(
                f"the column {name!r} has a value of the type {column.type} that the type {kind} "
                "cannot hold"
            ) from error


def read_error(side: str, format_name: str, error: Exception) -> Conflict:
    """Returns the error for a file that cannot be read."""
    if isinstance(error, UnreadableColumn):
        return failed(f"in the {side}, {error}")
    return unreadable(side, format_name, error)


def first_row(table: ColumnTable, names: Sequence[str], row: int) -> list[Any]:
    """Returns a row as JSON values."""
    import numpy as np  # noqa: PLC0415

    from anabranch.tables.column_table import rows_at  # noqa: PLC0415

    batch = next(iter(rows_at(table, names, np.array([row], np.int64))))
    return [json_value(column[0]) for column in batch.columns]


