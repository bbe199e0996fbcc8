"""Imports: started, asked how far they are, cancelled."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.sources import Sources
from anabranch.errors import Conflict, Invalid, NotFound
from anabranch.model.imports import ImportSource, ImportStatus
from anabranch.model.names import check_path
from anabranch.model.repository import Repository
from anabranch.pipelines.imports.allowed_sources import require_sources
from anabranch.pipelines.imports.landing import ImportRequest
from anabranch.pipelines.imports.running import RunningImport
from anabranch.pipelines.running_jobs import RunningJobs
from anabranch.versioning.core import Core
from anabranch.versioning.import_records import StoredImport
from anabranch.versioning.repositories import check_writable

__all__ = ["CANCELED", "Imports"]

CANCELED = "Canceled"
"""lakeFS's own word for it."""


class Imports:
    """The use cases of imports. `clock` gives seconds since 1970."""

    def __init__(
        self, core: Core, blocks: BlockStore, clock: Callable[[], float] = time.time
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._clock = clock
        self._jobs: RunningJobs[RunningImport] = RunningJobs("import", core, clock)

    def start(self, repository: str, request: ImportRequest, *, force: bool = False) -> str:
        """Starts an import and returns its id.

        Raises NotFound for the repository or the branch, ReadOnlyRepository without `force`,
        Denied where imports are not allowed, Invalid for what cannot be imported, Busy when too
        many go on.
        """
        found = self._core.repositories.get(repository)
        check_writable(found, force=force)
        sources = require_sources(self._blocks)
        self._core.branches.read(found, request.branch)
        if not request.sources:
            raise Invalid("import paths are missing", kind="invalid_import_source")
        for source in request.sources:
            self._check(found, source, sources)
        self._jobs.forget_old(found)
        running = RunningImport(
            self._core,
            sources,
            found,
            request,
            self._core.identifiers.xid(),
            slots=self._jobs.slots,
            clock=self._clock,
            ended=self._jobs.forget,
        )
        self._jobs.start(running)
        return running.id

    def status(self, repository: str, branch: str, import_id: str) -> ImportStatus:
        """Returns how far an import is. One of which nobody has heard for a minute was interrupted:
        the server that ran it has ended. Raises NotFound, also for one of more than a day ago.
        """
        return self._jobs.status(self._stored(repository, branch, import_id)[1])

    def cancel(self, repository: str, branch: str, import_id: str) -> None:
        """Cancels an import, wherever it runs; one that has failed stays as it is.

        Raises NotFound, and Conflict for one that is complete.
        """
        while True:
            found, stored = self._stored(repository, branch, import_id)
            if stored.status.completed:
                raise Conflict(
                    "import completed: conflict found",
                    kind="import_completed",
                    hint="Revert its commit.",
                )
            if stored.status.ended:
                return
            cancelled = msgspec.structs.replace(
                stored.status, error=CANCELED, updated_at=self._clock()
            )
            if self._core.imports.replace(found, stored, cancelled):
                break
        self._jobs.stop(import_id, CANCELED)

    def close(self) -> None:
        """Ends all imports that go on; their states say that they were interrupted."""
        self._jobs.close()

    def _check(self, repository: Repository, source: ImportSource, sources: Sources) -> None:
        """Raises unless a source may be imported onto a branch."""
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

    def _stored(
        self, repository: str, branch: str, import_id: str
    ) -> tuple[Repository, StoredImport]:
        found = self._core.repositories.get(repository)
        self._core.branches.read(found, branch)
        stored = self._core.imports.find(found, import_id)
        if stored is None or self._jobs.is_old(stored):
            raise NotFound("import not found", kind="import_not_found")
        return found, stored
