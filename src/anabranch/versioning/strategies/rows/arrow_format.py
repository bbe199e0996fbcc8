"""Arrow files (Feather) of tables: every type is kept, and so is the compression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from anabranch.tables.table import UnreadableTable
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.columns import require_usable
from anabranch.versioning.strategies.rows.merging.cell_decisions import CellDecisions
from anabranch.versioning.strategies.rows.merging.merged_rows import MergedRows
from anabranch.versioning.strategies.rows.table_format import unreadable_table

if TYPE_CHECKING:
    from anabranch.tables.readers.arrow_table import ArrowTable

__all__ = ["ArrowFormat"]


class ArrowFormat:
    """Arrow's file format."""

    name = "Arrow"
    merges = True

    def open(self, side: str, version: ObjectVersion, folder: str) -> ArrowTable:  # noqa: ARG002
        """Returns the table of a file. Raises Conflict for one that cannot be read."""
        import pyarrow as pa  # noqa: PLC0415  an optional library

        from anabranch.tables.readers.arrow_table import ArrowTable  # noqa: PLC0415

        try:
            table = ArrowTable(pa.OSFile(version.path()))
            table.pieces  # noqa: B018  what is read later must not fail then
        except UnreadableTable as error:
            raise unreadable_table(side, error) from error
        require_usable(side, table.schema.names)
        return table

    def whole_columns(self, tables: Mapping[str, ArrowTable]) -> set[str]:  # noqa: ARG002
        """Returns no columns."""
        return set()

    def write(
        self,
        decisions: CellDecisions,
        tables: Mapping[str, ArrowTable],
        schema: Any,
        output: BinaryIO,
        folder: str,
    ) -> None:
        """Writes the merge of tables, by the decisions about them."""
        import pyarrow as pa  # noqa: PLC0415

        destination = tables["destination"]
        rows = MergedRows(decisions, tables, schema, folder)
        options = pa.ipc.IpcWriteOptions(
            compression=destination.compression(), unify_dictionaries=True
        )
        with pa.ipc.new_file(output, rows.schema, options=options) as file:
            for batch in rows.batches():
                file.write_batch(batch)
