"""Use cases of ranges and metaranges: the files of commits, for clients that read them directly."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_addresses import table_address
from anabranch.catalog.commits.snapshots import full_addresses
from anabranch.errors import Invalid, NotFound
from anabranch.lake.snapshots.full_addresses import FullAddresses
from anabranch.versioning.core import Core

__all__ = ["Tables"]


class Tables:
    """Use cases of ranges and metaranges, which are stored in one folder under their ids."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks

    def location(self, repository: str, table_id: str) -> str:
        """Returns the address of a table's file, as clients see it. Raises NotFound."""
        address, _ = self._find(repository, table_id)
        return self._blocks.qualify(address)

    def addresses(self, repository: str) -> FullAddresses:
        """Returns where the addresses in a repository's tables lead. Raises NotFound."""
        stored = self._core.repositories.get(repository)
        return full_addresses(self._blocks, stored.storage_namespace)

    def read(self, repository: str, table_id: str) -> tuple[int, Iterator[bytes]]:
        """Returns the size of a table's file in bytes, and its chunks. Raises NotFound."""
        address, size = self._find(repository, table_id)
        return size, self._blocks.get(address)

    def _find(self, repository: str, table_id: str) -> tuple[str, int]:
        namespace = self._core.repositories.get(repository).storage_namespace
        try:
            address = table_address(namespace, table_id)
        except Invalid:
            raise NotFound("not found", kind="table_not_found") from None
        info = self._blocks.stat(address)
        if info is None:
            raise NotFound("not found", kind="table_not_found")
        return address, info.size
