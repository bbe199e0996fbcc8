"""Tables that are not columns of a file: JSON lines in the database, and versions without rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from anabranch.tables.byte_forms import ByteForm
from anabranch.tables.sql_names import identifier
from anabranch.tables.table import Note
from anabranch.tables.text.encoding import TextEncoding, Utf8Text
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.delimited.encodings import read_encoding
from anabranch.versioning.strategies.rows.json_lines.table import JsonLinesTable
from anabranch.versioning.strategies.rows.loaded_sides import LoadedSides

__all__ = ["EmptyTable", "create_empty", "decode_lines", "load_lines"]

_UTF8 = TextEncoding("utf-8", "UTF-8")


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
        connection, {side: identifier(side) for side in versions}, dict.fromkeys(versions, known)
    )


def decode_lines(
    versions: Mapping[str, ObjectVersion], folder: str
) -> tuple[dict[str, ObjectVersion], dict[str, TextEncoding]]:
    """Returns files of JSON lines in UTF-8, and their encodings: temporary files for UTF-16 and
    UTF-32, else the versions themselves. Raises Conflict (kind merge_failed) for damaged text.
    """
    decoded, encodings = {}, {}
    for side, version in versions.items():
        with version.open() as stream:
            encoding = Utf8Text(stream).encoding
        decoded[side], encodings[side] = version, _UTF8
        if encoding.codec not in ("ascii", "utf-8"):
            decoded[side], encodings[side] = read_encoding(side, version, folder)
    return decoded, encodings


def create_empty(connection: Any, name: str, like: str) -> None:
    """Creates a table without rows, for a version that does not exist, like another."""
    query = f"SELECT * FROM {identifier(like)} LIMIT 0"  # noqa: S608  names of tables
    connection.execute(f"CREATE TABLE {identifier(name)} AS {query}")


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
