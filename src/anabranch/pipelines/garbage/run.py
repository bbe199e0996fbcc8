"""A run of garbage collection that has begun: what it has found, and its sweep."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError
from anabranch.model.upload import Upload
from anabranch.pipelines.garbage.amount import Amount
from anabranch.pipelines.garbage.candidates import candidates, known_of
from anabranch.pipelines.garbage.engine import Engine, Listed, Place
from anabranch.pipelines.garbage.living import Living
from anabranch.pipelines.garbage.missing import CLOCK_SECONDS, SHOWN_REFERENCES, Missing
from anabranch.pipelines.garbage.namespace import Namespace
from anabranch.pipelines.garbage.report_page import html_page
from anabranch.pipelines.garbage.run_files import RunFiles
from anabranch.pipelines.garbage.summary import State, Summary
from anabranch.pipelines.garbage.watching import Watching

__all__ = ["Run"]


class Run:
    """A run that has begun. Its large files lie in a folder of its own until it is closed."""

    living: Living

    def __init__(
        self,
        blocks: BlockStore,
        namespace: Namespace,
        engine: Engine,
        summary: Summary,
        clock: Callable[[], float],
        watching: Watching,
    ) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="anabranch-gc-")
        self._folder = Path(self._scratch.name)
        self._engine = engine
        self._clock = clock
        self._watching = watching
        self._files = RunFiles(blocks, namespace, summary.run_id, self._folder)
        self._place = Place(blocks, namespace, self._files.stem, self._folder, summary.run_id)
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
        there = self._engine.list(self._place, before, self._watching)
        known = known_of(self._files.earlier_candidates())
        dead = self._counted(self._engine.dead(self.living, self._watching))
        found = candidates(dead, known, before=before, now=int(self._now))
        self._files.write_candidates(self._told(found))
        self.summary.origins = self.living.origins(
            self._files.candidates(), self.summary.candidates
        )
        self._find_missing()
        self._report(there)

    def check(self) -> None:
        """Finds the missing objects and nothing else; no candidates are written."""
        there = self._engine.list(self._place, int(self._now), self._watching)
        self.living.look()
        self._find_missing()
        self.summary.listed = Amount(there.objects, there.size)
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
        """Removes the candidates that are due and still dead, at most `rate` a second; returns the
        summary. With `end_uploads` the old uploads in parts are ended, which nobody can take back.
        Raises what marking raises, and what the store does.
        """
        sweep = self._engine.sweeping(self._place, self.living, self._watching, rate)
        with self.failing():
            self._watching.begin("removing", self.summary.due.objects)
            for removed in sweep.remove(self.due()):
                self.summary.swept.add(removed.objects, removed.size)
                self.summary.revived += removed.revived
                self.summary.late += removed.late
            if end_uploads:
                for upload in self._old_uploads():
                    self.summary.ended_uploads += self.living.end_upload(upload)
            self._end("swept")
            self._files.forget_old_runs()
        return self.summary

    def close(self) -> None:
        """Removes the local files."""
        self._scratch.cleanup()

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

    def _told(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
                self.summary.by_month.setdefault(month, Amount()),
                batch.filter(pc.equal(months, month)),
            )

    def _find_missing(self) -> None:
        absent = self._engine.absent(self.living, self._watching)
        if absent is None:
            return
        stem = self._place.namespace.stem
        tracer, found = self.living.missing(
            absent,
            int(self._now) - CLOCK_SECONDS,
            lambda address: self._place.blocks.stat(stem + address) is not None,
        )
        self.summary.missing = Missing(
            checked=tracer.checked,
            objects=len({reference.address for reference in found}),
            references=len(found),
            complete=tracer.complete,
            location=self._files.write_missing(found) if found else "",
            shown=found[:SHOWN_REFERENCES],
        )

    def _report(self, there: Listed) -> None:
        self.summary.listed = Amount(there.objects, there.size)
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


def _add(amount: Amount, batch: pa.RecordBatch) -> None:
    amount.add(batch.num_rows, pc.sum(batch.column("size")).as_py() or 0)
