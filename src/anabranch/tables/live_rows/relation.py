"""The rows of a table as a relation in DuckDB.

Files that are read alike share one `read_parquet`; the relation is the union of them. So columns
and filters reach the files, and a filter on a column that has one value in a file skips the file.
Deleted rows are tables beside it: positions by file, and values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from anabranch.tables.live_rows.columns import Column, require_distinct, sql_type
from anabranch.tables.live_rows.deleted_positions import (
    VIRTUAL_COLUMNS,
    DeletedPositions,
)
from anabranch.tables.live_rows.deleted_values import DeletedValues
from anabranch.tables.live_rows.file_fields import FileField, FileForm, read_form
from anabranch.tables.live_rows.file_values import FileValues
from anabranch.tables.live_rows.live_table import LiveFile, LiveTable
from anabranch.tables.live_rows.projection import SOURCE, Projection
from anabranch.tables.live_rows.refusals import unreadable
from anabranch.tables.live_rows.table_objects import TableObjects, open_table_file
from anabranch.tables.sql_names import READ_PARQUET, identifier, literal

__all__ = ["LiveRows", "create_counted_relation", "create_relation", "typed_nulls"]


class LiveRows(NamedTuple):
    """The rows of a table whose files are in `objects`."""

    table: LiveTable
    objects: TableObjects


MAX_SELECTS = 1000
"""Above this number of statements, files with different values are read by one."""


class _Group(NamedTuple):
    """Files that one SELECT reads."""

    fields: tuple[FileField, ...]
    select: str
    conditions: tuple[str, ...]
    has_deletes: bool


def create_relation(
    connection: Any,
    name: str,
    table: LiveTable,
    objects: TableObjects,
    *,
    max_rows: int | None = None,
) -> None:
    """Creates the view `name` of the rows of a table; of at least the first `max_rows` if they are
    given. Raises Invalid, with the reason, for files that cannot be read as the table says, and
    what opening them raises.
    """
    require_distinct(table.columns)
    files = table.files
    if max_rows is not None and not table.equality_deletes:
        files = list(_first_files(files, max_rows))
    _Relation(connection, name, table, objects).create(files)


def create_counted_relation(connection: Any, name: str, table: LiveTable) -> bool:
    """Creates the view `name` with as many rows as a table has, whose columns are null, if the
    metadata say how many there are; returns whether they do.
    """
    counts = [_live_count(file) for file in table.files]
    if table.equality_deletes or None in counts:
        return False
    require_distinct(table.columns)
    columns = typed_nulls(table.columns, [column.name for column in table.columns])
    select = f"SELECT {columns} FROM range({sum(filter(None, counts))})"  # noqa: S608  quoted names
    connection.execute(f"CREATE OR REPLACE VIEW {identifier(name)} AS {select}")
    return True


def _live_count(file: LiveFile) -> int | None:
    if file.rows is None or file.position_deletes:
        return None
    return file.rows - (file.vector.rows if file.vector else 0)


def typed_nulls(columns: Sequence[Column], names: Sequence[str]) -> str:
    """Returns the list of a SELECT of null as each column, under other names."""
    pairs = zip(columns, names, strict=True)
    nulls = (f"CAST(NULL AS {sql_type(each.type)}) AS {identifier(name)}" for each, name in pairs)
    return ", ".join(nulls) or "NULL"


def _first_files(files: Iterable[LiveFile], max_rows: int) -> Iterator[LiveFile]:
    """Yields the first files, until they have as many rows for certain."""
    count = 0
    for file in files:
        if count >= max_rows:
            return
        yield file
        if file.rows is not None and not file.position_deletes:
            count += file.rows - (file.vector.rows if file.vector else 0)


class _Relation:
    def __init__(self, connection: Any, name: str, table: LiveTable, objects: TableObjects) -> None:
        self._connection = connection
        self._name = name
        self._table = table
        self._objects = objects
        self._projection = Projection(table.columns, by_id=table.by_id)
        self._values = DeletedValues(connection, name, table, objects, self._projection)

    def create(self, files: Sequence[LiveFile]) -> None:
        """Creates the view."""
        forms = [self._form(file) for file in files]
        groups = self._groups(files, forms, None)
        values = None
        if len(groups) > MAX_SELECTS and self._table.values_first:
            names = self._table.partition_columns
            columns = [each for each in self._table.columns if each.name in names]
            values = FileValues(self._connection, self._name, columns)
            groups = self._groups(files, forms, values)
        positions = DeletedPositions(self._connection, self._name, self._objects)
        number = 0
        selects = []
        for group, members in groups.items():
            selects.append(self._select(group, [file for file, _ in members], number, values))
            if group.has_deletes:
                positions.insert(members, number)
            number += len(members)
        if values is not None:
            values.create(file for members in groups.values() for file, _ in members)
        view = " UNION ALL ".join(selects) or self._empty()
        self._connection.execute(f"CREATE OR REPLACE VIEW {identifier(self._name)} AS {view}")

    def _form(self, file: LiveFile) -> FileForm:
        with open_table_file(self._objects, file.path) as stream:
            form = read_form(file.path, stream, self._table.name_mapping)
        if self._table.by_id and form.fields and not form.has_ids:
            raise unreadable(f"the columns of {file.path} have no ids, by which they are known")
        return form

    def _groups(
        self, files: Sequence[LiveFile], forms: Sequence[FileForm], values: FileValues | None
    ) -> dict[_Group, list[tuple[LiveFile, int]]]:
        """Returns files by how they are read, with their numbers of rows."""
        groups: dict[_Group, list[tuple[LiveFile, int]]] = {}
        for file, form in zip(files, forms, strict=True):
            groups.setdefault(self._group(file, form, values), []).append((file, form.rows))
        return groups

    def _empty(self) -> str:
        columns = self._table.columns
        return f"SELECT {typed_nulls(columns, [each.name for each in columns])} LIMIT 0"

    def _group(self, file: LiveFile, form: FileForm, values: FileValues | None) -> _Group:
        constants = file.values if values is None else values.references()
        fallbacks: Mapping[str, str] = {}
        if not self._table.values_first:
            constants, fallbacks = {}, file.values
        select = self._projection.select(form.fields, constants, fallbacks)
        has_deletes = file.has_deletes()
        if has_deletes or values is not None:
            for field in form.fields:
                if field.name.lower() in VIRTUAL_COLUMNS:
                    raise unreadable(
                        f"{file.path} has a column called {field.name!r}, which is not told from "
                        "the number of a row or file"
                    )
        return _Group(form.fields, select, self._values.conditions(file, form), has_deletes)

    def _select(
        self, group: _Group, files: Sequence[LiveFile], number: int, values: FileValues | None
    ) -> str:
        locations = ", ".join(literal(self._objects.location(file.path)) for file in files)
        source = f"{READ_PARQUET}([{locations}], hive_partitioning = false) {SOURCE}"
        if values is not None:
            source += values.join(number)
        conditions = list(group.conditions)
        if group.has_deletes:
            conditions.append(DeletedPositions.condition(self._name, number))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {group.select} FROM {source}{where}"  # noqa: S608  quoted names
