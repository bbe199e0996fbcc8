"""The files of tables: CSV, TSV and Parquet, read into DuckDB and written back in their form."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any, BinaryIO, Protocol

import msgspec

from anabranch.errors import Conflict, Invalid
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.columns import Columns, quoted
from anabranch.versioning.strategies.rows.join import ROW

__all__ = ["TableFormat", "format_of"]

_PIECE_BYTES = 1 << 20
_BATCH_ROWS = 65_536


class TableFormat(Protocol):
    """A file format."""

    def load(self, connection: Any, side: str, version: ObjectVersion) -> Columns:
        """Makes the table or view `side` of a file, with row numbers, and returns its columns.
        Raises Conflict for a file that cannot be read.
        """

    def write(
        self,
        connection: Any,
        query: str,
        columns: Columns,
        like: ObjectVersion,
        output: BinaryIO,
        folder: str,
    ) -> None:
        """Writes the result of a query to `output`, in the form of the file `like`. `folder` is for
        temporary files.
        """


def format_of(path: str, name: str) -> TableFormat:
    """Returns the format with a name, or that of a path's extension if it is "". Raises Conflict
    for a path that is no table, Invalid for an unknown name.
    """
    if name:
        if name not in _FORMATS:
            raise Invalid(
                f"option format: must be one of {', '.join(_FORMATS)}, not {name!r}",
                kind="invalid_merge_options",
            )
        return _FORMATS[name]
    extension = path.rpartition(".")[2].lower()
    if extension not in _FORMATS:
        raise Conflict(
            f"{path} is no table: its name ends with none of .{', .'.join(_FORMATS)}",
            kind="merge_failed",
            hint="Give the option `format`.",
        )
    return _FORMATS[extension]


def _columns(connection: Any, side: str) -> Columns:
    described = connection.execute(f"DESCRIBE {side}").fetchall()
    return {row[0]: row[1] for row in described if row[0] != ROW}


class _Parquet:
    def load(self, connection: Any, side: str, version: ObjectVersion) -> Columns:
        import duckdb  # noqa: PLC0415  an optional library

        try:
            relation = f"read_parquet({_literal(version.path())}, file_row_number = true)"
            connection.execute(
                f"CREATE VIEW {side} AS SELECT * EXCLUDE (file_row_number), "  # noqa: S608
                f"file_row_number AS {quoted(ROW)} FROM {relation}"
            )
            return _columns(connection, side)
        except duckdb.Error as error:
            raise _unreadable(side, "Parquet", error) from error

    def write(
        self,
        connection: Any,
        query: str,
        columns: Columns,
        like: ObjectVersion,
        output: BinaryIO,
        folder: str,  # noqa: ARG002  it is written directly
    ) -> None:
        """Writes with the schema, compression and size of row groups of `like`."""
        import pyarrow as pa  # noqa: PLC0415  optional libraries
        import pyarrow.parquet as pq  # noqa: PLC0415

        with pq.ParquetFile(like.path()) as old:
            known, about = old.schema_arrow, old.metadata
            group = about.row_group(0) if about.num_row_groups else None
            codec = group.column(0).compression if group and group.num_columns else "SNAPPY"
            rows = max(group.num_rows, 1) if group else _BATCH_ROWS
        source = f"SELECT * FROM read_parquet({_literal(like.path())})"  # noqa: S608
        types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {source}").fetchall()}
        reader = connection.execute(query).to_arrow_reader(_BATCH_ROWS)
        fields = [
            known.field(field.name) if columns[field.name] == types.get(field.name) else field
            for field in reader.schema
        ]
        schema = pa.schema(fields, metadata=known.metadata)
        batches: list[Any] = []
        count = 0
        with pq.ParquetWriter(output, schema, compression=codec.lower()) as writer:
            for batch in reader:
                batches.append(batch)
                count += batch.num_rows
                if count >= rows:
                    writer.write_table(_table(batches, schema), row_group_size=rows)
                    batches, count = [], 0
            if batches:
                writer.write_table(_table(batches, schema), row_group_size=rows)


def _table(batches: list[Any], schema: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.Table.from_batches(batches).cast(schema)


class _Dialect(msgspec.Struct, frozen=True):
    delimiter: str
    line_end: bytes
    mark: bytes


class _Csv:
    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter

    def load(self, connection: Any, side: str, version: ObjectVersion) -> Columns:
        import duckdb  # noqa: PLC0415

        options = {
            "all_varchar": "true",
            "header": "true",
            "delim": _literal(self._dialect(version).delimiter),
            "quote": "'\"'",
            "escape": "'\"'",
            "nullstr": "''",
            "allow_quoted_nulls": "false",
            "auto_detect": "false",
            "columns": _literal_columns(self._header(side, version)),
            "strict_mode": "true",
        }
        given = ", ".join(f"{name}={value}" for name, value in options.items())
        try:
            relation = f"read_csv({_literal(version.path())}, {given})"
            numbered = f"SELECT *, row_number() OVER () AS {quoted(ROW)} FROM {relation}"  # noqa: S608
            connection.execute(f"CREATE TABLE {side} AS {numbered}")
            return _columns(connection, side)
        except duckdb.Error as error:
            raise _unreadable(side, "CSV", error) from error

    def write(
        self,
        connection: Any,
        query: str,
        columns: Columns,  # noqa: ARG002  all are text
        like: ObjectVersion,
        output: BinaryIO,
        folder: str,
    ) -> None:
        """Writes with the delimiter, line ends and byte order mark of `like`."""
        dialect = self._dialect(like)
        copy = f"{folder}/merged.csv"
        connection.execute(
            f"COPY ({query}) TO {_literal(copy)} (FORMAT csv, HEADER true, "
            f"DELIMITER {_literal(dialect.delimiter)}, QUOTE '\"', ESCAPE '\"', NULLSTR '')"
        )
        output.write(dialect.mark)
        inside = False
        with open(copy, "rb") as file:  # noqa: PTH123
            while piece := file.read(_PIECE_BYTES):
                if dialect.line_end == b"\n":
                    output.write(piece)
                    continue
                parts = piece.split(b'"')
                for number, part in enumerate(parts):
                    inside ^= number > 0
                    parts[number] = part if inside else part.replace(b"\n", dialect.line_end)
                output.write(b'"'.join(parts))

    def _dialect(self, version: ObjectVersion) -> _Dialect:
        with version.open() as stream:
            start = stream.read(_PIECE_BYTES)
        mark = b"\xef\xbb\xbf" if start.startswith(b"\xef\xbb\xbf") else b""
        line_end = b"\r\n" if b"\r\n" in start else b"\n"
        delimiter = self._delimiter
        if delimiter == "," and b"," not in start.split(b"\n")[0] and b";" in start.split(b"\n")[0]:
            delimiter = ";"
        return _Dialect(delimiter, line_end, mark)

    def _header(self, side: str, version: ObjectVersion) -> list[str]:
        """Returns the names in the first record."""
        with version.open() as stream:
            raw = stream.read(_PIECE_BYTES)
        try:
            text = raw.decode("utf-8-sig", "strict" if len(raw) < _PIECE_BYTES else "ignore")
        except UnicodeDecodeError as error:
            raise Conflict(
                f"the {side} is not UTF-8: byte {error.start}",
                kind="merge_failed",
                hint="Write both sides in UTF-8, or choose a side for this path.",
            ) from error
        delimiter = self._dialect(version).delimiter
        names = next(csv.reader(text.splitlines(keepends=True), delimiter=delimiter), [])
        twice = [name for name in names if names.count(name) > 1]
        if twice or not names:
            reason = f"has the column {twice[0]!r} twice" if twice else "has no header"
            raise Conflict(f"the {side} {reason}", kind="merge_failed", hint="Correct the header.")
        return names


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _literal_columns(names: list[str]) -> str:
    return "{" + ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in names) + "}"


def _unreadable(side: str, name: str, error: Exception) -> Conflict:
    reason = str(error).strip().splitlines()[0]
    return Conflict(
        f"the {side} cannot be read as {name}: {reason}",
        kind="merge_failed",
        hint="Choose a side for this path.",
    )


_FORMATS: Mapping[str, TableFormat] = {
    "csv": _Csv(","),
    "tsv": _Csv("\t"),
    "parquet": _Parquet(),
}
