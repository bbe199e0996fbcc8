"""Tables in files, read in batches of rows: Parquet, CSV and TSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

__all__ = ["TableFile", "Unreadable", "open_table"]

_BATCH_ROWS = 65_536
_BLOCK_BYTES = 1 << 20
_DELIMITERS = {"csv": ",", "tsv": "\t"}


class Unreadable(Exception):
    """A file cannot be read as a table; the text is the reason."""


class TableFile(Protocol):
    """An open table."""

    schema: Any
    """pyarrow's schema; the columns of text files are all texts."""

    def count_rows(self) -> int:
        """Returns the number of rows. Raises Unreadable."""

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yields record batches of some columns in order of the rows. Raises Unreadable."""


def open_table(stream: BinaryIO, path: str, format_name: str) -> TableFile:
    """Returns the table in a stream, of the format with that name, or else of the path's extension.
    Raises Unreadable.
    """
    name = format_name or PurePosixPath(path).suffix.removeprefix(".").lower()
    if name in _DELIMITERS:
        return _Csv(stream, name)
    if name in ("parquet", "pq"):
        return _Parquet(stream)
    raise Unreadable("its name ends with none of .parquet, .csv, .tsv; give the rule a format")


class _Parquet:
    def __init__(self, stream: BinaryIO) -> None:
        try:
            self._file = pq.ParquetFile(stream, buffer_size=_BLOCK_BYTES)
            self.schema = self._file.schema_arrow
        except (pa.ArrowException, OSError) as error:
            raise _unreadable("Parquet", error) from error

    def count_rows(self) -> int:
        return int(self._file.metadata.num_rows)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        try:
            yield from self._file.iter_batches(_BATCH_ROWS, columns=list(columns))
        except (pa.ArrowException, OSError) as error:
            raise _unreadable("Parquet", error) from error


class _Csv:
    """A file of texts. An empty cell without quotes is null. A header of CSV with semicolons and
    without commas says that semicolons separate the cells.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name.upper()
        self._delimiter = _DELIMITERS[name]
        self.schema = pa.schema([(column, pa.string()) for column in self._header()])

    def count_rows(self) -> int:
        return sum(batch.num_rows for batch in self.batches(self.schema.names[:1]))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        self._stream.seek(0)
        try:
            # a stream that pyarrow closes could not be read again
            reader = pa_csv.open_csv(
                pa.PythonFile(_Kept(self._stream), mode="r"),
                read_options=pa_csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
                parse_options=pa_csv.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=True
                ),
                convert_options=pa_csv.ConvertOptions(
                    column_types=self.schema,
                    include_columns=list(columns),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
            yield from reader
        except (pa.ArrowException, OSError) as error:
            if self._has_no_rows():
                return
            raise _unreadable(self._name, error) from error

    def _header(self) -> list[str]:
        self._stream.seek(0)
        start = self._stream.read(_BLOCK_BYTES)
        try:
            text = start.decode("utf-8-sig", "strict" if len(start) < _BLOCK_BYTES else "ignore")
        except UnicodeDecodeError as error:
            raise Unreadable(f"it is not UTF-8: byte {error.start}") from error
        lines = text.splitlines(keepends=True)
        if self._delimiter == "," and lines and "," not in lines[0] and ";" in lines[0]:
            self._delimiter = ";"
        try:
            names = next(csv.reader(lines, delimiter=self._delimiter), [])
        except csv.Error as error:
            raise Unreadable(f"its header cannot be read: {error}") from error
        twice = [name for name in names if names.count(name) > 1]
        if twice or not names:
            raise Unreadable(f"it has the column {twice[0]!r} twice" if twice else "it is empty")
        return names

    def _has_no_rows(self) -> bool:
        """Returns whether there is only a header; pyarrow refuses it if its line does not end."""
        self._stream.seek(0)
        start = self._stream.read(_BLOCK_BYTES)
        return len(start) < _BLOCK_BYTES and not start.rstrip(b"\r\n").count(b"\n")


class _Kept:
    """A stream that `close` leaves open."""

    closed = False

    def __init__(self, stream: BinaryIO) -> None:
        self.read = stream.read
        self.seek = stream.seek
        self.tell = stream.tell

    def close(self) -> None:
        """Does nothing."""

    def readable(self) -> bool:
        """Returns True."""
        return True

    def seekable(self) -> bool:
        """Returns True."""
        return True


def _unreadable(name: str, error: Exception) -> Unreadable:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return Unreadable(f"it cannot be read as {name}: {lines[0]}")
