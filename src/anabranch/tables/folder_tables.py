"""Tables in folders: Delta Lake's or Iceberg's, whichever a folder holds."""

from __future__ import annotations

from typing import Literal

from anabranch.tables.delta.log_files import LOG_FOLDER, file_version
from anabranch.tables.delta.snapshot import read_delta_table, read_delta_versions
from anabranch.tables.iceberg.metadata_files import METADATA_FOLDER, metadata_version
from anabranch.tables.iceberg.snapshot import read_iceberg_table, read_iceberg_versions
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.live_rows.live_table import LiveTable, TableVersion
from anabranch.tables.live_rows.table_objects import TableObjects

__all__ = ["FolderFormat", "find_format", "read_table", "read_versions"]

FolderFormat = Literal["delta", "iceberg"]


def find_format(objects: TableObjects, place: TablePlace) -> FolderFormat | None:
    """Returns the format of the table in a folder, None if it holds none. A Delta table may have
    metadata for readers of Iceberg, too: it is Delta's then.
    """
    log = place.folder + LOG_FOLDER
    if any(file_version(path.removeprefix(log)) is not None for path in objects.list(log)):
        return "delta"
    folder = place.folder + METADATA_FOLDER
    paths = objects.list(folder)
    if any(metadata_version(path.removeprefix(folder)) is not None for path in paths):
        return "iceberg"
    return None


def read_table(
    objects: TableObjects,
    place: TablePlace,
    table_format: FolderFormat,
    version: int | None = None,
) -> LiveTable:
    """Returns a table at a version, by default the last one: a version of Delta, or the id of a
    snapshot of Iceberg. Raises Invalid if it cannot be read.
    """
    if table_format == "delta":
        return read_delta_table(objects, place, version)
    return read_iceberg_table(objects, place, version)


def read_versions(
    objects: TableObjects, place: TablePlace, table_format: FolderFormat, amount: int
) -> list[TableVersion]:
    """Returns the last versions of a table, at most `amount`, the newest first."""
    if table_format == "delta":
        return read_delta_versions(objects, place, amount)
    return read_iceberg_versions(objects, place, amount)
