"""Tables of a store in sparse files, for tasks that share a range.

A task that reads a whole range downloads and verifies the whole table. If several tasks share one,
each downloads the end of the file, which has the index, and the blocks of its keys, to a sparse
file of the same size. The checksum of each block is verified when it is read, the digest of the
table is not: no task has the whole table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import missing_table
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_addresses import table_address
from anabranch.errors import Corrupt, Gone

__all__ = ["SparseTables"]

_INDEX_SHARE = 100
"""The index of a table takes about this part of the file."""

_DESCRIPTION_BYTES = 2 << 10
"""The bytes at the end of a table besides its index, or some more."""


class SparseTables:
    """Tables of a store as sparse files in `folder`, which have the parts that were loaded."""

    def __init__(self, blocks: BlockStore, storage_namespace: str, folder: str) -> None:
        self._blocks = blocks
        self._namespace = storage_namespace
        self._folder = folder

    @contextmanager
    def locator(self) -> Iterator[Callable[[str], str]]:
        """Gives the function. A table can be opened, and read where it was loaded."""
        yield self._locate

    def load(self, table_id: str, after: bytes, until: bytes | None) -> None:
        """Downloads the blocks of keys. Raises Gone and Corrupt."""
        path = self._locate(table_id)
        start, end = kernel.table_span(path, after, until)
        if end > Path(path).stat().st_size:
            address = table_address(self._namespace, table_id)
            raise Corrupt(f"{address}: a block lies outside of the file", path=address)
        if start < end:
            self._write(path, start, self._read(table_id, start, end))

    def _locate(self, table_id: str) -> str:
        """Returns the path of a table's file, which has at least the index."""
        path = f"{self._folder}/{table_id}"
        if not Path(path).exists():
            address = table_address(self._namespace, table_id)
            info = self._blocks.stat(address)
            if info is None:
                raise missing_table(address)
            start = max(0, info.size - info.size // _INDEX_SHARE - _DESCRIPTION_BYTES)
            tail = self._read(table_id, start, info.size)
            try:
                while (begin := kernel.table_index_start(tail, info.size)) < start:
                    tail = self._read(table_id, begin, start) + tail
                    start = begin
            except kernel.CorruptTable as error:
                raise Corrupt(f"{address}: {error.reason}", path=address) from error
            Path(path).touch()
            os.truncate(path, info.size)
            self._write(path, start, tail)
        return path

    def _read(self, table_id: str, start: int, end: int) -> bytes:
        address = table_address(self._namespace, table_id)
        try:
            return self._blocks.read(address, start, end - start)
        except Gone as error:
            raise missing_table(address) from error

    def _write(self, path: str, start: int, content: bytes) -> None:
        with Path(path).open("r+b") as file:
            file.seek(start)
            file.write(content)
