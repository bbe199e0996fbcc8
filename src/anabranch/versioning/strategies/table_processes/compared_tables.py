"""Differences between two versions of a table of many files, row by row.

The live rows of both versions are compared as two Parquet files. A file that both versions have,
with the same bytes, deletes and columns, has the same rows in both and is not read: so the cost
follows the difference.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

from anabranch.model.commits.row_difference import RowDifferencePage
from anabranch.tables.folder_tables import find_format, read_table
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.live_rows.live_table import LiveFile, LiveTable
from anabranch.tables.live_rows.relation import LiveRows, create_relation
from anabranch.tables.live_rows.table_objects import local_location
from anabranch.tables.sql_names import literal
from anabranch.versioning.strategies.called_conflict import Caller
from anabranch.versioning.strategies.rows.database import open_database
from anabranch.versioning.strategies.rows.differences import row_differences
from anabranch.versioning.strategies.table_processes.messages import FileVersion, FolderComparison

__all__ = ["SIDES", "compare_tables"]

SIDES = ("left", "right")
_RELATION = "live"
_PARQUET = "application/vnd.apache.parquet"


def compare_tables(caller: Caller, task: FolderComparison) -> RowDifferencePage | None:
    """Returns a page of the rows that differ between the two versions of a table; None if there is
    none. A version that does not exist has no rows. Raises as `row_differences`, and Invalid (kind
    unreadable_table).
    """
    place = TablePlace(task.repository, f"{task.folder}/")
    sides = {side: _SideObjects(caller, side) for side in SIDES}
    formats = {side: find_format(objects, place) for side, objects in sides.items()}
    if not any(formats.values()):
        return None
    tables = {
        side: LiveRows(read_table(sides[side], place, found), sides[side])
        for side, found in formats.items()
        if found is not None
    }
    matching = task.matching
    with tempfile.TemporaryDirectory(dir=task.work_folder) as folder:
        files = _write_changed(_without_common_files(tables, sides), folder)
        return row_differences(
            f"{task.folder}.parquet",
            files.get("left"),
            files.get("right"),
            key=matching.key,
            whole_rows=matching.whole_rows,
            after=matching.after,
            amount=matching.amount,
            folder=folder,
        )


class _SideObjects:
    """The objects of one side (`TableObjects`), read by calls."""

    def __init__(self, caller: Caller, side: str) -> None:
        self._caller = caller
        self._side = side
        self._files: dict[str, str] = {}

    def list(self, prefix: str) -> Iterator[str]:
        """Yields the paths that begin with a prefix."""
        yield from self._caller.call("list", side=self._side, prefix=prefix)

    def open(self, path: str) -> BinaryIO:
        """Returns a stream of an object. Raises FileNotFoundError without one."""
        return Path(self._file(path)).open("rb")

    def location(self, path: str) -> str:
        """Returns the name by which DuckDB opens an object. Raises as `open` does."""
        return local_location(self._file(path))

    def identity(self, path: str) -> tuple[str, ...]:
        """Returns what is the same for objects with the same bytes and path."""
        return tuple(self._caller.call("identity", side=self._side, path=path))

    def _file(self, path: str) -> str:
        if path not in self._files:
            file = self._caller.call("file", side=self._side, path=path)
            if file is None:
                raise FileNotFoundError(path)
            self._files[path] = file
        return self._files[path]


def _without_common_files(
    tables: Mapping[str, LiveRows], sides: Mapping[str, _SideObjects]
) -> dict[str, LiveRows]:
    """Returns tables without the files that have the same rows in both."""
    if len(tables) < len(SIDES):
        return dict(tables)
    left, right = (tables[side].table for side in SIDES)
    if _form(left) != _form(right):
        return dict(tables)
    common = {file.path for file in left.files} & {file.path for file in right.files}
    identities = {
        side: {
            file.path: _identity(tables[side].table, file, sides[side])
            for file in tables[side].table.files
            if file.path in common
        }
        for side in SIDES
    }
    same = {path for path in common if identities["left"][path] == identities["right"][path]}
    return {
        side: LiveRows(
            msgspec.structs.replace(
                rows.table, files=[file for file in rows.table.files if file.path not in same]
            ),
            rows.objects,
        )
        for side, rows in tables.items()
    }


def _form(table: LiveTable) -> tuple[object, ...]:
    """Returns what decides how files are read."""
    return (table.columns, table.by_id, table.values_first, table.name_mapping)


def _identity(table: LiveTable, file: LiveFile, objects: _SideObjects) -> tuple[object, ...]:
    """Returns what decides which rows a file has: its bytes, and those of the deletes."""
    vector = file.vector
    deletes = [each.path for each in file.position_deletes]
    deletes += [
        each.path
        for each in table.equality_deletes
        if each.sequence_number > file.sequence_number and each.scope in ("", file.scope)
    ]
    if vector is not None and vector.path:
        deletes.append(vector.path)
    return (
        tuple(objects.identity(path) for path in (file.path, *sorted(deletes))),
        sorted(file.values.items()),
        vector,
    )


def _write_changed(tables: Mapping[str, LiveRows], folder: str) -> dict[str, FileVersion]:
    """Writes the rows of tables as Parquet files."""
    written = {}
    for side, rows in tables.items():
        path = Path(folder) / f"{side}.parquet"
        with open_database(folder) as connection:
            create_relation(connection, _RELATION, rows.table, rows.objects)
            connection.execute(f"COPY {_RELATION} TO {literal(str(path))} (FORMAT parquet)")
        written[side] = FileVersion(str(path), path.stat().st_size, _PARQUET, {})
    return written
