"""The comparison of two tables without a key: rows that one side has more often than the other.

Rows are the same if all their columns are: null and NaN are the same as themselves, a column that
one side does not have is null there, and values of types that clash are compared as texts. Lines of
JSON are the same if their values are, whatever their spelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from anabranch.tables.sql_names import identifier
from anabranch.versioning.strategies.json_text import (
    canonical_json,
    parse_json,
    plain_json,
    refuse,
)
from anabranch.versioning.strategies.rows.columns import LINE, ROW
from anabranch.versioning.strategies.rows.merging.cell_conflicts import rows_as_json
from anabranch.versioning.strategies.rows.merging.cell_decisions import GROUP_COLUMNS
from anabranch.versioning.strategies.rows.row_pair import RowPair
from anabranch.versioning.strategies.rows.scanned_sides import ScannedSides

__all__ = ["WholeLines", "WholeRows"]

_BATCH_ROWS = 100
_SHOWN_ROWS = 250
"""How many rows are read at a time."""

_ORDER = "first, kind = 'added'"
_SIDES = ("left", "right")
_LINES = "anabranch lines"
_TOTALS = "count(*) FILTER (side = 0) l, count(*) FILTER (side = 1) r"
_FIRST = "min(number) FILTER (side = 0) first_l, min(number) FILTER (side = 1) first_r"


class WholeRows:
    """The comparison of the tables `left` and `right` with columns."""

    def __init__(self, connection: Any, sides: ScannedSides) -> None:
        self._connection = connection
        self._sides = sides
        names = list(dict.fromkeys((*sides.names["right"], *sides.names["left"])))
        self._groups = [
            names[start : start + GROUP_COLUMNS] for start in range(0, len(names), GROUP_COLUMNS)
        ]

    def rows(self, after: tuple[int, str] | None, amount: int) -> Iterator[RowPair]:
        """Yields at most `amount` rows that differ, in the order of their first row numbers on the
        side that has more, removed ones before added ones; those after this position.
        """
        if len(self._groups) == 1:
            grouped = ", ".join(f"c{number}" for number in range(len(self._groups[0])))
            totals = f"SELECT {_TOTALS}, {_FIRST} FROM ({self._both(0)}) GROUP BY {grouped}"  # noqa: S608
            names = self._groups[0]
        else:
            self._classify()
            totals = f"SELECT {_TOTALS}, {_FIRST} FROM classes GROUP BY class"  # noqa: S608
            names = []
        differing, parameters = _differing_query(totals, after, amount)
        page = self._sides.execute(differing, names, parameters=parameters)
        tables = self._sides.tables
        for start in range(0, len(page), _SHOWN_ROWS):
            shown = page[start : start + _SHOWN_ROWS]
            cells = {
                kind: rows_as_json(
                    tables[side],
                    self._sides.names[side],
                    [first for each, first, _ in shown if each == kind],
                )
                for kind, side in (("removed", "left"), ("added", "right"))
            }
            for kind, first, count in shown:
                yield _pair(kind, first, count, cells[kind][first])

    def _both(self, group: int) -> str:
        """Returns the query for the rows of both sides, with the columns of a group."""
        queries = []
        for number, side in enumerate(_SIDES):
            cells = [
                f"{identifier(name) if name in self._sides.names[side] else 'NULL'} AS c{index}"
                for index, name in enumerate(self._groups[group])
            ]
            selected = ", ".join([f"{number} AS side", f"{identifier(ROW)} AS number", *cells])
            queries.append(f"SELECT {selected} FROM {identifier(side)}")  # noqa: S608
        return " UNION ALL ".join(queries)

    def _classify(self) -> None:
        """Makes the table `classes` of all rows, in which equal ones have one class: the number of
        the first of them. Each group of columns divides the classes of those before.
        """
        for number, group in enumerate(self._groups):
            cells = ", ".join(f"c{index}" for index in range(len(group)))
            rows = f"({self._both(number)}) g"
            known = ""
            if number:
                rows, known = f"{rows} JOIN classes k USING (side, number)", "k.class, "
            self._sides.execute(
                "CREATE OR REPLACE TABLE classes AS SELECT side, number, "  # noqa: S608
                f"min(number * 2 + side) OVER (PARTITION BY {known}{cells}) AS class FROM {rows}",
                group,
            )


class WholeLines:
    """The comparison of the tables `left` and `right` of JSON lines."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def rows(self, after: tuple[int, str] | None, amount: int) -> Iterator[RowPair]:
        """Yields rows as WholeRows does. Raises Conflict for lines that are no objects, or not JSON
        of the supported form.
        """
        self._load()
        totals = (
            "SELECT sum(l) l, sum(r) r, min(first_l) first_l, min(first_r) first_r "  # noqa: S608
            f"FROM {identifier(_LINES)} GROUP BY line"
        )
        cells = [f"{side[0]}.{identifier(LINE)}" for side in _SIDES]
        self._connection.execute(*_page_query(totals, cells, after, amount))
        while rows := self._connection.fetchmany(_BATCH_ROWS):
            for kind, first, count, left, right in rows:
                side, line = ("left", left) if kind == "removed" else ("right", right)
                yield _pair(kind, first, count, plain_json(parse_json(side, line)))

    def _load(self) -> None:
        """Makes a table of the lines in canonical form, with how often and where each side has
        them. Lines that both sides have equally often, letter by letter, are left out.
        """
        import pyarrow as pa  # noqa: PLC0415  an optional library

        self._connection.execute(
            f"CREATE TABLE {identifier(_LINES)} "
            "(line VARCHAR, l BIGINT, r BIGINT, first_l BIGINT, first_r BIGINT)"
        )
        both = " UNION ALL ".join(
            f"SELECT {number} AS side, {identifier(ROW)} AS number, {identifier(LINE)} AS line "  # noqa: S608
            f"FROM {identifier(side)}"
            for number, side in enumerate(_SIDES)
        )
        spelled = f"SELECT line, {_TOTALS}, {_FIRST} FROM ({both}) GROUP BY line HAVING l <> r"  # noqa: S608
        reading = self._connection.cursor()
        try:
            for batch in reading.execute(spelled).to_arrow_reader(_BATCH_ROWS):
                lines = [
                    _canonical("left" if before > now else "right", line)
                    for line, before, now in zip(
                        *(batch.column(index).to_pylist() for index in range(3)), strict=True
                    )
                ]
                columns = [pa.array(lines, pa.string()), *batch.columns[1:]]
                self._connection.register("canonical", pa.table(columns, batch.schema.names))
                insert = f"INSERT INTO {identifier(_LINES)} SELECT * FROM canonical"  # noqa: S608
                self._connection.execute(insert)
                self._connection.unregister("canonical")
        finally:
            reading.close()


def _canonical(side: str, line: str) -> str:
    value = parse_json(side, line)
    if not isinstance(value, dict):
        refuse(side, "has a line that is no object")
    return canonical_json(value)


def _page_query(
    totals: str, cells: Sequence[str], after: tuple[int, str] | None, amount: int
) -> tuple[str, list[Any]]:
    """Returns the query for the kind, first row number and count of rows that differ, and these
    cells of tables `l` and `r`.
    """
    row = identifier(ROW)
    page, parameters = _differing_query(totals, after, amount)
    listed = ", ".join(
        ["d.kind", "d.first", "d.count", *(f"{cell} AS v{n}" for n, cell in enumerate(cells))]
    )
    query = (
        f"SELECT {listed} FROM ({page}) d "  # noqa: S608
        f"LEFT JOIN \"left\" l ON d.kind = 'removed' AND l.{row} = d.first "
        f"LEFT JOIN \"right\" r ON d.kind = 'added' AND r.{row} = d.first "
        f"ORDER BY {_ORDER}"
    )
    return query, parameters


def _differing_query(
    totals: str, after: tuple[int, str] | None, amount: int
) -> tuple[str, list[Any]]:
    """Returns the query for the kind, first row number and count of rows that differ. `totals` is
    the query for how often and where first (`l`, `r`, `first_l`, `first_r`) each side has a row.
    """
    position = "WHERE (first, kind = 'added') > (?, ? = 'added')" if after is not None else ""
    query = (
        "SELECT * FROM (SELECT if(l > r, 'removed', 'added') AS kind, "  # noqa: S608
        "if(l > r, first_l, first_r)::BIGINT AS first, abs(l - r)::BIGINT AS count "
        f"FROM ({totals}) WHERE l <> r) {position} ORDER BY {_ORDER} LIMIT {amount}"
    )
    return query, list(after or ())


def _pair(kind: str, first: int, count: int, row: dict[str, Any]) -> RowPair:
    left, right = (row, None) if kind == "removed" else (None, row)
    return RowPair({}, left, right, [], [str(first), kind], count)
