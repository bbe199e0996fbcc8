"""Objects, changes and commits of references that the caller has resolved: what is read later
belongs to the same commits and staged changes, even if branches have moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.paths import SCHEME
from anabranch.catalog.objects.object_page import object_stat
from anabranch.catalog.objects.object_search import ObjectSearch
from anabranch.catalog.read_permissions.readable_changes import ReadChanges, readable_changes
from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit
from anabranch.model.objects.entry import Entry
from anabranch.model.objects.stat import Stat
from anabranch.model.page import Page
from anabranch.versioning.core import Core
from anabranch.versioning.history.log import log
from anabranch.versioning.references.references import STAGING, Resolved

__all__ = ["Comparison", "NamedReference", "Snapshots"]


class NamedReference(NamedTuple):
    """A reference as a user wrote it, and what it was resolved to."""

    name: str
    at: Resolved


class Comparison:
    """The differences of two trees."""

    def __init__(self, read: ReadChanges, blocks: BlockStore, storage_namespace: str) -> None:
        self._read = read
        self._blocks = blocks
        self._namespace = storage_namespace

    def page(
        self, *, prefix: str, after: str, amount: int, readable: ReadablePaths | None
    ) -> Page[Change]:
        """Returns a page of the changes of readable objects, of all if `readable` is None."""
        page = {"prefix": prefix, "after": after, "delimiter": ""}
        return readable_changes(self._read, readable, **page, amount=amount)

    def stat(self, path: str, entry: Entry) -> Stat:
        """Returns the properties of an object of one side."""
        return object_stat(self._blocks, self._namespace, path, entry)


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
        namespace = self._blocks.qualify(stored.storage_namespace)
        root = self._blocks.qualify(SCHEME)
        with self._core.differ.tree_at(stored, at) as tree:
            yield ObjectSearch(
                tree,
                prefix,
                readable,
                namespace=namespace.rstrip("/"),
                local_root="" if root == SCHEME else root,
            )

    @contextmanager
    def changes(
        self, repository: str, left: NamedReference, right: NamedReference
    ) -> Iterator[Comparison]:
        """Yields the comparison of two references, as in a two-dot diff: `right` may be `branch$`,
        which includes the staged changes of the branch. It is valid inside the context.
        """
        core = self._core
        stored = core.repositories.get(repository)
        before = Resolved(core.references.commit_of(stored, left.at, left.name).id)
        after = right.at
        if not right.name.endswith(STAGING):
            after = Resolved(after.commit_id)
        with core.differ.tree_at(stored, before) as ours, core.differ.tree_at(stored, after) as new:
            read = partial(core.differ.two_dot, ours, new)
            yield Comparison(read, self._blocks, stored.storage_namespace)

    def commits(self, repository: str, reference: NamedReference) -> Iterator[Commit]:
        """Returns the commits of a reference's history, the newest first. Raises Invalid for a
        staging area.
        """
        stored = self._core.repositories.get(repository)
        start = self._core.references.commit_of(stored, reference.at, reference.name)
        return log(self._core.commits.reader(stored), start)
