"""ORC files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import orc

from anabranch.tables.kept_stream import KeptStream
from anabranch.tables.table import Note, UndividedTable, batch_rows, unreadable

__all__ = ["OrcTable"]

_ERRORS = (pa.ArrowException, OSError, ValueError, NotImplementedError, KeyError)


class OrcTable(UndividedTable):
    """An ORC file."""

    notes: Sequence[Note] = ()

    def __init__(self, stream: BinaryIO) -> None:
        try:
            self._file = orc.ORCFile(pa.PythonFile(KeptStream(stream), mode="r"))
            self.schema = self._file.schema
        except _ERRORS as error:
            raise unreadable("ORC", error) from error

    def count_rows(self) -> int:
        """Returns the number of rows, from the footer."""
        return int(self._file.nrows)

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        names = self.schema.names
        places = list(range(len(names))) if columns is None else list(columns)
        is_selected = columns is not None and bool(places) and len(set(names)) == len(names)
        selected = [names[place] for place in places] if is_selected else None
        fields = pa.schema([self.schema.field(place) for place in places])
        rows = batch_rows(len(places))
        try:
            for number in range(self._file.nstripes):
                stripe = self._file.read_stripe(number, columns=selected)
                if not places:
                    yield stripe.select([])
                    continue
                by_name = is_selected
                at = (
                    [stripe.schema.get_field_index(names[p]) for p in places] if by_name else places
                )
                kept = pa.RecordBatch.from_arrays([stripe.column(p) for p in at], schema=fields)
                for start in range(0, kept.num_rows, rows):
                    yield kept.slice(start, rows)
        except _ERRORS as error:
            raise unreadable("ORC", error) from error
