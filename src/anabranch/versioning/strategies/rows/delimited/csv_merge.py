"""Writes merged CSV: records that come from one side unchanged, as that side spells them.

Of a record that both sides changed, each cell is spelled as on its side, or in the base if that was
chosen. Blank lines, line ends and
a missing last line end are the destination's, and so is the encoding; rows of the source have the
line end of its header.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import BinaryIO

from anabranch.tables.text.encoding import TextEncoding
from anabranch.versioning.strategies.rows.delimited.csv_table import CsvTable
from anabranch.versioning.strategies.rows.delimited.encodings import (
    encoded_output,
    require_writable,
    result_encoding,
)
from anabranch.versioning.strategies.rows.delimited.records import CsvRecords, open_records
from anabranch.versioning.strategies.rows.merging.cell_decisions import CellDecisions
from anabranch.versioning.strategies.rows.table_format import PIECE_BYTES, failure

__all__ = ["write_csv"]


def write_csv(
    decisions: CellDecisions,
    tables: Mapping[str, CsvTable],
    names: Sequence[str],
    output: BinaryIO,
) -> None:
    """Writes the merge of tables with these columns, by the decisions about them. Raises Conflict
    for a file whose records cannot be told from each other, and for a value that the encoding does
    not have.
    """
    encodings = {
        side: table.encoding for side, table in tables.items() if isinstance(table, CsvTable)
    }
    encoding = result_encoding(encodings)
    with ExitStack() as opened:
        records = {
            side: opened.enter_context(open_records(tables[side].path, tables[side].dialect))
            for side in decisions.sides()
        }
        stream = opened.enter_context(encoded_output(output, encoding))
        for side, each in records.items():
            _require_records(side, each, tables[side])
        _Merge(decisions, records, tables, names, encoding, stream).write()


def _require_records(side: str, records: CsvRecords, table: CsvTable) -> None:
    if len(records.starts) != sum(table.pieces) + 1:
        raise failure(f"the {side} has quotes within cells that can be read in different ways")


class _Merge:
    def __init__(
        self,
        decisions: CellDecisions,
        records: Mapping[str, CsvRecords],
        tables: Mapping[str, CsvTable],
        names: Sequence[str],
        encoding: TextEncoding,
        output: BinaryIO,
    ) -> None:
        self._encoding = encoding
        self._records = records
        self._ours = ours = records["destination"]
        here = {side: list(tables[side].schema.names) for side in records}
        self._places = {
            side: [columns.index(name) if name in columns else None for name in names]
            for side, columns in here.items()
        }
        self._names = list(names)
        self._is_same = self._names == here["destination"]
        self._removed = decisions.removed()
        self._added = {"source": decisions.added(), "base": decisions.restored()}
        self._taken = decisions.taken()
        delimiter = ours.dialect.delimiter
        self._alike = {side for side in records if records[side].dialect.delimiter == delimiter}
        self._copied = {side for side in self._alike if here[side] == self._names}
        self._output = output
        self._line_end = b""
        """The line end after what was written, which the last record may lack."""

    def write(self) -> None:
        ours = self._ours
        content, ends = ours.content, ours.ends
        self._output.write(content[: ours.starts[0]])
        header = ours.record(0) if self._is_same else self._join(self._header())
        require_writable(header, self._encoding, ours.dialect.delimiter, None)
        self._write(header, content[ours.stops[0] : ends[0]])
        self._write_destination()
        line_end = ours.dialect.line_end
        for side, numbers in self._added.items():
            for number in numbers:
                if side in self._copied:
                    record = self._records[side].record(number + 1)
                else:
                    record = self._join(self._place(side, number + 1))
                self._write_row(record, line_end)
        tail = bytes(content[ends[-1] :])
        has_last_end = ends[-1] > ours.stops[-1]
        if has_last_end:
            self._output.write((self._line_end or line_end) + tail)

    def _write_row(self, record: bytes, line_end: bytes) -> None:
        require_writable(record, self._encoding, self._ours.dialect.delimiter, self._names)
        self._write(record, line_end)

    def _write(self, record: bytes, line_end: bytes) -> None:
        """Writes a record after the line end of the one before."""
        self._output.write(self._line_end)
        self._output.write(record)
        self._line_end = bytes(line_end) or self._ours.dialect.line_end

    def _write_destination(self) -> None:
        """Writes the destination's records: what was not changed in one piece, blank lines too."""
        ours, content = self._ours, self._ours.content
        removed = set(map(int, self._removed))
        taken = self._cells_by_row()
        count = len(ours.starts) - 1
        every = range(count) if not self._is_same else sorted(removed | taken.keys())
        first = 1  # the first record that is not written
        for row in every:
            number = row + 1
            self._copy(first, number)
            gap = content[ours.ends[number - 1] : ours.starts[number]]
            first = number + 1
            self._line_end += gap
            if row in removed:
                continue
            cells = self._place("destination", number)
            for side, other, places in taken.get(row, ()):
                others = self._place(side, other + 1)
                for place in places:
                    cells[place] = others[place]
            self._write_row(self._join(cells), content[ours.stops[number] : ours.ends[number]])
        self._copy(first, count + 1)

    def _copy(self, first: int, end: int) -> None:
        """Writes records, with what is between them, as they are."""
        if first >= end:
            return
        ours = self._ours
        self._output.write(self._line_end)
        start, stop = int(ours.ends[first - 1]), int(ours.stops[end - 1])
        for place in range(start, stop, PIECE_BYTES):
            self._output.write(ours.content[place : min(place + PIECE_BYTES, stop)])
        line_end = ours.content[stop : ours.ends[end - 1]]
        self._line_end = bytes(line_end) or ours.dialect.line_end

    def _cells_by_row(self) -> dict[int, list[tuple[str, int, list[int]]]]:
        """Returns for each row that has cells of other sides: the side, its row and the columns."""
        found: dict[int, list[tuple[str, int, list[int]]]] = {}
        for group in self._taken:
            places = {
                bit: self._names.index(name)
                for bit, name in enumerate(group.names)
                if name in self._names
            }
            rows = zip(
                group.destination.tolist(), group.rows.tolist(), group.masks.tolist(), strict=True
            )
            for row, other, bits in rows:
                here = [place for bit, place in places.items() if bits >> bit & 1]
                found.setdefault(row, []).append((group.side, other, here))
        return found

    def _header(self) -> list[bytes]:
        ours, theirs = self._place("destination", 0), self._place("source", 0)
        return [
            theirs[number] if place is None else ours[number]
            for number, place in enumerate(self._places["destination"])
        ]

    def _place(self, side: str, number: int) -> list[bytes]:
        """Returns the cells of a record in the columns of the merge, empty where it has none."""
        cells = self._records[side].cells(number)
        if side not in self._alike:
            cells = [self._respell(cell) for cell in cells]
        return [b"" if place is None else cells[place] for place in self._places[side]]

    def _respell(self, cell: bytes) -> bytes:
        """Returns a cell of another side with quotes if the destination's delimiter needs them."""
        delimiter = self._ours.dialect.delimiter
        if cell.startswith(b'"') or delimiter.encode() not in cell:
            return cell
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator="").writerow([cell.decode()])
        return text.getvalue().encode()

    def _join(self, cells: Sequence[bytes]) -> bytes:
        if len(cells) == 1 and not cells[0]:
            return b'""'  # a blank line is no record
        return self._ours.dialect.delimiter.encode().join(cells)
