"""The local engine of listings: rows in any number onto a branch, in this process, without Spark.

    rows = ListingSource("listing.parquet").rows(blocks)
    imported = import_listing(LakeGround(core, "sea"), rows, ListingRequest(branch="main"))

Rows stay columns of Arrow all the way: they are sorted in bounded memory, made fit, and handed to
the kernel, which writes the tables. What comes out has the ids that Spark, the server's import and
a commit of the same objects give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.pipelines.imports.landed_listing import (
    Ground,
    Imported,
    ListingRequest,
    WrittenListing,
    land,
)
from anabranch.pipelines.imports.left_out import writing_left_out
from anabranch.pipelines.imports.listing_order import ROOM, Room, in_order
from anabranch.pipelines.imports.listing_sources import ListingSource
from anabranch.pipelines.imports.listings import WRITTEN, Fitting
from anabranch.versioning.trees import translated

__all__ = ["ListingSource", "Rows", "Telling", "import_listing"]

Rows = Callable[[Path], Iterable[pa.RecordBatch]]
"""Gives the batches of a listing (LISTED), once; it may write files into the folder."""


class Telling(Protocol):
    """Hears how far an import is, and raises to stop it."""

    def begin(self, step: str, total: int) -> None:
        """Notes that a step begins, of so many things; 0 if nobody knows how many."""

    def advance(self, amount: int) -> None:
        """Notes that so many more are done."""


class _Silence:
    def begin(self, step: str, total: int) -> None:
        pass

    def advance(self, amount: int) -> None:
        pass


def import_listing(
    ground: Ground,
    rows: Rows,
    request: ListingRequest,
    *,
    room: Room = ROOM,
    telling: Telling | None = None,
) -> Imported:
    """Brings what a listing names onto a branch, in place of all that is under the destination.

    Raises NotFound for an empty listing, Invalid for rows that can be no objects unless they are
    skipped, DirtyBranch, ReadOnlyRepository; and what `rows` raises. The branch is then as it was.
    """
    told = telling or _Silence()

    def write(folder: str) -> WrittenListing:
        work = Path(folder) / "work"
        work.mkdir()
        with writing_left_out(request.left_out) as left_out:
            return _write(rows(work), folder, request.prefix, room, told, left_out)

    return land(ground, request, write)


def _write(
    rows: Iterable[pa.RecordBatch],
    folder: str,
    prefix: str,
    room: Room,
    told: Telling,
    left_out: Callable[[pa.RecordBatch], None],
) -> WrittenListing:
    fitting = Fitting(prefix, left_out)
    counted = 0

    def reading() -> Iterator[pa.RecordBatch]:
        nonlocal counted
        told.begin("reading the listing", 0)
        for batch in rows:
            counted += batch.num_rows
            told.advance(batch.num_rows)
            yield batch

    def writing() -> Iterator[pa.RecordBatch]:
        begun = False
        for batch in in_order(reading(), Path(folder) / "work", room):
            if not begun:
                told.begin("writing tables", counted)
                begun = True
            told.advance(batch.num_rows)
            yield batch

    raised: list[BaseException] = []
    batches = _noting(fitting.batches(writing()), raised)
    try:
        with translated():
            reader = pa.RecordBatchReader.from_batches(WRITTEN, batches)
            written = kernel.write_arrow(reader, folder)
    except Exception:
        if raised:  # the kernel knows only its text
            raise raised[0] from None
        raise
    return WrittenListing(
        written.metarange_id, written.tables, written.count, dict(fitting.counts), fitting.shown
    )


def _noting(
    batches: Iterator[pa.RecordBatch], raised: list[BaseException]
) -> Iterator[pa.RecordBatch]:
    """Yields batches; what they raise is noted."""
    try:
        yield from batches
    except BaseException as error:
        raised.append(error)
        raise
