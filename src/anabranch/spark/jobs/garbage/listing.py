"""Listing of the store by tasks, each of which lists a slice of the folder of objects or of that of
areas of tables, and writes files of listed objects.

Objects must be listed before references are read, so later tasks read these files. The listing
proceeds in rounds (`listing_rounds`).

What an area has may be in several slices: tasks return what they have found about areas, and the
driver adds it up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.contract import BlockStore
from anabranch.model.tables.table_area import AREAS_FOLDER
from anabranch.pipelines.garbage.addresses.listing import DATA_PREFIX, LISTING, list_slice
from anabranch.pipelines.garbage.addresses.table_files import ListedAreas
from anabranch.pipelines.garbage.engine import ListingTotals
from anabranch.spark.jobs.monitor import NO_COUNTS, TaskCounts
from anabranch.spark.jobs.parts import (
    PartWriter,
    read_parts,
    remove_parts,
    signed_hashes,
    to_row,
)
from anabranch.spark.planning.listing_rounds import (
    ROUND_OBJECTS,
    ListingPart,
    ListingRounds,
    ListingTask,
)
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.stores import Opener, open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["HASHED", "StoredListing", "hash_column"]

HASHED = LISTING.append(pa.field("hash", pa.int64()))
"""A listed object with the hash of its address."""

_LISTED = pa.schema(
    [
        ("slice", pa.int32()),
        ("files", pa.list_(pa.string())),
        *((name, pa.int64()) for name in ("objects", "size", "young")),
        ("after", pa.string()),
        ("areas", pa.binary()),
    ]
)
"""The result of a task: the number of its slice, its files, totals, the name up to which it has
listed the slice, or null if it has listed all of it, and what it has found about areas.
"""

_AREAS_DECODER = msgspec.msgpack.Decoder(ListedAreas)


class _Lister(NamedTuple):
    """Lists slices of the namespace that begins with `prefix`, and writes to the folder `files`."""

    store: Opener
    prefix: str
    files: str
    before: int
    counts: TaskCounts

    def list(self, task: ListingTask) -> Iterator[pa.RecordBatch]:
        """Lists a slice and yields the result."""
        folder = task.part.root.removeprefix(self.prefix)
        objects = size = young = 0
        after, areas = None, ListedAreas()
        with (
            open_store(self.store) as blocks,
            PartWriter(blocks, self.files, HASHED) as writer,
        ):
            for listed in list_slice(blocks, self.prefix, *task.part.slice, folder=folder):
                batch = listed[: task.objects - objects]
                objects += batch.num_rows
                young += pc.sum(pc.greater_equal(batch.column("mtime"), self.before)).as_py() or 0
                size += pc.sum(batch.column("size")).as_py() or 0
                areas.count(batch)
                for hashed in hash_column([batch]):
                    writer.write(hashed)
                self.counts.add(batch.num_rows, pc.sum(batch.column("size")).as_py() or 0)
                if objects >= task.objects:
                    after = batch.column("address")[-1].as_py().removeprefix(folder)
                    break
        files = [name for name, _ in writer.files]
        found = msgspec.msgpack.encode(areas)
        yield to_row(_LISTED, task.number, files, objects, size, young, after, found)


class StoredListing:
    """The listing of the namespace that begins with `prefix`, in files whose addresses begin with
    `files`. The slices have at most `round_objects` objects in the first round. `areas` is what it
    says about areas of tables.
    """

    def __init__(
        self,
        spark: SparkSession,
        store: Opener,
        prefix: str,
        files: str,
        round_objects: int = ROUND_OBJECTS,
        counts: TaskCounts = NO_COUNTS,
    ) -> None:
        self._counts = counts
        self._spark = spark
        self._store = store
        self._prefix = prefix
        self._files = f"{files}listing/"
        self._round_objects = round_objects
        self._written: list[str] = []
        self.areas = ListedAreas()

    def make(self, blocks: BlockStore, before: int, slices: int) -> ListingTotals:
        """Lists the store, which the driver has open as `blocks`, in about this many slices.
        Objects stored after a time, in seconds since 1970, are counted as young.
        """
        lister = _Lister(self._store, self._prefix, self._files, before, self._counts)
        objects = size = young = 0
        parts = [
            ListingPart(self._prefix + DATA_PREFIX, is_timed=True),
            ListingPart(self._prefix + AREAS_FOLDER),
        ]
        rounds = ListingRounds(blocks, parts, len(parts) * slices, self._round_objects)
        while rounds.tasks:
            rows = map_in_tasks(self._spark, rounds.tasks, lister.list, _LISTED).collect()
            for row in rows:
                self._written += [self._files + name for name in row["files"]]
                objects += row["objects"]
                size += row["size"]
                young += row["young"]
                self.areas.add(_AREAS_DECODER.decode(row["areas"]))
            rounds.advance({row["slice"]: row["after"] for row in rows})
        return ListingTotals(objects, size, young)

    def frame(self) -> DataFrame:
        """Returns all listed objects with the hashes of their addresses."""
        return read_parts(self._spark, self._store, self._written, HASHED)

    def remove(self, blocks: BlockStore) -> None:
        """Removes the files of the listing."""
        remove_parts(blocks, self._files)


def hash_column(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields batches of a listing with the hashes of their addresses."""
    for batch in batches:
        columns = [batch.column(field.name).cast(field.type) for field in LISTING]
        yield pa.RecordBatch.from_arrays([*columns, signed_hashes(columns[0])], schema=HASHED)
