"""Sources of commits: lakes and servers.

A lake is open in the driver's process, and workers read its tables from a folder or an object
store. A server is accessed over HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_addresses import tables_address
from anabranch.model.names import encode_path
from anabranch.spark.planning.partition_planning import Range, list_ranges
from anabranch.spark.sources.references import LakeReferences, References, ServerReferences
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener, unreachable
from anabranch.spark.sources.table_files import FolderTables, StoredTables, TableFiles
from anabranch.versioning.core import Core
from anabranch.versioning.trees import translate_errors

if TYPE_CHECKING:
    from anabranch.library import Lake

__all__ = ["Repository", "Source", "Stores", "open_references", "open_repository", "open_tables"]


class Stores(Protocol):
    """Stores that are open in the driver's process: those of a lake, or of a server's settings."""

    @property
    def core(self) -> Core:
        """Returns the repositories, references and commits."""

    @property
    def blocks(self) -> BlockStore:
        """Returns the block store."""


Source: TypeAlias = "Lake | Server"


class Repository(NamedTuple):
    """A repository to read, with its references and its tables."""

    references: References
    storage_namespace: str
    tables: TableFiles

    def ranges(self, reference: str, prefix: str = "") -> list[Range]:
        """Returns the ranges of a reference's commit that may contain paths with a prefix. Raises
        NotFound, Gone, Corrupt.
        """
        return self.ranges_in_tree(self.references.commit(reference).metarange_id, prefix)

    def ranges_in_tree(self, metarange_id: str, prefix: str = "") -> list[Range]:
        """Returns a tree's ranges that may contain paths with a prefix. Raises Gone, Corrupt."""
        with self.tables.locator() as locate, translate_errors():
            return list_ranges(kernel.Tables().tree(metarange_id, locate), encode_path(prefix))


def open_references(source: Source, repository: str) -> References:
    """Returns the references of a repository, without checking that it exists."""
    if isinstance(source, Server):
        return ServerReferences(source.client, repository)
    return LakeReferences(source, repository)


def open_repository(source: Source, name: str, store: Opener | None = None) -> Repository:
    """Returns a repository. Raises NotFound, and NotSupported if the tables of a lake are not in a
    folder and `store` is missing.
    """
    references = open_references(source, name)
    if isinstance(source, Server):
        return Repository(references, source.storage_namespace(name), source.tables(name))
    namespace = source.repositories.get(name).storage_namespace
    return Repository(references, namespace, open_tables(source.blocks, namespace, store))


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
