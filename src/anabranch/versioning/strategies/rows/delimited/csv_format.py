"""CSV and TSV files of tables: opened as texts, and merged as they are spelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.delimited.csv_merge import write_csv
from anabranch.versioning.strategies.rows.delimited.csv_table import CsvTable, open_csv
from anabranch.versioning.strategies.rows.merging.cell_decisions import CellDecisions

__all__ = ["CsvFormat"]


class CsvFormat:
    """Text with this delimiter between cells."""

    name = "CSV"
    merges = True

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter

    def open(self, side: str, version: ObjectVersion, folder: str) -> CsvTable:
        """Returns the table of a file. Raises Conflict for one that cannot be read."""
        return open_csv(side, version, self.delimiter, folder)

    def whole_columns(self, tables: Mapping[str, CsvTable]) -> set[str]:  # noqa: ARG002
        """Returns no columns: texts have no parts."""
        return set()

    def write(
        self,
        decisions: CellDecisions,
        tables: Mapping[str, CsvTable],
        schema: Any,
        output: BinaryIO,
        folder: str,  # noqa: ARG002  it is written directly
    ) -> None:
        """Writes the merge of tables, by the decisions about them."""
        write_csv(decisions, tables, schema.names, output)
