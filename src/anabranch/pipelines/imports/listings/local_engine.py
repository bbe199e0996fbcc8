"""Local import engine: imports a listing of any size in this process, without Spark.

    rows = ListingSource("listing.parquet").rows(blocks)
    target = LakeTarget(core, "sea")
    imported = import_listing(target, blocks, rows, ListingRequest(branch="main"))

Rows are Arrow batches throughout: they are sorted in bounded memory, validated, compared with the
store, and passed to the kernel, which writes the tables. Imports by Spark or a server, and commits
of the same objects, write identical tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.pipelines.imports.listings.address_check import AddressCheck
from anabranch.pipelines.imports.listings.external_sort import (
    DEFAULT_BUDGET,
    SortBudget,
    sort_listing,
)
from anabranch.pipelines.imports.listings.import_listing import (
    Imported,
    ImportTarget,
    ListingRequest,
    WrittenListing,
    commit_listing,
)
from anabranch.pipelines.imports.listings.rejected_rows import open_rejected_rows
from anabranch.pipelines.imports.listings.row_checks import RowCheck
from anabranch.pipelines.imports.listings.row_sample import SAMPLE_ROWS, RowSample
from anabranch.pipelines.imports.listings.row_validation import WRITTEN, RowValidator
from anabranch.pipelines.imports.listings.sources import ListingSource
from anabranch.pipelines.imports.listings.stored_check import (
    StoredCheck,
    require_stored,
    sample_problems,
)
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["ListingSource", "Rows", "import_listing"]

Rows = Callable[[Path], Iterable[pa.RecordBatch]]
"""Yields the batches of a listing (LISTED); may write temporary files into the folder."""


def import_listing(
    target: ImportTarget,
    blocks: BlockStore,
    rows: Rows,
    request: ListingRequest,
    *,
    budget: SortBudget = DEFAULT_BUDGET,
    progress: Progress = NO_PROGRESS,
) -> Imported:
    """Imports a listing to a branch, in place of all objects under the destination. `blocks` is the
    store of the objects.

    Raises NotFound for an empty listing, Invalid for invalid rows unless they are skipped and for a
    sample that differs from the store, DirtyBranch, ReadOnlyRepository, and the errors of `rows`
    and the store. The branch is then unchanged.
    """

    def write(folder: str) -> WrittenListing:
        work = Path(folder) / "work"
        work.mkdir()
        with open_rejected_rows(request.rejected_rows) as on_rejected:
            return _write(rows(work), blocks, folder, request, budget, progress, on_rejected)

    return commit_listing(target, request, write)


def _write(
    rows: Iterable[pa.RecordBatch],
    blocks: BlockStore,
    folder: str,
    request: ListingRequest,
    budget: SortBudget,
    progress: Progress,
    on_rejected: Callable[[pa.RecordBatch], None],
) -> WrittenListing:
    checks: list[RowCheck] = [AddressCheck(blocks)]
    if request.verify == "all":
        checks.append(StoredCheck(blocks))
    validator = RowValidator(request.prefix, on_rejected, checks=checks)
    sample = RowSample(SAMPLE_ROWS if request.verify == "sample" else 0)
    row_count = 0

    def read_rows() -> Iterator[pa.RecordBatch]:
        nonlocal row_count
        progress.begin("reading the listing", 0)
        for batch in rows:
            row_count += batch.num_rows
            progress.advance(batch.num_rows)
            yield batch

    def sorted_rows() -> Iterator[pa.RecordBatch]:
        is_first = True
        for batch in sort_listing(read_rows(), Path(folder) / "work", budget):
            if is_first:
                progress.begin("writing tables", row_count)
                is_first = False
            progress.advance(batch.num_rows)
            yield batch

    raised: list[BaseException] = []
    batches = _capture_errors(sample.sample_batches(validator.batches(sorted_rows())), raised)
    try:
        with translate_errors():
            reader = pa.RecordBatchReader.from_batches(WRITTEN, batches)
            written = kernel.write_arrow(reader, folder)
    except Exception:
        if raised:  # the kernel's error has only the text of the original
            raise raised[0] from None
        raise
    if not validator.counts or request.on_invalid == "skip":  # otherwise the import fails anyway
        _verify(sample, blocks, progress)
    return WrittenListing(
        written.metarange_id, written.tables, written.count, dict(validator.counts), validator.shown
    )


def _verify(sample: RowSample, blocks: BlockStore, progress: Progress) -> None:
    """Raises Invalid unless all rows of a sample equal the objects in the store."""
    rows = sample.rows()
    if len(rows):
        progress.begin("comparing a sample with the store", len(rows))
        require_stored(rows, sample_problems(rows, blocks))
        progress.advance(len(rows))


def _capture_errors(
    batches: Iterator[pa.RecordBatch], raised: list[BaseException]
) -> Iterator[pa.RecordBatch]:
    """Yields batches, and adds the error that they raise to `raised`."""
    try:
        yield from batches
    except BaseException as error:
        raised.append(error)
        raise
