"""What an export on Spark needs to know of a repository, of a lake or of a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, TypeAlias

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.namespaces import kept_namespace
from anabranch.errors import NotSupported
from anabranch.model.commit import Commit
from anabranch.model.repository import Repository
from anabranch.spark.pieces import Range, ranges_of
from anabranch.spark.references import ServedReferences
from anabranch.spark.server import Server
from anabranch.spark.sources import Stores, tables_of
from anabranch.spark.stores import Opener, opened_store, opener_of
from anabranch.spark.table_files import FolderTables, StoredTables
from anabranch.versioning.trees import translated

__all__ = ["Exported", "exported", "tree_ranges"]


Tables: TypeAlias = FolderTables | StoredTables


class Exported(Protocol):
    """A repository, and the store that it lies in, which is open here; workers open it by
    `opener`.
    """

    repository: Repository
    blocks: BlockStore
    opener: Opener
    tables: Tables

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference means. Raises NotFound."""

    def namespaces(self) -> Mapping[str, str]:
        """Returns the storage namespaces of all repositories that there are, by their names."""


@contextmanager
def exported(source: Stores | Server, name: str, store: Opener | None) -> Iterator[Exported]:
    """Gives a repository. Raises NotFound, NotSupported where workers cannot reach the store."""
    if not isinstance(source, Server):
        yield _OfLake(source, name, store)
        return
    if store is None:
        raise NotSupported(
            f"{source.url}: workers must reach the store that it keeps objects in",
            hint="Give it as `store`, such as anabranch.spark.S3Store(…).",
        )
    with opened_store(store) as blocks:
        yield _OfServer(source, name, store, blocks)


def tree_ranges(found: Exported, commit_id: str) -> list[Range]:
    """Returns the ranges of a commit's tree; no commit has none. Raises Gone, Corrupt."""
    if not commit_id:
        return []
    metarange_id = found.commit(commit_id).metarange_id
    with found.tables.located() as locate, translated():
        return ranges_of(kernel.Tables().tree(metarange_id, locate))


class _OfLake:
    """One of stores that are open here."""

    def __init__(self, stores: Stores, name: str, store: Opener | None) -> None:
        self._core = stores.core
        self.repository = stores.core.repositories.get(name)
        self.blocks = stores.blocks
        self.tables: Tables = tables_of(stores.blocks, self.repository.storage_namespace, store)
        self.opener = opener_of(stores.blocks, store, self.repository.storage_namespace)

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference means."""
        return self._core.references.commit(self.repository, reference)

    def namespaces(self) -> Mapping[str, str]:
        """Returns those of all repositories."""
        return {each.id: each.storage_namespace for each in self._core.repositories.all()}


class _OfServer:
    """A server's."""

    def __init__(self, server: Server, name: str, store: Opener, blocks: BlockStore) -> None:
        self._calls = server.calls
        self._references = ServedReferences(server.calls, name)
        self.blocks = blocks
        self.opener = store
        namespace = kept_namespace(server.storage_namespace(name), blocks)
        self.tables: Tables = StoredTables(store, namespace)
        self.repository = Repository(
            id=name,
            storage_namespace=namespace,
            default_branch="",
            creation_date=0,
            instance_uid="",
        )

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference means."""
        return self._references.commit(reference)

    def namespaces(self) -> Mapping[str, str]:
        """Returns those of all repositories that whoever asks may see."""
        found = {
            each["id"]: kept_namespace(each["storage_namespace"], self.blocks)
            for each in self._calls.items()
        }
        return {**found, self.repository.id: self.repository.storage_namespace}
