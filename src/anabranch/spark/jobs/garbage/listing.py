"""Listing of the store by tasks, each of which lists a slice of the folder of objects or of that of
areas of tables, and writes files of listed objects.

Objects must be listed before references are read, so later tasks read these files. The listing
proceeds in rounds. In each round, a task stops after a number of objects, and the rest of its slice
is divided again: most objects may be in one slice, such as those of a day on which much was
written. The number doubles from round to round, so there are few rounds.

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
from anabranch.spark.jobs.garbage.slices import cut_listing
from anabranch.spark.jobs.monitor import NO_COUNTS, TaskCounts
from anabranch.spark.jobs.parts import (
    PART_ROWS,
    PartWriter,
    read_parts,
    remove_parts,
    signed_hashes,
    to_row,
)
from anabranch.spark.planning.listing_slices import ALL_NAMES, FirstAfter, Slice, cut_names
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
_CUTS = {DATA_PREFIX: cut_listing, AREAS_FOLDER: cut_names}
"""How names in each folder are divided: those of objects begin with a time, those of areas are
random.
"""


class _Part(NamedTuple):
    """A slice of the names in a folder."""

    folder: str
    slice: Slice


class _Task(NamedTuple):
    """The slice of a task, with its number, and the number of objects after which it stops."""

    number: int
    part: _Part
    objects: int


class _Lister(NamedTuple):
    """Lists slices of the namespace that begins with `prefix`, and writes to the folder `files`."""

    store: Opener
    prefix: str
    files: str
    before: int
    counts: TaskCounts

    def list(self, task: _Task) -> Iterator[pa.RecordBatch]:
        """Lists a slice and yields the result."""
        folder = task.part.folder
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
        round_objects: int = PART_ROWS,
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
        whole = [_Part(folder, ALL_NAMES) for folder in _CUTS]
        left = [piece for part in whole for piece in self._divide(blocks, [part], slices)]
        limit = self._round_objects
        while left:
            tasks = [_Task(number, part, limit) for number, part in enumerate(left)]
            rows = map_in_tasks(self._spark, tasks, lister.list, _LISTED).collect()
            for row in rows:
                self._written += [self._files + name for name in row["files"]]
                objects += row["objects"]
                size += row["size"]
                young += row["young"]
                self.areas.add(_AREAS_DECODER.decode(row["areas"]))
            unfinished = [
                _Part(part.folder, Slice(row["after"], part.slice.last))
                for row in rows
                if (part := left[row["slice"]]) and row["after"] is not None
            ]
            left = self._divide(blocks, unfinished, slices)
            limit *= 2
        return ListingTotals(objects, size, young)

    def _divide(self, blocks: BlockStore, parts: list[_Part], slices: int) -> list[_Part]:
        """Divides slices into about this many in total."""
        each = max(1, slices // max(1, len(parts)))
        return [
            _Part(part.folder, piece)
            for part in parts
            for piece in _CUTS[part.folder](
                _first_after(blocks, self._prefix + part.folder), each, part.slice
            )
        ]

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


def _first_after(blocks: BlockStore, root: str) -> FirstAfter:
    """Returns what finds names after the prefix `root` of addresses."""

    def first_after(name: str) -> str | None:
        after = f"{root}{name}" if name else ""
        block = next(iter(blocks.list(root, after)), None)
        return None if block is None else block.address.removeprefix(root)

    return first_after
