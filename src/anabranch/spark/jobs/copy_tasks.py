"""The tasks of an export, which copy and remove objects, and their results.

A task returns a permanent error as a row, and the driver raises the same error as an export in one
process. A transient error is raised in the task, and Spark retries the task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pyarrow as pa

from anabranch import errors
from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError, Busy
from anabranch.model.names import decode_key
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.exports.changes import Change, changes
from anabranch.pipelines.exports.chunked import chunked
from anabranch.pipelines.exports.copier import THREADS, Copied, Copier
from anabranch.pipelines.exports.destination import Destination
from anabranch.pipelines.exports.destination_parsing import parse_destination
from anabranch.pipelines.exports.extra_files import remove_extra_files
from anabranch.spark.jobs.change_files import ChangeFiles
from anabranch.spark.jobs.monitor import TaskCounts
from anabranch.spark.planning.partition_planning import Range, Ranges, partition_ranges
from anabranch.spark.planning.tree_parts import TreePart
from anabranch.spark.sources.stores import Opener, open_store
from anabranch.spark.sources.table_files import DivisibleTables, open_range_tables
from anabranch.spark.sources.tree_parts import open_tree_part

__all__ = [
    "RESULT",
    "CopyPartition",
    "ExportTasks",
    "ExtraPartition",
    "Results",
    "partition_extra",
    "sum_results",
]

RESULT = pa.schema(
    [
        *((name, pa.int64()) for name in ("stored", "bytes", "invalid")),
        ("shown", pa.list_(pa.string())),
        ("removed", pa.int64()),
        *((name, pa.string()) for name in ("changes", "error", "message", "kind", "hint")),
    ]
)
"""The result of a task."""

_BATCH_SIZE = 1_000


class CopyPartition(NamedTuple):
    """The input of a task: the changes between parts of trees, the base tree first, whose keys are
    after `after`. If an earlier task has written them to a file, `changes` is its name.
    """

    part: TreePart
    after: bytes
    changes: str = ""


class ExtraPartition(NamedTuple):
    """The input of a task: the paths after `after` and not after `last`, and the ranges of the
    exported commit in which they may be; `own` are the files of the export.
    """

    ranges: Ranges
    after: str
    last: str
    own: frozenset[str]


def partition_extra(
    ranges: Iterable[Range], entries: int, own: frozenset[str]
) -> list[ExtraPartition]:
    """Returns partitions of all paths, given the ranges of a commit: one for each group of ranges
    with about `entries` entries.
    """
    groups: list[Ranges] = list(partition_ranges(ranges, entries)) or [()]
    ends = [decode_key(group[-1].max_key) for group in groups[:-1]]
    paths = zip(groups, ["", *ends], [*ends, ""], strict=True)
    return [ExtraPartition(group, after, last, own) for group, after, last in paths]


class ExportTasks(NamedTuple):
    """The work of the tasks of an export; it can be pickled."""

    store: Opener
    tables: DivisibleTables
    repository: Repository
    destination: str
    changes: ChangeFiles
    skip_invalid: bool
    counts: TaskCounts

    def remove(self, partition: CopyPartition) -> Iterator[pa.RecordBatch]:
        """Removes the files that the commit no longer has, durably, and yields the result, with the
        name of a file that has all changes, empty if there are none.
        """
        removed = 0
        with open_store(self.store) as blocks, self.changes.writer() as found:
            destination = parse_destination(self.destination, blocks)
            for batch in chunked(self._changes(partition), _BATCH_SIZE):
                found.write(batch)
                removed += _remove(destination, batch)
            destination.sync()
        yield _result(removed=removed, changes=found.name)

    def remove_extra(self, partition: ExtraPartition) -> Iterator[pa.RecordBatch]:
        """Removes the files that the commit does not have, durably, and yields the result."""
        _, after, last, own = partition
        with (
            open_store(self.store) as blocks,
            open_range_tables(self.tables, partition.ranges) as tree,
        ):
            destination = parse_destination(self.destination, blocks)
            removed = remove_extra_files(destination, tree, own, after, last)
            destination.sync()
        yield _result(removed=removed)

    def copy(self, partition: CopyPartition) -> Iterator[pa.RecordBatch]:
        """Copies the objects of the commit, durably, and yields the result. Where no path is in the
        way of another, the files that the commit no longer has are removed, too.
        """
        with open_store(self.store) as blocks:
            try:
                done, removed = self._copy(partition, blocks)
            except Busy:
                raise
            except AnabranchError as error:
                yield _result(
                    error=type(error).__name__,
                    message=error.message,
                    kind=error.kind,
                    hint=error.hint,
                )
                return
        yield _result(
            stored=done.stored,
            bytes=done.bytes,
            invalid=done.invalid,
            shown=done.shown,
            removed=removed,
        )

    def _copy(self, partition: CopyPartition, blocks: BlockStore) -> tuple[Copied, int]:
        destination = parse_destination(self.destination, blocks)
        copier = Copier(destination, self.repository, blocks, skip_invalid=self.skip_invalid)
        done, removed = Copied(), 0
        with ThreadPoolExecutor(THREADS) as pool:
            for batch in chunked(self._changes(partition), _BATCH_SIZE):
                if not destination.has_folders:
                    removed += _remove(destination, batch)
                records = [(key, value) for key, value in batch if value is not None]
                copied = copier.store(pool, records)
                self.counts.add(copied.stored, copied.bytes)
                done.add(copied)
        return done, removed

    def _changes(self, partition: CopyPartition) -> Iterator[Change]:
        if partition.changes:
            recorded = self.changes.read(partition.changes)
            yield from (change for change in recorded if change[0] > partition.after)
            return
        with open_tree_part(self.tables, partition.part) as opened:
            base, *attempts = opened.trees
            after = max(opened.after, partition.after)
            if opened.until is None or after < opened.until:
                yield from changes(base, attempts, after, opened.until)


def _remove(destination: Destination, batch: Sequence[Change]) -> int:
    """Removes the files of the paths that the commit does not have, and returns their number."""
    paths = [decode_key(key) for key, value in batch if value is None]
    if paths:
        destination.remove(paths)
    return len(paths)


class Results(NamedTuple):
    """The results of tasks: the totals of copied objects, the number of removed paths, and of each
    task the name of its file of changes.
    """

    copied: Copied
    removed: int
    changes: Sequence[str]


def sum_results(rows: Iterable[Any]) -> Results:
    """Returns the results of all tasks. Raises the first error that a task reported."""
    done, removed, names = Copied(), 0, []
    for row in rows:
        if row["error"] is not None:
            error_class = getattr(errors, row["error"], AnabranchError)
            raise error_class(row["message"], kind=row["kind"], hint=row["hint"])
        done.add(Copied(row["stored"], row["bytes"], row["invalid"], list(row["shown"])))
        removed += row["removed"]
        names.append(row["changes"])
    return Results(done, removed, names)


def _result(**values: Any) -> pa.RecordBatch:
    defaults = {"stored": 0, "bytes": 0, "invalid": 0, "shown": [], "removed": 0, "changes": ""}
    return pa.RecordBatch.from_pylist([{**defaults, **values}], schema=RESULT)
