"""What is the same for all formats: SQL of texts, and errors for files that cannot be used."""

from __future__ import annotations

import re
from collections.abc import Sequence

from anabranch.errors import Conflict
from anabranch.errors.dependency_errors import reason_of
from anabranch.tables.sql_names import literal
from anabranch.tables.table import Note, UnreadableTable
from anabranch.versioning.strategies.contract import ObjectVersion

__all__ = [
    "PIECE_BYTES",
    "failure",
    "file_literal",
    "require_exact",
    "unreadable",
    "unreadable_table",
]

PIECE_BYTES = 1 << 20

_WILDCARD = re.compile(r"[*?\[]")


def file_literal(version: ObjectVersion) -> str:
    """Returns the path of a file as SQL. DuckDB takes paths for patterns."""
    return literal(_WILDCARD.sub(r"[\g<0>]", version.path()))


def unreadable(side: str, name: str, error: Exception) -> Conflict:
    """Returns the error for a file that cannot be read."""
    reason = reason_of(error).splitlines()[0]
    return failure(f"the {side} cannot be read as {name}: {reason}")


def unreadable_table(side: str, error: UnreadableTable) -> Conflict:
    """Returns the error for a file that is no table: a sentence about "it", or about a part."""
    message = error.message
    is_about_it = message.startswith("it ")
    return failure(f"the {side} {message[3:]}" if is_about_it else f"in the {side}, {message}")


def require_exact(side: str, notes: Sequence[Note]) -> None:
    """Raises Conflict for rows and values that previews show otherwise than they are."""
    for note in notes:
        if note.changes_rows or note.inexact_column:
            raise failure(f"the {side} is not regular: {note.text}")


def failure(reason: str, hint: str = "Choose a side for this path.") -> Conflict:
    """Returns the error for tables that cannot be compared or merged."""
    return Conflict(reason, kind="merge_failed", hint=hint)
