"""Engines of garbage collection, which list the store, find dead objects and remove them: their
interface, and the engine that runs in this process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.pipelines.column_hashes import Hashes, distinct
from anabranch.pipelines.garbage.addresses.anti_join import PARTITION_HASHES, compare, filter_dead
from anabranch.pipelines.garbage.addresses.candidates import candidates, earlier_candidates
from anabranch.pipelines.garbage.addresses.listing import Listing, list_objects, write_listing
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.addresses.repeated_rows import unflag_repeated
from anabranch.pipelines.garbage.candidate_totals import CandidateTimes, CandidateTotals
from anabranch.pipelines.garbage.marking.attribution import Origins
from anabranch.pipelines.garbage.marking.missing import MAX_SHOWN_REFERENCES, Missing
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.run_files import RunFiles
from anabranch.pipelines.garbage.sweeping.removal import QuarantineRemover, QuarantineTime
from anabranch.pipelines.garbage.sweeping.sweep import Removed, Sweep
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.jobs.task_totals import TaskTotals

__all__ = ["Engine", "ListingTotals", "LocalEngine", "RunContext", "Sweeper"]


class ListingTotals(NamedTuple):
    """Totals of a listing: the number of objects, their bytes, and the number of young ones."""

    objects: int
    size: int
    young: int


class RunContext(NamedTuple):
    """The context of the run `run_id`: the store and the collected namespace, the run's files in
    the store, and a local folder for large files.
    """

    blocks: BlockStore
    namespace: Namespace
    files: RunFiles
    folder: Path
    run_id: str

    @property
    def prefix(self) -> str:
        """The prefix of the addresses of the run's files."""
        return self.files.prefix


class Sweeper(Protocol):
    """Performs one sweep."""

    def remove(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Removed]:
        """Removes the candidates that are still dead, and yields the results."""


class Engine(Protocol):
    """Runs the steps of a collection. `list` is called first, so that objects stored later are not
    in the listing.
    """

    name: str

    @property
    def tasks(self) -> Mapping[str, TaskTotals]:
        """The totals of the tasks of each phase, if the engine divides phases into tasks."""

    def list(self, context: RunContext, before: int, progress: Progress) -> ListingTotals:
        """Lists the store. Only objects stored before a time, in seconds since 1970, can become
        candidates.
        """

    def mark(self, reachability: Reachability) -> None:
        """Finds all reachable addresses. Raises the errors of `Reachability.mark`."""

    def find_candidates(
        self, reachability: Reachability, times: CandidateTimes, progress: Progress
    ) -> CandidateTotals:
        """Finds the listed objects that are neither young nor reachable, after `mark`, writes those
        that are candidates to the run's files, and returns their totals.
        """

    def trace_origins(
        self, reachability: Reachability, totals: CandidateTotals, progress: Progress
    ) -> Origins:
        """Returns the origins of the candidates, which were written before."""

    def find_missing(self, reachability: Reachability, before: int, progress: Progress) -> Missing:
        """Returns the missing objects whose addresses were generated before a time, in seconds
        since 1970, and writes the references to them to the run's files. Called after `mark`;
        raises its errors.
        """

    def release(self) -> None:
        """Removes the engine's temporary files that a sweep does not need."""

    def sweeper(
        self,
        context: RunContext,
        reachability: Reachability,
        progress: Progress,
        rate: float | None,
        quarantine: QuarantineTime | None = None,
    ) -> Sweeper:
        """Returns a sweeper that removes at most `rate` objects a second, permanently unless a time
        in quarantine is given. Raises NotSupported if the store does not support quarantine.
        """

    def reachable_in(
        self, reachability: Reachability, files: Sequence[str], progress: Progress
    ) -> Hashes:
        """Returns the hashes of the addresses in files of quarantined objects that `reachability`
        has found reachable, after `mark`, but whose hashes it does not have. The files are given by
        their full addresses; missing ones are passed over.
        """


class LocalEngine:
    """The engine of this process, which compares sorted hashes, about `partition_hashes` at a time.
    `batches` replace listing the store.
    """

    name = "local"
    tasks: Mapping[str, TaskTotals] = {}

    def __init__(
        self,
        batches: Iterable[pa.RecordBatch] | None = None,
        partition_hashes: int = PARTITION_HASHES,
    ) -> None:
        self._batches = batches
        self._partition_hashes = partition_hashes
        self._listing: Listing | None = None
        self._context: RunContext | None = None
        self._absent: Hashes | None = None

    def list(self, context: RunContext, before: int, progress: Progress) -> ListingTotals:
        """Lists the store into a file."""
        batches = (
            list_objects(context.blocks, context.namespace)
            if self._batches is None
            else self._batches
        )
        listing = write_listing(context.folder / "listing.arrow", batches, before, progress)
        self._context, self._listing = context, listing
        return ListingTotals(listing.objects, listing.size, listing.young)

    def mark(self, reachability: Reachability) -> None:
        """Finds all reachable addresses."""
        reachability.mark()

    def find_candidates(
        self, reachability: Reachability, times: CandidateTimes, progress: Progress
    ) -> CandidateTotals:
        """Finds the candidates and writes them to one file."""
        listing = self._listing
        assert listing is not None  # noqa: S101  list() comes first
        assert self._context is not None  # noqa: S101
        files = self._context.files
        earlier = earlier_candidates(files.earlier_candidates())
        comparison = compare(listing, reachability.hashes, progress, self._partition_hashes)
        self._absent = comparison.absent
        if self._batches is not None:
            unflag_repeated(listing, comparison.dead)
        totals = CandidateTotals()

        def counted() -> Iterator[pa.RecordBatch]:
            dead = _count_unknown(filter_dead(listing, comparison.dead), totals)
            for batch in candidates(dead, earlier, before=times.before, now=times.now):
                totals.unknown -= batch.num_rows
                totals.count(batch, times)
                yield batch

        files.write_candidates(counted())
        return totals

    def trace_origins(
        self,
        reachability: Reachability,
        totals: CandidateTotals,
        progress: Progress,  # noqa: ARG002  part of the interface
    ) -> Origins:
        """Returns the origins of the candidates."""
        assert self._context is not None  # noqa: S101  list() comes first
        return reachability.trace_origins(self._context.files.candidates(), totals.candidates)

    def find_missing(self, reachability: Reachability, before: int, progress: Progress) -> Missing:
        """Returns the missing objects."""
        assert self._listing is not None  # noqa: S101  list() comes first
        assert self._context is not None  # noqa: S101
        if self._absent is None:
            comparison = compare(
                self._listing, reachability.hashes, progress, self._partition_hashes
            )
            self._absent = comparison.absent
        progress.begin("looking for missing objects", 0)
        blocks, prefix = self._context.blocks, self._context.namespace.prefix
        tracer, references = reachability.find_missing(
            self._absent, before, lambda address: blocks.stat(prefix + address) is not None
        )
        return Missing(
            checked=tracer.checked,
            objects=len({reference.address for reference in references}),
            references=len(references),
            complete=tracer.complete,
            location=self._context.files.write_missing(references) if references else "",
            shown=references[:MAX_SHOWN_REFERENCES],
        )

    def release(self) -> None:
        """Does nothing: the listing is in the run's folder."""

    def sweeper(
        self,
        context: RunContext,
        reachability: Reachability,
        progress: Progress,
        rate: float | None,
        quarantine: QuarantineTime | None = None,
    ) -> Sweep:
        """Returns a sweeper that runs in this process."""
        remover = None
        if quarantine is not None:
            remover = QuarantineRemover(
                context.blocks, context.namespace, context.run_id, quarantine
            )
        return Sweep(
            context.blocks,
            context.namespace,
            reachability,
            progress,
            sweep=context.run_id,
            rate=rate,
            remover=remover,
        )

    def reachable_in(
        self,
        reachability: Reachability,  # noqa: ARG002  part of the interface
        files: Sequence[str],  # noqa: ARG002
        progress: Progress,  # noqa: ARG002
    ) -> Hashes:
        """Returns none: this engine's `reachability` has all hashes."""
        return distinct([])


def _count_unknown(
    dead: Iterable[pa.RecordBatch], totals: CandidateTotals
) -> Iterator[pa.RecordBatch]:
    """Counts dead objects as unknown; candidates are subtracted later."""
    for batch in dead:
        totals.unknown += batch.num_rows
        yield batch
