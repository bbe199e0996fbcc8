"""The objects at a resolved reference, as readers of table metadata see them.

A table's metadata are the words of other users: each file that they name is opened only if the
caller may read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.object_page import ObjectPage
from anabranch.catalog.tables.iceberg.table_folders import (
    TableFolder,
    TableFolders,
    record_in_path,
)
from anabranch.errors import Denied
from anabranch.model.names import check_path
from anabranch.model.objects.entry import Entry, physical_address
from anabranch.model.objects.stat import CommonPrefix
from anabranch.model.repositories.repository import Repository
from anabranch.tables.live_rows.table_objects import local_location
from anabranch.versioning.core import Core
from anabranch.versioning.merging.stored_version import StoredVersion
from anabranch.versioning.references.references import Resolved

__all__ = ["ResolvedObjects"]

_PAGE = 1000


class ResolvedObjects:
    """The objects at a resolved reference of a repository: those that are `readable`, all if that
    is None; and the files of the catalog's tables in their `folders`, if these are given: of those
    among `records`, of all if that is None. `folder` is for copies of objects that are not files
    of this machine.
    """

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        folders: TableFolders | None,
        repository: Repository,
        resolved: Resolved,
        *,
        readable: ReadablePaths | None,
        records: ReadablePaths | None,
        folder: str,
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._folders = folders
        self._tables: dict[str, TableFolder | None] = {}
        self._repository = repository
        self._resolved = resolved
        self._readable = readable
        self._records = records
        self._folder = Path(folder)
        self._versions: dict[str, StoredVersion] = {}

    def list(self, prefix: str) -> Iterator[str]:
        """Yields the paths that begin with a prefix."""
        table = self._table(prefix)
        if table is not None:
            yield from table.paths(prefix)
            return
        after, has_more = "", True
        while has_more:
            page = self._core.objects.listing_at(
                self._repository, self._resolved, prefix=prefix, after=after, amount=_PAGE
            )
            items = ObjectPage(page, self._repository.storage_namespace, self._blocks)
            for item in items.items:
                if not isinstance(item, CommonPrefix):
                    yield item.path
            after, has_more = items.next_offset, items.has_more

    def open(self, path: str) -> BinaryIO:
        """Returns a stream of an object. Raises FileNotFoundError without one, Denied for one that
        the caller may not read.
        """
        return self._version(path).open()

    def location(self, path: str) -> str:
        """Returns the name by which DuckDB opens an object. Raises as `open` does."""
        return local_location(self._version(path).path())

    def file(self, path: str) -> str:
        """Returns the path of a file with an object's bytes. Raises as `open` does."""
        return self._version(path).path()

    def identity(self, path: str) -> tuple[str, ...]:
        """Returns what is the same for objects with the same bytes and path."""
        entry = self._entry(path)
        return (path,) if entry is None else (path, entry.address, entry.checksum)

    def _table(self, path: str) -> TableFolder | None:
        """Returns the table of the catalog in whose folder a path is. Raises Denied for one that
        the caller may not read.
        """
        record = record_in_path(path)
        if self._folders is None or not record:
            return None
        if record not in self._tables:  # each file of a table is asked for
            table = self._folders.find(self._repository, self._resolved, path)
            if table is not None:
                table.require_readable(self._records)
            self._tables[record] = table
        return self._tables[record]

    def _entry(self, path: str) -> Entry | None:
        table = self._table(path)
        if self._folders is not None and table is not None:
            return self._folders.entry(table, path)
        return self._core.objects.entry_at(self._repository, self._resolved, path)

    def _version(self, path: str) -> StoredVersion:
        if path not in self._versions:
            check_path(path)
            is_object = self._table(path) is None
            if is_object and self._readable is not None and path not in self._readable:
                raise Denied(
                    f"the table has the file {path}, which you may not read",
                    kind="insufficient_permissions",
                    hint="An administrator can grant fs:ReadObject for all files of the table.",
                )
            entry = self._entry(path)
            if entry is None:
                raise FileNotFoundError(path)
            namespace = self._repository.storage_namespace
            address = physical_address(namespace, entry.address, entry.address_type)
            self._versions[path] = StoredVersion(self._blocks, address, entry, self._folder)
        return self._versions[path]
