"""What every open table has, whatever its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from anabranch.errors import Invalid
from anabranch.errors.dependency_errors import reason_of
from anabranch.tables.byte_forms import ByteForm

__all__ = [
    "Note",
    "Table",
    "UndividedTable",
    "UnreadableTable",
    "batch_rows",
    "places",
    "read_columns",
    "unreadable",
]

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
    `changes_rows` if they are not the rows of the file by that: cells were added or left out;
    `inexact_column` is a column some of whose values are not those of the file.
    """

    text: str
    is_usual: bool = False
    is_repair: bool = False
    changes_rows: bool = False
    inexact_column: str = ""


class Table(Protocol):
    """An open table with the values of the file. Columns have places, because their names are those
    of the file: they may be empty or repeated. Rows are in pieces, which are read apart.
    """

    @property
    def schema(self) -> Any:
        """The file's own schema, of pyarrow."""

    @property
    def notes(self) -> Sequence[Note]:
        """How the file was read; complete when its rows have been read."""

    @property
    def byte_forms(self) -> Mapping[int, ByteForm]:
        """The places of columns of bytes that are shown in another form."""

    @property
    def pieces(self) -> Sequence[int]:
        """The numbers of rows of the pieces, which may have to be read. Raises UnreadableTable."""

    def count_rows(self) -> int:
        """Returns the number of rows. Raises UnreadableTable."""

    def read(self, piece: int, columns: Sequence[int]) -> Iterator[Any]:
        """Yields the record batches of a piece: the columns at these places, in this order. Raises
        UnreadableTable.
        """

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields record batches in order of the rows: the columns at these places, in this
        order, or all. Each call begins with the first row. Raises UnreadableTable.
        """


class UndividedTable(ABC):
    """A table that is read from its beginning, in one piece."""

    byte_forms: Mapping[int, ByteForm] = MappingProxyType({})

    @cached_property
    def pieces(self) -> Sequence[int]:
        """The number of all rows."""
        return (self.count_rows(),)

    @abstractmethod
    def count_rows(self) -> int:
        """Returns the number of rows. Raises UnreadableTable."""

    @abstractmethod
    def batches(self, columns: Sequence[int] | None = None) -> Iterator[Any]:
        """Yields the rows. Raises UnreadableTable."""

    def read(self, piece: int, columns: Sequence[int]) -> Iterator[Any]:  # noqa: ARG002  there is one
        """Yields the rows."""
        return self.batches(columns)


def places(table: Table, names: Sequence[str]) -> list[int]:
    """Returns the places of columns whose names are not repeated."""
    return [table.schema.get_field_index(name) for name in names]


def read_columns(table: Table, names: Sequence[str]) -> Iterator[Any]:
    """Yields record batches of columns, as they are stored. Raises UnreadableTable."""
    at = places(table, names)
    for piece in range(len(table.pieces)):
        yield from table.read(piece, at)


def batch_rows(columns: int) -> int:
    """Returns how many rows a batch of so many columns has."""
    return max(_MIN_BATCH_ROWS, min(_MAX_BATCH_ROWS, _BATCH_CELLS // max(columns, 1)))


def unreadable(title: str, error: Exception) -> UnreadableTable:
    """Returns the error for a file that a library cannot read as a format."""
    if isinstance(error, UnreadableTable):
        return error
    reason = (reason_of(error).splitlines() or [""])[0][:_MAX_REASON_CHARS]
    return UnreadableTable(f"it cannot be read as {title}: {reason}")
