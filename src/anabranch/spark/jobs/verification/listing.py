"""The listing of the stores by tasks, as rows with the hash of each address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Invalid, NotFound
from anabranch.pipelines.garbage.addresses.listing import list_slice
from anabranch.pipelines.jobs.progress import Progress
from anabranch.spark.jobs.monitor import TaskCounts
from anabranch.spark.jobs.parts import signed_hashes, to_row
from anabranch.spark.jobs.verification.kept_frames import KeptFrames, all_rows
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

__all__ = ["list_stores"]

_LISTED = pa.schema(
    [("hash", pa.int64()), ("size", pa.int64()), ("slice", pa.int32()), ("after", pa.string())]
)
"""A listed object: the hash of its address, and its size. At the end of a slice there is a row with
its number, and the name up to which it was listed, null if all of it was; the size is then the
number of its objects.
"""


class _Lister(NamedTuple):
    """Lists slices, in tasks."""

    store: Opener
    counts: TaskCounts

    def list(self, tasks: Sequence[ListingTask]) -> Iterator[pa.RecordBatch]:
        """Yields _LISTED."""
        with open_store(self.store) as blocks:
            for task in tasks:
                yield from self._list_slice(blocks, task)

    def _list_slice(self, blocks: BlockStore, task: ListingTask) -> Iterator[pa.RecordBatch]:
        left, after = task.objects, None
        try:
            for listed in list_slice(blocks, "", *task.part.slice, folder=task.part.root):
                batch = listed[:left]
                left -= batch.num_rows
                addresses, sizes = batch.column("address"), batch.column("size")
                nulls = [pa.nulls(len(sizes), field.type) for field in (*_LISTED,)[2:]]
                columns = [signed_hashes(addresses), sizes, *nulls]
                yield pa.RecordBatch.from_arrays(columns, schema=_LISTED)
                self.counts.add(len(sizes), pc.sum(sizes).as_py() or 0)
                if not left:
                    after = addresses[-1].as_py().removeprefix(task.part.root)
                    break
        except (NotFound, Invalid):
            pass  # a bucket that was deleted with its repository, or a damaged record of one
        yield to_row(_LISTED, None, task.objects - left, task.number, after)


def list_stores(
    spark: SparkSession,
    blocks: BlockStore,
    lister_of: tuple[Opener, TaskCounts],
    roots: Sequence[str],
    slices: int,
    frames: KeptFrames,
    progress: Progress,
) -> DataFrame:
    """Returns the hashes and the sizes of the objects below the roots, which tasks list in about as
    many slices at a time. The driver has the store open as `blocks`; tasks open and count.
    """
    lister = _Lister(*lister_of)
    parts = [ListingPart(root, may_be_gone=True) for root in roots]
    rounds = ListingRounds(blocks, parts, slices, ROUND_OBJECTS)
    listed = [map_in_tasks(spark, [], lister.list, _LISTED)]
    while rounds.tasks:
        # one task lists the slices of many small repositories
        groups = [rounds.tasks[first::slices] for first in range(min(slices, len(rounds.tasks)))]
        listed.append(frames.keep(map_in_tasks(spark, groups, lister.list, _LISTED)))
        ends = listed[-1].where("slice IS NOT NULL").select("slice", "after", "size").collect()
        progress.advance(sum(row["size"] for row in ends))
        rounds.advance({row["slice"]: row["after"] for row in ends})
    return all_rows(listed).where("hash IS NOT NULL").select("hash", "size")
