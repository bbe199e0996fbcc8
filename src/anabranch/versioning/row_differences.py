"""Differences between two versions of an object, row by row."""

from __future__ import annotations

from pathlib import Path

from anabranch.blocks.contract import BlockStore
from anabranch.files.work_folders import WorkFolder
from anabranch.model.commits.row_difference import RowDifferencePage
from anabranch.model.objects.entry import Entry, physical_address
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.merging.stored_version import StoredVersion
from anabranch.versioning.strategies.table_processes.comparisons import compare_files
from anabranch.versioning.strategies.table_processes.messages import RowMatching
from anabranch.versioning.strategies.table_processes.table_processes import TableProcesses

__all__ = ["RowDiffer"]


class RowDiffer:
    """Compares the rows of objects in `blocks`, in `processes`."""

    def __init__(self, blocks: BlockStore, processes: TableProcesses) -> None:
        self._blocks = blocks
        self.processes = processes

    def compare(
        self,
        repository: Repository,
        path: str,
        left: Entry | None,
        right: Entry | None,
        *,
        file_format: str = "",
        matching: RowMatching,
    ) -> RowDifferencePage:
        """Returns a page of the rows that differ between two objects of a path; None is a table
        without rows. Rows are matched as by `row_differences`. Raises Invalid, with the kinds of
        `compare_files`: not_comparable for what is no table, and for a `key` that is not unique;
        NotSupported if a library is not installed, Busy, Gone.
        """
        with WorkFolder("rows") as folder:
            return compare_files(
                self.processes,
                path,
                self._version(repository, left, folder),
                self._version(repository, right, folder),
                file_format=file_format,
                matching=matching,
                folder=folder,
            )

    def _version(
        self, repository: Repository, entry: Entry | None, folder: str
    ) -> StoredVersion | None:
        if entry is None:
            return None
        namespace = repository.storage_namespace
        address = physical_address(namespace, entry.address, entry.address_type)
        return StoredVersion(self._blocks, address, entry, Path(folder))
