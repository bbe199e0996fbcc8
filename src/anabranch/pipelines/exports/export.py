"""One export: what a reference means now is brought to a place, and nothing else is touched there.

    summary = Exporting(lake.core, lake.blocks).export("sea", "main", FolderDestination("/out"))

The place remembers what it holds. What is brought is the difference between that commit and the
new one, removals first, so that a path may become a folder; an export that was interrupted goes on
where it stopped, and one to another commit mends what the interrupted one has touched.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.model.names import key_of, path_of
from anabranch.model.repository import Repository
from anabranch.pipelines.exports.attempt import Attempt, ExportSummary
from anabranch.pipelines.exports.changes import changes
from anabranch.pipelines.exports.copying import THREADS, Copying
from anabranch.pipelines.exports.destination import Destination
from anabranch.pipelines.exports.pages import pages
from anabranch.pipelines.exports.places import require_apart
from anabranch.versioning.core import Core

__all__ = ["ExportSummary", "Exporting"]

_PAGE = 1_000


class Exporting:
    """Exports from the repositories of a lake. `clock` gives seconds since 1970; `told` hears how
    many changes more are done.
    """

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        *,
        clock: Callable[[], float] = time.time,
        told: Callable[[int], None] = lambda _: None,
        page: int = _PAGE,
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._clock = clock
        self._told = told
        self._page = page

    def export(
        self,
        repository: str,
        reference: str,
        destination: Destination,
        *,
        everything: bool = False,
        remove_extra: bool = False,
        leave_unfit: bool = False,
    ) -> ExportSummary:
        """Makes a place hold what a reference's commit holds, and returns what was done.

        With `everything`, all is copied, whatever the place says that it has. `remove_extra`
        removes files that are not the commit's, `leave_unfit` passes over paths that the place
        cannot have. Raises NotFound, Conflict for a place that holds another repository's export,
        Invalid (`UNFIT`) and for a place among the lake's own data, Corrupt where bytes are not
        those that were stored, Gone where they are lost.
        """
        found = self._core.repositories.get(repository)
        require_apart(
            destination,
            {each.id: each.storage_namespace for each in self._core.repositories.all()},
            self._blocks,
        )
        commit = self._core.references.commit(found, reference)
        attempt = Attempt(
            destination, found.id, commit.id, clock=self._clock, everything=everything
        )
        base = self._tree(found, attempt.state.complete)
        trees = [self._tree(found, each) for each in attempt.commits]
        # removals are few, and done again they do nothing: only copies are taken up half way
        gone = (path_of(key) for key, value in changes(base, trees) if value is None)
        for paths in pages(gone, self._page):
            destination.remove(paths)
            attempt.summary.removed += len(paths)
        after = key_of(attempt.state.after)
        touched = changes(base, trees, after, self._page)
        records = ((key, value) for key, value in touched if value is not None)
        copying = Copying(destination, found, self._blocks, leave_unfit=leave_unfit)
        with ThreadPoolExecutor(THREADS) as pool:
            for page in pages(records, self._page):
                attempt.reach(path_of(page[-1][0]), copying.store(pool, page))
                self._told(len(page))
        if remove_extra:
            attempt.remove_extra(trees[-1])
        return attempt.end()

    def _tree(self, repository: Repository, commit_id: str) -> kernel.Tree:
        if not commit_id:
            return self._core.trees.open(repository, kernel.EMPTY_TREE_ID)
        return self._core.objects.tree(repository, commit_id)
