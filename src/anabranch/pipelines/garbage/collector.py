"""One run of garbage collection over a repository: look, report, and sweep if wanted.

    run = collector.mark("sea")     # removes nothing
    run.summary.due                 # what may be removed by now
    run.sweep()

The store is listed first and references are read after that: whatever was stored since is not in
the listing, and whatever was stored before is found where it is referred to. What was stored within
the grace period is left alone, because its upload may not have been linked yet.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.garbage_rules import GarbageRules
from anabranch.errors import AnabranchError
from anabranch.pipelines.garbage.candidates import candidates, known_of
from anabranch.pipelines.garbage.listing import listed
from anabranch.pipelines.garbage.living import Living
from anabranch.pipelines.garbage.marking import Listed, LocalMarking, Marking
from anabranch.pipelines.garbage.namespace import Namespace, namespace_of
from anabranch.pipelines.garbage.run_files import RunFiles
from anabranch.pipelines.garbage.summary import Amount, Summary
from anabranch.pipelines.garbage.sweep import Sweep
from anabranch.pipelines.garbage.unmarked import SHARE
from anabranch.pipelines.garbage.watching import Silence, Watching
from anabranch.versioning.core import Core

__all__ = ["GRACE_SECONDS", "WINDOW_SECONDS", "Collector", "Run"]

GRACE_SECONDS = 24 * 3600.0
"""An address that was handed out can be linked for a day."""

WINDOW_SECONDS = 24 * 3600.0
"""For so long a candidate can be taken back before it is removed."""


class Collector:
    """Collects the garbage of repositories. `clock` gives seconds since 1970; `folder` is one of
    this machine, where marks are kept from run to run.
    """

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        folder: Path,
        *,
        clock: Callable[[], float],
        watching: Watching | None = None,
        share: int = SHARE,
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._folder = folder
        self._clock = clock
        self._watching = watching or Silence()
        self._share = share
        self._rules = GarbageRules(core, blocks)

    def mark(
        self,
        repository: str,
        *,
        grace_seconds: float = GRACE_SECONDS,
        window_seconds: float = WINDOW_SECONDS,
        listing: Iterable[pa.RecordBatch] | None = None,
        marking: Marking | None = None,
    ) -> Run:
        """Finds what is dead and writes it down; returns the run, to be closed. `listing` takes
        the place of listing the store: batches as `LISTING` has them, made before this is called.
        `marking` is another engine, which brings its own.

        Raises NotFound, and Gone and Corrupt for metadata that is missing or damaged.
        """
        found = self._core.repositories.get(repository)
        namespace = namespace_of(found, self._blocks)
        rules = self._rules.find(found)
        if marking is None:
            there = listed(self._blocks, namespace) if listing is None else listing
            marking = LocalMarking(there, self._share)
        summary = Summary(
            run_id=self._core.identifiers.descending_xid(),
            repository=repository,
            storage_namespace=found.storage_namespace,
            engine=marking.engine,
            started_at=self._clock(),
            grace_seconds=grace_seconds,
            window_seconds=window_seconds,
            default_retention_days=None if rules is None else rules.default_days,
            branch_retention_days={} if rules is None else rules.branch_days,
        )
        marks = self._folder / "marks" / found.partition
        marks.mkdir(parents=True, exist_ok=True)
        run = Run(self._blocks, namespace, summary, self._clock, self._watching)
        with run.failing():
            now = run.earliest_now()
            run.living = Living(
                self._core, found, namespace, marks, self._rules.find, now, self._watching
            )
            run.mark(marking)
            run.living.forget_unused()
        return run


class Run:
    """A run that has begun. Its large files lie in a folder of its own until it is closed."""

    living: Living

    def __init__(
        self,
        blocks: BlockStore,
        namespace: Namespace,
        summary: Summary,
        clock: Callable[[], float],
        watching: Watching,
    ) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="anabranch-gc-")
        self._folder = Path(self._scratch.name)
        self._blocks = blocks
        self._namespace = namespace
        self._clock = clock
        self._watching = watching
        self._files = RunFiles(blocks, namespace, summary.run_id, self._folder)
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

    def mark(self, marking: Marking) -> None:
        """Finds the candidates and writes them down."""
        before = int(self._now - self.summary.grace_seconds)
        there = marking.list(self._folder, before, self._watching)
        known = known_of(self._files.earlier_candidates())
        dead = self._counted(marking.dead(self.living, self._watching))
        found = candidates(dead, known, before=before, now=int(self._now))
        self._files.write_candidates(self._told(found))
        self._report(there)

    def due(self) -> Iterator[pa.RecordBatch]:
        """Yields the candidates that may be removed by now."""
        until = int(self._now - self.summary.window_seconds)
        for batch in self._files.candidates():
            yield batch.filter(pc.less_equal(batch.column("since"), until))

    def candidates(self) -> Iterator[pa.RecordBatch]:
        """Yields all candidates: address, size, mtime, since."""
        return self._files.candidates()

    def sweep(self, *, rate: float | None = None) -> Summary:
        """Removes the candidates that are due and still dead, at most `rate` a second; returns the
        summary. Raises what marking raises, and what the store does.
        """
        sweep = Sweep(self._blocks, self._namespace, self.living, self._watching, rate=rate)
        with self.failing():
            self._watching.begin("removing", self.summary.due.objects)
            for removed in sweep.remove(self.due()):
                self.summary.swept.add(removed.objects, removed.size)
                self.summary.revived += removed.revived
            self.summary.state = "swept"
            self.summary.ended_at = self._clock()
            self._files.write_summary(self.summary)
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

    def _report(self, there: Listed) -> None:
        self.summary.listed = Amount(there.objects, there.size)
        self.summary.young = there.young
        self.summary.found = self.living.found
        self.summary.candidates_location = self._files.candidates_location
        self.summary.state = "reported"
        self.summary.ended_at = self._clock()
        self._files.write_summary(self.summary)


def _add(amount: Amount, batch: pa.RecordBatch) -> None:
    amount.add(batch.num_rows, pc.sum(batch.column("size")).as_py() or 0)
