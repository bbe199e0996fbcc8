"""The objects of a folder of this machine, as readers of table metadata see a repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa

from anabranch.tables.live_rows.live_table import LiveTable
from anabranch.tables.live_rows.relation import create_relation
from anabranch.tables.live_rows.table_objects import local_location

__all__ = ["FolderObjects", "live_rows"]


class FolderObjects:
    """The files below a folder. `opened` are the paths of those that were opened."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.opened: list[str] = []

    def list(self, prefix: str) -> Iterator[str]:
        """Yields the paths that begin with a prefix."""
        files = (path for path in self._folder.rglob("*") if path.is_file())
        names = sorted(path.relative_to(self._folder).as_posix() for path in files)
        return (name for name in names if name.startswith(prefix))

    def open(self, path: str) -> BinaryIO:
        """Opens a file."""
        self.opened.append(path)
        return (self._folder / path).open("rb")

    def location(self, path: str) -> str:
        """Returns the name by which DuckDB opens a file."""
        return local_location(str((self._folder / path).resolve(strict=True)))


def live_rows(table: LiveTable, objects: FolderObjects, **options: Any) -> pa.Table:
    """Returns the rows of a table."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'America/New_York'")  # it must make no difference
        create_relation(connection, "rows", table, objects, **options)
        connection.execute("SET TimeZone = 'UTC'")
        return connection.execute("FROM rows").to_arrow_table()
