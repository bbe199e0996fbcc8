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
from anabranch.versioning.strategies.rows.merging.cell_rules import LETTERS, CellRules
from anabranch.versioning.strategies.rows.merging.chosen_rows import ChosenRows, ConflictRow
from anabranch.versioning.strategies.rows.merging.pairs import Pairs, find_pairs
from anabranch.versioning.strategies.rows.scanned_sides import ScannedSides

__all__ = ["GROUP_COLUMNS", "CellDecisions", "Taken", "mask"]

GROUP_COLUMNS = 60
"""How many columns are compared at once: a bit each in an integer."""


class Taken(msgspec.Struct, frozen=True):
    """The cells of a group of columns that come from a side, `source` or `base`: row numbers of the
    destination, in order, those of the side, and masks of the columns, all NumPy arrays. A row may
    be there twice, with other columns.
    """

    side: str
    names: Sequence[str]
    destination: Any
    rows: Any
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
        self.chosen = ChosenRows(self._has, names)
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
            columns = [pa.array(part[side], mask=part[side] < 0) for side in LETTERS]
            self._connection.register("found", pa.table(columns, list(LETTERS.values())))
            self._connection.execute("INSERT INTO pairs SELECT b, s, d FROM found")
            self._connection.unregister("found")

    def _compare(self, number: int, *, aligned: bool) -> str:
        """Returns the query that decides about the columns of a group."""
        group = self.groups[number]
        if aligned:
            rows = "FROM aligned"
            numbers = {letter: identifier(side) for side, letter in LETTERS.items()}
        else:
            row = identifier(ROW)
            numbers = {letter: f"p.{letter}" for letter in LETTERS.values()}
            rows = "FROM pairs p " + " ".join(
                f"LEFT JOIN {side} {letter} ON p.{letter} = {letter}.{row}"
                for side, letter in LETTERS.items()
            )
        rules = CellRules(self._has, self._names, numbers, is_aligned=aligned)
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

    def conflict_rows(self, start: int, amount: int) -> list[ConflictRow]:
        """Returns at most `amount` of the rows in conflict, without the first `start`: in the order
        of the destination, then of the source.
        """
        found = self._connection.execute(
            "SELECT d, s, b, list({'g': g, 'clashing': clashing}) FROM decided "
            "WHERE is_lost OR clashing <> 0 GROUP BY d, s, b "
            "ORDER BY d NULLS LAST, s NULLS LAST LIMIT ? OFFSET ?",
            [amount, start],
        ).fetchall()
        return [ConflictRow(d, s, b, self._clashing(groups)) for d, s, b, groups in found]

    def _clashing(self, groups: Sequence[Mapping[str, int]]) -> Sequence[str]:
        masks = {each["g"]: each["clashing"] for each in groups}
        return [
            name
            for number, group in enumerate(self.groups)
            for bit, name in enumerate(group)
            if masks.get(number, 0) >> bit & 1
        ]

    def settle(self) -> None:
        """Leaves the chosen rows out of the conflicts."""
        import pyarrow as pa  # noqa: PLC0415  an optional library

        types = pa.schema([("d", pa.int64()), ("s", pa.int64())])
        places = [dict(zip("ds", each, strict=True)) for each in self.chosen.settled]
        self._connection.register("settled", pa.Table.from_pylist(places, types))
        self._connection.execute(
            "UPDATE decided SET clashing = 0, is_lost = false FROM settled "
            "WHERE decided.d IS NOT DISTINCT FROM settled.d "
            "AND decided.s IS NOT DISTINCT FROM settled.s"
        )
        self._connection.unregister("settled")

    def sides(self) -> Sequence[str]:
        """Returns the sides of which the merge has rows or cells."""
        has_base = bool(self.chosen.restored) or any(
            cell.side == "base" for cell in self.chosen.cells
        )
        return ("source", "destination", *(["base"] if has_base else []))

    def removed(self) -> Any:
        """Returns the row numbers of the destination that are removed, in order."""
        where = "g = 0 AND d IS NOT NULL AND s IS NULL AND b IS NOT NULL"
        (found,) = self._numbers(f"SELECT d FROM decided WHERE {where} ORDER BY d")  # noqa: S608
        return _changed(found, added=self.chosen.removed, removed=self.chosen.kept)

    def added(self) -> Any:
        """Returns the row numbers of the source that are added, in order."""
        where = "g = 0 AND d IS NULL AND s IS NOT NULL AND b IS NULL"
        (found,) = self._numbers(f"SELECT s FROM decided WHERE {where} ORDER BY s")  # noqa: S608
        return _changed(found, added=self.chosen.added)

    def restored(self) -> Any:
        """Returns the row numbers of the base that are added, in the order of their choice."""
        import numpy as np  # noqa: PLC0415

        return np.array(self.chosen.restored, np.int64)

    def taken(self) -> list[Taken]:
        """Returns the cells that come from the source or the base, of all groups that have any."""
        found = []
        for number, group in enumerate(self.groups):
            rows = self._numbers(
                f"SELECT d, s, taken FROM decided WHERE g = {number} AND taken <> 0 ORDER BY d"  # noqa: S608
            )
            taken = Taken("source", group, *rows)
            found.append(_with_cells(taken, self.chosen.cells_of("source", group)))
            none = Taken("base", group, *(each[:0] for each in rows))
            found.append(_with_cells(none, self.chosen.cells_of("base", group)))
        return [each for each in found if len(each.rows)]

    def _numbers(self, query: str) -> list[Any]:
        table = self._connection.execute(query).to_arrow_table()
        return [column.to_numpy() for column in table.columns]


def _changed(rows: Any, *, added: Collection[int], removed: Collection[int] = ()) -> Any:
    """Returns row numbers in order, with others added and removed."""
    if not added and not removed:
        return rows
    import numpy as np  # noqa: PLC0415

    kept = np.setdiff1d(rows, np.array([*removed], np.int64))
    return np.union1d(kept, np.array([*added], np.int64))


def _with_cells(taken: Taken, cells: Sequence[tuple[int, int, int]]) -> Taken:
    """Returns the cells that are taken, with more (row, row there, mask) of the same side."""
    if not cells:
        return taken
    import numpy as np  # noqa: PLC0415

    known = np.array([taken.destination, taken.rows, taken.masks])
    columns = np.concatenate([known, np.array(cells, np.int64).T], axis=1)
    columns = columns[:, np.argsort(columns[0], kind="stable")]
    return Taken(taken.side, taken.names, *columns)
