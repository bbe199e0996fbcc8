"""Attribution of candidates to branches and folders by tasks, as `OriginTracer` does it.

Tasks read the ranges of expired commits and join the hashes of their addresses with those of the
candidates. Of the entries with one address, the first counts, in the order in which a single
process would read them. The driver receives totals: of each branch, of the largest folders, and of
all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from anabranch.errors import Corrupt, Gone
from anabranch.pipelines.garbage.marking.attribution import (
    MAX_SHOWN_FOLDERS,
    ExpiredRanges,
    Origins,
    first_folders,
    set_rest,
)
from anabranch.pipelines.garbage.totals import ObjectTotals
from anabranch.spark.jobs.garbage.ranges import RangeRead
from anabranch.spark.jobs.parts import HashReader, signed_hashes
from anabranch.spark.planning.partition_planning import Range
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.stores import Opener
from anabranch.spark.sources.table_files import open_range_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["BranchRead", "trace_origins"]

_ENTRIES = pa.schema(
    [("hash", pa.int64()), ("place", pa.int64()), ("branch", pa.string()), ("folder", pa.string())]
)
"""An entry of an expired commit: the hash of its address, its place in the order of reading, and
its branch and folder. Without a hash: a range that could not be read.
"""

_TOTALS = """
    WITH first AS (
        SELECT hash, min(struct(place, branch, folder)) AS found
        FROM {entries} GROUP BY hash
    ), traced AS (
        SELECT IF(first.hash IS NULL, NULL, found.branch) AS branch,
            IF(first.hash IS NULL, NULL, found.folder) AS folder, dead.size AS size
        FROM first LEFT JOIN {dead} AS dead ON first.hash = dead.hash
        WHERE dead.hash IS NOT NULL OR first.hash IS NULL
    ), grouped AS (
        SELECT IF(grouping(branch) = 0, 'branch', 'folder') AS kind, branch, folder,
            count(*) AS objects, sum(size) AS bytes
        FROM traced GROUP BY GROUPING SETS ((branch), (folder))
    ), ranked AS (
        SELECT *, row_number() OVER (PARTITION BY kind ORDER BY bytes DESC, folder) AS place
        FROM grouped WHERE kind = 'branch' OR folder IS NOT NULL
    )
    SELECT kind, min(branch) AS branch, min(folder) AS folder, min(place) AS place,
        sum(objects) AS objects, sum(bytes) AS bytes
    FROM ranked
    GROUP BY kind, IF(kind = 'branch', place, least(place, {others}))
"""
"""The totals by branch and by folder, in which the place of all small folders is `others`."""

_PLACE_BITS = 32
"""The bits of an entry's row in its place; those above are the number of its range."""


class BranchRead(NamedTuple):
    """A range of an expired commit to read, and the branch whose history has the commit."""

    read: RangeRead
    branch: str

    @property
    def range(self) -> Range:
        """The range."""
        return self.read.range


def trace_origins(
    spark: SparkSession,
    store: Opener,
    candidate_files: Sequence[str],
    tasks: Sequence[Sequence[BranchRead]],
    expired: ExpiredRanges,
    total: ObjectTotals,
) -> Origins:
    """Returns the origins of the candidates in files, given their total and the ranges of expired
    commits, which are divided among tasks.
    """
    origins, traced, complete = Origins(), ObjectTotals(), expired.complete
    if tasks and candidate_files:
        read_dead = HashReader(store, "size")
        dead = map_in_tasks(spark, candidate_files, read_dead, read_dead.schema)
        entries = map_in_tasks(spark, tasks, _read_entries, _ENTRIES)
        for row in _totals(dead, entries).collect():
            if row["kind"] == "branch" and row["branch"] is None:
                complete = False
                continue
            totals = ObjectTotals(row["objects"], row["bytes"])
            if row["kind"] == "branch":
                origins.by_branch[row["branch"]] = totals
                traced.add(totals.objects, totals.bytes)
            elif row["place"] <= MAX_SHOWN_FOLDERS:
                origins.by_folder[row["folder"]] = totals
            else:
                origins.other_folders.add(totals.objects, totals.bytes)
    rest = ObjectTotals(total.objects - traced.objects, total.bytes - traced.bytes)
    set_rest(origins, rest, complete=complete and expired.within_limit)
    return origins


def _totals(dead: DataFrame, entries: DataFrame) -> DataFrame:
    """Returns a row for each branch, each of the largest folders, and all other folders together,
    and a row without a branch if a range could not be read.
    """
    return dead.sparkSession.sql(_TOTALS, dead=dead, entries=entries, others=MAX_SHOWN_FOLDERS + 1)


def _read_entries(reads: Sequence[BranchRead]) -> Iterator[pa.RecordBatch]:
    for read, branch in reads:
        try:
            yield from _read_range(read, branch)
        except (Gone, Corrupt, pa.ArrowInvalid):
            unread: Mapping[str, object] = {"hash": None, "branch": branch}
            yield pa.RecordBatch.from_pylist([unread], schema=_ENTRIES)


def _read_range(read: RangeRead, branch: str) -> Iterator[pa.RecordBatch]:
    first = read.number << _PLACE_BITS
    with open_range_tables(read.files, [read.range]) as tree:
        for batch in pa.RecordBatchReader.from_stream(tree.scan()):
            columns = (batch.column("physical_address"), batch.column("address_type"))
            for rows, addresses in read.resolver.resolve(*columns):
                if len(rows):
                    yield pa.RecordBatch.from_arrays(
                        [
                            signed_hashes(addresses),
                            pa.array(rows.to_numpy() + first),
                            pa.repeat(pa.scalar(branch), len(rows)),
                            first_folders(batch.column("path").take(rows)),
                        ],
                        schema=_ENTRIES,
                    )
            first += batch.num_rows
