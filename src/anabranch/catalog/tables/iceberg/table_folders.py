"""Tables of the catalog as folders: below the path of its record, each has the files of its area.

`_tables/city/trips/table.json` stands for a table, and `_tables/city/trips/table.json/data/1.avro`
for a file of its area. So what reads tables in folders reads those of the catalog, at any
reference. Of the metadata in the area, which other references share, the folder has the one that
the record names, and no hint at another: who writes to one branch does not choose what others have.
"""

from __future__ import annotations

from typing import NamedTuple

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.catalog.tables.iceberg.areas import Area, TableAreas
from anabranch.catalog.tables.iceberg.record_store import RecordStore
from anabranch.errors import Denied, NotFound
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.area_files import area_paths
from anabranch.model.tables.table_area import AREAS_FOLDER
from anabranch.model.tables.table_record import RECORDS_ROOT, TABLE_FILE, TableRecord, table_from
from anabranch.tables.iceberg.metadata_files import HINT, METADATA_FOLDER
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved

__all__ = ["TableFolder", "TableFolders", "record_in_path"]

_FOLDER = f"/{TABLE_FILE}/"
_HINT = METADATA_FOLDER + HINT


class TableFolder(NamedTuple):
    """A table of the catalog at a reference: the path of its record, the record and its area."""

    path: str
    record: TableRecord
    area: Area

    def paths(self, prefix: str) -> list[str]:
        """Returns the path of the current metadata if it begins with a prefix. Other files are not
        listed: metadata name them.
        """
        name = self.record.metadata.removeprefix(f"{self.area.location}/")
        path = f"{self.path}/{name}"
        return [path] if path.startswith(prefix) else []

    def require_readable(self, records: ReadablePaths | None) -> None:
        """Raises Denied unless the record may be read, and the path that the area was made for,
        which is another one after a rename. All may be read if `records` is None.
        """
        for path in {self.path, self.area.path}:
            if records is not None and path not in records:
                raise Denied(
                    f"the table has files of {path}, which you may not read",
                    kind="insufficient_permissions",
                    hint="An administrator can grant catalog:ReadTable or fs:ReadObject for it.",
                )


class TableFolders:
    """The tables of the catalog in repositories."""

    def __init__(
        self, core: Core, blocks: BlockStore, records: RecordStore, areas: TableAreas
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._records = records
        self._areas = areas

    def find(self, repository: Repository, resolved: Resolved, path: str) -> TableFolder | None:
        """Returns the table in whose folder a path is, at a resolved reference; None for a path in
        none. Raises Corrupt for a damaged record, NotFound for one whose area is lost.
        """
        record_path = record_in_path(path)
        if not record_path:
            return None
        entry = self._core.objects.entry_at(repository, resolved, record_path)
        if entry is None:
            return None
        content = self._records.content(repository, entry)
        record = table_from(content, repository.id, record_path)
        return TableFolder(record_path, record, self._areas.find(repository, record.area))

    def open(self, folder: TableFolder, path: str) -> OpenObject:
        """Returns the file at a path in a folder. Raises NotFound."""
        entry = self.entry(folder, path)
        if entry is None:
            raise NotFound(f"there is no file {path}", kind="object_not_found")
        return OpenObject(folder.area.repository, entry, self._blocks)

    def entry(self, folder: TableFolder, path: str) -> Entry | None:
        """Returns the file at a path in a folder as if it were an object, None without one."""
        area, name = folder.area, path.removeprefix(f"{folder.path}/")
        if name == _HINT:
            return None
        spellings = [each.path for each in area_paths(f"{area.location}/{name}")]
        for each in dict.fromkeys([name, *spellings]):
            try:
                stored = self._areas.stat(area, each)
            except NotFound:
                continue
            return Entry(
                address=f"{AREAS_FOLDER}{area.id}/{each}",
                size=stored.size,
                mtime=stored.mtime,
                checksum="",
            )
        return None


def record_in_path(path: str) -> str:
    """Returns the path of the record in whose folder a path is, "" for a path in none."""
    if not path.startswith(RECORDS_ROOT):
        return ""
    folder, slash, _ = path.rpartition(_FOLDER)
    return f"{folder}/{TABLE_FILE}" if slash else ""
