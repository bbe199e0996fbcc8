"""What the merge of rows knows about a file format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, BinaryIO, Protocol

from anabranch.dependency_errors import reason_of
from anabranch.errors import Conflict
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.columns import ROW, Columns, quoted

__all__ = [
    "PIECE_BYTES",
    "ColumnFormat",
    "TableFormat",
    "columns_of",
    "file_literal",
    "literal",
    "unreadable",
]

PIECE_BYTES = 1 << 20

_WILDCARD = re.compile(r"[*?\[]")


class TableFormat(Protocol):
    """A file format."""

    def load(
        self, connection: Any, side: str, version: ObjectVersion, key: Sequence[str]
    ) -> Columns:
        """Makes the table or view `side` of a file, with row numbers, and returns its columns.
        `key` are the key columns, as far as they are known. Raises Conflict for a file that cannot
        be read.
        """


class ColumnFormat(TableFormat, Protocol):
    """A file format whose rows all have the same columns."""

    def write(
        self,
        connection: Any,
        query: str,
        columns: Columns,
        like: ObjectVersion,
        output: BinaryIO,
        folder: str,
    ) -> None:
        """Writes the result of a query to `output`, in the form of the file `like`. `folder` is for
        temporary files.
        """


def columns_of(connection: Any, side: str) -> Columns:
    """Returns the columns of a table or view."""
    described = connection.execute(f"DESCRIBE {quoted(side)}").fetchall()
    return {row[0]: row[1] for row in described if row[0] != ROW}


def literal(text: str) -> str:
    """Returns a text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def file_literal(version: ObjectVersion) -> str:
    """Returns the path of a file as SQL. DuckDB takes paths for patterns."""
    return literal(_WILDCARD.sub(r"[\g<0>]", version.path()))


def unreadable(side: str, name: str, error: Exception) -> Conflict:
    """Returns the error for a file that cannot be read."""
    reason = reason_of(error).splitlines()[0]
    return Conflict(
        f"the {side} cannot be read as {name}: {reason}",
        kind="merge_failed",
        hint="Choose a side for this path.",
    )
