"""Job that runs one import: it lists the sources, merges their objects, and commits."""

from __future__ import annotations

import threading
from collections.abc import Callable

from anabranch.actions.changes import Changes
from anabranch.blocks.external_objects import ExternalObjects
from anabranch.errors import DirtyBranch
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.imports.build_tree import build_tree
from anabranch.pipelines.imports.commit_import import ImportCommitter, ImportRequest, require_clean
from anabranch.pipelines.jobs.job import Job
from anabranch.versioning.core import Core

__all__ = ["ImportJob"]


class ImportJob(Job):
    """An import onto a branch."""

    name = "import"

    def __init__(
        self,
        core: Core,
        sources: ExternalObjects,
        repository: Repository,
        request: ImportRequest,
        import_id: str,
        *,
        slots: threading.Semaphore,
        clock: Callable[[], float],
        changes: Changes | None,
        on_done: Callable[[str], None],
    ) -> None:
        super().__init__(
            *(core, repository, import_id),
            records=core.imports,
            slots=slots,
            clock=clock,
            on_done=on_done,
        )
        self._sources = sources
        self._changes = changes
        self._request = request

    def run(self) -> None:
        """Runs the import. The write that moves the branch also completes the state."""
        try:
            self._import()
        except DirtyBranch as error:
            # lakeFS imports by a merge, and its message begins so
            message = f"merge import: {error.message}"
            raise DirtyBranch(message, kind=error.kind, hint=error.hint) from error

    def _import(self) -> None:
        core, request, repository = self.core, self._request, self.repository
        require_clean(core, repository, request.branch)
        since = core.sweeps.ended_count()
        with core.trees.scratch() as folder:
            self.folder = folder
            try:
                tree = build_tree(request.sources, self._sources, core.trees, folder, self.progress)
                committer = ImportCommitter(
                    *(core, repository, request, folder, tree, self.check_cancelled),
                    since=since,
                    changes=self._changes,
                )
                committer.commit([self])
            finally:
                self.folder = ""
        committer.record_timestamp(self.clock())
