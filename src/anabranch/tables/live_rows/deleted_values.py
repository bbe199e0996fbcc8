"""Rows deleted by values (Iceberg's equality deletes), as tables in DuckDB beside the relation.

A delete concerns rows of files with smaller sequence numbers, in its partition or everywhere.
"""

from __future__ import annotations

import bisect
from typing import Any

from anabranch.tables.live_rows.columns import Column
from anabranch.tables.live_rows.deleted_positions import MAX_DELETED_ROWS
from anabranch.tables.live_rows.file_fields import FileForm, read_form
from anabranch.tables.live_rows.live_table import EqualityDeletes, LiveFile, LiveTable
from anabranch.tables.live_rows.projection import SOURCE, Projection
from anabranch.tables.live_rows.refusals import unreadable
from anabranch.tables.live_rows.table_objects import TableObjects, open_table_file
from anabranch.tables.sql_names import READ_PARQUET, identifier, literal

__all__ = ["DeletedValues"]


class DeletedValues:
    """The tables for the relation `name`, one for each set of columns."""

    def __init__(
        self,
        connection: Any,
        name: str,
        table: LiveTable,
        objects: TableObjects,
        projection: Projection,
    ) -> None:
        self._connection = connection
        self._table = table
        self._objects = objects
        self._projection = projection
        self._by_columns: dict[tuple[int, ...], list[EqualityDeletes]] = {}
        for deletes in table.equality_deletes:
            self._by_columns.setdefault(deletes.field_ids, []).append(deletes)
        self._names = {
            field_ids: f"{name} deleted values {number}"
            for number, field_ids in enumerate(self._by_columns)
        }
        self._count = 0
        for field_ids, members in self._by_columns.items():
            self._create(field_ids, members)

    def conditions(self, file: LiveFile, form: FileForm) -> tuple[str, ...]:
        """Returns SQL conditions that are true for rows of a file that are not deleted."""
        found = []
        for field_ids, members in self._by_columns.items():
            numbers = sorted({each.sequence_number for each in members})
            later = bisect.bisect_right(numbers, file.sequence_number)
            if later == len(numbers):
                continue
            parts = [
                f"deleted.sequence >= {numbers[later]}",
                f"deleted.scope IN ('', {literal(file.scope)})",
            ]
            for number, column in enumerate(map(self._column, field_ids)):
                field = self._projection.find(column, form.fields)
                default = None if field else file.values.get(column.name)
                value = self._projection.value(column, field, default)
                parts.append(f"deleted.v{number} IS NOT DISTINCT FROM {value}")
            where = " AND ".join(parts)
            name = identifier(self._names[field_ids])
            found.append(f"NOT EXISTS (SELECT 1 FROM {name} deleted WHERE {where})")  # noqa: S608
        return tuple(found)

    def _create(self, field_ids: tuple[int, ...], members: list[EqualityDeletes]) -> None:
        columns = list(map(self._column, field_ids))
        selects = []
        for deletes in members:
            with open_table_file(self._objects, deletes.path) as stream:
                form = read_form(deletes.path, stream, self._table.name_mapping)
            self._count += form.rows
            if self._count > MAX_DELETED_ROWS:
                raise unreadable(f"the table deletes more than {MAX_DELETED_ROWS:,} values")
            values = []
            for number, column in enumerate(columns):
                field = self._projection.find(column, form.fields)
                if field is None:
                    raise unreadable(f"{deletes.path} does not have the column {column.name!r}")
                values.append(f"{self._projection.value(column, field)} AS v{number}")
            location = literal(self._objects.location(deletes.path))
            selects.append(
                f"SELECT {', '.join(values)}, {deletes.sequence_number} AS sequence, "  # noqa: S608
                f"{literal(deletes.scope)} AS scope "
                f"FROM {READ_PARQUET}([{location}], hive_partitioning = false) {SOURCE}"
            )
        union = " UNION ALL ".join(selects)
        name = identifier(self._names[field_ids])
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {union}")

    def _column(self, field_id: int) -> Column:
        column = self._table.all_columns.get(field_id)
        if column is None:
            raise unreadable(f"the table deletes rows by the unknown column {field_id}")
        return column
