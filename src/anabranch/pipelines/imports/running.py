"""One import that goes on: it finds, replaces and commits, and says how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable

from anabranch.blocks.sources import Sources
from anabranch.errors import DirtyBranch
from anabranch.model.repository import Repository
from anabranch.pipelines.imports.gathering import gather
from anabranch.pipelines.imports.landing import ImportRequest, Landing, require_clean
from anabranch.pipelines.running import RunningJob
from anabranch.versioning.core import Core

__all__ = ["RunningImport"]


class RunningImport(RunningJob):
    """An import in two threads of its own."""

    name = "import"

    def __init__(
        self,
        core: Core,
        sources: Sources,
        repository: Repository,
        request: ImportRequest,
        import_id: str,
        *,
        slots: threading.Semaphore,
        clock: Callable[[], float],
        ended: Callable[[str], None],
    ) -> None:
        super().__init__(core, repository, import_id, slots=slots, clock=clock, ended=ended)
        self._sources = sources
        self._request = request

    def run(self) -> None:
        """Imports. The step that moves the branch also completes the state."""
        try:
            self._import()
        except DirtyBranch as error:
            # lakeFS imports by a merge, and says so
            message = f"merge import: {error.message}"
            raise DirtyBranch(message, kind=error.kind, hint=error.hint) from error

    def _import(self) -> None:
        core, request, repository = self.core, self._request, self.repository
        require_clean(core, repository, request.branch)
        with core.trees.scratch() as folder:
            self.folder = folder
            try:
                gathered = gather(request.sources, self._sources, core.trees, folder, self.tally)
                landing = Landing(core, repository, request, folder, gathered, self.tally.look)
                landing.commit(self.completion)
            finally:
                self.folder = ""
        landing.remember(self.clock())
