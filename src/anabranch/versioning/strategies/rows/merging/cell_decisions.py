"""What a merge decides about each row and cell, by comparisons in DuckDB.

The three tables are joined by key. A row that only the destination has is kept, or removed if the
source removed it unchanged; one that only the source has is added, or stays removed. In a row that
both have, a cell is taken from the source if only the source changed it. The cells that both
changed, and rows that one side removed and the other changed, are conflicts. null is compared with
null, and NaN with NaN, as equal.

Wide tables are compared by groups of columns: DuckDB holds the row numbers that belong together,
and the columns of a group at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from anabranch.tables.sql_names import identifier
from anabranch.versioning.strategies.rows.aligned_rows import are_aligned
from anabranch.versioning.strategies.rows.columns import ROW
from anabranch.versioning.strategies.rows.merging.pairs import Pairs, find_pairs
from anabranch.versioning.strategies.rows.scanned_sides import ScannedSides

__all__ = ["GROUP_COLUMNS", "CellDecisions", "Taken", "mask"]

GROUP_COLUMNS = 60
"""How many columns are compared at once: a bit each in an integer."""

_LETTERS = {"base": "b", "source": "s", "destination": "d"}


class Taken(msgspec.Struct, frozen=True):
    """The cells of a group of columns that come from the source: row numbers of the destination, in
    order, those of the source, and masks of the columns, all NumPy arrays.
    """

    names: Sequence[str]
    destination: Any
    source: Any
    masks: Any


def mask(conditions: Sequence[str]) -> str:
    """Returns conditions as the bits of an integer, as SQL."""
    bits = [
        f"(CASE WHEN {condition} THEN {1 << number} ELSE 0 END)::BIGINT"
        for number, condition in enumerate(conditions)
        if condition != "false"
    ]
    return " + ".join(bits) or "0::BIGINT"


class CellDecisions:
    """The decisions about the tables `base`, `source` and `destination`. `names` are the columns of
    the result.
    """

    def __init__(
        self, connection: Any, sides: ScannedSides, key: Sequence[str], names: Sequence[str]
    ) -> None:
        self._connection = connection
        self._sides = sides
        self._key = list(key)
        self._names = names
        here: Mapping[str, Sequence[str]] = sides.names
        self._has = {side: set(columns) for side, columns in here.items()}
        listed = dict.fromkeys((*here["destination"], *here["source"], *here["base"]))
        compared = [name for name in listed if name not in self._key]
        self.groups = [
            compared[start : start + GROUP_COLUMNS]
            for start in range(0, max(len(compared), 1), GROUP_COLUMNS)
        ]

    def decide(self) -> None:
        """Compares the tables. Raises Conflict for files that cannot be read."""
        self._connection.execute(
            "CREATE TABLE decided (g INTEGER, d BIGINT, s BIGINT, b BIGINT, "
            "taken BIGINT, clashing BIGINT, is_lost BOOLEAN)"
        )
        parts = find_pairs(self._connection, self._sides, self._key)
        parts = [part for part in parts if len(part["source"])]
        is_aligned = all(are_aligned(list(part.values())) for part in parts)
        if not is_aligned:
            self._create_pairs(parts)
        for number, group in enumerate(self.groups):
            if is_aligned:
                for part in parts:
                    self._sides.execute_aligned(self._compare(number, aligned=True), group, part)
            else:
                self._sides.execute(self._compare(number, aligned=False), group)

    def _create_pairs(self, parts: Sequence[Pairs]) -> None:
        """Makes the table `pairs`, with null where a table has no row."""
        import pyarrow as pa  # noqa: PLC0415  an optional library

        self._connection.execute("CREATE TABLE pairs (b BIGINT, s BIGINT, d BIGINT)")
        for part in parts:
            columns = [pa.array(part[side], mask=part[side] < 0) for side in _LETTERS]
            self._connection.register("found", pa.table(columns, list(_LETTERS.values())))
            self._connection.execute("INSERT INTO pairs SELECT b, s, d FROM found")
            self._connection.unregister("found")

    def _compare(self, number: int, *, aligned: bool) -> str:
        """Returns the query that decides about the columns of a group."""
        group = self.groups[number]
        if aligned:
            rows = "FROM aligned"
            numbers = {letter: identifier(side) for side, letter in _LETTERS.items()}
        else:
            row = identifier(ROW)
            numbers = {letter: f"p.{letter}" for letter in _LETTERS.values()}
            rows = "FROM pairs p " + " ".join(
                f"LEFT JOIN {side} {letter} ON p.{letter} = {letter}.{row}"
                for side, letter in _LETTERS.items()
            )
        rules = _Rules(self._has, self._names, numbers, is_aligned=aligned)
        listed = ", ".join(f"{numbers[letter]} AS {letter}" for letter in "dsb")
        both = f"{numbers['d']} IS NOT NULL AND {numbers['s']} IS NOT NULL"
        alone = f"NOT ({both})" if number == 0 else "false"
        return (
            f"INSERT INTO decided SELECT g, d, s, b, taken, clashing, is_lost FROM (SELECT "  # noqa: S608
            f"{number} AS g, {listed}, "
            f"CASE WHEN {both} THEN {mask(list(map(rules.is_taken, group)))} ELSE 0 END AS taken, "
            f"CASE WHEN {both} THEN {mask(list(map(rules.is_clashing, group)))} ELSE 0 END "
            f"AS clashing, {rules.is_lost(group)} AS is_lost, {alone} AS is_alone {rows}) "
            "WHERE taken <> 0 OR clashing <> 0 OR is_lost OR is_alone"
        )

    def lost_rows(self, amount: int) -> list[tuple[int | None, int | None, int | None]]:
        """Returns the row numbers of rows that one side removed and the other changed: those of the
        destination, the source and the base.
        """
        query = "SELECT DISTINCT d, s, b FROM decided WHERE is_lost ORDER BY ALL LIMIT ?"
        found: list[Any] = self._connection.execute(query, [amount]).fetchall()
        return found

    def clashing_cells(
        self, amount: int
    ) -> list[tuple[str, tuple[int | None, int | None, int | None]]]:
        """Returns the columns and row numbers of cells that both sides changed differently."""
        query = "SELECT g, bit_or(clashing) FROM decided WHERE clashing <> 0 GROUP BY g"
        masks = dict(self._connection.execute(query).fetchall())
        found: list[Any] = []
        for number, group in enumerate(self.groups):
            for bit, name in enumerate(group):
                if not masks.get(number, 0) >> bit & 1 or len(found) >= amount:
                    continue
                rows = self._connection.execute(
                    "SELECT d, s, b FROM decided WHERE g = ? AND (clashing >> ?) & 1 = 1 "
                    "ORDER BY ALL LIMIT ?",
                    [number, bit, amount - len(found)],
                ).fetchall()
                found += [(name, row) for row in rows]
        return found

    def removed(self) -> Any:
        """Returns the row numbers of the destination that the source removed, in order."""
        where = "g = 0 AND d IS NOT NULL AND s IS NULL AND b IS NOT NULL"
        return self._numbers(f"SELECT d FROM decided WHERE {where} ORDER BY d")[0]  # noqa: S608

    def added(self) -> Any:
        """Returns the row numbers of the source that only the source has, in order."""
        where = "g = 0 AND d IS NULL AND s IS NOT NULL AND b IS NULL"
        return self._numbers(f"SELECT s FROM decided WHERE {where} ORDER BY s")[0]  # noqa: S608

    def taken(self) -> list[Taken]:
        """Returns the cells that come from the source, of all groups that have any."""
        found = []
        for number, group in enumerate(self.groups):
            rows = self._numbers(
                f"SELECT d, s, taken FROM decided WHERE g = {number} AND taken <> 0 ORDER BY d"  # noqa: S608
            )
            if len(rows[0]):
                found.append(Taken(group, *rows))
        return found

    def _numbers(self, query: str) -> list[Any]:
        table = self._connection.execute(query).to_arrow_table()
        return [column.to_numpy() for column in table.columns]


class _Rules:
    """The rules of a merge as SQL. `numbers` are the row numbers of each table by its letter."""

    def __init__(
        self,
        has: Mapping[str, Collection[str]],
        names: Collection[str],
        numbers: Mapping[str, str],
        *,
        is_aligned: bool,
    ) -> None:
        self._has = has
        self._names = names
        self._numbers = numbers
        self._is_aligned = is_aligned

    def _at(self, side: str, name: str) -> str:
        """Returns a cell as SQL. A side that dropped the column is read as unchanged there."""
        if name not in self._has[side]:
            side = "base"
            if name not in self._has[side]:
                return "NULL"
        return (
            identifier(f"{side} {name}")
            if self._is_aligned
            else f"{_LETTERS[side]}.{identifier(name)}"
        )

    def _differ(self, one: str, other: str, name: str) -> str:
        return f"{self._at(one, name)} IS DISTINCT FROM {self._at(other, name)}"

    def is_taken(self, name: str) -> str:
        """Returns as SQL whether a cell of a row that both sides have comes from the source."""
        if name not in self._names or name not in self._has["source"]:
            return "false"
        if name not in self._has["destination"]:
            return "true"
        apart = self._differ("source", "destination", name)
        unchanged = f"NOT ({self._differ('destination', 'base', name)})"
        return f"{apart} AND {self._numbers['b']} IS NOT NULL AND {unchanged}"

    def is_clashing(self, name: str) -> str:
        """Returns as SQL whether both sides changed a cell of a row that both have differently."""
        in_base = f"{self._numbers['b']} IS NOT NULL"
        theirs, ours = (self._differ(side, "base", name) for side in ("source", "destination"))
        if name not in self._names:  # one side dropped it: no value of the other may be lost
            return f"{in_base} AND ({theirs} OR {ours})"
        has = [name in self._has[side] for side in ("source", "destination")]
        if name not in self._has["base"] and not all(has):
            return "false"  # one side added it
        apart = self._differ("source", "destination", name)
        return f"{apart} AND (NOT ({in_base}) OR ({theirs} AND {ours}))"

    def is_lost(self, group: Sequence[str]) -> str:
        """Returns as SQL whether one side removed a row, and the other changed a cell of it."""

        def changed(side: str) -> str:
            return " OR ".join(self._differ(side, "base", name) for name in group) or "false"

        d, s, b = (f"{self._numbers[letter]} IS NOT NULL" for letter in "dsb")
        return (
            f"({b} AND ((NOT ({s}) AND {d} AND ({changed('destination')})) OR "
            f"(NOT ({d}) AND {s} AND ({changed('source')}))))"
        )
