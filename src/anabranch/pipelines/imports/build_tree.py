"""First step of an import: lists the sources and writes their objects as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from anabranch import _kernel as kernel
from anabranch.blocks.external_objects import ExternalObjects
from anabranch.model.imports import ImportSource
from anabranch.pipelines.imports.entries import Record, import_records
from anabranch.pipelines.imports.merge_sorted_runs import (
    RUN_RECORDS,
    merge_latest,
    merge_sorted_runs,
)
from anabranch.pipelines.imports.rejected_objects import RejectedObjects
from anabranch.pipelines.jobs.progress import Progress
from anabranch.versioning.trees.trees import Trees, translate_errors

__all__ = ["build_tree"]


def build_tree(
    requests: Sequence[ImportSource],
    sources: ExternalObjects,
    trees: Trees,
    folder: str,
    progress: Progress,
    *,
    run_records: int = RUN_RECORDS,
) -> kernel.Written:
    """Writes the tree of the objects of all sources into `folder`. If two objects have the same
    path, the tree has that of the later source. At most `run_records` are held in memory.

    Raises NotFound for a source without objects, Invalid for names that are invalid as paths, and
    the errors of the store and of `progress`.
    """

    def streams() -> list[Iterator[Record]]:
        progress.begin("listing the sources", 0)
        return [import_records(source, sources, rejected, progress) for source in requests]

    rejected = RejectedObjects()
    try:
        with translate_errors():
            written = kernel.write_tree(merge_latest(streams()), folder)
    except ValueError:
        # the store does not list in key order: list again, and sort
        rejected = RejectedObjects()
        with translate_errors():
            records = chain.from_iterable(streams())
            sorted_records = merge_sorted_runs(records, trees, folder, run_records)
            written = kernel.write_tree(sorted_records, folder)
    rejected.require_none()
    return written
