"""A listing made by tasks: each lists a slice of the store and keeps it there, as an Arrow file.

What was listed before references are read must not be listed again after that. Spark computes a
DataFrame anew whenever it likes, so tasks read these files, which stay as they are until the run is
over.
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
from anabranch.pipelines.garbage.address_hashes import hashes_of
from anabranch.pipelines.garbage.engine import Listed
from anabranch.pipelines.garbage.listing import DATA, LISTING, listed_slice
from anabranch.spark.garbage_slices import cut_listing
from anabranch.spark.slices import Slice
from anabranch.spark.stores import Opener, opened_store
from anabranch.spark.tasks import in_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["HASHED", "HASHED_ARROW", "KeptListing", "hashed"]

HASHED = "address STRING, size BIGINT, mtime BIGINT, hash BIGINT"
"""A listed object with the hash of its address, for Spark, which knows no unsigned numbers."""

HASHED_ARROW = LISTING.append(pa.field("hash", pa.int64()))
_TOLD = "objects BIGINT, size BIGINT, young BIGINT"
_TOLD_ARROW = pa.schema([("objects", pa.int64()), ("size", pa.int64()), ("young", pa.int64())])


class _Task(NamedTuple):
    """What a task lists of a namespace that begins with `stem`, and where it keeps that."""

    stem: str
    slice: Slice
    file: str


class KeptListing:
    """The listing of the namespace that begins with `stem`, in files that begin with `files`."""

    def __init__(self, spark: SparkSession, store: Opener, stem: str, files: str) -> None:
        self._spark = spark
        self._store = store
        self._stem = stem
        self._files = f"{files}listing/"
        self._tasks: list[_Task] = []

    def make(self, blocks: BlockStore, before: int, slices: int) -> Listed:
        """Has the store listed, which the driver has open as `blocks`; keeps what was stored
        before a time, in seconds since 1970.
        """
        root = f"{self._stem}{DATA}"

        def first_after(name: str) -> str | None:
            after = f"{root}{name}" if name else ""
            found = next(iter(blocks.list(root, after)), None)
            return None if found is None else found.address.removeprefix(root)

        self._tasks = [
            _Task(self._stem, part, f"{self._files}{number}.arrow")
            for number, part in enumerate(cut_listing(first_after, slices))
        ]
        told = in_tasks(self._spark, self._tasks, partial(_list, self._store, before), _TOLD)
        rows = told.collect()
        return Listed(*(sum(row[name] for row in rows) for name in _TOLD_ARROW.names))

    def frame(self) -> DataFrame:
        """Returns what is kept, with hashes."""
        files = [task.file for task in self._tasks]
        return in_tasks(self._spark, files, partial(_read, self._store), HASHED)

    def forget(self, blocks: BlockStore) -> None:
        """Removes the files."""
        blocks.delete(task.file for task in self._tasks)


def hashed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields batches of a listing with the hashes of their addresses."""
    for batch in batches:
        columns = [batch.column(field.name).cast(field.type) for field in LISTING]
        hashes = hashes_of(columns[0]).view(np.int64)
        yield pa.RecordBatch.from_arrays([*columns, pa.array(hashes)], schema=HASHED_ARROW)


def _list(store: Opener, before: int, task: _Task) -> Iterator[pa.RecordBatch]:
    objects = size = young = 0
    kept = io.BytesIO()
    with opened_store(store) as blocks, pa.ipc.new_file(kept, HASHED_ARROW) as writer:
        for batch in listed_slice(blocks, task.stem, *task.slice):
            old = batch.filter(pc.less(batch.column("mtime"), before))
            objects += batch.num_rows
            young += batch.num_rows - old.num_rows
            size += pc.sum(batch.column("size")).as_py() or 0
            for each in hashed([old]):
                writer.write_batch(each)
        writer.close()
        blocks.put(task.file, [kept.getvalue()])
    yield pa.RecordBatch.from_arrays(
        [pa.array([number]) for number in (objects, size, young)], schema=_TOLD_ARROW
    )


def _read(store: Opener, file: str) -> Iterator[pa.RecordBatch]:
    with opened_store(store) as blocks:
        reader = pa.ipc.open_file(pa.py_buffer(blocks.read(file)))
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
