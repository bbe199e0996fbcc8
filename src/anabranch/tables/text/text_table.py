"""Tables in CSV, TSV and the like.

A file whose rows all have as many cells as there are columns is read by pyarrow. From the first row
that has not, it is read leniently: missing cells are null, further ones are in further columns if
they occur near the beginning, and a note says how many rows these are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as pa_csv

from anabranch.tables.formats import TableFormat
from anabranch.tables.table import Note, UndividedTable, UnreadableTable, batch_rows, unreadable
from anabranch.tables.text.cells import Row, read_rows
from anabranch.tables.text.decompressed import DECOMPRESSION_ERRORS, decompress
from anabranch.tables.text.dialects import find_dialect
from anabranch.tables.text.encoding import Utf8Text

__all__ = ["TextTable"]

_BLOCK_BYTES = 1 << 20
_DELIMITERS = {
    ",": "comma",
    "\t": "tab",
    ";": "semicolon",
    "|": "vertical bar",
    "\x01": "control-A character",
}
_MAX_COLUMNS = 65_536


class TextTable(UndividedTable):
    """A table of texts. An empty cell without quotes is null."""

    def __init__(self, stream: BinaryIO, table_format: TableFormat, compression: str) -> None:
        self._stream = stream
        self._title = table_format.title
        self._compression = compression
        self._repairs = _Repairs()
        try:
            text = self._text()
            start = next(text.blocks(), b"").decode()
        except DECOMPRESSION_ERRORS as error:
            raise unreadable(self._title, error) from error
        self._encoding = text.notes
        self._found = find_dialect(start, table_format.delimiter)
        if not self._found.names:
            raise UnreadableTable("it is empty")
        if len(self._found.names) > _MAX_COLUMNS:
            raise UnreadableTable(f"it has more than {_MAX_COLUMNS:,} columns")
        self.schema = pa.schema([(name, pa.string()) for name in self._found.names])

    @property
    def has_header(self) -> bool:
        """Whether the first row names the columns."""
        return self._found.has_header

    @property
    def notes(self) -> Sequence[Note]:
        """The encoding, the dialect, and how many rows were repaired."""
        dialect = self._found.dialect
        notes = [*self._encoding]
        parts = [f"Cells are separated by a {_DELIMITERS[dialect.delimiter]}"]
        if dialect.quote != '"':
            parts.append("quoted by apostrophes")
        if dialect.escape:
            parts.append("with backslashes before quotes")
        notes.append(Note(", ".join(parts) + ".", is_usual=True))
        if not self._found.has_header:
            notes.append(Note("The first row is no header: columns are numbered.", is_usual=True))
        return [*notes, *self._repairs.notes()]

    def count_rows(self) -> int:
        """Returns the number of rows."""
        return sum(batch.num_rows for batch in self.batches([0]))

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        places = range(len(self._found.names)) if columns is None else columns
        count = 0
        try:
            for batch in self._regular(list(places)):
                if batch is None:
                    break
                count += batch.num_rows
                yield batch
            else:
                return
            yield from self._lenient(list(places), count)
        except DECOMPRESSION_ERRORS as error:
            raise unreadable(self._title, error) from error

    def _regular(self, places: list[int]) -> Iterator[Any]:
        """Yields batches as long as all rows are regular, and None if one is not."""
        dialect = self._found.dialect
        irregular: list[Any] = []

        def refuse(row: Any) -> str:
            irregular.append(row)
            return "skip"

        text = self._text()
        blocks = _Blocks(text.blocks(), dialect.quote.encode())
        last = None
        names = [str(number) for number in range(len(self._found.names))]
        # only the last column has a cell that begins with a quote that is not closed
        included = [str(place) for place in dict.fromkeys((*places, len(names) - 1))]
        fields = [self.schema.field(place) for place in places]
        try:
            reader = pa_csv.open_csv(
                pa.PythonFile(blocks, mode="r"),
                read_options=pa_csv.ReadOptions(
                    block_size=_BLOCK_BYTES,
                    use_threads=False,
                    column_names=names,
                    skip_rows_after_names=int(self._found.has_header),
                ),
                parse_options=pa_csv.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char=dialect.quote or False,
                    double_quote=True,
                    escape_char=dialect.escape or False,
                    newlines_in_values=True,
                    invalid_row_handler=refuse,
                ),
                convert_options=pa_csv.ConvertOptions(
                    column_types={name: pa.string() for name in included},
                    include_columns=included,
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
            for batch in reader:
                if irregular:
                    yield None
                    return
                if not places:
                    yield batch.select([])
                elif batch.num_rows:
                    chosen = [batch.column(str(place)) for place in places]
                    yield pa.RecordBatch.from_arrays(chosen, schema=pa.schema(fields))
                last = batch if batch.num_rows else last
        except (pa.ArrowException, ValueError):
            yield None  # a cell that is larger than a block, a quote that is not closed, no row
            return
        if irregular:
            yield None
            return
        self._encoding = text.notes
        self._repairs = _Repairs(int(blocks.has_odd_quotes and _ends_with_lines(last, names[-1])))

    def _lenient(self, places: list[int], skipped: int) -> Iterator[Any]:
        """Yields batches of the rows after the first ones."""
        text = self._text()
        blocks = (block.decode() for block in text.blocks())
        rows = read_rows(blocks, self._found.dialect)
        if self._found.has_header:
            next(rows, None)
        self._repairs = repairs = _Repairs()
        size = batch_rows(len(self._found.names))
        read = repairs.repaired(rows, self._found.width, len(self._found.names))
        for _ in islice(read, skipped):
            pass
        schema = pa.schema([self.schema.field(place) for place in places])
        while batch := list(islice(read, size)):
            if places:
                arrays = [pa.array([row[at] for row in batch], pa.string()) for at in places]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            else:
                structs = pa.array([{}] * len(batch), pa.struct([]))
                yield pa.RecordBatch.from_struct_array(structs)
        self._encoding = text.notes

    def _text(self) -> Utf8Text:
        return Utf8Text(decompress(self._stream, self._compression))


def _ends_with_lines(batch: Any, name: str) -> bool:
    """Returns whether the last cell has several lines."""
    if batch is None:
        return False
    return "\n" in (batch.column(name)[-1].as_py() or "")


class _Repairs:
    """Counts of the rows that did not have a cell for each column."""

    def __init__(self, unclosed: int = 0) -> None:
        self._short = 0
        self._long = 0
        self._lost = 0
        self._unclosed = unclosed

    def repaired(self, rows: Iterator[tuple[Row, bool]], usual: int, width: int) -> Iterator[Row]:
        """Yields rows with a cell for each of `width` columns, of which `usual` have a header."""
        for row, is_open in rows:
            size = len(row)
            self._unclosed += is_open
            self._short += size < usual
            self._long += size > usual
            if size > width:
                self._lost += any(cell is not None for cell in row[width:])
                yield row[:width]
            else:
                yield row if size == width else row + [None] * (width - size)

    def notes(self) -> Iterator[Note]:
        """Yields what was repaired."""
        if self._short:
            yield _repair(
                f"{_rows(self._short)} fewer cells than the first one: the others are null."
            )
        if self._long:
            yield _repair(f"{_rows(self._long)} more cells than the first one.")
        if self._lost:
            yield _repair(f"{_rows(self._lost)} cells without a column, which are left out.")
        if self._unclosed:
            yield _repair(f"{_rows(self._unclosed)} a quotation mark that is not closed.")


def _repair(text: str) -> Note:
    return Note(text, is_repair=True, changes_rows=True)


def _rows(count: int) -> str:
    return "1 row has" if count == 1 else f"{count:,} rows have"


class _Blocks:
    """Blocks of bytes as a stream."""

    closed = False

    def __init__(self, blocks: Iterator[bytes], quote: bytes) -> None:
        self._blocks = blocks
        self._quote = quote
        self.has_odd_quotes = False
        self._rest = b""

    def read(self, size: int | None = -1) -> bytes:
        """Returns the next bytes."""
        size = _BLOCK_BYTES if size is None or size < 0 else size
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return b""
            if block.count(self._quote) % 2:
                self.has_odd_quotes = not self.has_odd_quotes
            self._rest = block
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def readable(self) -> bool:
        """Returns True."""
        return True

    def seekable(self) -> bool:
        """Returns False."""
        return False

    def close(self) -> None:
        """Does nothing."""
