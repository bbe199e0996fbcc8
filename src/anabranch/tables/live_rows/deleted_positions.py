"""The positions of deleted rows, as a table in DuckDB beside the relation of a table's rows.

A position is a number of a row in a file; files are numbered over all of the relation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.tables.live_rows.deletion_vectors import framed_vector, positions
from anabranch.tables.live_rows.file_fields import read_form
from anabranch.tables.live_rows.live_table import LiveFile, PositionDeletes, VectorPlace
from anabranch.tables.live_rows.projection import SOURCE
from anabranch.tables.live_rows.refusals import unreadable
from anabranch.tables.live_rows.table_objects import TableObjects, open_table_file
from anabranch.tables.sql_names import READ_PARQUET, identifier, literal

__all__ = ["MAX_DELETED_ROWS", "VIRTUAL_COLUMNS", "DeletedPositions"]

MAX_DELETED_ROWS = 100_000_000
"""The most deleted rows that the files of a table may have."""

VIRTUAL_COLUMNS = frozenset(("file_row_number", "file_index"))
"""The names of DuckDB's columns for the position of a row and the file in its list."""

_MAX_VECTOR_BYTES = 256 << 20
_CHUNK_ROWS = 1_000_000
_PATH_ID, _POSITION_ID = 2147483546, 2147483545
"""The ids of the columns of Iceberg's files of position deletes."""


class DeletedPositions:
    """The table for the relation `name`. It is created with the first position."""

    def __init__(self, connection: Any, name: str, objects: TableObjects) -> None:
        self._connection = connection
        self._table = _table_name(name)
        self._objects = objects
        self._exists = False
        self._count = 0

    @staticmethod
    def condition(name: str, number: int) -> str:
        """Returns SQL that is true for rows that are not deleted, of files that are numbered from
        `number` on.
        """
        return (
            f"NOT EXISTS (SELECT 1 FROM {identifier(_table_name(name))} deleted WHERE "  # noqa: S608
            f"deleted.file = {SOURCE}.file_index + {number} AND "
            f"deleted.position = {SOURCE}.file_row_number)"
        )

    def insert(self, members: Sequence[tuple[LiveFile, int]], number: int) -> None:
        """Inserts the positions of files, which are given with their numbers of rows and numbered
        from `number` on. Raises Invalid for damaged ones.
        """
        if not self._exists:
            self._exists = True
            table = identifier(self._table)
            self._connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {table} (file BIGINT, position BIGINT)"
            )
        listed: dict[PositionDeletes, dict[str, int]] = {}
        for index, (file, rows) in enumerate(members, number):
            if file.vector is not None:  # other deletes do not count for a file with a vector
                self._insert_vector(file.path, file.vector, rows, index)
                continue
            for deletes in file.position_deletes:
                listed.setdefault(deletes, {})[file.address] = index
        for deletes, numbers in listed.items():
            self._insert_listed(deletes, numbers)

    def _insert_vector(self, path: str, place: VectorPlace, rows: int, index: int) -> None:
        import numpy as np  # noqa: PLC0415  optional libraries
        import pyarrow as pa  # noqa: PLC0415

        chunks: list[Any] = []
        size = 0

        def flush() -> None:
            if chunks:
                table = pa.table({"position": np.concatenate(chunks)})
                self._insert(f"SELECT {index}, position FROM given", table)  # noqa: S608  a number
                chunks.clear()

        for found in positions(self._vector(path, place), rows):
            chunks.append(found)
            size += len(found)
            if size >= _CHUNK_ROWS:
                self._add(size)
                flush()
                size = 0
        self._add(size)
        flush()

    def _vector(self, path: str, place: VectorPlace) -> bytes:
        if not place.path:
            return place.inline
        if place.length > _MAX_VECTOR_BYTES:
            raise unreadable(f"the deletion vector of {path} is too large")
        with open_table_file(self._objects, place.path) as stream:
            stream.seek(place.offset)
            return framed_vector(stream.read(place.length))

    def _insert_listed(self, deletes: PositionDeletes, numbers: Mapping[str, int]) -> None:
        """Inserts the positions of some files from a file of position deletes."""
        import pyarrow as pa  # noqa: PLC0415

        with open_table_file(self._objects, deletes.path) as stream:
            form = read_form(deletes.path, stream)
        self._add(form.rows)
        names = {field.field_id: field.name for field in form.fields}
        path = names.get(_PATH_ID, "file_path")
        position = names.get(_POSITION_ID, "pos")
        location = literal(self._objects.location(deletes.path))
        given = pa.table({"path": list(numbers), "number": list(numbers.values())})
        self._insert(
            f"SELECT given.number, listed.{identifier(position)} "  # noqa: S608
            f"FROM {READ_PARQUET}([{location}], hive_partitioning = false) listed "
            f"JOIN given ON given.path = listed.{identifier(path)}",
            given,
        )

    def _insert(self, select: str, given: Any) -> None:
        """Inserts the result of a query over an Arrow table `given`."""
        self._connection.register("given", given)
        self._connection.execute(f"INSERT INTO {identifier(self._table)} {select}")
        self._connection.unregister("given")

    def _add(self, rows: int) -> None:
        self._count += rows
        if self._count > MAX_DELETED_ROWS:
            raise unreadable(
                f"the files of the table have more than {MAX_DELETED_ROWS:,} deleted rows",
                "Compact the table.",
            )


def _table_name(name: str) -> str:
    return f"{name} deleted positions"
