"""Arrow IPC files and streams, and Feather."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import feather, ipc

from anabranch.tables.kept_stream import KeptStream
from anabranch.tables.table import Note, batch_rows, unreadable

__all__ = ["ArrowTable"]

_ERRORS = (pa.ArrowException, OSError, ValueError, NotImplementedError, KeyError)
_FEATHER_1 = b"FEA1"
_FILE_MAGIC = b"ARROW1"


class ArrowTable:
    """An Arrow file or stream. Feather of version 1 is read at once."""

    notes: Sequence[Note] = ()

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        stream.seek(0)
        start = stream.read(len(_FILE_MAGIC))
        self._is_file = start == _FILE_MAGIC
        self._feather = None
        try:
            if start[: len(_FEATHER_1)] == _FEATHER_1:
                self._feather = feather.read_table(KeptStream(stream), memory_map=False)
                self.schema = self._feather.schema
            else:
                self.schema = self._reader().schema
        except _ERRORS as error:
            raise unreadable("Arrow", error) from error

    def count_rows(self) -> int:
        """Returns the number of rows. A stream is read to its end."""
        return sum(batch.num_rows for batch in self._stored())

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        places = list(range(len(self.schema))) if columns is None else list(columns)
        rows = batch_rows(len(places))
        for batch in self._stored():
            kept = batch.select(places)
            for start in range(0, max(kept.num_rows, 1), rows):
                yield kept.slice(start, rows)

    def _stored(self) -> Iterator[Any]:
        try:
            if self._feather is not None:
                yield from self._feather.to_batches()
                return
            reader = self._reader()
            if not self._is_file:
                yield from reader
                return
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)
        except _ERRORS as error:
            raise unreadable("Arrow", error) from error

    def _reader(self) -> Any:
        kept = pa.PythonFile(KeptStream(self._stream), mode="r")
        return ipc.open_file(kept) if self._is_file else ipc.open_stream(kept)
