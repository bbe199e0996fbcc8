"""Export of a reference's commit to a destination; other files there are left unchanged.

    summary = Exporter(lake.core, lake.blocks).export("sea", "main", FolderDestination("/out"))

Garbage collection keeps the objects of the commit while the export runs (`pipelines.jobs.leases`).

The state at the destination names the commit of the last export. An export applies the difference
between that commit and the new one, removals first, so that a path can become a folder. An
interrupted export resumes where it stopped; an export of another commit also repairs the paths that
the interrupted one has changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.model.names import decode_key, encode_path
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.exports.changes import changes
from anabranch.pipelines.exports.chunked import chunked
from anabranch.pipelines.exports.copier import THREADS, Copier
from anabranch.pipelines.exports.destination import Destination
from anabranch.pipelines.exports.destination_parsing import require_separate
from anabranch.pipelines.exports.export_run import ExportRun, ExportSummary
from anabranch.pipelines.jobs.leases import Lease, StoredPin, hold_lease
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.versioning.core import Core

__all__ = ["ExportSummary", "Exporter"]

_PAGE = 1_000


class Exporter:
    """Exports from the repositories of a lake. `clock` returns seconds since 1970, `progress`
    receives the numbers of copied objects.
    """

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        *,
        clock: Callable[[], float] = time.time,
        progress: Progress = NO_PROGRESS,
        page: int = _PAGE,
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._clock = clock
        self._progress = progress
        self._page = page

    def export(
        self,
        repository: str,
        reference: str,
        destination: Destination,
        *,
        everything: bool = False,
        remove_extra: bool = False,
        skip_invalid: bool = False,
    ) -> ExportSummary:
        """Updates a destination to the commit of a reference, and returns a summary.

        If `everything`, all objects are copied, regardless of the state. `remove_extra` removes
        files that the commit does not have, `skip_invalid` skips paths that are invalid at the
        destination. Raises NotFound, Conflict for the destination of another repository's export,
        Invalid (`INVALID_PATH`), Invalid for a destination inside or around a storage namespace,
        Corrupt if copied bytes differ from the stored ones, Gone if stored bytes are missing, and
        Conflict (commit_expired, pin_lost) if garbage collection may have removed them.
        """
        stored = self._core.repositories.get(repository)
        require_separate(
            destination,
            {other.id: other.storage_namespace for other in self._core.repositories.all()},
            self._blocks,
        )
        commit = self._core.references.commit(stored, reference)
        with hold_lease(StoredPin(self._core, stored), [commit.id]) as lease:
            run = ExportRun(
                destination, stored.id, commit.id, clock=self._clock, everything=everything
            )
            copier = Copier(destination, stored, self._blocks, skip_invalid=skip_invalid)
            self._copy_changes(stored, destination, run, copier, lease)
            if remove_extra:
                run.remove_extra(self._tree(stored, commit.id))
            return run.end()

    def _copy_changes(
        self,
        repository: Repository,
        destination: Destination,
        run: ExportRun,
        copier: Copier,
        lease: Lease,
    ) -> None:
        """Removes and copies the objects that differ between the destination and the commit."""
        base = self._tree(repository, run.state.complete)
        self._progress.begin("copying", 0)
        trees = [self._tree(repository, commit_id) for commit_id in run.commits]
        # removals are few and idempotent, so only copies resume where they stopped
        removed = (decode_key(key) for key, value in changes(base, trees) if value is None)
        for paths in chunked(removed, self._page):
            destination.remove(paths)
            run.summary.removed += len(paths)
        after = encode_path(run.state.after)
        remaining = changes(base, trees, after, page=self._page)
        records = ((key, value) for key, value in remaining if value is not None)
        with ThreadPoolExecutor(THREADS) as pool:
            for page in chunked(records, self._page):
                lease.check()
                run.checkpoint(decode_key(page[-1][0]), copier.store(pool, page))
                self._progress.advance(len(page))

    def _tree(self, repository: Repository, commit_id: str) -> kernel.Tree:
        if not commit_id:
            return self._core.trees.open(repository, kernel.EMPTY_TREE_ID)
        return self._core.objects.tree(repository, commit_id)
