"""The versions of a table in a database, with the key of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.columns import Columns, quoted
from anabranch.versioning.strategies.rows.json_lines_table import JsonLinesTable
from anabranch.versioning.strategies.rows.row_key import detect_key, require_unique
from anabranch.versioning.strategies.rows.table_format import ColumnFormat

__all__ = ["Tables", "create_empty", "load_columns", "load_tables"]


class Tables(NamedTuple):
    """The columns of each table by its name, and the columns that identify a row in all of them."""

    columns: dict[str, Columns]
    key: list[str]


def load_tables(
    connection: Any,
    file_format: ColumnFormat | JsonLinesTable,
    versions: Mapping[str, ObjectVersion],
    key: Sequence[str],
) -> Tables:
    """Makes the tables or views of files, which are given by the names of their tables. `key` is
    detected if it is empty; a column that it names twice counts once. Raises Conflict (kind
    merge_failed) for files that cannot be read, and without a key that is unique in each.
    """
    named = list(dict.fromkeys(key))
    columns = load_columns(connection, file_format, versions, named)
    found = named or detect_key(connection, columns)
    require_unique(connection, found, columns)
    return Tables(columns, found)


def load_columns(
    connection: Any,
    file_format: ColumnFormat | JsonLinesTable,
    versions: Mapping[str, ObjectVersion],
    key: Sequence[str],
) -> dict[str, Columns]:
    """Makes the tables or views of files, and returns their columns by side. Those of JSON lines
    are `key`, or those that may be a key if it is empty. Raises Conflict (kind merge_failed).
    """
    known = key
    if not known and isinstance(file_format, JsonLinesTable):
        known = file_format.possible_keys(versions)
    return {
        side: file_format.load(connection, side, version, known)
        for side, version in versions.items()
    }


def create_empty(connection: Any, name: str, like: str) -> None:
    """Creates a table without rows, for a version that does not exist, like another."""
    query = f"SELECT * FROM {quoted(like)} LIMIT 0"  # noqa: S608  names of tables
    connection.execute(f"CREATE TABLE {quoted(name)} AS {query}")
