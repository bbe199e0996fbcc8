"""Export: what a commit holds is copied to a plain folder or prefix by tasks.

    summary = anabranch.spark.export(spark, lake, "sea", "main", "/data/sea")

It is the export of one process, `anabranch.pipelines.exports`, with another way to copy: what the
place says, what is left at the end and what is refused are the same, and either continues where the
other was interrupted. Tasks compare the trees themselves, each its share of the ranges that differ;
the driver writes down how far all is there, and keeps the commit pinned meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.model.names import decode_key, encode_path
from anabranch.pipelines.exports.copier import Copied
from anabranch.pipelines.exports.destination_parsing import parse_destination, require_separate
from anabranch.pipelines.exports.export_run import ExportRun, ExportSummary
from anabranch.pipelines.jobs.leases import hold_lease
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.spark.jobs.copy_tasks import TOLD, Copies, Share, count_rows
from anabranch.spark.jobs.export_source import export_source, tree_ranges
from anabranch.spark.planning.partition_planning import Range, partition_trees
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.require_version import require_version
from anabranch.spark.sources.commit_sources import Stores
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener
from anabranch.spark.sources.table_files import open_range_tables
from anabranch.versioning.trees import translate_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["export"]

_ENTRIES_PER_TASK = 5_000
_TASKS_AT_ONCE = 64


def export(
    spark: SparkSession,
    source: Stores | Server,
    repository: str,
    reference: str,
    destination: str,
    *,
    store: Opener | None = None,
    everything: bool = False,
    remove_extra: bool = False,
    leave_unfit: bool = False,
    progress: Progress = NO_PROGRESS,
    clock: Callable[[], float] = time.time,
    entries_per_task: int = _ENTRIES_PER_TASK,
    tasks_at_once: int = _TASKS_AT_ONCE,
) -> ExportSummary:
    """Exports the commit of a reference to a destination and returns the summary.

    The destination is a folder that every worker sees at the same path, or an address in the store
    of the repository. `source` is a lake, or an object with its core and its blocks open in the
    driver, or a server; `store` is the object store that workers use, which only a lake in a folder
    does not need. `progress` receives the number of objects copied.

    The other options and the errors are those of `anabranch.pipelines.exports.export.Exporter`;
    NotSupported without a store that is needed, and for a version of Spark that is too old.
    """
    require_version(spark)
    with export_source(source, repository, store) as found:
        place = parse_destination(destination, found.blocks)
        require_separate(place, found.namespaces(), found.blocks)
        commit = found.commit(reference)
        with hold_lease(found.new_pin(), [commit.id]) as lease:
            attempt = ExportRun(place, repository, commit.id, clock=clock, everything=everything)
            states = (attempt.state.complete, *attempt.commits)
            trees = [tree_ranges(found, each) for each in states]
            copies = Copies(found.opener, found.tables, found.repository, destination, leave_unfit)

            def run(
                read: Callable[[Share], Iterator[pa.RecordBatch]], wave: Sequence[Share]
            ) -> _Done:
                lease.check()
                return count_rows(map_in_tasks(spark, wave, read, TOLD).collect())

            progress.begin("copying", 0)
            waves = _Waves(trees, entries_per_task, tasks_at_once)
            if len(trees) > 2 or trees[0]:  # noqa: PLR2004  else nothing is there that could go
                for wave in waves.after(b""):
                    attempt.summary.removed += run(copies.remove, wave)[1]
            for wave in waves.after(encode_path(attempt.state.after)):
                done, _ = run(copies.copy, wave)
                attempt.checkpoint(_range_end(wave), done)
                progress.advance(done.stored + done.unfit)
            if remove_extra:
                with open_range_tables(found.tables, trees[-1]) as tree, translate_errors():
                    attempt.remove_extra(tree)
            return attempt.end()


_Done = tuple[Copied, int]


class _Waves:
    """The shares of all tasks, in order, in waves of concurrent tasks. If the destination is empty,
    all of a range is copied and several tasks share it; otherwise few of its objects differ.
    """

    def __init__(self, trees: Sequence[Sequence[Range]], entries: int, at_once: int) -> None:
        self._pieces = partition_trees(trees, entries)
        self._entries = entries
        self._at_once = at_once

    def after(self, key: bytes) -> Iterator[list[Share]]:
        """Yields the shares that remain after a key."""
        wave: list[Share] = []
        for piece in self._pieces:
            base, *attempts = piece
            if all(cut[-1].max_key <= key for cut in piece if cut):
                continue
            number = sum(found.entries for cut in attempts for found in cut)
            tasks = 1 if base else max(1, ceil(number / self._entries))
            wave += [Share(piece, key, each, tasks) for each in range(tasks)]
            if len(wave) >= self._at_once:
                yield wave
                wave = []
        if wave:
            yield wave


def _range_end(wave: Sequence[Share]) -> str:
    """Returns the last path of the shares of a wave."""
    return decode_key(max(cut[-1].max_key for share in wave for cut in share.trees if cut))
