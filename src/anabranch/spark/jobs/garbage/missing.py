"""Search for missing objects by tasks: objects that are referenced but not listed, and that the
store does not have when it is queried again.

Entries of ranges stay in tasks. The driver reads staged changes and writes those whose objects may
be missing to files for the tasks, with the active commits of each range. The last task writes the
report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from anabranch.pipelines.column_hashes import Hashes
from anabranch.pipelines.garbage.marking.missing import (
    MAX_SHOWN_REFERENCES,
    Missing,
    MissingReference,
    may_be_missing,
    staged_reference,
)
from anabranch.pipelines.garbage.marking.needs import Need
from anabranch.pipelines.garbage.run_context import RunContext
from anabranch.pipelines.garbage.run_files import MISSING_FILE
from anabranch.spark.jobs.garbage.ranges import ROWS, RangeRead, read_rows, split_reads
from anabranch.spark.jobs.garbage.report import FOUND, WRITTEN, absent_rows, write_report
from anabranch.spark.jobs.parts import PartWriter, read_parts, remove_parts
from anabranch.spark.planning.declaration import declaration
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.stores import Opener

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Absent", "MissingSearch"]

_SHOWN_DECODER = msgspec.json.Decoder(list[MissingReference])

_NAMED = pa.list_(pa.struct([("rank", pa.int64()), ("place", pa.int64()), ("name", pa.string())]))
_FIRST = pa.struct([("rank", pa.int64()), ("commit", pa.string())])
_NEEDS = pa.schema(
    [
        ("number", pa.int32()),
        ("repository", pa.string()),
        ("named", _NAMED),
        ("first", _FIRST),
        ("commits", pa.int64()),
    ]
)
"""The needs of the entries of a range: the references to its commits, in order; the first of these
commits, and their number.
"""

_STAGED = pa.schema(
    [
        ("repository", pa.string()),
        ("path", pa.string()),
        ("address", pa.string()),
        ("rank", pa.int64()),
        ("name", pa.string()),
    ]
)
_ENTRY_COLUMNS = ("repository", "staged", "path", "address", "named", "first", "commits")
_FILE_ROWS = 1 << 16
_NEEDS_PER_FILE = 1 << 10


class Absent(NamedTuple):
    """Reachable hashes that no listed object has: the numbers of the ranges with such hashes, and
    the sorted hashes of multipart uploads and staged changes.
    """

    numbers: frozenset[int]
    uncommitted: Hashes


class MissingSearch(NamedTuple):
    """A search for missing objects of a run. `store` gives workers access to the store, and
    `entries` is the number of entries that a task reads.
    """

    spark: SparkSession
    store: Opener
    context: RunContext
    entries: int

    @property
    def files(self) -> str:
        """The folder of the files for tasks."""
        return f"{self.context.prefix}missing/"

    def find(
        self,
        absent: Absent,
        listing: DataFrame,
        reads: Mapping[int, tuple[str, RangeRead]],
        before: int,
    ) -> Missing:
        """Returns the missing objects whose addresses were generated before a time, in seconds
        since 1970, and writes them to the run's files. `listing` has the hashes of all listed
        objects, `reads` the ranges of active commits by number, each with its repository's
        partition.
        """
        missing = Missing(checked="all")
        try:
            frames = []
            if len(absent.uncommitted):
                staged = self._staged_references(absent.uncommitted, before)
                if staged is None:
                    missing.checked = "committed"
                else:
                    frames.append(staged)
            if absent.numbers:
                affected = {number: reads[number] for number in sorted(absent.numbers)}
                frames.append(self._commit_references(affected, listing, before))
            if frames:
                self._report(frames, missing)
        finally:
            remove_parts(self.context.blocks, self.files)
        return missing

    def _staged_references(self, absent: Hashes, before: int) -> DataFrame | None:
        """Returns the staged entries with absent hashes, or None if staged entries are unknown."""
        context = self.context
        staged = context.installation.staged_entries(context.repository, context.namespace)
        if staged is None:
            return None
        ranks: dict[tuple[str, str], int] = {}
        with PartWriter(context.blocks, self.files, _STAGED, _FILE_ROWS) as writer:
            for entries in staged:
                wanted = may_be_missing(entries.addresses, absent, before)
                if not wanted.any():
                    continue
                mask = pa.array(wanted)
                paths, addresses = entries.paths.filter(mask), entries.addresses.filter(mask)
                rank = ranks.setdefault((entries.repository, entries.branch), len(ranks))
                columns = [
                    pa.array([entries.repository] * len(paths)),
                    paths,
                    addresses,
                    pa.array(np.full(len(paths), rank)),
                    pa.array([staged_reference(entries.branch)] * len(paths)),
                ]
                writer.write(pa.RecordBatch.from_arrays(columns, schema=_STAGED))
        files = self._read(writer, _STAGED)
        return files.selectExpr(
            *("repository", "true AS staged", "path", "address"),
            "array(named_struct('rank', rank, 'place', 0L, 'name', name)) AS named",
            "CAST(NULL AS STRUCT<rank: BIGINT, commit: STRING>) AS first",
            "0L AS commits",
        )

    def _commit_references(
        self,
        reads: Mapping[int, tuple[str, RangeRead]],
        listing: DataFrame,
        before: int,
    ) -> DataFrame:
        """Returns the entries of ranges whose objects are not listed, with their needs."""
        pieces = split_reads((read for _, read in reads.values()), self.entries)
        rows = map_in_tasks(self.spark, pieces, partial(read_rows, before), ROWS)
        unlisted = rows.join(listing.select("hash"), "hash", "left_anti")
        numbers: dict[str, dict[str, int]] = {}
        for number, (partition, read) in reads.items():
            numbers.setdefault(partition, {})[read.range.id] = number
        needs = [
            _need_row(numbers[repository.partition][range_id], repository.id, of_range)
            for repository, by_range in self.context.reachability.needs_by_range(numbers)
            for range_id, of_range in by_range.items()
        ]
        with PartWriter(self.context.blocks, self.files, _NEEDS, _NEEDS_PER_FILE) as writer:
            writer.write(pa.RecordBatch.from_pylist(needs, schema=_NEEDS))
        known = self._read(writer, _NEEDS)
        return unlisted.join(known, "number").selectExpr(
            *("repository", "false AS staged", "path", "address", "named", "first", "commits")
        )

    def _report(self, frames: Sequence[DataFrame], missing: Missing) -> None:
        """Runs the tasks that query the store and write the report; adds it to `missing`."""
        from pyspark.sql import functions  # noqa: PLC0415  an extra

        entries = frames[0].select(*_ENTRY_COLUMNS)
        for frame in frames[1:]:
            entries = entries.unionAll(frame.select(*_ENTRY_COLUMNS))
        references = entries.groupBy("address", "repository", "staged", "path").agg(
            functions.expr("array_distinct(array_sort(flatten(collect_list(named)))) AS named"),
            functions.expr("min(first) AS first"),
            functions.expr("sum(commits) AS commits"),
        )
        unlisted = references.selectExpr(
            *("address", "repository", "path"),
            "transform(named, item -> item.name) AS names",
            "coalesce(first.commit, '') AS commit",
            "commits",
        ).repartition("address")
        find_absent = partial(absent_rows, self.store, self.context.namespace.prefix)
        target = self.context.prefix + MISSING_FILE
        write = partial(write_report, self.store, target, MAX_SHOWN_REFERENCES)
        written = (
            unlisted.mapInArrow(find_absent, declaration(FOUND))
            .repartition(1)
            .sortWithinPartitions("address", "repository", "path", "commit")
            .mapInArrow(write, declaration(WRITTEN))
        )
        for row in written.collect():
            missing.objects, missing.references = row["objects"], row["references"]
            missing.shown = _SHOWN_DECODER.decode(row["shown"])
        if missing.references:
            missing.location = self.context.blocks.qualify(target)

    def _read(self, written: PartWriter, schema: pa.Schema) -> DataFrame:
        """Returns the rows that were written."""
        files = [self.files + name for name, _ in written.files]
        return read_parts(self.spark, self.store, files, schema)


def _need_row(number: int, repository: str, needs: Sequence[Need]) -> dict[str, object]:
    first = min(needs)
    named = [
        {"rank": need.order, "place": place, "name": name}
        for need in needs
        for place, name in enumerate(need.references)
    ]
    return {
        "number": number,
        "repository": repository,
        "named": named,
        "first": {"rank": first.order, "commit": first.commit},
        "commits": len(needs),
    }
