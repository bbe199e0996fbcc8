"""The records of tables and views in a key-value store and its block store."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.blocks.contract import BlockStore
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import Entry
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import RECORDS_ROOT, is_record_path
from anabranch.pipelines.garbage.installations.gc_roots import staging_areas
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.table_files import NamedTable, TableFiles, read_record
from anabranch.versioning.records.entries import entry_from

__all__ = ["StoredTableRecords"]


class StoredTableRecords:
    """The records of a core's repositories."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks

    @property
    def files(self) -> TableFiles:
        """The files of tables."""
        return self._core.record_admission.files

    def staged(self, repository: Repository) -> Iterator[tuple[str, Entry]]:
        """Yields the staged records of a repository with their paths, of each staging area
        separately, uncached. Raises Corrupt.
        """
        start = encode_path(RECORDS_ROOT)
        for branch in staging_areas(self._core, repository):
            for token in branch.tokens:
                for key, value in self._core.staging.changes([token], start, upper_bound(start)):
                    path = decode_key(key)
                    if value is not None and is_record_path(path):
                        yield path, entry_from(value)

    def read(self, address: str, size: int) -> NamedTable | None:
        """Returns what the record at a full address says, None if it is none. Raises Gone."""
        return read_record(self._blocks, address, size)
