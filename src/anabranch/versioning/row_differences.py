"""Differences between two versions of an object, row by row."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from anabranch import errors
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Invalid
from anabranch.model.entry import Entry, physical_address
from anabranch.model.repository import Repository
from anabranch.versioning.merging.stored_version import StoredVersion
from anabranch.versioning.strategies.rows.differences import RowDifferencePage, row_differences
from anabranch.work_folders import WorkFolder

__all__ = ["RowDiffer"]


class RowDiffer:
    """Compares the rows of objects in `blocks`."""

    def __init__(self, blocks: BlockStore) -> None:
        self._blocks = blocks

    def compare(
        self,
        repository: Repository,
        path: str,
        left: Entry | None,
        right: Entry | None,
        *,
        key: Sequence[str] = (),
        whole_rows: bool = False,
        file_format: str = "",
        after: str = "",
        amount: int,
    ) -> RowDifferencePage:
        """Returns a page of the rows that differ between two objects of a path; None is a table
        without rows. Rows are matched as by `row_differences`. Raises Invalid (kind not_comparable)
        for what is no table, and for a `key` that is not unique; NotSupported if a library is not
        installed, Busy, Gone.
        """
        with WorkFolder("rows") as work, tempfile.TemporaryDirectory(dir=work) as folder:
            try:
                return row_differences(
                    path,
                    self._version(repository, left, work),
                    self._version(repository, right, work),
                    key=key,
                    whole_rows=whole_rows,
                    file_format=file_format,
                    after=after,
                    amount=amount,
                    folder=folder,
                )
            except errors.Conflict as error:
                raise Invalid(
                    error.message,
                    kind="not_comparable",
                    hint="Give the columns that identify a row as `key`, and the `format` of the "
                    "file if its extension does not tell.",
                ) from error

    def _version(
        self, repository: Repository, entry: Entry | None, folder: str
    ) -> StoredVersion | None:
        if entry is None:
            return None
        namespace = repository.storage_namespace
        address = physical_address(namespace, entry.address, entry.address_type)
        return StoredVersion(self._blocks, address, entry, Path(folder))
