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

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from anabranch.versioning.strategies.rows.columns import ROW, quoted
from anabranch.versioning.strategies.rows.sides import ScannedSides

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
        row = quoted(ROW)
        using = f"USING ({', '.join(map(quoted, self._key))})"
        joined = f"FROM destination d FULL JOIN source s {using} FULL JOIN base b {using}"
        numbers = f"d.{row} AS d, s.{row} AS s, b.{row} AS b"
        alone = f"d.{row} IS NULL OR s.{row} IS NULL"
        if len(self.groups) == 1:
            self._compare(0, numbers, joined, alone)
            return
        pairs = f"CREATE TABLE pairs AS SELECT d.{row} AS d, s.{row} AS s, b.{row} AS b {joined}"
        self._sides.execute(pairs, self._key)
        joined = "FROM pairs p " + " ".join(
            f"LEFT JOIN {side} {letter} ON p.{letter} = {letter}.{row}"
            for side, letter in _LETTERS.items()
        )
        for number in range(len(self.groups)):
            self._compare(number, "p.d, p.s, p.b", joined, alone if number == 0 else "false")

    def _compare(self, number: int, numbers: str, joined: str, alone: str) -> None:
        group = self.groups[number]
        row = quoted(ROW)
        both = f"d.{row} IS NOT NULL AND s.{row} IS NOT NULL"
        taken = mask([self._is_taken(name) for name in group])
        clashing = mask([self._is_clashing(name) for name in group])
        self._sides.execute(
            f"INSERT INTO decided SELECT g, d, s, b, taken, clashing, is_lost FROM (SELECT "  # noqa: S608
            f"{number} AS g, {numbers}, "
            f"CASE WHEN {both} THEN {taken} ELSE 0 END AS taken, "
            f"CASE WHEN {both} THEN {clashing} ELSE 0 END AS clashing, "
            f"{self._is_lost(group)} AS is_lost, {alone} AS is_alone {joined}) "
            "WHERE taken <> 0 OR clashing <> 0 OR is_lost OR is_alone",
            [*self._key, *group] if len(self.groups) == 1 else group,
        )

    def _at(self, side: str, name: str) -> str:
        """Returns a cell as SQL. A side that dropped the column is read as unchanged there."""
        if name not in self._has[side]:
            side = "base"
            if name not in self._has[side]:
                return "NULL"
        return f"{_LETTERS[side]}.{quoted(name)}"

    def _differ(self, one: str, other: str, name: str) -> str:
        return f"{self._at(one, name)} IS DISTINCT FROM {self._at(other, name)}"

    def _is_taken(self, name: str) -> str:
        """Returns as SQL whether a cell of a row that both sides have comes from the source."""
        if name not in self._names or name not in self._has["source"]:
            return "false"
        if name not in self._has["destination"]:
            return "true"
        unchanged = f"b.{quoted(ROW)} IS NOT NULL AND NOT ({self._differ('destination', 'base', name)})"
        return f"{self._differ('source', 'destination', name)} AND {unchanged}"

    def _is_clashing(self, name: str) -> str:
        in_base = f"b.{quoted(ROW)} IS NOT NULL"
        theirs, ours = (self._differ(side, "base", name) for side in ("source", "destination"))
        if name not in self._names:  # one side dropped it: no value of the other may be lost
            return f"{in_base} AND ({theirs} OR {ours})"
        has = [name in self._has[side] for side in ("source", "destination")]
        if name not in self._has["base"] and not all(has):
            return "false"  # one side added it
        apart = self._differ("source", "destination", name)
        return f"{apart} AND (NOT ({in_base}) OR ({theirs} AND {ours}))"

    def _is_lost(self, group: Sequence[str]) -> str:
        """Returns as SQL whether one side removed a row, and the other changed a cell of it."""
        row = quoted(ROW)

        def changed(side: str) -> str:
            return " OR ".join(self._differ(side, "base", name) for name in group) or "false"

        return (
            f"(b.{row} IS NOT NULL AND ("
            f"(s.{row} IS NULL AND d.{row} IS NOT NULL AND ({changed('destination')})) OR "
            f"(d.{row} IS NULL AND s.{row} IS NOT NULL AND ({changed('source')}))))"
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
