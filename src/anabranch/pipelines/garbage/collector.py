"""Garbage collection of a repository: mark, report, and optionally sweep.

    run = collector.mark("sea")     # removes nothing
    run.summary.due                 # totals of the objects that may be removed now
    run.sweep()

The store is listed before references are read. An object that is stored after the listing is not in
it; one that was stored before is found through its references. Objects stored within the grace
period are not candidates, because their addresses may not have been linked yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import AREAS_FOLDER
from anabranch.pipelines.garbage.addresses.anti_join import PARTITION_HASHES
from anabranch.pipelines.garbage.addresses.namespace import Namespace, to_namespace
from anabranch.pipelines.garbage.engine import Engine, LocalEngine
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.pipelines.garbage.installations.stored import StoredInstallation
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.reports.summary import Summary
from anabranch.pipelines.garbage.run import Run
from anabranch.pipelines.garbage.run_context import RunContext
from anabranch.pipelines.garbage.run_files import last_listed
from anabranch.pipelines.garbage.sweeping.purge import Purge, PurgeResult
from anabranch.pipelines.garbage.sweeping.removal import require_quarantine
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.versioning.core import Core

__all__ = ["GRACE_SECONDS", "TABLES_SECONDS", "UPLOADS_SECONDS", "WINDOW_SECONDS", "Collector"]

GRACE_SECONDS = 24 * 3600.0
"""The default grace period: an address that was generated for a client can be linked for a day."""

WINDOW_SECONDS = 24 * 3600.0
"""The default restore window: the time between finding a candidate and removing it."""

UPLOADS_SECONDS = 7 * 24 * 3600.0
"""The default age at which an unfinished multipart upload is considered abandoned."""


TABLES_SECONDS = 7 * 24 * 3600.0
"""The default age from which files of tables may be removed: as long as an engine may write before
it commits what it has written.
"""


class Collector:
    """Collects the garbage of an installation's repositories. `installation` may be the core of a
    lake that this process has open. `clock` returns seconds since 1970; `folder` is a local folder
    in which address indexes are cached between runs. `partition_hashes` limits how many hashes the
    local engine sorts at once.
    """

    def __init__(
        self,
        installation: Installation | Core,
        blocks: BlockStore,
        folder: Path,
        *,
        clock: Callable[[], float],
        progress: Progress = NO_PROGRESS,
        partition_hashes: int = PARTITION_HASHES,
    ) -> None:
        if isinstance(installation, Core):
            installation = StoredInstallation(installation, blocks)
        self._installation = installation
        self._blocks = blocks
        self._folder = folder
        self._clock = clock
        self._progress = progress
        self._partition_hashes = partition_hashes

    def last_listed(self, repository: str) -> int | None:
        """Returns the number of objects that the newest complete run of a repository listed, or
        None without one. Raises NotFound.
        """
        stored_repository = self._installation.repository(repository)
        return last_listed(self._blocks, to_namespace(stored_repository, self._blocks))

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
        tables_seconds: float = TABLES_SECONDS,
    ) -> Run:
        """Finds dead objects and writes the candidates; returns the run, which the caller closes.

        `listing` replaces listing the store: batches of `LISTING`, created before this call.
        `engine` replaces the local engine, and then also the listing. Unfinished multipart uploads
        that began at least `uploads_seconds` ago are counted. Files of tables can be candidates if
        they were stored at least `tables_seconds` ago. With `check_only`, the run only looks
        for missing objects, which every run reports. A sweep removes objects permanently or, with
        `quarantine_seconds`, so that they can be restored for that time.

        Raises NotFound, Gone and Corrupt for missing or damaged metadata, and NotSupported if the
        store does not support a requested quarantine.
        """
        stored_repository = self._installation.repository(repository)
        namespace = to_namespace(stored_repository, self._blocks)
        rules = self._installation.rules(stored_repository)
        engine = engine or LocalEngine(listing, self._partition_hashes)
        if quarantine_seconds is not None:
            require_quarantine(self._blocks, namespace)
        summary = Summary(
            run_id=self._installation.run_id(),
            repository=repository,
            storage_namespace=stored_repository.storage_namespace,
            engine=engine.name,
            started_at=self._clock(),
            grace_seconds=grace_seconds,
            window_seconds=window_seconds,
            uploads_seconds=uploads_seconds,
            tables_seconds=tables_seconds,
            quarantine_seconds=quarantine_seconds,
            default_retention_days=None if rules is None else rules.default_days,
            branch_retention_days={} if rules is None else rules.branch_days,
        )
        run = Run(self._blocks, namespace, engine, summary, self._clock)
        with run.record_failure():
            now = run.determine_time()
            reachability = self._reachability(stored_repository, namespace, now)
            run.context = RunContext(
                self._installation,
                stored_repository,
                namespace,
                self._blocks,
                reachability,
                now,
                int(now - tables_seconds),
                run.files,
                run.folder,
                self._progress,
            )
            if check_only:
                run.check()
            else:
                run.mark()
            reachability.remove_unused_indexes()
        return run

    def purge(self, repository: str) -> PurgeResult:
        """Permanently removes the quarantined objects that can no longer be restored, as every
        sweep does. Raises the errors of `mark`; nothing more is removed then.
        """
        stored_repository = self._installation.repository(repository)
        namespace = to_namespace(stored_repository, self._blocks)
        now = self._clock()
        purge = Purge(
            self._blocks,
            namespace,
            self._reachability(stored_repository, namespace, now),
            self._progress,
            sweep=self._installation.run_id(),
            now=now,
        )
        return purge.run(purge.expired())

    def _reachability(
        self, repository: Repository, namespace: Namespace, now: float
    ) -> Reachability:
        reachability = Reachability(
            self._installation, repository, namespace, self._folder, now, self._progress
        )
        areas = namespace.prefix + AREAS_FOLDER
        if next(iter(self._blocks.list(areas)), None) is None:
            reachability.tables.leave_out()
        for other in self._installation.repositories():
            if to_namespace(other, self._blocks).prefix.startswith(areas):
                reachability.tables.leave_out(f"the repository {other.id} is in the folder tables/")
        return reachability
