"""Objects, changes and commits of references that the caller has resolved: what is read later
belongs to the same commits and staged changes, even if branches have moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.commits.snapshots import full_addresses
from anabranch.catalog.objects.change_search import ChangeSearch
from anabranch.catalog.objects.object_search import ObjectSearch
from anabranch.model.commits.commit import Commit
from anabranch.versioning.core import Core
from anabranch.versioning.history.log import log
from anabranch.versioning.references.references import STAGING, Resolved

__all__ = ["NamedReference", "Snapshots"]


class NamedReference(NamedTuple):
    """A reference as a user wrote it, and what it was resolved to."""

    name: str
    at: Resolved


class Snapshots:
    """Reads references as they were when they were resolved."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks

    @contextmanager
    def objects(
        self, repository: str, at: Resolved, *, prefix: str, readable: ReadablePaths | None
    ) -> Iterator[ObjectSearch]:
        """Yields a search among the readable objects at a resolved reference that begin with a
        prefix; a branch includes its staged changes. It is valid inside the context.
        """
        stored = self._core.repositories.get(repository)
        namespace, local_root = full_addresses(self._blocks, stored.storage_namespace)
        with self._core.differ.tree_at(stored, at) as tree:
            yield ObjectSearch(tree, prefix, readable, namespace=namespace, local_root=local_root)

    @contextmanager
    def changes(
        self,
        repository: str,
        left: NamedReference,
        right: NamedReference,
        *,
        prefix: str,
        readable: ReadablePaths | None,
    ) -> Iterator[ChangeSearch]:
        """Yields a search among the differences of two references, as in a two-dot diff: `right`
        may be `branch$`, which includes the staged changes of the branch. Paths of objects begin
        with a prefix, and are readable. It is valid inside the context.
        """
        core = self._core
        stored = core.repositories.get(repository)
        before = Resolved(core.references.commit_of(stored, left.at, left.name).id)
        after = right.at
        if not right.name.endswith(STAGING):
            after = Resolved(after.commit_id)
        namespace, local_root = full_addresses(self._blocks, stored.storage_namespace)
        with core.differ.tree_at(stored, before) as ours, core.differ.tree_at(stored, after) as new:
            yield ChangeSearch(
                (ours, new), prefix, readable, namespace=namespace, local_root=local_root
            )

    def commits(self, repository: str, reference: NamedReference) -> Iterator[Commit]:
        """Returns the commits of a reference's history, the newest first. Raises Invalid for a
        staging area.
        """
        stored = self._core.repositories.get(repository)
        start = self._core.references.commit_of(stored, reference.at, reference.name)
        return log(self._core.commits.reader(stored), start)
