"""Tables that are not columns of a file: JSON lines in the database, and versions without rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from anabranch.tables.byte_forms import ByteForm
from anabranch.tables.sql_names import quoted
from anabranch.tables.table import Note
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.json_lines.table import JsonLinesTable
from anabranch.versioning.strategies.rows.loaded_sides import LoadedSides

__all__ = ["EmptyTable", "create_empty", "load_lines"]


def load_lines(
    connection: Any,
    file_format: JsonLinesTable,
    versions: Mapping[str, ObjectVersion],
    key: Sequence[str],
) -> LoadedSides:
    """Makes tables of files of JSON lines, with the columns `key`, or those that may be a key if it
    is empty. Raises Conflict (kind merge_failed).
    """
    known = list(key) or file_format.possible_keys(versions)
    for side, version in versions.items():
        file_format.load(connection, side, version, known)
    return LoadedSides(
        connection, {side: quoted(side) for side in versions}, dict.fromkeys(versions, known)
    )


def create_empty(connection: Any, name: str, like: str) -> None:
    """Creates a table without rows, for a version that does not exist, like another."""
    query = f"SELECT * FROM {quoted(like)} LIMIT 0"  # noqa: S608  names of tables
    connection.execute(f"CREATE TABLE {quoted(name)} AS {query}")


class EmptyTable:
    """A table without rows, with some columns of a schema."""

    notes: Sequence[Note] = ()
    pieces: Sequence[int] = ()
    byte_forms: Mapping[int, ByteForm] = MappingProxyType({})

    def __init__(self, schema: Any, names: Sequence[str]) -> None:
        import pyarrow as pa  # noqa: PLC0415  an optional library

        self.schema = pa.schema([schema.field(name) for name in names])

    def count_rows(self) -> int:
        """Returns 0."""
        return 0

    def read(self, piece: int, columns: Sequence[int]) -> Iterator[Any]:  # noqa: ARG002
        """Yields nothing."""
        yield from ()

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:  # noqa: ARG002
        """Yields nothing."""
        yield from ()
