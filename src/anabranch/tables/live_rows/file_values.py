"""The values that columns have in all rows of a file, as a table in DuckDB beside the relation.

A table with many partitions has many files that differ in these values only. They are joined to the
rows then, because a SELECT for each partition takes longer than reading it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from anabranch.tables.live_rows.columns import Column, sql_type
from anabranch.tables.live_rows.live_table import LiveFile
from anabranch.tables.live_rows.projection import SOURCE
from anabranch.tables.sql_names import identifier

__all__ = ["FileValues"]

_CHUNK_ROWS = 1000
_ALIAS = "file_values"


class FileValues:
    """The table for the relation `name`, with the values of `columns`."""

    def __init__(self, connection: Any, name: str, columns: Sequence[Column]) -> None:
        self._connection = connection
        self._name = identifier(f"{name} values of files")
        self._columns = columns

    def references(self) -> Mapping[str, str]:
        """Returns SQL for the columns in a SELECT with the join."""
        return {each.name: f"{_ALIAS}.{identifier(each.name)}" for each in self._columns}

    def join(self, number: int) -> str:
        """Returns SQL that joins the values to the rows of files that are numbered from `number`
        on.
        """
        return f" JOIN {self._name} {_ALIAS} ON {_ALIAS}.file = {SOURCE}.file_index + {number}"

    def create(self, files: Iterable[LiveFile]) -> None:
        """Creates the table for files in the order of their numbers."""
        columns = "".join(
            f", {identifier(each.name)} {sql_type(each.type)}" for each in self._columns
        )
        self._connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {self._name} (file BIGINT{columns})"
        )
        numbered = enumerate(files)
        while chunk := list(islice(numbered, _CHUNK_ROWS)):
            rows = ", ".join(self._row(number, file) for number, file in chunk)
            self._connection.execute(f"INSERT INTO {self._name} VALUES {rows}")  # noqa: S608

    def _row(self, number: int, file: LiveFile) -> str:
        return f"({', '.join((str(number), *(file.values[each.name] for each in self._columns)))})"
