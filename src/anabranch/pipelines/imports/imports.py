"""Service that starts and cancels imports, and returns their states."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from anabranch.actions.changes import Changes
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.external_objects import ExternalObjects
from anabranch.errors import Conflict, Invalid, NotFound
from anabranch.model.imports import ImportSource
from anabranch.model.names import check_path
from anabranch.model.repositories.repository import Repository
from anabranch.model.tasks.job import JobStatus
from anabranch.pipelines.imports.allowed_sources import require_sources
from anabranch.pipelines.imports.commit_import import ImportRequest
from anabranch.pipelines.imports.import_job import ImportJob
from anabranch.pipelines.jobs.registry import JobRegistry
from anabranch.versioning.core import Core
from anabranch.versioning.records.jobs import JobRecord
from anabranch.versioning.repositories.repositories import check_writable

__all__ = ["CANCELED", "Imports"]

CANCELED = "Canceled"
"""The error of a cancelled import, as lakeFS spells it."""


class Imports:
    """Starts and cancels imports. `clock` returns seconds since 1970; `changes` runs hooks."""

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        clock: Callable[[], float] = time.time,
        changes: Changes | None = None,
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._clock = clock
        self._changes = changes
        self._jobs: JobRegistry[ImportJob] = JobRegistry("import", core.imports, clock)

    def start(self, repository: str, request: ImportRequest, *, force: bool = False) -> str:
        """Starts an import and returns its id.

        Raises NotFound for the repository or the branch, ReadOnlyRepository unless `force`,
        ProtectedBranch for a branch that requires approvals, Denied if the store does not support
        or allow imports, Invalid for sources that cannot be imported, Busy if too many imports run.
        """
        target = self._core.repositories.get(repository)
        check_writable(target, force=force)
        self._core.protection.require_no_approvals(target, request.branch)
        sources = require_sources(self._blocks)
        self._core.branches.read(target, request.branch)
        if not request.sources:
            raise Invalid("import paths are missing", kind="invalid_import_source")
        for source in request.sources:
            self._check_source(target, source, sources)
        self._jobs.remove_expired(target)
        job = ImportJob(
            self._core,
            sources,
            target,
            request,
            self._core.identifiers.xid(),
            slots=self._jobs.slots,
            clock=self._clock,
            changes=self._changes,
            on_done=self._jobs.forget,
        )
        self._jobs.start(job)
        return job.id

    def status(self, repository: str, branch: str, import_id: str) -> JobStatus:
        """Returns the state of an import. An import whose state has not been updated for a minute
        is reported as interrupted: its server has ended. Raises NotFound, also for an import that
        is more than a day old.
        """
        return self._jobs.status(self._find(repository, branch, import_id)[1])

    def cancel(self, repository: str, branch: str, import_id: str) -> None:
        """Cancels an import, which may run on another server; a failed import is left unchanged.

        Raises NotFound, and Conflict for a completed import.
        """
        while True:
            target, record = self._find(repository, branch, import_id)
            if record.status.completed:
                raise Conflict(
                    "import completed: conflict found",
                    kind="import_completed",
                    hint="Revert its commit.",
                )
            if record.status.ended:
                return
            cancelled = msgspec.structs.replace(
                record.status, error=CANCELED, updated_at=self._clock()
            )
            if self._core.imports.replace(target, record, cancelled):
                break
        self._jobs.stop(import_id, CANCELED)

    def close(self) -> None:
        """Stops all running imports; their states say that they were interrupted."""
        self._jobs.close()

    def _check_source(
        self, repository: Repository, source: ImportSource, sources: ExternalObjects
    ) -> None:
        """Raises Invalid or Denied unless a source may be imported into a repository."""
        if source.type == "object":
            check_path(source.destination)
        sources.check(source.path)
        namespace = self._blocks.qualify(repository.storage_namespace).rstrip("/") + "/"
        path = source.path
        if path.startswith(namespace):
            raise Invalid(
                f"import path ({path}) in repository namespace ({namespace}) is prohibited: "
                "invalid import source",
                kind="invalid_import_source",
            )
        if source.type == "common_prefix" and namespace.startswith(path):
            raise Invalid(
                f"prefix ({path}) contains repository namespace: ({namespace}), "
                "invalid import source",
                kind="invalid_import_source",
            )

    def _find(self, repository: str, branch: str, import_id: str) -> tuple[Repository, JobRecord]:
        target = self._core.repositories.get(repository)
        self._core.branches.read(target, branch)
        record = self._core.imports.find(target, import_id)
        if record is None or self._jobs.is_expired(record):
            raise NotFound("import not found", kind="import_not_found")
        return target, record
