"""What every table in a file has, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from anabranch.tables.byte_forms import ByteForm

__all__ = ["ColumnTable", "read_all"]


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


def read_all(table: ColumnTable, names: Sequence[str]) -> Iterator[Any]:
    """Yields record batches of some columns of all rows."""
    for piece in range(len(table.pieces)):
        yield from table.read(piece, names)
