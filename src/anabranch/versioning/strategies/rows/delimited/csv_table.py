"""CSV and TSV files of tables: all cells are text, in UTF-8 whatever the file has.

Arrow reads them, whose parser, unlike DuckDB's, loses no rows of files with quoted or mixed line
ends. What it finds is kept in a file of Arrow's, of which columns are read apart.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from anabranch.tables.byte_forms import ByteForm
from anabranch.tables.table import Note
from anabranch.tables.text.encoding import TextEncoding, encoding_note
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.json_text import refuse
from anabranch.versioning.strategies.rows.columns import require_usable
from anabranch.versioning.strategies.rows.delimited.dialect import LINE_END, Dialect, find_dialect
from anabranch.versioning.strategies.rows.delimited.encodings import read_encoding
from anabranch.versioning.strategies.rows.table_format import PIECE_BYTES, unreadable

__all__ = ["CsvTable", "open_csv"]

_BLOCK_BYTES = 16 << 20
"""How many bytes are parsed at once; no row may have more."""

_UNNAMED = "column0"
"""The name of a first column without one, as pandas and R write their row numbers; previews show it
by this name, too."""


class CsvTable:
    """The cells of a CSV file, in a file of Arrow's. An empty cell is null, `""` is not."""

    byte_forms: Mapping[int, ByteForm] = MappingProxyType({})

    def __init__(self, parsed: str, dialect: Dialect, path: str, encoding: TextEncoding) -> None:
        import pyarrow as pa  # noqa: PLC0415  an optional library

        self.dialect = dialect
        self.path = path
        """The path of a file with the text in UTF-8."""

        self.encoding = encoding
        """How the table was encoded."""

        self.notes: Sequence[Note] = (encoding_note(encoding),)

        self._parsed = parsed
        with pa.ipc.open_file(pa.OSFile(parsed)) as file:
            self.schema = file.schema
            self.pieces = [
                file.get_batch(number).num_rows for number in range(file.num_record_batches)
            ]

    def count_rows(self) -> int:
        """Returns the number of rows."""
        return sum(self.pieces)

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        places = range(len(self.schema)) if columns is None else columns
        for piece in range(len(self.pieces)):
            yield from self.read(piece, places)

    def read(self, piece: int, columns: Sequence[int]) -> Iterator[Any]:
        """Yields the record batch of a piece, with these columns."""
        import pyarrow as pa  # noqa: PLC0415

        if not columns:
            yield pa.record_batch({"": pa.nulls(self.pieces[piece])}).select([])
            return
        options = pa.ipc.IpcReadOptions(included_fields=list(columns))
        with pa.ipc.open_file(pa.OSFile(self._parsed), options=options) as file:
            batch = file.get_batch(piece)
            yield batch.select([self.schema.field(place).name for place in columns])


def open_csv(side: str, version: ObjectVersion, delimiter: str, folder: str) -> CsvTable:
    """Returns the table of a file. Raises Conflict for one that cannot be read."""
    import pyarrow as pa  # noqa: PLC0415

    version, encoding = read_encoding(side, version, folder)
    dialect = find_dialect(version, delimiter)
    parsed = str(Path(folder, f"{side}.arrow"))
    try:
        # Arrow reads ahead in another thread, so no two readers may share a stream
        with _content(side, version) as stream:
            names = _header(stream, dialect)
        with _content(side, version) as stream:
            _parse(side, stream, dialect, names, parsed)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise unreadable(side, "CSV", error) from error
    table = CsvTable(parsed, dialect, version.path(), encoding)
    _require_closed_quotes(side, version, table)
    return table


def _options(dialect: Dialect) -> tuple[Any, Any]:
    from pyarrow import csv  # noqa: PLC0415

    parse = csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
    # the first block must have the whole header
    return csv.ReadOptions(block_size=_BLOCK_BYTES), parse


def _header(stream: BinaryIO, dialect: Dialect) -> list[str]:
    from pyarrow import csv  # noqa: PLC0415

    with csv.open_csv(stream, *_options(dialect)) as header:
        names: list[str] = header.schema.names
        return names


def _parse(side: str, stream: BinaryIO, dialect: Dialect, header: list[str], parsed: str) -> None:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv  # noqa: PLC0415

    names = list(header)
    if names and not names[0]:
        names[0] = _UNNAMED
    require_usable(side, names)
    cells = csv.ConvertOptions(
        column_types=dict.fromkeys(header, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    schema = pa.schema([(name, pa.string()) for name in names])
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        csv.open_csv(stream, *_options(dialect), cells) as rows,
        pa.ipc.new_file(parsed, schema, options=options) as file,
    ):
        for batch in rows:
            file.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))


@contextmanager
def _content(side: str, version: ObjectVersion) -> Iterator[BinaryIO]:
    """Yields a stream of a file, with a line end if it has no other."""
    with version.open() as stream:
        start = stream.read(PIECE_BYTES)
        if not start.strip():
            refuse(side, "has no header")
        stream.seek(0)
        yield stream if LINE_END.search(start) else io.BytesIO(stream.read() + b"\n")


def _require_closed_quotes(side: str, version: ObjectVersion, table: CsvTable) -> None:
    """Raises Conflict if the file ends within quotes: the last cell is then cut off."""
    quotes = 0
    with version.open() as stream:
        while piece := stream.read(PIECE_BYTES):
            quotes += piece.count(b'"')
        if quotes % 2 == 0:
            return
        last = ""
        for number in reversed(range(len(table.pieces))):
            if table.pieces[number]:
                (batch,) = table.read(number, [len(table.schema) - 1])
                last = batch.column(0)[-1].as_py() or ""
                break
        tail = b'"' + last.replace('"', '""').encode()
        stream.seek(max(0, version.size - len(tail)))
        if stream.read() == tail:
            refuse(side, "cannot be read as CSV: it ends within quotes")
