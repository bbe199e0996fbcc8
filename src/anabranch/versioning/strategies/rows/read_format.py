"""Formats of tables that are compared, and not merged: what they say about values is not all kept
when they are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

from anabranch.tables.formats import TableFormat
from anabranch.tables.open_table import open_table
from anabranch.tables.table import Table, UnreadableTable
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.columns import require_usable
from anabranch.versioning.strategies.rows.merging.cell_decisions import CellDecisions
from anabranch.versioning.strategies.rows.table_format import (
    failure,
    require_exact,
    unreadable_table,
)

__all__ = ["ReadFormat"]


class ReadFormat:
    """A format that is read by the package `tables`."""

    merges = False

    def __init__(self, table_format: TableFormat) -> None:
        self._format = table_format
        self.name = table_format.title

    def open(self, side: str, version: ObjectVersion, folder: str) -> Table:  # noqa: ARG002
        """Returns the table of a file, which stays open. Raises Conflict for one that cannot be
        read.
        """
        stream = version.open()
        try:
            table = open_table(stream, "", self._format.name)
            table.pieces  # noqa: B018  the notes are complete when all rows have been read
        except UnreadableTable as error:
            raise unreadable_table(side, error) from error
        require_exact(side, table.notes)
        require_usable(side, table.schema.names)
        return table

    def whole_columns(self, tables: Mapping[str, Any]) -> set[str]:  # noqa: ARG002
        """Returns no columns."""
        return set()

    def write(
        self,
        decisions: CellDecisions,  # noqa: ARG002
        tables: Mapping[str, Any],  # noqa: ARG002
        schema: Any,  # noqa: ARG002
        output: BinaryIO,  # noqa: ARG002
        folder: str,  # noqa: ARG002
    ) -> None:
        """Raises Conflict."""
        raise failure(f"tables of {self.name} are compared, and not merged")
