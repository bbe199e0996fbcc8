"""One run of garbage collection over a repository: look, report, and sweep if wanted.

    run = collector.mark("sea")     # removes nothing
    run.summary.due                 # what may be removed by now
    run.sweep()

The store is listed first and references are read after that: whatever was stored since is not in
the listing, and whatever was stored before is found where it is referred to. What was stored within
the grace period is left alone, because its upload may not have been linked yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.model.repository import Repository
from anabranch.pipelines.garbage.addresses.anti_join import SHARE
from anabranch.pipelines.garbage.addresses.namespace import Namespace, to_namespace
from anabranch.pipelines.garbage.engine import Engine, LocalEngine
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.pipelines.garbage.installations.stored import StoredInstallation
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.reports.summary import Summary
from anabranch.pipelines.garbage.run import Run
from anabranch.pipelines.garbage.sweeping.purge import Purge, Purged
from anabranch.pipelines.garbage.sweeping.removal import no_quarantine, quarantine_of
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.private_folders import make_private_folder
from anabranch.versioning.core import Core

__all__ = ["GRACE_SECONDS", "UPLOADS_SECONDS", "WINDOW_SECONDS", "Collector"]

GRACE_SECONDS = 24 * 3600.0
"""An address that was handed out can be linked for a day."""

WINDOW_SECONDS = 24 * 3600.0
"""For so long a candidate can be taken back before it is removed."""

UPLOADS_SECONDS = 7 * 24 * 3600.0
"""An upload in parts that has not ended after so long is probably given up."""


class Collector:
    """Collects the garbage of repositories of an installation; a core is one that this process has
    open. `clock` gives seconds since 1970; `folder` is one of this machine, where marks are kept
    from run to run.
    """

    def __init__(
        self,
        installation: Installation | Core,
        blocks: BlockStore,
        folder: Path,
        *,
        clock: Callable[[], float],
        progress: Progress = NO_PROGRESS,
        share: int = SHARE,
    ) -> None:
        if isinstance(installation, Core):
            installation = StoredInstallation(installation, blocks)
        self._installation = installation
        self._blocks = blocks
        self._folder = folder
        self._clock = clock
        self._progress = progress
        self._share = share

    def mark(
        self,
        repository: str,
        *,
        grace_seconds: float = GRACE_SECONDS,
        window_seconds: float = WINDOW_SECONDS,
        uploads_seconds: float = UPLOADS_SECONDS,
        listing: Iterable[pa.RecordBatch] | None = None,
        engine: Engine | None = None,
        check_only: bool = False,
        quarantine_seconds: float | None = None,
    ) -> Run:
        """Finds what is dead and writes it down; returns the run, to be closed. `listing` takes
        the place of listing the store: batches as `LISTING` has them, made before this is called.
        `engine` is another than that of this process, and brings its own. Uploads in parts are
        counted that began `uploads_seconds` ago and have not ended. With `check_only` nothing is
        looked for but missing objects, which are in the summary of every run. A sweep removes
        objects for good, or, with `quarantine_seconds`, so that they can be restored for so long.

        Raises NotFound, Gone and Corrupt for metadata that is missing or damaged, and NotSupported
        for a quarantine that the store or the engine does not have.
        """
        found = self._installation.repository(repository)
        namespace = to_namespace(found, self._blocks)
        rules = self._installation.rules(found)
        engine = engine or LocalEngine(listing, self._share)
        if quarantine_seconds is not None:
            if not engine.quarantines:
                raise no_quarantine(engine.name)
            quarantine_of(self._blocks, namespace)
        summary = Summary(
            run_id=self._installation.run_id(),
            repository=repository,
            storage_namespace=found.storage_namespace,
            engine=engine.name,
            started_at=self._clock(),
            grace_seconds=grace_seconds,
            window_seconds=window_seconds,
            uploads_seconds=uploads_seconds,
            quarantine_seconds=quarantine_seconds,
            default_retention_days=None if rules is None else rules.default_days,
            branch_retention_days={} if rules is None else rules.branch_days,
        )
        run = Run(self._blocks, namespace, engine, summary, self._clock, self._progress)
        with run.failing():
            now = run.earliest_now()
            run.living = self._living(found, namespace, now)
            if check_only:
                run.check()
            else:
                run.mark()
            run.living.forget_unused()
        return run

    def purge(self, repository: str) -> Purged:
        """Removes what has been in quarantine for its time; returns what was done. Every sweep
        does that, too. Raises what `mark` raises; nothing more is removed then.
        """
        found = self._installation.repository(repository)
        namespace = to_namespace(found, self._blocks)
        now = self._clock()
        purge = Purge(
            self._blocks,
            namespace,
            self._living(found, namespace, now),
            self._progress,
            sweep=self._installation.run_id(),
            now=now,
        )
        return purge.run()

    def _living(self, repository: Repository, namespace: Namespace, now: float) -> Reachability:
        marks = self._folder / "marks" / repository.partition
        make_private_folder(marks)
        return Reachability(self._installation, repository, namespace, marks, now, self._progress)
