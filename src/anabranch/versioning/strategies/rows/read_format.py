"""Formats of tables that are compared, and not merged: what they say about values is not all kept
when they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, BinaryIO

from anabranch.tables.byte_forms import ByteForm
from anabranch.tables.formats import TableFormat
from anabranch.tables.open_table import open_table
from anabranch.tables.table import Note, Table, UnreadableTable
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.columns import require_usable
from anabranch.versioning.strategies.rows.merging.cell_decisions import CellDecisions
from anabranch.versioning.strategies.rows.table_format import failed

__all__ = ["ReadFormat"]


class _ReadTable:
    """A table that `tables/open_table.py` reads, in one piece. Its file stays open."""

    byte_forms: Mapping[str, ByteForm] = MappingProxyType({})

    def __init__(self, table: Table, stream: BinaryIO) -> None:
        self._table = table
        self._stream = stream
        self.schema = table.schema
        self.pieces = [table.count_rows()]

    @property
    def notes(self) -> Sequence[Note]:
        """How the file was read."""
        return self._table.notes

    def read(self, piece: int, names: Sequence[str]) -> Iterator[Any]:  # noqa: ARG002  there is one
        """Yields record batches of some columns."""
        numbers = [self.schema.get_field_index(name) for name in names]
        yield from self._table.batches(numbers)


class ReadFormat:
    """A format that is read by the package `tables`."""

    merges = False

    def __init__(self, table_format: TableFormat) -> None:
        self._format = table_format
        self.name = table_format.title

    def open(self, side: str, version: ObjectVersion, folder: str) -> _ReadTable:  # noqa: ARG002
        """Returns the table of a file. Raises Conflict for one that cannot be read."""
        stream = version.open()
        try:
            table = _ReadTable(open_table(stream, "", self._format.name), stream)
        except UnreadableTable as error:
            raise failed(f"the {side} cannot be read as {self.name}: {error.message}") from error
        _require_whole(side, table.notes)
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
        raise failed(f"tables of {self.name} are compared, and not merged")


def _require_whole(side: str, notes: Sequence[Note]) -> None:
    """Raises Conflict for rows that previews show otherwise than they are."""
    for note in notes:
        if note.changes_rows:
            raise failed(f"the {side} is not regular: {note.text}")
