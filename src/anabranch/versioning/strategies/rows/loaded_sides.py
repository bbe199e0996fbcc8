"""The versions of a table as DuckDB sees them, by side; and those that are tables in the database.

The others are files: `scanned_sides.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from anabranch.tables.sql_names import identifier
from anabranch.versioning.strategies.rows.columns import ROW

__all__ = ["LoadedSides", "Sides"]


class Sides(Protocol):
    """The tables of a comparison or a merge."""

    @property
    def names(self) -> Mapping[str, Sequence[str]]:
        """The names of the columns of each side."""

    def table(self, side: str) -> str:
        """Returns the name of a side's table as SQL."""

    def execute(
        self, query: str, names: Sequence[str], *, rows: int | None = None, only: str = ""
    ) -> list[Any]:
        """Runs SQL over the tables with these columns, and ROW, and returns its rows. Each table
        may occur once; `only` is the side of a query of one. `rows` may leave out all but the first
        rows. Raises Conflict for a file that cannot be read.
        """

    def may_identify(self, name: str) -> bool:
        """Returns whether the type of a column is one of keys: no fraction, and not nested."""

    def text(self, name: str) -> str:
        """Returns a column as SQL text, by which numbers can be told from others."""

    def key_text(self, side: str, key: Sequence[str], row: int) -> str:
        """Returns the key of a row for a message."""

    def is_surely_unique(self, side: str, name: str) -> bool:
        """Returns True if a column has no null and no value twice, False if that is not known. It
        costs less than a query.
        """

    def load(self, names: Sequence[str]) -> LoadedSides:
        """Returns tables in the database with these columns."""


class LoadedSides:
    """Tables of the database: `tables` are their names as SQL, `names` their columns."""

    def __init__(
        self,
        connection: Any,
        tables: Mapping[str, str],
        names: Mapping[str, Sequence[str]],
        texts: Mapping[str, str] | None = None,
    ) -> None:
        self._connection = connection
        self._tables = tables
        self._texts = texts or {}
        self.names = names

    def table(self, side: str) -> str:
        """Returns the name of a side's table as SQL."""
        return self._tables[side]

    def execute(
        self,
        query: str,
        names: Sequence[str],  # noqa: ARG002
        *,
        rows: int | None = None,  # noqa: ARG002
        only: str = "",  # noqa: ARG002
    ) -> list[Any]:
        """Runs SQL, and returns its rows."""
        found: list[Any] = self._connection.execute(query).fetchall()
        return found

    def may_identify(self, name: str) -> bool:  # noqa: ARG002  the values tell
        """Returns True: all columns are texts, or were chosen before."""
        return True

    def text(self, name: str) -> str:
        """Returns a column as SQL text."""
        return self._texts.get(name, f"{identifier(name)}::VARCHAR")

    def key_text(self, side: str, key: Sequence[str], row: int) -> str:
        """Returns the key of a row for a message."""
        listed = ", ".join(map(identifier, key))
        query = f"SELECT {listed} FROM {self.table(side)} WHERE {identifier(ROW)} = {row}"  # noqa: S608
        values = self._connection.execute(query).fetchone()
        return ", ".join(f"{name}={value}" for name, value in zip(key, values, strict=True))

    def is_surely_unique(self, side: str, name: str) -> bool:  # noqa: ARG002  not known
        """Returns False."""
        return False

    def load(self, names: Sequence[str]) -> LoadedSides:  # noqa: ARG002  they are
        """Returns these tables."""
        return self
