"""Sources of commits: lakes and servers.

A lake is open in the driver's process, and workers read its tables from a folder or an object
store. A server is accessed over HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from anabranch import _kernel as kernel
from anabranch.actions.changes import Changes
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.namespaces import kept_namespace
from anabranch.blocks.table_addresses import tables_address
from anabranch.errors import Invalid
from anabranch.spark.planning.key_range import ALL_KEYS, KeyRange
from anabranch.spark.planning.partition_planning import Range, list_ranges
from anabranch.spark.sources.references import LakeReferences, References, ServerReferences
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener, open_store, unreachable
from anabranch.spark.sources.table_files import FolderTables, StoredTables, TableFiles
from anabranch.versioning.core import Core
from anabranch.versioning.trees.trees import translate_errors

if TYPE_CHECKING:
    from anabranch.library import Lake

__all__ = [
    "HookedStores",
    "Repository",
    "Source",
    "Stores",
    "open_references",
    "open_repository",
    "open_tables",
]


class Stores(Protocol):
    """Stores that are open in the driver's process: those of a lake, or of a server's settings."""

    @property
    def core(self) -> Core:
        """Returns the repositories, references and commits."""

    @property
    def blocks(self) -> BlockStore:
        """Returns the block store."""


class HookedStores(Stores, Protocol):
    """Stores whose changes run hooks."""

    @property
    def changes(self) -> Changes:
        """Returns what runs the hooks of a change."""


Source: TypeAlias = "Lake | Server"


class Repository(NamedTuple):
    """A repository to read, with its references and its tables."""

    references: References
    storage_namespace: str
    tables: TableFiles

    def ranges(self, reference: str, keys: KeyRange = ALL_KEYS) -> list[Range]:
        """Returns the ranges of a reference's commit that may contain some of these keys. Raises
        NotFound, Gone, Corrupt.
        """
        return self.ranges_in_tree(self.references.commit(reference).metarange_id, keys)

    def ranges_in_tree(self, metarange_id: str, keys: KeyRange = ALL_KEYS) -> list[Range]:
        """Returns a tree's ranges that may contain some of these keys. Raises Gone, Corrupt."""
        with self.tables.locator() as locate, translate_errors():
            return list_ranges(kernel.Tables().tree(metarange_id, locate), keys)


def open_references(source: Source, repository: str) -> References:
    """Returns the references of a repository, without checking that it exists."""
    if isinstance(source, Server):
        return ServerReferences(source.client, repository)
    return LakeReferences(source, repository)


def open_repository(source: Source, name: str, store: Opener | None = None) -> Repository:
    """Returns a repository. With `store`, tables are read from the object store instead of through
    the server. Raises NotFound, and NotSupported if the tables of a lake are not in a folder and
    `store` is missing. Raises Invalid for a store that is not the server's.
    """
    references = open_references(source, name)
    if isinstance(source, Server):
        namespace = source.storage_namespace(name)
        if store is None:
            return Repository(references, namespace, source.tables(name))
        return Repository(references, namespace, _stored_tables(store, namespace))
    namespace = source.repositories.get(name).storage_namespace
    return Repository(references, namespace, open_tables(source.blocks, namespace, store))


def _stored_tables(store: Opener, storage_namespace: str) -> StoredTables:
    """Returns the tables of a server's repository in the server's object store."""
    with open_store(store) as blocks:
        if not blocks.accepts(storage_namespace):
            raise Invalid(
                f"{storage_namespace}: the given store does not accept this namespace",
                kind="other_store",
                hint="Pass the store of the server's `blockstore` settings, or none.",
            )
        return StoredTables(store, kept_namespace(storage_namespace, blocks))


def open_tables(
    blocks: BlockStore, storage_namespace: str, store: Opener | None
) -> FolderTables | StoredTables:
    """Returns the tables of a storage namespace, for tasks. Raises NotSupported if tasks cannot
    access them.
    """
    folder = blocks.local_path(tables_address(storage_namespace))
    if folder is not None:
        return FolderTables(folder)
    if store is None:
        raise unreachable(storage_namespace)
    return StoredTables(store, storage_namespace)
