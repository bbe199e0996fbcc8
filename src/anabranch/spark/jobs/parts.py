"""Files of rows in the store, which tasks write and later tasks read.

Spark may recompute a DataFrame at any time, and its results may differ then: the store has changed
meanwhile. Therefore the result of a step is written to files, which do not change. Each attempt of
a task writes files with new names, and only those that a successful attempt has reported are read.
A file has about a million rows, so that a task can hold one in memory.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.blocks.contract import BlockStore
from anabranch.files.work_folders import WorkFolder
from anabranch.pipelines.column_hashes import hash_addresses
from anabranch.pipelines.garbage.run_files import PARQUET_OPTIONS, file_pieces
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.stores import Opener, open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["PART_ROWS", "HashReader", "PartReader", "PartWriter", "read_parts", "remove_parts"]
__all__ += ["signed_hashes", "to_row"]

PART_ROWS = 1 << 20
"""The largest number of rows of a file: 40 MB or less for listed objects."""


class PartWriter:
    """Writes rows of a schema to files in the folder `prefix` of a store. `files` are their names
    and numbers of rows, complete when the context has ended.
    """

    def __init__(
        self, blocks: BlockStore, prefix: str, schema: pa.Schema, rows: int = PART_ROWS
    ) -> None:
        self._blocks = blocks
        self._prefix = prefix
        self._schema = schema
        self._rows = rows
        self._folder = WorkFolder("spark")
        self._writer: pq.ParquetWriter | None = None
        self._written = 0
        self.files: list[tuple[str, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self._folder.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Writes a batch."""
        while batch.num_rows:
            if self._writer is None:
                self._writer = pq.ParquetWriter(self._path, self._schema, **_options(self._schema))
            piece = batch[: self._rows - self._written]
            self._writer.write_batch(piece)
            self._written += piece.num_rows
            batch = batch[piece.num_rows :]
            if self._written >= self._rows:
                self.finish()

    def finish(self) -> None:
        """Stores the current file, if it has rows."""
        if self._writer is None:
            return
        self._writer.close()
        name = f"{uuid.uuid4().hex}.parquet"
        self._blocks.put(self._prefix + name, file_pieces(self._path), unique_address=True)
        self.files.append((name, self._written))
        self._writer, self._written = None, 0

    @property
    def _path(self) -> Path:
        return self._folder.path / "part.parquet"


class PartReader:
    """Reads files of a store in tasks; it can be pickled."""

    def __init__(self, store: Opener, columns: Sequence[str]) -> None:
        self._store = store
        self._columns = list(columns)

    def __call__(self, address: str) -> Iterator[pa.RecordBatch]:
        """Yields the rows of the file at an address."""
        with open_store(self._store) as blocks:
            content = pa.py_buffer(blocks.read(address))
        yield from pq.ParquetFile(pa.BufferReader(content)).iter_batches(columns=self._columns)


class HashReader:
    """Reads files with addresses: the hash of each address and other columns. It can be pickled."""

    def __init__(self, store: Opener, *columns: str) -> None:
        self._read = PartReader(store, ["address", *columns])
        self.schema = pa.schema([(name, pa.int64()) for name in ("hash", *columns)])

    def __call__(self, address: str) -> Iterator[pa.RecordBatch]:
        """Yields the rows of the file at an address."""
        for batch in self._read(address):
            if batch.num_rows:  # Spark may drop the batches after an empty one
                hashes = signed_hashes(batch.column("address"))
                others = [batch.column(name) for name in self.schema.names[1:]]
                yield pa.RecordBatch.from_arrays([hashes, *others], schema=self.schema)


def signed_hashes(addresses: pa.StringArray) -> pa.Int64Array:
    """Returns the hash of each address as a signed number: Spark has no others."""
    return pa.array(hash_addresses(addresses).view(np.int64))


def to_row(schema: pa.Schema, *values: object) -> pa.RecordBatch:
    """Returns a batch with one row, which has a value for each column of the schema."""
    row = dict(zip(schema.names, values, strict=True))
    return pa.RecordBatch.from_pylist([row], schema=schema)


def read_parts(
    spark: SparkSession, store: Opener, addresses: Sequence[str], schema: pa.Schema
) -> DataFrame:
    """Returns the rows of files that `PartWriter` has written, with a task for each file."""
    return map_in_tasks(spark, addresses, PartReader(store, schema.names), schema)


def remove_parts(blocks: BlockStore, prefix: str) -> None:
    """Removes all files in a folder, including those of failed attempts."""
    blocks.delete(block.address for block in blocks.list(prefix))


def _options(schema: pa.Schema) -> dict[str, object]:
    dictionary = [name for name in PARQUET_OPTIONS["use_dictionary"] if name in schema.names]
    return {**PARQUET_OPTIONS, "use_dictionary": dictionary}
