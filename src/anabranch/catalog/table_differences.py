"""Differences between two versions of a table of many files, row by row.

The live rows of both versions are compared as two Parquet files. A file that both versions have,
with the same bytes, deletes and columns, has the same rows in both and is not read: so the cost
follows the difference.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from anabranch import errors
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.table_objects import ResolvedObjects
from anabranch.errors import Invalid
from anabranch.model.repository import Repository
from anabranch.tables.folder_tables import find_format, read_table
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.live_rows.live_table import LiveFile, LiveTable
from anabranch.tables.live_rows.relation import LiveRows, create_relation
from anabranch.tables.sql_names import literal
from anabranch.versioning.core import Core
from anabranch.versioning.references import Resolved
from anabranch.versioning.strategies.rows.database import open_database, require_libraries
from anabranch.versioning.strategies.rows.differences import RowDifferencePage, row_differences
from anabranch.work_folders import WorkFolder

__all__ = ["TableDiffer"]

_SIDES = ("left", "right")
_RELATION = "live"


class TableDiffer:
    """Compares the rows of tables of Delta Lake and Iceberg."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks

    def compare(
        self,
        repository: Repository,
        folder: str,
        left: Resolved,
        right: Resolved,
        *,
        readable: ReadablePaths | None = None,
        key: Sequence[str] = (),
        whole_rows: bool = False,
        after: str = "",
        amount: int,
    ) -> RowDifferencePage | None:
        """Returns a page of the rows that differ between the table in a folder at two references;
        None if it is a table at neither. A version that does not exist has no rows. Rows are
        matched as by `row_differences`, among the rows of files that differ: a `key` that only rows
        of other files repeat is not found. Raises Invalid (kinds unreadable_table and
        not_comparable), NotSupported, Busy, Gone, and Denied for a file that is not `readable`.
        """
        place = TablePlace(repository.id, f"{folder.rstrip('/')}/")
        with WorkFolder("rows") as work, tempfile.TemporaryDirectory(dir=work) as temporary:
            sides = {
                side: ResolvedObjects(
                    *(self._core, self._blocks, repository, resolved, readable, temporary)
                )
                for side, resolved in zip(_SIDES, (left, right), strict=True)
            }
            formats = {side: find_format(objects, place) for side, objects in sides.items()}
            if not any(formats.values()):
                return None
            require_libraries("a comparison of rows")
            tables = {
                side: LiveRows(read_table(sides[side], place, found), sides[side])
                for side, found in formats.items()
                if found is not None
            }
            try:
                files = _write_changed(_without_common_files(tables, sides), temporary)
                return row_differences(
                    f"{folder}.parquet",
                    files.get("left"),
                    files.get("right"),
                    key=key,
                    whole_rows=whole_rows,
                    after=after,
                    amount=amount,
                    folder=temporary,
                )
            except errors.Conflict as error:
                raise Invalid(
                    error.message,
                    kind="not_comparable",
                    hint="Give the columns that identify a row as `key`.",
                ) from error


class _WrittenVersion:
    """A version of the table as a Parquet file of this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self._path.stat().st_size

    @property
    def content_type(self) -> str:
        """The media type."""
        return "application/vnd.apache.parquet"

    @property
    def metadata(self) -> Mapping[str, str]:
        """The user metadata: none."""
        return {}

    def open(self) -> BinaryIO:
        """Returns a stream of the bytes."""
        return self._path.open("rb")

    def path(self) -> str:
        """Returns the path of the file."""
        return str(self._path)


def _without_common_files(
    tables: Mapping[str, LiveRows], sides: Mapping[str, ResolvedObjects]
) -> dict[str, LiveRows]:
    """Returns tables without the files that have the same rows in both."""
    if len(tables) < len(_SIDES):
        return dict(tables)
    left, right = (tables[side].table for side in _SIDES)
    if _form(left) != _form(right):
        return dict(tables)
    common = {file.path for file in left.files} & {file.path for file in right.files}
    identities = {
        side: {
            file.path: _identity(tables[side].table, file, sides[side])
            for file in tables[side].table.files
            if file.path in common
        }
        for side in _SIDES
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


def _identity(table: LiveTable, file: LiveFile, objects: ResolvedObjects) -> tuple[object, ...]:
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
        tuple(_bytes_of(path, objects) for path in (file.path, *sorted(deletes))),
        sorted(file.values.items()),
        vector,
    )


def _bytes_of(path: str, objects: ResolvedObjects) -> tuple[str, ...]:
    entry = objects.entry(path)
    return (path,) if entry is None else (path, entry.address, entry.checksum)


def _write_changed(tables: Mapping[str, LiveRows], folder: str) -> dict[str, _WrittenVersion]:
    """Writes the rows of tables as Parquet files."""
    written = {}
    for side, rows in tables.items():
        path = Path(folder) / f"{side}.parquet"
        with open_database(folder) as connection:
            create_relation(connection, _RELATION, rows.table, rows.objects)
            connection.execute(f"COPY {_RELATION} TO {literal(str(path))} (FORMAT parquet)")
        written[side] = _WrittenVersion(path)
    return written
