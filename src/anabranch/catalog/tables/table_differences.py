"""Differences between two versions of a table of many files, row by row.

A process compares them, which asks for the objects: see `table_processes/compared_tables.py`.
"""

from __future__ import annotations

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.tables.iceberg.areas import TableAreas
from anabranch.catalog.tables.iceberg.record_store import RecordStore
from anabranch.catalog.tables.iceberg.table_folders import TableFolders
from anabranch.catalog.tables.table_objects import ResolvedObjects
from anabranch.files.work_folders import WorkFolder
from anabranch.model.commits.row_difference import RowDifferencePage
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved
from anabranch.versioning.strategies.table_processes.compared_tables import SIDES
from anabranch.versioning.strategies.table_processes.comparisons import (
    ComparedObjects,
    compare_folders,
)
from anabranch.versioning.strategies.table_processes.messages import RowMatching

__all__ = ["TableDiffer"]


class TableDiffer:
    """Compares the rows of tables of Delta Lake and Iceberg, in folders and of the catalog."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks
        self._folders = TableFolders(
            core, blocks, RecordStore(core, blocks), TableAreas(core, blocks)
        )

    def compare(
        self,
        repository: Repository,
        folder: str,
        left: Resolved,
        right: Resolved,
        *,
        readable: ReadablePaths | None = None,
        records: ReadablePaths | None = None,
        matching: RowMatching,
        of_catalog: bool = True,
    ) -> RowDifferencePage | None:
        """Returns a page of the rows that differ between the table in a folder at two references,
        or of the catalog, whose record's path is its folder (see `TableFolders`), if `of_catalog`;
        None if it is a table at neither. A version that does not exist has no rows. Rows are
        matched as by `row_differences`, among the rows of files that differ: a `key` that only rows
        of other files repeat is not found. Raises Invalid (kinds unreadable_table and
        not_comparable), NotSupported, Busy, Gone, and Denied for a file that is not `readable`, or
        of a table of the catalog that is not among `records`.
        """
        with WorkFolder("rows") as work:
            sides: dict[str, ComparedObjects] = {
                side: ResolvedObjects(
                    *(self._core, self._blocks, self._folders if of_catalog else None),
                    *(repository, resolved),
                    readable=readable,
                    records=records,
                    folder=work,
                )
                for side, resolved in zip(SIDES, (left, right), strict=True)
            }
            return compare_folders(
                self._core.row_differ.processes,
                repository.id,
                folder.rstrip("/"),
                sides,
                matching=matching,
                folder=work,
            )
