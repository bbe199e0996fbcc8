"""A table of Delta Lake or Iceberg, of which the files are read that a statement needs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from anabranch.tables.delta.needed_files import is_file_needed
from anabranch.tables.delta.snapshot import read_delta_table
from anabranch.tables.iceberg.snapshot import IcebergSnapshot
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.live_rows.columns import Column
from anabranch.tables.live_rows.live_table import LiveTable
from anabranch.tables.live_rows.needs import Needs
from anabranch.tables.live_rows.table_objects import TableObjects

__all__ = ["DeltaLakeTable", "LakeTable"]


class DeltaLakeTable:
    """A version of a table of Delta Lake: see `read_delta_table`."""

    def __init__(self, objects: TableObjects, place: TablePlace, version: int | None) -> None:
        self.objects = objects
        self._table = read_delta_table(objects, place, version)
        self.columns: Sequence[Column] = self._table.columns

    def rows(self, needs: Needs) -> LiveTable:
        """Returns the table with the files that are needed, as far as their partitions and
        statistics say it.
        """
        columns = {column.name: column for column in self.columns}
        files = [each for each in self._table.files if is_file_needed(each, columns, needs)]
        return msgspec.structs.replace(self._table, files=files)


LakeTable = IcebergSnapshot | DeltaLakeTable
