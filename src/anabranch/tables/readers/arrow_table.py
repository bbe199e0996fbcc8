"""Arrow IPC files and streams, and Feather."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import feather, ipc

from anabranch.tables.byte_forms import ByteForm
from anabranch.tables.kept_stream import KeptStream
from anabranch.tables.table import Note, batch_rows, unreadable

__all__ = ["ArrowTable"]

_ERRORS = (pa.ArrowException, OSError, ValueError, NotImplementedError, KeyError)
_FEATHER_1 = b"FEA1"
_FILE_MAGIC = b"ARROW1"
_COMPRESSION_BYTES = 1 << 20
_COMPRESSION_MAGIC = {"lz4": b"\x04\x22\x4d\x18", "zstd": b"\x28\xb5\x2f\xfd"}


class ArrowTable:
    """An Arrow file or stream. The record batches of a file are its pieces. Feather of version 1 is
    read at once.
    """

    notes: Sequence[Note] = ()
    byte_forms: Mapping[int, ByteForm] = MappingProxyType({})

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

    @cached_property
    def pieces(self) -> Sequence[int]:
        """The numbers of rows of the record batches, which are read."""
        counts = [batch.num_rows for batch in self._to_stored()]
        return counts if self._is_file else [sum(counts)]

    def count_rows(self) -> int:
        """Returns the number of rows. All are read."""
        return sum(self.pieces)

    def read(self, piece: int, columns: Sequence[int]) -> Iterator[Any]:
        """Yields a record batch of a file as it is stored."""
        if not self._is_file:
            yield from self.batches(columns)
            return
        try:
            yield self._reader().get_batch(piece).select(list(columns))
        except _ERRORS as error:
            raise unreadable("Arrow", error) from error

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows."""
        places = list(range(len(self.schema))) if columns is None else list(columns)
        rows = batch_rows(len(places))
        for batch in self._to_stored():
            kept = batch.select(places)
            for start in range(0, max(kept.num_rows, 1), rows):
                yield kept.slice(start, rows)

    def compression(self) -> str | None:
        """Returns the codec of the first record batch of a file, None without compression."""
        self._stream.seek(0)
        start = bytes(self._stream.read(_COMPRESSION_BYTES))
        # the body compression of a batch is in its message, which Arrow does not show
        for codec, magic in _COMPRESSION_MAGIC.items():
            if magic in start:
                return codec
        return None

    def _to_stored(self) -> Iterator[Any]:
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
        kept: Any = self._stream
        if isinstance(kept, pa.NativeFile):
            kept.seek(0)
        else:
            kept = pa.PythonFile(KeptStream(self._stream), mode="r")
        return ipc.open_file(kept) if self._is_file else ipc.open_stream(kept)
