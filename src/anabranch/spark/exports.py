"""Export: what a commit holds is copied to a plain folder or prefix by tasks.

    summary = anabranch.spark.export(spark, lake, "sea", "main", "/data/sea")

It is the export of one process, `anabranch.pipelines.exports`, with another way to copy: what the
place says, what is left at the end and what is refused are the same, and either goes on where the
other was interrupted. Tasks compare the trees themselves, each its share of the ranges that differ;
the driver writes down how far all is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.model.names import key_of, path_of
from anabranch.pipelines.exports.attempt import Attempt, ExportSummary
from anabranch.pipelines.exports.copying import Copied
from anabranch.pipelines.exports.places import place_of, require_apart
from anabranch.spark.copies import TOLD, Copies, Share, counted
from anabranch.spark.exported import exported, tree_ranges
from anabranch.spark.pieces import Range, cut_together
from anabranch.spark.recent import require_recent
from anabranch.spark.server import Server
from anabranch.spark.sources import Stores
from anabranch.spark.stores import Opener
from anabranch.spark.table_files import opened
from anabranch.spark.tasks import in_tasks
from anabranch.versioning.trees import translated

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
    told: Callable[[int], None] = lambda _: None,
    clock: Callable[[], float] = time.time,
    entries_per_task: int = _ENTRIES_PER_TASK,
    tasks_at_once: int = _TASKS_AT_ONCE,
) -> ExportSummary:
    """Makes a place hold what a reference's commit holds, and returns what was done.

    A place is a folder that every worker sees at the same path, or an address in the store that
    the repository lies in. `source` is a lake, or whatever has its core and its blocks open in the
    driver, or a server; `store` is how workers reach the object store, which only a lake in a
    folder does without. `told` hears how many objects more are copied, after so many tasks each.

    The other options, and what is raised, are those of
    `anabranch.pipelines.exports.export.Exporting`; NotSupported without a store that is needed,
    and for a Spark that is too old.
    """
    require_recent(spark)
    with exported(source, repository, store) as found:
        place = place_of(destination, found.blocks)
        require_apart(place, found.namespaces(), found.blocks)
        commit = found.commit(reference)
        attempt = Attempt(place, repository, commit.id, clock=clock, everything=everything)
        trees = [tree_ranges(found, each) for each in (attempt.state.complete, *attempt.commits)]
        copies = Copies(found.opener, found.tables, found.repository, destination, leave_unfit)

        def run(read: Callable[[Share], Iterator[pa.RecordBatch]], wave: Sequence[Share]) -> _Done:
            return counted(in_tasks(spark, wave, read, TOLD).collect())

        waves = _Waves(trees, entries_per_task, tasks_at_once)
        if len(trees) > 2 or trees[0]:  # noqa: PLR2004  else nothing is there that could go
            for wave in waves.after(b""):
                attempt.summary.removed += run(copies.remove, wave)[1]
        for wave in waves.after(key_of(attempt.state.after)):
            done, _ = run(copies.copy, wave)
            attempt.reach(_end_of(wave), done)
            told(done.stored + done.unfit)
        if remove_extra:
            with opened(found.tables, trees[-1]) as tree, translated():
                attempt.remove_extra(tree)
        return attempt.end()


_Done = tuple[Copied, int]


class _Waves:
    """The shares of all tasks, in order, so many at once. Where nothing is there yet, all of a
    range must be copied, and tasks share it; elsewhere few of its objects differ.
    """

    def __init__(self, trees: Sequence[Sequence[Range]], entries: int, at_once: int) -> None:
        self._pieces = cut_together(trees, entries)
        self._entries = entries
        self._at_once = at_once

    def after(self, key: bytes) -> Iterator[list[Share]]:
        """Yields what is left behind a key."""
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


def _end_of(wave: Sequence[Share]) -> str:
    """Returns the last path that a share of a wave may hold."""
    return path_of(max(cut[-1].max_key for share in wave for cut in share.trees if cut))
