"""What every table in a file has, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from anabranch.tables.byte_forms import ByteForm

__all__ = ["ColumnTable", "batch_rows", "read_all"]

_MAX_BATCH_ROWS = 65_536
_MIN_BATCH_ROWS = 1024
_BATCH_CELLS = 1 << 21


class ColumnTable(Protocol):
    """A table in a file, which Arrow reads by columns, and in pieces that can be skipped."""

    @property
    def schema(self) -> Any:
        """The Arrow schema of the file."""

    @property
    def byte_forms(self) -> Mapping[str, ByteForm]:
        """The columns of bytes that are shown in another form."""

    @property
    def pieces(self) -> Sequence[int]:
        """The numbers of rows of the pieces."""

    def read(self, piece: int, names: Sequence[str]) -> Iterator[Any]:
        """Yields record batches of some columns of a piece, in this order. Raises what Arrow does
        for a file that is damaged.
        """


def batch_rows(columns: int) -> int:
    """Returns how many rows a batch of so many columns should have."""
    return max(_MIN_BATCH_ROWS, min(_MAX_BATCH_ROWS, _BATCH_CELLS // max(columns, 1)))


def read_all(table: ColumnTable, names: Sequence[str]) -> Iterator[Any]:
    """Yields record batches of some columns of all rows."""
    for piece in range(len(table.pieces)):
        yield from table.read(piece, names)
