"""The comparison of two tables with columns, which DuckDB joins by key.

A column that one side does not have is null there. Columns whose types are different but have a
common one are compared by that; others by their values as texts. Values that are shown are those of
the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from anabranch.tables.sql_names import identifier
from anabranch.versioning.strategies.rows.columns import ROW
from anabranch.versioning.strategies.rows.merging.cell_conflicts import rows_as_json
from anabranch.versioning.strategies.rows.merging.cell_decisions import GROUP_COLUMNS, mask
from anabranch.versioning.strategies.rows.row_pair import RowPair
from anabranch.versioning.strategies.rows.scanned_sides import ScannedSides
from anabranch.versioning.strategies.rows.table_format import failure

__all__ = ["ColumnComparison"]

_SHOWN_ROWS = 250
"""How many rows are read at a time."""

_SIDES = ("left", "right")
_IN_ONE = "l IS NULL OR r IS NULL"


class ColumnComparison:
    """The comparison of the tables `left` and `right`. Raises Conflict for keys of clashing
    types.
    """

    def __init__(self, connection: Any, sides: ScannedSides, key: Sequence[str]) -> None:
        self._connection = connection
        self._sides = sides
        self._key = list(key)
        for name in key:
            if sides.types[name] is None:
                raise failure(f"the key column {name!r} has clashing types")
        names = dict.fromkeys((*sides.names["right"], *sides.names["left"]))
        compared = [name for name in names if name not in self._key]
        self._groups = [
            compared[start : start + GROUP_COLUMNS]
            for start in range(0, max(len(compared), 1), GROUP_COLUMNS)
        ]

    def rows(self, after: Sequence[str] | None, amount: int) -> Iterator[RowPair]:
        """Yields at most `amount` rows that differ, in the order of their keys, which are greater
        than `after`, the key of a row as text.
        """
        kinds = self._sides.carrier_names(self._key)
        where, parameters = "true", list(after or ())
        if after is not None:
            keys = ", ".join(map(identifier, self._key))
            values = ", ".join(f"CAST(? AS {kind})" for kind in kinds)
            where = f"row({keys}) > row({values})"
        keys = ", ".join(f"{identifier(name)} AS k{n}" for n, name in enumerate(self._key))
        using = f"USING ({', '.join(map(identifier, self._key))})"
        row = identifier(ROW)
        joined = f'FROM "left" l FULL JOIN "right" r {using}'
        bits = "NULL::BIGINT"
        names = self._key
        if len(self._groups) == 1:
            bits, names = self._bits(self._groups[0]), [*self._key, *self._groups[0]]
        pairs = (
            f"CREATE TABLE pairs AS SELECT * FROM (SELECT {keys}, l.{row} AS l, r.{row} AS r, "  # noqa: S608
            f"{bits} AS bits {joined} WHERE {where}) WHERE {_IN_ONE} OR bits IS NULL OR bits <> 0"
        )
        self._sides.execute(pairs, names, parameters=parameters)
        if len(self._groups) > 1:
            self._compare_groups()
        page = self._page(amount)
        for start in range(0, len(page), _SHOWN_ROWS):
            yield from self._show(page[start : start + _SHOWN_ROWS])

    def _compare_groups(self) -> None:
        """Makes the table `changed` with the columns that differ, and removes pairs without any."""
        row = identifier(ROW)
        self._connection.execute(
            "CREATE TABLE changed (g INTEGER, l BIGINT, r BIGINT, bits BIGINT)"
        )
        for number, group in enumerate(self._groups):
            self._sides.execute(
                f"INSERT INTO changed SELECT * FROM (SELECT {number} AS g, p.l, p.r, "  # noqa: S608
                f'{self._bits(group)} AS bits FROM pairs p JOIN "left" l ON p.l = l.{row} '
                f'JOIN "right" r ON p.r = r.{row}) WHERE bits <> 0',
                group,
            )
        self._connection.execute(
            "CREATE OR REPLACE TABLE pairs AS SELECT * FROM pairs "  # noqa: S608
            f"WHERE {_IN_ONE} OR l IN (SELECT l FROM changed)"
        )

    def _bits(self, group: Sequence[str]) -> str:
        """Returns the columns of a group that differ as the bits of an integer, as SQL."""
        return mask([self._differs(name) for name in group])

    def _differs(self, name: str) -> str:
        here = [side for side in _SIDES if name in self._sides.names[side]]
        cells = [f"{side[0]}.{identifier(name)}" for side in here]
        if len(cells) == 1:
            return f"{cells[0]} IS NOT NULL"
        return f"{cells[0]} IS DISTINCT FROM {cells[1]}"

    def _page(self, amount: int) -> list[tuple[list[str], int | None, int | None, list[str]]]:
        """Returns the keys as texts, the row numbers and the columns that differ of rows."""
        order = ", ".join(f"k{number}" for number in range(len(self._key)))
        texts = ", ".join(f"k{number}::VARCHAR" for number in range(len(self._key)))
        found = self._connection.execute(
            f"SELECT l, r, bits, {texts} FROM pairs ORDER BY {order} LIMIT {amount}"  # noqa: S608
        ).fetchall()
        lefts = [each[0] for each in found if each[0] is not None]
        bits: dict[tuple[int, int], int] = {}
        if len(self._groups) > 1 and lefts:
            listed = ", ".join(map(str, lefts))
            query = f"SELECT l, g, bits FROM changed WHERE l IN ({listed})"  # noqa: S608  numbers
            rows = self._connection.execute(query).fetchall()
            bits = {(left, group): value for left, group, value in rows}
        page = []
        for left, right, value, *key in found:
            names = [
                name
                for number, group in enumerate(self._groups)
                for bit, name in enumerate(group)
                if (value if value is not None else bits.get((left, number), 0)) >> bit & 1
            ]
            page.append((key, left, right, names))
        return page

    def _show(
        self, page: Sequence[tuple[list[str], int | None, int | None, list[str]]]
    ) -> Iterator[RowPair]:
        tables = self._sides.tables
        lefts, rights = (
            rows_as_json(tables[side], self._sides.names[side], [each[place] for each in page])  # type: ignore[misc]
            for place, side in enumerate(_SIDES, start=1)
        )
        for position, left, right, names in page:
            before = None if left is None else lefts[left]
            now = None if right is None else rights[right]
            known = before if before is not None else now or {}
            key = {name: known[name] for name in self._key}
            both = before is not None and now is not None
            yield RowPair(key, before, now, names if both else [], position)
