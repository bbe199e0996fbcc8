"""Snapshots of commits in this lake's own stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn, ParamSpec, TypeVar

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.paths import SCHEME
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.lake.snapshots.full_addresses import FullAddresses
from anabranch.lake.snapshots.snapshot import Snapshot
from anabranch.lake.snapshots.source import NamedEntry
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core

__all__ = ["full_addresses", "make_snapshot"]

P = ParamSpec("P")
T = TypeVar("T")


def make_snapshot(core: Core, blocks: BlockStore, repository: str, reference: str) -> Snapshot:
    """Returns a snapshot of the commit that a reference names, of all its objects. Raises NotFound,
    and Invalid for a staging area.
    """
    stored = core.repositories.get(repository)
    commit = core.references.commit(stored, reference)
    tree = core.trees.open(stored, commit.metarange_id)
    return Snapshot(_StoredTree(core, blocks, stored, tree), repository, reference, commit)


def full_addresses(blocks: BlockStore, storage_namespace: str) -> FullAddresses:
    """Returns the full addresses of a storage namespace."""
    root = blocks.qualify(SCHEME)
    namespace = blocks.qualify(storage_namespace).rstrip("/")
    return FullAddresses(namespace, "" if root == SCHEME else root)


class _StoredTree:
    """A tree in the stores, and the bytes of its objects."""

    def __init__(
        self, core: Core, blocks: BlockStore, repository: Repository, tree: kernel.Tree
    ) -> None:
        self.tree = tree
        self._trees = core.trees
        self._blocks = blocks
        self._repository = repository
        self.address = full_addresses(blocks, repository.storage_namespace).of

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a snapshot of a lake in a folder cannot be pickled: open the lake in each process, "
            "and make the snapshot there from its commit_id"
        )

    def read(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls a function that reads tables, and repairs their cache."""
        return self._trees.read(call, *args, **kwargs)

    def open(self, path: str, entry: Entry) -> OpenObject:  # noqa: ARG002  servers need the path
        """Returns an object, open for reading."""
        return OpenObject(self._repository, entry, self._blocks)

    def read_many(self, objects: Sequence[NamedEntry]) -> Iterator[bytes]:
        """Yields the bytes of objects, in order."""
        for path, entry in objects:
            yield self.open(path, entry).read_bytes()
