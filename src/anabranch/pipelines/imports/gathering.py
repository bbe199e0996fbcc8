"""The first half of an import: everything that is to come is found and written as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from anabranch import _kernel as kernel
from anabranch.blocks.sources import Sources
from anabranch.model.imports import ImportSource
from anabranch.pipelines.imports.entries import Record, entries
from anabranch.pipelines.imports.ordering import RUN_RECORDS, latest, sorted_by_runs
from anabranch.pipelines.imports.tally import Refused, Tally
from anabranch.versioning.trees import Trees, translated

__all__ = ["gather"]


def gather(
    wanted: Sequence[ImportSource],
    sources: Sources,
    trees: Trees,
    folder: str,
    tally: Tally,
    *,
    run_records: int = RUN_RECORDS,
) -> kernel.Written:
    """Writes the tree of all that is wanted into `folder`; of two objects at one path it has that
    of the source named last. At most `run_records` are held in memory.

    Raises NotFound where a source has nothing, Invalid for names that cannot be, and what the
    store and the tally raise.
    """

    def streams() -> list[Iterator[Record]]:
        return [entries(source, sources, refused, tally) for source in wanted]

    refused = Refused()
    try:
        with translated():
            written = kernel.write_tree(latest(streams()), folder)
    except ValueError:
        # a store that lists in another order than that of keys: once more, and sorted
        tally.found, refused = 0, Refused()
        with translated():
            coming = chain.from_iterable(streams())
            in_order = sorted_by_runs(coming, trees, folder, run_records)
            written = kernel.write_tree(in_order, folder)
    refused.require_none()
    return written
