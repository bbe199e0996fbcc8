"""Engines of garbage collection, which list the store, find dead objects and remove them: their
interface, and the engine that runs in this process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

import pyarrow as pa

from anabranch.model.tables.table_area import AREAS_FOLDER
from anabranch.pipelines.column_hashes import Hashes, distinct
from anabranch.pipelines.garbage.addresses.anti_join import (
    PARTITION_HASHES,
    Comparison,
    compare,
    filter_dead,
)
from anabranch.pipelines.garbage.addresses.candidates import (
    candidates,
    earlier_candidates,
)
from anabranch.pipelines.garbage.addresses.listing import (
    Listing,
    list_slice,
    write_listing,
)
from anabranch.pipelines.garbage.addresses.repeated_rows import unflag_repeated
from anabranch.pipelines.garbage.addresses.table_files import ListedAreas
from anabranch.pipelines.garbage.marking.attribution import ExpiredRanges, Origins, OriginTracer
from anabranch.pipelines.garbage.marking.missing import MAX_SHOWN_REFERENCES, Missing, MissingTracer
from anabranch.pipelines.garbage.run_context import RunContext
from anabranch.pipelines.garbage.sweeping.removal import (
    Deletion,
    QuarantineRemover,
    QuarantineTime,
    Remover,
)
from anabranch.pipelines.garbage.sweeping.sweep import RemovalInBatches, RoundRemover
from anabranch.pipelines.garbage.totals import (
    CandidateTimes,
    CandidateTotals,
)
from anabranch.pipelines.jobs.task_totals import TaskTotals

__all__ = ["Engine", "ListingTotals", "LocalEngine"]


class ListingTotals(NamedTuple):
    """Totals of a listing: the number of objects, their bytes, and the number of young ones."""

    objects: int
    size: int
    young: int


class Engine(Protocol):
    """Runs the phases of a collection, in the order of the methods. `list` is called before all
    others, so that objects stored later are not in the listing. What the phases have in common is
    in the run's context; results of earlier phases stay in the engine.
    """

    name: str

    @property
    def tasks(self) -> Mapping[str, TaskTotals]:
        """The totals of the tasks of each phase, if the engine divides phases into tasks."""

    def list(self, context: RunContext, before: int) -> ListingTotals:
        """Lists the store. Only objects stored before a time, in seconds since 1970, can become
        candidates.
        """

    def mark(self) -> None:
        """Finds all reachable addresses. Raises the errors of `Reachability.mark`."""

    def find_candidates(self, times: CandidateTimes) -> CandidateTotals:
        """Finds the listed objects that are neither young nor reachable, after `mark`, writes those
        that are candidates to the run's files, and returns their totals.
        """

    def find_missing(self, before: int) -> Missing:
        """Returns the missing objects whose addresses were generated before a time, in seconds
        since 1970, and writes the references to them to the run's files. Called after `mark`;
        raises its errors.
        """

    def trace_origins(self, totals: CandidateTotals) -> Origins:
        """Returns the origins of the candidates, which were written before."""

    def release(self) -> None:
        """Removes the engine's temporary files that a sweep does not need."""

    def remover(self, rate: float | None, quarantine: QuarantineTime | None) -> RoundRemover:
        """Returns what removes at most `rate` objects a second, permanently unless a time in
        quarantine is given. Raises NotSupported if the store does not support quarantine.
        """

    def reachable_in(self, files: Sequence[str]) -> Hashes:
        """Returns the hashes of the addresses in files of quarantined objects that were found
        reachable, after `mark`, but whose hashes `Reachability` does not have. The files are given
        by their full addresses; missing ones are passed over.
        """


class LocalEngine:
    """The engine of this process, which compares sorted hashes, about `partition_hashes` at a time.
    `batches` replace listing the store.
    """

    name = "local"
    tasks: Mapping[str, TaskTotals] = {}
    _context: RunContext
    _listing: Listing

    def __init__(
        self,
        batches: Iterable[pa.RecordBatch] | None = None,
        partition_hashes: int = PARTITION_HASHES,
    ) -> None:
        self._batches = batches
        self._partition_hashes = partition_hashes
        self._absent: Hashes | None = None

    def list(self, context: RunContext, before: int) -> ListingTotals:
        """Lists the store into a file."""
        self._context, batches = context, self._batches
        areas = ListedAreas()
        if batches is None:
            store = context.blocks, context.namespace.prefix
            in_areas = list_slice(*store, folder=AREAS_FOLDER)
            batches = chain(list_slice(*store), _counted(in_areas, areas))
        path = context.folder / "listing.arrow"
        self._listing = listing = write_listing(path, batches, before, context.progress)
        if self._batches is None:
            context.reachability.tables.note_listed(areas, context.tables_before)
        return ListingTotals(listing.objects, listing.size, listing.young)

    def mark(self) -> None:
        """Finds all reachable addresses."""
        self._context.reachability.mark()

    def find_candidates(self, times: CandidateTimes) -> CandidateTotals:
        """Finds the candidates and writes them to one file."""
        files, listing = self._context.files, self._listing
        earlier = earlier_candidates(
            batch for file in files.earlier_files() for batch in files.read_earlier(file)
        )
        comparison = self._compare()
        self._absent = comparison.absent
        if self._batches is not None:
            unflag_repeated(listing, comparison.dead)
        totals = CandidateTotals()

        def counted() -> Iterator[pa.RecordBatch]:
            tables = self._context.reachability.tables
            unneeded = map(tables.without_needed, filter_dead(listing, comparison.dead))
            dead = _count_unknown(unneeded, totals)
            for batch in candidates(dead, earlier, before=times.before, now=times.now):
                totals.unknown -= batch.num_rows
                totals.count(batch, times)
                yield batch

        files.write_candidates(counted())
        return totals

    def find_missing(self, before: int) -> Missing:
        """Returns the missing objects."""
        context = self._context
        absent = self._compare().absent if self._absent is None else self._absent
        context.progress.begin("looking for missing objects", 0)
        tracer = MissingTracer(
            *(context.installation, absent, before),
            lambda address: context.blocks.stat(context.namespace.prefix + address) is not None,
        )
        references = context.reachability.find_missing(tracer)
        return Missing(
            checked=tracer.checked,
            objects=len({reference.address for reference in references}),
            references=len(references),
            complete=tracer.complete,
            location=context.files.write_missing(references) if references else "",
            shown=references[:MAX_SHOWN_REFERENCES],
        )

    def trace_origins(self, totals: CandidateTotals) -> Origins:
        """Returns the origins of the candidates."""
        context = self._context
        resolver = context.namespace.resolver(context.repository)
        tracer = OriginTracer(context.installation, context.repository, resolver)
        expired = ExpiredRanges(
            *(context.installation, context.repository, context.now),
            active_ranges=context.reachability.active_ranges(),
        )
        return tracer.trace(context.files.candidates(), totals.candidates, expired)

    def release(self) -> None:
        """Does nothing: the listing is in the run's folder."""

    def remover(self, rate: float | None, quarantine: QuarantineTime | None) -> RemovalInBatches:
        """Returns what removes objects in this process."""
        context = self._context
        remover: Remover = Deletion(context.blocks, context.namespace.prefix)
        if quarantine is not None:
            remover = QuarantineRemover(
                context.blocks, context.namespace, context.run_id, quarantine
            )
        return RemovalInBatches(remover, rate)

    def reachable_in(self, files: Sequence[str]) -> Hashes:  # noqa: ARG002  part of the interface
        """Returns none: `Reachability` has all hashes."""
        return distinct([])

    def _compare(self) -> Comparison:
        """Compares the listing with the reachable hashes."""
        context, listing = self._context, self._listing
        hashes = context.reachability.hashes
        return compare(listing, hashes, context.progress, self._partition_hashes)


def _counted(batches: Iterable[pa.RecordBatch], areas: ListedAreas) -> Iterator[pa.RecordBatch]:
    """Yields batches of the folder of areas, which it counts."""
    for batch in batches:
        areas.count(batch)
        yield batch


def _count_unknown(
    dead: Iterable[pa.RecordBatch], totals: CandidateTotals
) -> Iterator[pa.RecordBatch]:
    """Counts dead objects as unknown; candidates are subtracted later."""
    for batch in dead:
        totals.unknown += batch.num_rows
        yield batch
