"""What every open table has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import msgspec

from anabranch.dependency_errors import reason_of
from anabranch.errors import Invalid

__all__ = ["Note", "Table", "UnreadableTable", "batch_rows", "unreadable"]

_MAX_BATCH_ROWS = 65_536
_MIN_BATCH_ROWS = 256
_BATCH_CELLS = 1 << 20
_MAX_REASON_CHARS = 300


class UnreadableTable(Invalid):
    """A file cannot be read as a table; the message is one sentence for users."""

    kind = "unreadable_file"


class Note(msgspec.Struct, frozen=True):
    """A sentence about how a file was read. `is_usual` if the format lets expect it, as UTF-8;
    `is_repair` if rows do not fit the table, and were read nevertheless;
    `changes_rows` if they are not the rows of the file by that: cells were added or left out.
    """

    text: str
    is_usual: bool = False
    is_repair: bool = False
    changes_rows: bool = False


class Table(Protocol):
    """An open table. Names of columns are those of the file: they may be empty or repeated."""

    @property
    def schema(self) -> Any:
        """The file's own schema, of pyarrow."""

    @property
    def notes(self) -> Sequence[Note]:
        """How the file was read; complete when its rows have been read."""

    def count_rows(self) -> int:
        """Returns the number of rows. Raises UnreadableTable."""

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields record batches in order of the rows: the columns at these positions, in this
        order, or all. Each call begins with the first row. Raises UnreadableTable.
        """


def batch_rows(columns: int) -> int:
    """Returns how many rows a batch of so many columns has."""
    return max(_MIN_BATCH_ROWS, min(_MAX_BATCH_ROWS, _BATCH_CELLS // max(columns, 1)))


def unreadable(title: str, error: Exception) -> UnreadableTable:
    """Returns the error for a file that a library cannot read as a format."""
    if isinstance(error, UnreadableTable):
        return error
    reason = (reason_of(error).splitlines() or [""])[0][:_MAX_REASON_CHARS]
    return UnreadableTable(f"it cannot be read as {title}: {reason}")
