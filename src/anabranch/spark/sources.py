"""Sources: where the driver looks up commits, and what it then tells the tasks.

A lake is open in the driver's process, its tables in a folder; a server is asked over HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_addresses import tables_address
from anabranch.model.names import key_of
from anabranch.spark.pieces import Range, ranges_of
from anabranch.spark.references import LakeReferences, References, ServedReferences
from anabranch.spark.server import Server
from anabranch.spark.stores import Opener, unreachable
from anabranch.spark.table_files import FolderTables, StoredTables, TableFiles
from anabranch.versioning.core import Core
from anabranch.versioning.trees import translated

if TYPE_CHECKING:
    from anabranch.library import Lake

__all__ = ["Repository", "Source", "Stores", "references_of", "repository_of", "tables_of"]


class Stores(Protocol):
    """What is open in the driver's process: a lake, or the stores of a server's settings."""

    @property
    def core(self) -> Core:
        """Histories and references."""

    @property
    def blocks(self) -> BlockStore:
        """Bytes."""


Source: TypeAlias = "Lake | Server"


class Repository(NamedTuple):
    """A repository whose commits are read: where it is, and where its tables are."""

    references: References
    storage_namespace: str
    tables: TableFiles

    def ranges(self, reference: str, prefix: str = "") -> list[Range]:
        """Returns the ranges of the commit that a reference means, those that may hold paths with
        a prefix. Raises NotFound, Gone, Corrupt.
        """
        return self.ranges_of(self.references.commit(reference).metarange_id, prefix)

    def ranges_of(self, metarange_id: str, prefix: str = "") -> list[Range]:
        """Returns the same of a tree."""
        with self.tables.located() as locate, translated():
            return ranges_of(kernel.Tables().tree(metarange_id, locate), key_of(prefix))


def references_of(source: Source, repository: str) -> References:
    """Returns the references of a repository, which is not looked up."""
    if isinstance(source, Server):
        return ServedReferences(source.calls, repository)
    return LakeReferences(source, repository)


def repository_of(source: Source, name: str, store: Opener | None = None) -> Repository:
    """Returns a repository. Raises NotFound, and NotSupported for a lake whose tables are in no
    folder, without a `store`.
    """
    references = references_of(source, name)
    if isinstance(source, Server):
        return Repository(references, source.storage_namespace(name), source.tables(name))
    namespace = source.repositories.get(name).storage_namespace
    return Repository(references, namespace, tables_of(source.blocks, namespace, store))


def tables_of(
    blocks: BlockStore, storage_namespace: str, store: Opener | None
) -> FolderTables | StoredTables:
    """Returns the tables that lie in a storage namespace, as tasks reach them. Raises NotSupported
    where they cannot.
    """
    folder = blocks.local_path(tables_address(storage_namespace))
    if folder is not None:
        return FolderTables(folder)
    if store is None:
        raise unreachable(storage_namespace)
    return StoredTables(store, storage_namespace)
