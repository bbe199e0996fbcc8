"""Entries as columns: the full addresses, sizes and checksums of the objects in ranges and staging
areas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.garbage.addresses.namespace import is_full
from anabranch.pipelines.garbage.addresses.range_tree import range_tree
from anabranch.pipelines.verification.stores.table_files import stored_table
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["AreaSource", "Entries", "EntryReader", "RangeSource", "Source", "table_of"]

_LOCAL = "local://"


class RangeSource(NamedTuple):
    """A range of a repository whose objects must exist."""

    repository: Repository
    info: kernel.RangeInfo


class AreaSource(NamedTuple):
    """A staging area of a repository, and who keeps it: its values are those of a tree with `rows`
    entries, whose tables are in a folder.
    """

    repository: Repository
    token: str
    owner: str
    folder: str
    metarange_id: str
    rows: int


Source = RangeSource | AreaSource


def table_of(source: Source) -> str:
    """Returns the id of the table with the entries of a source."""
    return source.info.id if isinstance(source, RangeSource) else source.metarange_id


class Entries(NamedTuple):
    """Entries of a source, in order. `addresses` are full, in the store's form; `kinds` says how
    they are stored, and `stored` is what is stored.
    """

    paths: pa.StringArray
    addresses: pa.StringArray
    sizes: pa.Int64Array
    checksums: pa.StringArray
    stored: pa.StringArray
    kinds: pa.Int32Array


class EntryReader:
    """Reads the entries of sources. Safe for use from many threads. `absolute` is the prefix of the
    second form of full addresses that a local store has; with a `mirror`, full addresses become
    those of a mirror of their store below that prefix.
    """

    def __init__(self, blocks: BlockStore, *, absolute: str = "", mirror: str = "") -> None:
        self._blocks = blocks
        self._absolute = absolute or blocks.qualify(_LOCAL)
        self._mirror = mirror

    def read(self, source: Source) -> Iterator[Entries]:
        """Yields the entries of a source in batches. Raises Gone, Corrupt, ArrowInvalid."""
        if isinstance(source, AreaSource):
            with translate_errors():
                tree = kernel.Tables().tree(
                    source.metarange_id, lambda table_id: f"{source.folder}/{table_id}"
                )
                yield from self._scan(source.repository, tree)
            return
        with stored_table(self._blocks, source.repository, source.info.id) as path:
            yield from self.read_range(source, path)

    def read_range(self, source: RangeSource, path: str) -> Iterator[Entries]:
        """Yields the entries of a range whose table is in a file, as `read` does."""
        with range_tree(source.info, path) as tree:
            yield from self._scan(source.repository, tree)

    def read_tree(
        self, repository: Repository, tree: kernel.Tree, prefix: bytes
    ) -> Iterator[Entries]:
        """Yields the entries of a tree whose paths have a prefix. Raises as `read` does."""
        with translate_errors():
            yield from self._scan(repository, tree, prefix)

    def _scan(
        self, repository: Repository, tree: kernel.Tree, prefix: bytes = b""
    ) -> Iterator[Entries]:
        root = f"{repository.storage_namespace.rstrip('/')}/"
        for batch in pa.RecordBatchReader.from_stream(tree.scan(prefix=prefix)):
            stored, kinds = batch.column("physical_address"), batch.column("address_type")
            full = is_full(stored, kinds)
            addresses = pc.binary_join_element_wise(root, stored, "")
            if pc.any(full).as_py():
                addresses = pc.if_else(full, self._to_mirror(self._unqualified(stored)), addresses)
            yield Entries(
                batch.column("path"),
                addresses,
                batch.column("size"),
                batch.column("checksum"),
                stored,
                kinds,
            )

    def _to_mirror(self, addresses: pa.StringArray) -> pa.StringArray:
        if not self._mirror:
            return addresses
        slashed = pc.replace_substring(addresses, "://", "/", max_replacements=1)
        return pc.binary_join_element_wise(f"{self._mirror}/", slashed, "")

    def _unqualified(self, addresses: pa.StringArray) -> pa.StringArray:
        if self._absolute == _LOCAL:
            return addresses
        inside = pc.starts_with(addresses, self._absolute)
        relative = pc.utf8_slice_codeunits(addresses, len(self._absolute))
        return pc.if_else(inside, pc.binary_join_element_wise(_LOCAL, relative, ""), addresses)
