"""A run of garbage collection that has begun: what it has found, and its sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError
from anabranch.model.uploads.upload import Upload
from anabranch.pipelines.garbage.addresses.candidates import candidates, known_candidates
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.engine import Engine, Listed, Place
from anabranch.pipelines.garbage.marking.missing import CLOCK_SECONDS
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.object_totals import ObjectTotals
from anabranch.pipelines.garbage.reports.page import html_page
from anabranch.pipelines.garbage.reports.summary import State, Summary
from anabranch.pipelines.garbage.run_files import RunFiles
from anabranch.pipelines.garbage.sweeping.purge import Purge
from anabranch.pipelines.garbage.sweeping.quarantine_files import QuarantineFiles
from anabranch.pipelines.garbage.sweeping.removal import QuarantineRemover
from anabranch.pipelines.jobs.progress import Progress
from anabranch.work_folders import WorkFolder

__all__ = ["Run"]


class Run:
    """A run that has begun. Its large files are in a folder of its own until it is closed."""

    living: Reachability

    def __init__(
        self,
        blocks: BlockStore,
        namespace: Namespace,
        engine: Engine,
        summary: Summary,
        clock: Callable[[], float],
        progress: Progress,
    ) -> None:
        self._scratch = WorkFolder("gc")
        self._folder = self._scratch.path
        self._engine = engine
        self._clock = clock
        self._progress = progress
        self._files = RunFiles(blocks, namespace, summary.run_id, self._folder)
        self._place = Place(blocks, namespace, self._files, self._folder, summary.run_id)
        self._now = 0.0
        self.summary = summary

    def earliest_now(self) -> float:
        """Returns the time by our clock or the store's, whichever is earlier: nothing is taken for
        older than both say.
        """
        own = self._clock()
        self._files.write_summary(self.summary)
        store = self._files.store_time()
        self.summary.clock_ahead_seconds = 0.0 if store is None else own - store
        self._now = own if store is None else min(own, store)
        return self._now

    def mark(self) -> None:
        """Finds the candidates and writes them down."""
        before = int(self._now - self.summary.grace_seconds)
        with self._listed(before) as there:
            known = known_candidates(self._files.earlier_candidates())
            self._engine.look(self.living)
            dead = self._counted(self._engine.dead(self.living, self._progress))
            found = candidates(dead, known, before=before, now=int(self._now))
            self._files.write_candidates(self._report_marked(found))
            self._find_missing()
        self.summary.origins = self.living.origins(
            self._files.candidates(), self.summary.candidates
        )
        self._report(there)

    def check(self) -> None:
        """Finds the missing objects and nothing else; no candidates are written."""
        with self._listed(int(self._now)) as there:
            self._engine.look(self.living)
            self._find_missing()
        self.summary.listed = ObjectTotals(there.objects, there.size)
        self.summary.found = self.living.found
        self.summary.page_location = self._files.page_location
        self._end("checked")

    def due(self) -> Iterator[pa.RecordBatch]:
        """Yields the candidates that may be removed by now."""
        until = int(self._now - self.summary.window_seconds)
        for batch in self._files.candidates():
            yield batch.filter(pc.less_equal(batch.column("since"), until))

    def candidates(self) -> Iterator[pa.RecordBatch]:
        """Yields all candidates: address, size, mtime, since."""
        return self._files.candidates()

    def sweep(self, *, rate: float | None = None, end_uploads: bool = False) -> Summary:
        """Removes the candidates that are due and still dead, at most `rate` a second, for good or
        into quarantine, and what has been in quarantine for its time; returns the summary. With
        `end_uploads` the old uploads in parts are ended, which cannot be undone. Raises what
        marking raises, and what the store does.
        """
        with self.failing():
            place, remover, amount = self._place, None, self.summary.swept
            if self.summary.quarantine_seconds is not None:
                seconds, amount = self.summary.quarantine_seconds, self.summary.quarantined
                remover = QuarantineRemover(
                    place.blocks, place.namespace, place.run_id, seconds, self._clock
                )
            sweep = self._engine.sweeping(place, self.living, self._progress, rate, remover)
            self._progress.begin("removing", self.summary.due.objects)
            for removed in sweep.remove(self.due()):
                amount.add(removed.objects, removed.size)
                self.summary.revived += removed.revived
                self.summary.late += removed.late
            self._purge()
            if end_uploads:
                for upload in self._old_uploads():
                    self.summary.ended_uploads += self.living.end_upload(upload)
            self._end("swept")
            self._files.forget_old_runs()
        return self.summary

    def _purge(self) -> None:
        """Purges what has been in quarantine for its time, if the engine knows all that lives."""
        if self._engine.quarantines:
            purge = Purge(
                self._place.blocks,
                self._place.namespace,
                self.living,
                self._progress,
                sweep=self._place.run_id,
                now=self._now,
            )
            self.summary.purged = purge.run().purged

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
    def failing(self) -> Iterator[None]:
        """Writes down how the run failed, if it does while this is entered."""
        try:
            yield
        except BaseException as error:
            self.summary.state = "failed"
            self.summary.error = str(error) or type(error).__name__
            self.summary.ended_at = self._clock()
            with suppress(AnabranchError):
                self._files.write_summary(self.summary)
            self.close()
            raise

    def _counted(self, dead: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in dead:
            self.summary.unknown += batch.num_rows
            yield batch

    def _report_marked(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        until = int(self._now - self.summary.window_seconds)
        for batch in found:
            self.summary.unknown -= batch.num_rows
            waiting = batch.filter(pc.greater(batch.column("since"), until))
            _add(self.summary.candidates, batch)
            _add(self.summary.due, batch.filter(pc.less_equal(batch.column("since"), until)))
            if waiting.num_rows:
                first = pc.min(waiting.column("since")).as_py() + int(self.summary.window_seconds)
                next_due = self.summary.next_due_at
                self.summary.next_due_at = min(first, next_due) if next_due else first
            self._add_by_month(batch)
            yield batch

    def _add_by_month(self, batch: pa.RecordBatch) -> None:
        months = pc.strftime(batch.column("mtime").cast(pa.timestamp("s", "UTC")), "%Y-%m")
        for month in pc.unique(months).to_pylist():
            _add(
                self.summary.by_month.setdefault(month, ObjectTotals()),
                batch.filter(pc.equal(months, month)),
            )

    @contextmanager
    def _listed(self, before: int) -> Iterator[Listed]:
        """Gives what the engine has listed; what it keeps for that is removed afterwards."""
        try:
            yield self._engine.list(self._place, before, self._progress)
        finally:
            self._engine.release()

    def _find_missing(self) -> None:
        before = int(self._now) - CLOCK_SECONDS
        missing = self._engine.missing(self.living, before, self._progress)
        if missing.shown:
            files = QuarantineFiles(self._place.blocks, self._place.namespace)
            missing.quarantine = files.find(frozenset(each.address for each in missing.shown))
        self.summary.missing = missing

    def _report(self, there: Listed) -> None:
        self.summary.listed = ObjectTotals(there.objects, there.size)
        self.summary.young = there.young
        self.summary.found = self.living.found
        self.summary.old_uploads = len(self._old_uploads())
        self.summary.candidates_location = self._files.candidates_location
        self.summary.page_location = self._files.page_location
        self._end("reported")

    def _old_uploads(self) -> Sequence[Upload]:
        return self.living.old_uploads(self._now - self.summary.uploads_seconds)

    def _end(self, state: State) -> None:
        self.summary.state = state
        self.summary.ended_at = self._clock()
        self._files.write_summary(self.summary)
        self._files.write_page(html_page(self.summary))


def _add(amount: ObjectTotals, batch: pa.RecordBatch) -> None:
    amount.add(batch.num_rows, pc.sum(batch.column("size")).as_py() or 0)
