"""A run of garbage collection: its results, and its sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError
from anabranch.files.work_folders import WorkFolder
from anabranch.model.uploads.upload import Upload
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.engine import Engine, ListingTotals
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.reports.page import render_page
from anabranch.pipelines.garbage.reports.summary import State, Summary
from anabranch.pipelines.garbage.run_context import RunContext
from anabranch.pipelines.garbage.run_files import RunFiles
from anabranch.pipelines.garbage.sweeping.purge import Purge
from anabranch.pipelines.garbage.sweeping.quarantine_files import QuarantineFiles
from anabranch.pipelines.garbage.sweeping.removal import QuarantineTime
from anabranch.pipelines.garbage.sweeping.sweep import Sweep
from anabranch.pipelines.garbage.totals import CandidateTimes, ObjectTotals
from anabranch.pipelines.jobs.phase_times import PhaseTimes
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS

__all__ = ["Run"]


class Run:
    """A started run. Its local files are in a temporary `folder` until it is closed. `context` is
    set when the time of the run is known.
    """

    context: RunContext

    def __init__(
        self,
        blocks: BlockStore,
        namespace: Namespace,
        engine: Engine,
        summary: Summary,
        clock: Callable[[], float],
    ) -> None:
        self._scratch = WorkFolder("gc")
        self.folder = self._scratch.path
        self.files = RunFiles(blocks, namespace, summary.run_id, self.folder)
        self._engine = engine
        self._clock = clock
        self._phases = PhaseTimes()
        self.summary = summary

    @property
    def reachability(self) -> Reachability:
        """What the run has marked."""
        return self.context.reachability

    def determine_time(self) -> float:
        """Returns the earlier time of this process's clock and the store's, in seconds since 1970,
        so that no object is considered older than it is by either clock.
        """
        own_time = self._clock()
        self.files.write_summary(self.summary)
        store_time = self.files.store_time()
        self.summary.clock_ahead_seconds = 0.0 if store_time is None else own_time - store_time
        return own_time if store_time is None else min(own_time, store_time)

    def mark(self) -> None:
        """Finds the candidates, and writes them and the report to the run's files."""
        before = int(self.context.now - self.summary.grace_seconds)
        with self._marked(before) as listing:
            times = CandidateTimes(
                before, int(self.context.now), self._due_until(), int(self.summary.window_seconds)
            )
            with self._phases.measure("comparing"):
                totals = self._engine.find_candidates(times)
            self.summary.set_candidates(totals)
            self.summary.tables = self.reachability.tables.report()
            self._find_missing()
            with self._phases.measure("tracing origins"):
                self.summary.origins = self._engine.trace_origins(totals)
        self._report(listing)
        self.summary.young = listing.young
        self.summary.old_uploads = len(self._old_uploads())
        self.summary.candidates_location = self.files.candidates_location
        self._end("reported")

    def check(self) -> None:
        """Finds missing objects only; writes no candidates."""
        with self._marked(int(self.context.now)) as listing:
            self._find_missing()
        self._report(listing)
        self._end("checked")

    def due(self) -> Iterator[pa.RecordBatch]:
        """Yields the candidates whose restore window has passed."""
        for batch in self.files.candidates():
            yield batch.filter(pc.less_equal(batch.column("since"), self._due_until()))

    def candidates(self) -> Iterator[pa.RecordBatch]:
        """Yields all candidates: address, size, mtime, since."""
        return self.files.candidates()

    def sweep(self, *, rate: float | None = None, end_uploads: bool = False) -> Summary:
        """Removes the candidates that are due and still dead, at most `rate` a second, permanently
        or into quarantine; then purges expired quarantined objects. Returns the summary. With
        `end_uploads`, old multipart uploads are aborted, which cannot be undone. Raises the errors
        of marking and of the store.
        """
        with self.record_failure():
            quarantine, amount = None, self.summary.swept
            if self.summary.quarantine_seconds is not None:
                quarantine = QuarantineTime(self.summary.quarantine_seconds, self._clock)
                amount = self.summary.quarantined
            remover, context = self._engine.remover(rate, quarantine), self.context
            sweep = Sweep(context.reachability, remover, context.progress, sweep=context.run_id)
            context.progress.begin("removing", self.summary.due.objects)
            with self._phases.measure("removing"):
                for removed in sweep.remove(self.due()):
                    amount.add(removed.objects, removed.size)
                    self.summary.revived += removed.revived
                    self.summary.late += removed.late
                    self.summary.gone += removed.gone
            self._purge()
            if end_uploads:
                for upload in self._old_uploads():
                    ended = context.installation.end_upload(context.repository, upload)
                    self.summary.ended_uploads += ended
            self._end("swept")
            self.files.remove_old_runs()
        return self.summary

    def _purge(self) -> None:
        """Purges expired quarantined objects."""
        context = self.context
        purge = Purge(
            *(context.blocks, context.namespace, context.reachability, context.progress),
            # its own id: the sweep may have left tombstones that must stay
            sweep=context.installation.run_id(),
            now=context.now,
        )
        expired = purge.expired()
        if expired:
            reachable = self._engine.reachable_in(purge.addresses(expired))
            self.summary.purged = purge.run(expired, reachable).purged

    def close(self) -> None:
        """Removes the local files."""
        self._scratch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def record_failure(self) -> Iterator[None]:
        """Writes the failure to the summary if the run fails while the context is entered."""
        try:
            yield
        except BaseException as error:
            self.summary.state = "failed"
            self.summary.error = str(error) or type(error).__name__
            self.summary.ended_at = self._clock()
            with suppress(AnabranchError):
                self.files.write_summary(self.summary)
            self.close()
            raise

    def _due_until(self) -> int:
        """Returns the time up to which candidates must have been found dead to be due."""
        return int(self.context.now - self.summary.window_seconds)

    @contextmanager
    def _marked(self, before: int) -> Iterator[ListingTotals]:
        """Lists the store and marks; the engine's temporary files are removed on exit."""
        self.reachability.observe_sweeps()
        try:
            with self._phases.measure("listing"):
                listing = self._engine.list(self.context, before)
            with self._phases.measure("marking"):
                self._engine.mark()
            yield listing
        finally:
            self._engine.release()

    def _find_missing(self) -> None:
        before = int(self.context.now) - CLOCK_SKEW_SECONDS
        with self._phases.measure("looking for missing objects"):
            missing = self._engine.find_missing(before)
        if missing.shown:
            files = QuarantineFiles(self.context.blocks, self.context.namespace)
            addresses = frozenset(reference.address for reference in missing.shown)
            missing.quarantine = files.find(addresses)
        self.summary.missing = missing

    def _report(self, listing: ListingTotals) -> None:
        self.summary.listed = ObjectTotals(listing.objects, listing.size)
        self.summary.found = self.reachability.statistics
        self.summary.page_location = self.files.page_location

    def _old_uploads(self) -> Sequence[Upload]:
        context, age = self.context, self.summary.uploads_seconds
        return context.installation.old_uploads(context.repository, context.now - age)

    def _end(self, state: State) -> None:
        self.summary.state = state
        self.summary.ended_at = self._clock()
        self.summary.phases = dict(self._phases.seconds)
        self.summary.tasks = dict(self._engine.tasks)
        self.files.write_summary(self.summary)
        self.files.write_page(render_page(self.summary))
