"""CSV and TSV files of tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import msgspec

from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.json_text import refuse
from anabranch.versioning.strategies.rows.columns import ROW, Columns, quoted, require_usable
from anabranch.versioning.strategies.rows.table_format import PIECE_BYTES, literal, unreadable

__all__ = ["CsvTable"]

_BLOCK_BYTES = 16 << 20
"""How many bytes are parsed at once; no row may have more."""

_LOADED = "anabranch loaded file"
_LINE_END = re.compile(rb"[\r\n]")


class _Dialect(msgspec.Struct, frozen=True):
    delimiter: str
    line_end: bytes
    mark: bytes


class CsvTable:
    """CSV: all cells are text, and keep their spelling. Arrow reads them, whose parser, unlike
    DuckDB's, loses no rows of files with quoted or mixed line ends.
    """

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter

    def load(
        self,
        connection: Any,
        side: str,
        version: ObjectVersion,
        key: Sequence[str],  # noqa: ARG002  all columns are known
    ) -> Columns:
        """Makes the table `side`, whose cells are text."""
        import duckdb  # noqa: PLC0415  optional libraries
        import pyarrow as pa  # noqa: PLC0415

        try:
            with _content(side, version) as stream:
                batches = self._batches(side, version, stream)
                columns = dict.fromkeys(batches.schema.names[:-1], "VARCHAR")
                connection.register(_LOADED, batches)
                query = f"SELECT * FROM {quoted(_LOADED)}"  # noqa: S608  a quoted name
                connection.execute(f"CREATE TABLE {quoted(side)} AS {query}")
                connection.unregister(_LOADED)
        except (duckdb.Error, pa.ArrowException, UnicodeDecodeError) as error:
            raise unreadable(side, "CSV", error) from error
        _require_closed_quotes(connection, side, version, columns)
        return columns

    def _batches(self, side: str, version: ObjectVersion, stream: BinaryIO) -> Any:
        """Returns a reader of the rows, with their numbers as the last column."""
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import csv  # noqa: PLC0415

        delimiter = self._dialect(version).delimiter
        parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        # the first block must have the whole header
        read = csv.ReadOptions(block_size=_BLOCK_BYTES)
        with csv.open_csv(stream, read, parse) as header:
            names = header.schema.names
        require_usable(side, names)
        stream.seek(0)
        cells = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        rows = csv.open_csv(stream, read, parse, cells)
        schema = rows.schema.append(pa.field(ROW, pa.int64()))
        return pa.RecordBatchReader.from_batches(schema, _numbered(rows))

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
            f"COPY ({query}) TO {literal(copy)} (FORMAT csv, HEADER true, "
            f"DELIMITER {literal(dialect.delimiter)}, QUOTE '\"', ESCAPE '\"', NULLSTR '')"
        )
        output.write(dialect.mark)
        inside = False
        with open(copy, "rb") as file:  # noqa: PTH123
            while piece := file.read(PIECE_BYTES):
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
            start = stream.read(PIECE_BYTES)
        mark = b"\xef\xbb\xbf" if start.startswith(b"\xef\xbb\xbf") else b""
        first = _LINE_END.split(start, maxsplit=1)[0]
        delimiter = self._delimiter
        if delimiter == "," and b"," not in first and b";" in first:
            delimiter = ";"
        return _Dialect(delimiter, _line_end(start, delimiter), mark)


@contextmanager
def _content(side: str, version: ObjectVersion) -> Iterator[BinaryIO]:
    """Yields a stream of a file, with a line end if it has no other."""
    with version.open() as stream:
        start = stream.read(PIECE_BYTES)
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            refuse(side, "is UTF-16, not UTF-8")
        if not start.strip():
            refuse(side, "has no header")
        stream.seek(0)
        yield stream if _LINE_END.search(start) else io.BytesIO(stream.read() + b"\n")


def _numbered(rows: Any) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415

    count = 0
    for batch in rows:
        numbers = pa.array(range(count, count + batch.num_rows), pa.int64())
        count += batch.num_rows
        yield batch.append_column(ROW, numbers)


def _line_end(start: bytes, delimiter: str) -> bytes:
    """Returns the line end after the header, which may have others in quotes."""
    lines = io.StringIO(start.decode("utf-8-sig", "replace"), newline="")
    try:
        next(csv.reader(lines, delimiter=delimiter, strict=True), None)
    except csv.Error:  # the parser of the rows says what is wrong
        return b"\n"
    header = lines.getvalue()[: lines.tell()]
    return b"\r\n" if header.endswith("\r\n") else b"\n"


def _require_closed_quotes(
    connection: Any, side: str, version: ObjectVersion, columns: Columns
) -> None:
    """Raises Conflict if the file ends within quotes: the last cell is then cut off."""
    quotes = 0
    with version.open() as stream:
        while piece := stream.read(PIECE_BYTES):
            quotes += piece.count(b'"')
        if quotes % 2 == 0:
            return
        cell = quoted(list(columns)[-1])
        table = f"{quoted(side)} ORDER BY {quoted(ROW)} DESC LIMIT 1"
        found = connection.execute(f"SELECT {cell} FROM {table}").fetchone()  # noqa: S608
        tail = b'"' + (found[0] if found and found[0] else "").replace('"', '""').encode()
        stream.seek(max(0, version.size - len(tail)))
        if stream.read() == tail:
            refuse(side, "cannot be read as CSV: it ends within quotes")
