"""The parts of the Iceberg catalog, put together."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.actions.changes import Changes
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.objects import Objects
from anabranch.catalog.protection import Protection
from anabranch.catalog.tables.iceberg.areas import TableAreas
from anabranch.catalog.tables.iceberg.changes import RecordChanges
from anabranch.catalog.tables.iceberg.metadata_files import MetadataFiles
from anabranch.catalog.tables.iceberg.namespaces import Namespaces
from anabranch.catalog.tables.iceberg.record_store import RecordStore
from anabranch.catalog.tables.iceberg.registered_folders import RegisteredFolders
from anabranch.catalog.tables.iceberg.table_commits import TableParts
from anabranch.catalog.tables.iceberg.table_folders import TableFolders
from anabranch.catalog.tables.iceberg.tables import IcebergTables
from anabranch.versioning.core import Core

__all__ = ["IcebergCatalog"]


class IcebergCatalog:
    """Namespaces and tables on branches. `clock` returns seconds since 1970."""

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        protection: Protection,
        changes: Changes,
        objects: Objects,
        clock: Callable[[], float],
    ) -> None:
        self.areas = TableAreas(core, blocks)
        records = RecordStore(core, blocks)
        self.folders = TableFolders(core, blocks, records, self.areas)
        self.registered_folders = RegisteredFolders(core, records, self.areas)
        self.changes = record_changes = RecordChanges(core, protection, changes)
        self.namespaces = Namespaces(records, record_changes)
        parts = TableParts(
            *(records, self.areas, MetadataFiles(self.areas), core.identifiers, clock)
        )
        self.tables = IcebergTables(parts, self.namespaces, record_changes, objects)
