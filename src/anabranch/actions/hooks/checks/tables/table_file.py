"""Tables in files as rules name their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from anabranch.tables.open_table import open_table, with_shown_bytes
from anabranch.tables.table import UnreadableTable

__all__ = ["TableFile", "open_table_file"]


class TableFile:
    """An open table. `schema` is pyarrow's; the columns of text files are all texts."""

    def __init__(self, stream: BinaryIO, path: str, format_name: str) -> None:
        self._table = with_shown_bytes(open_table(stream, path, format_name))
        self.schema = self._table.schema
        names = self.schema.names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UnreadableTable(f"it has the column {twice!r} twice")

    def count_rows(self) -> int:
        """Returns the number of rows. Raises UnreadableTable."""
        return self._table.count_rows()

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yields record batches of some columns in order of the rows. Raises UnreadableTable, also
        for a column whose values are not read exactly.
        """
        for note in self._table.notes:
            if note.inexact_column in columns:
                raise UnreadableTable(note.text)
        return self._table.batches([self.schema.get_field_index(name) for name in columns])

    def repairs(self) -> list[str]:
        """Returns which rows, of those that were read, do not fit the table."""
        return [note.text for note in self._table.notes if note.is_repair]


def open_table_file(stream: BinaryIO, path: str, format_name: str) -> TableFile:
    """Returns the table in a stream, of the format that its content says, or the one with that
    name, or else of the path's extension. Raises UnreadableTable.
    """
    return TableFile(stream, path, format_name)
