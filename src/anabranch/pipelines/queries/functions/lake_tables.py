"""Tables of Delta Lake and Iceberg in SQL: `delta_table('lakefs://repository/ref/folder')`.

The metadata are read in the query process. All files that they name are opened as the objects of a
query are: by the server, for the user, at the reference of the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from anabranch.errors import Invalid
from anabranch.model.uri import LakeUri, parse_uri
from anabranch.pipelines.queries.functions.table_functions import TableFunction
from anabranch.pipelines.queries.object_filesystem import ObjectFilesystem, location_of
from anabranch.tables.iceberg.snapshot import IcebergSnapshot
from anabranch.tables.lake_table import DeltaLakeTable, LakeTable
from anabranch.tables.live_rows.addresses import TablePlace

__all__ = ["QueryObjects", "lake_tables", "open_lake_table"]


def lake_tables(objects: ObjectFilesystem) -> list[TableFunction]:
    """Returns the functions for tables in `objects`."""

    def delta(address: str, version: str) -> LakeTable:
        found, place = open_lake_table(objects, address)
        return DeltaLakeTable(found, place, _number("version", version))

    def iceberg(address: str, snapshot: str) -> LakeTable:
        found, place = open_lake_table(objects, address)
        is_number = snapshot.isascii() and snapshot.isdigit()
        wanted = int(snapshot) if is_number else snapshot or None
        return IcebergSnapshot(found, place, wanted)

    return [
        TableFunction("delta_table", ("address",), delta, ("version",)),
        TableFunction("iceberg_table", ("address",), iceberg, ("snapshot",)),
    ]


def open_lake_table(objects: ObjectFilesystem, address: str) -> tuple[QueryObjects, TablePlace]:
    """Returns the objects at the reference of a table's address, and the place of the table. Raises
    Invalid for a malformed address.
    """
    uri = parse_uri(address)
    if not uri.ref:
        raise Invalid(
            f"{address} is no table",
            kind="invalid_uri",
            hint="Write the table's folder: lakefs://repository/ref/folder.",
        )
    folder = uri.key.rstrip("/")
    place = TablePlace(uri.repository, f"{folder}/" if folder else "")
    return QueryObjects(objects, f"{LakeUri(uri.repository, uri.ref)}/"), place


def _number(name: str, text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise Invalid(f"the {name} {text!r} is no number", kind="query_failed")
    return int(text)


class QueryObjects:
    """The objects at one reference; `root` is its address, with a slash at its end."""

    def __init__(self, objects: ObjectFilesystem, root: str) -> None:
        self._objects = objects
        self._root = root

    def list(self, prefix: str) -> Iterator[str]:
        """Yields the paths that begin with a prefix."""
        for address in self._objects.list_paths(self._root + prefix):
            yield address.removeprefix(self._root)

    def open(self, path: str) -> BinaryIO:
        """Returns a stream of an object. Raises FileNotFoundError without one, OSError for one that
        the user may not read.
        """
        return self._objects.open(self._root + path)

    def location(self, path: str) -> str:
        """Returns the location of an object, which the server takes for itself before it takes it
        for a pattern.
        """
        return location_of(self._root + path)
