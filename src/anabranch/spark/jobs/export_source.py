"""The repository of an export on Spark, of a lake or of a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, TypeAlias

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.namespaces import kept_namespace
from anabranch.errors import NotSupported
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.leases import HeldPin, StoredPin
from anabranch.spark.planning.partition_planning import Range, list_ranges
from anabranch.spark.sources.commit_sources import Stores, open_tables
from anabranch.spark.sources.references import ServerReferences
from anabranch.spark.sources.server_pins import ServerPin
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener, open_store, store_opener
from anabranch.spark.sources.table_files import FolderTables, StoredTables
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["ExportSource", "export_source", "tree_ranges"]


Tables: TypeAlias = FolderTables | StoredTables


class ExportSource(Protocol):
    """A repository and its store, open in the driver; workers open the store with `opener`."""

    repository: Repository
    blocks: BlockStore
    opener: Opener
    tables: Tables

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference resolves to. Raises NotFound."""

    def new_pin(self) -> HeldPin:
        """Returns a new pin without commits."""

    def namespaces(self) -> Mapping[str, str]:
        """Returns the storage namespaces of all repositories, by their names."""


@contextmanager
def export_source(
    source: Stores | Server, name: str, store: Opener | None
) -> Iterator[ExportSource]:
    """Gives a repository. Raises NotFound, and NotSupported if workers cannot reach the store."""
    if not isinstance(source, Server):
        yield _LakeSource(source, name, store)
        return
    if store is None:
        raise NotSupported(
            f"{source.url}: workers need access to the server's object store",
            hint="Pass it as `store`, such as anabranch.spark.S3Store(…).",
        )
    with open_store(store) as blocks:
        yield _ServerSource(source, name, store, blocks)


def tree_ranges(source: ExportSource, commit_id: str) -> list[Range]:
    """Returns the ranges of a commit's tree, or none if the id is empty. Raises Gone, Corrupt."""
    if not commit_id:
        return []
    metarange_id = source.commit(commit_id).metarange_id
    with source.tables.locator() as locate, translate_errors():
        return list_ranges(kernel.Tables().tree(metarange_id, locate))


class _LakeSource:
    """A repository in stores that the driver has opened."""

    def __init__(self, stores: Stores, name: str, store: Opener | None) -> None:
        self._core = stores.core
        self.repository = stores.core.repositories.get(name)
        self.blocks = stores.blocks
        self.tables: Tables = open_tables(stores.blocks, self.repository.storage_namespace, store)
        self.opener = store_opener(stores.blocks, store, self.repository.storage_namespace)

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference resolves to."""
        return self._core.references.commit(self.repository, reference)

    def new_pin(self) -> HeldPin:
        """Returns a pin in the key-value store."""
        return StoredPin(self._core, self.repository)

    def namespaces(self) -> Mapping[str, str]:
        """Returns the storage namespaces of all repositories."""
        return {each.id: each.storage_namespace for each in self._core.repositories.all()}


class _ServerSource:
    """A repository of a server."""

    def __init__(self, server: Server, name: str, store: Opener, blocks: BlockStore) -> None:
        self._client = server.client
        self._references = ServerReferences(server.client, name)
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
        """Returns the commit that a reference resolves to."""
        return self._references.commit(reference)

    def new_pin(self) -> HeldPin:
        """Returns a pin of the server."""
        return ServerPin(self._client, self.repository.id)

    def namespaces(self) -> Mapping[str, str]:
        """Returns the storage namespaces of all repositories that the user may see."""
        namespaces = {
            each["id"]: kept_namespace(each["storage_namespace"], self.blocks)
            for each in self._client.items()
        }
        return {**namespaces, self.repository.id: self.repository.storage_namespace}
