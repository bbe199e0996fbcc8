"""Listing of the store by tasks, each of which lists a slice and stores it as an Arrow file.

Objects must be listed before references are read, but Spark may recompute a DataFrame at any time.
Therefore later tasks read these files, which do not change until the run ends.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.contract import BlockStore
from anabranch.pipelines.column_hashes import hash_addresses
from anabranch.pipelines.garbage.addresses.listing import DATA_PREFIX, LISTING, list_slice
from anabranch.pipelines.garbage.engine import ListingTotals
from anabranch.spark.jobs.garbage_slices import cut_listing
from anabranch.spark.planning.listing_slices import Slice
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.stores import Opener, open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["HASHED", "HASHED_ARROW", "StoredListing", "hash_column"]

HASHED = "address STRING, size BIGINT, mtime BIGINT, hash BIGINT"
"""A listed object with the hash of its address, which is signed because Spark has no unsigned
numbers.
"""

HASHED_ARROW = LISTING.append(pa.field("hash", pa.int64()))
_TOTALS = "objects BIGINT, size BIGINT, young BIGINT"
_TOTALS_ARROW = pa.schema([("objects", pa.int64()), ("size", pa.int64()), ("young", pa.int64())])


class _Task(NamedTuple):
    """The slice of a task in a namespace that begins with `prefix`, and the address of its file."""

    prefix: str
    slice: Slice
    file: str


class StoredListing:
    """The listing of the namespace that begins with `prefix`, in files that begin with `files`."""

    def __init__(self, spark: SparkSession, store: Opener, prefix: str, files: str) -> None:
        self._spark = spark
        self._store = store
        self._prefix = prefix
        self._files = f"{files}listing/"
        self._tasks: list[_Task] = []

    def make(self, blocks: BlockStore, before: int, slices: int) -> ListingTotals:
        """Lists the store, which the driver has open as `blocks`. Objects stored after a time, in
        seconds since 1970, are counted as young.
        """
        root = f"{self._prefix}{DATA_PREFIX}"

        def first_after(name: str) -> str | None:
            after = f"{root}{name}" if name else ""
            block = next(iter(blocks.list(root, after)), None)
            return None if block is None else block.address.removeprefix(root)

        self._tasks = [
            _Task(self._prefix, part, f"{self._files}{number}.arrow")
            for number, part in enumerate(cut_listing(first_after, slices))
        ]
        totals = map_in_tasks(
            self._spark, self._tasks, partial(_list, self._store, before), _TOTALS
        )
        rows = totals.collect()
        return ListingTotals(*(sum(row[name] for row in rows) for name in _TOTALS_ARROW.names))

    def frame(self) -> DataFrame:
        """Returns all listed objects with the hashes of their addresses."""
        files = [task.file for task in self._tasks]
        return map_in_tasks(self._spark, files, partial(_read, self._store), HASHED)

    def remove(self, blocks: BlockStore) -> None:
        """Removes the files of the listing."""
        blocks.delete(task.file for task in self._tasks)


def hash_column(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields batches of a listing with the hashes of their addresses."""
    for batch in batches:
        columns = [batch.column(field.name).cast(field.type) for field in LISTING]
        hashes = hash_addresses(columns[0]).view(np.int64)
        yield pa.RecordBatch.from_arrays([*columns, pa.array(hashes)], schema=HASHED_ARROW)


def _list(store: Opener, before: int, task: _Task) -> Iterator[pa.RecordBatch]:
    objects = size = young = 0
    file = io.BytesIO()
    with open_store(store) as blocks, pa.ipc.new_file(file, HASHED_ARROW) as writer:
        for batch in list_slice(blocks, task.prefix, *task.slice):
            objects += batch.num_rows
            young += pc.sum(pc.greater_equal(batch.column("mtime"), before)).as_py() or 0
            size += pc.sum(batch.column("size")).as_py() or 0
            for hashed in hash_column([batch]):
                writer.write_batch(hashed)
        writer.close()
        blocks.put(task.file, [file.getvalue()])
    yield pa.RecordBatch.from_arrays(
        [pa.array([number]) for number in (objects, size, young)], schema=_TOTALS_ARROW
    )


def _read(store: Opener, file: str) -> Iterator[pa.RecordBatch]:
    with open_store(store) as blocks:
        reader = pa.ipc.open_file(pa.py_buffer(blocks.read(file)))
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
