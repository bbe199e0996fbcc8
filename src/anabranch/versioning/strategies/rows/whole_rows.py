"""The comparison of two tables without a key: rows that one side has more often than the other.

Rows are the same if all their columns are: null and NaN are the same as themselves, a column that
one side does not have is null there, and values of types that clash are compared as JSON. Lines of
JSON are the same if their values are, whatever their spelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.errors import Conflict
from anabranch.versioning.strategies.json_text import (
    canonical_json,
    parse_json,
    plain_json,
    refuse,
)
from anabranch.versioning.strategies.rows.columns import (
    LINE,
    ROW,
    Columns,
    quoted,
    widest_type,
)
from anabranch.versioning.strategies.rows.json_values import json_value
from anabranch.versioning.strategies.rows.row_pair import RowPair

__all__ = ["WholeLines", "WholeRows"]

_BATCH_ROWS = 100
_SIDES = ("left", "right")
_LINES = "anabranch lines"
_TOTALS = "count(*) FILTER (side = 0) l, count(*) FILTER (side = 1) r"
_FIRST = "min(number) FILTER (side = 0) first_l, min(number) FILTER (side = 1) first_r"


class WholeRows:
    """The comparison of the tables `left` and `right` with these columns."""

    def __init__(self, connection: Any, columns: Mapping[str, Columns]) -> None:
        self._connection = connection
        self._columns = columns

    def rows(self, after: tuple[int, str] | None, amount: int) -> Iterator[RowPair]:
        """Yields at most `amount` rows that differ, in the order of their first row numbers on the
        side that has more, removed ones before added ones; those after this position.
        """
        totals = f"SELECT {_TOTALS}, {_FIRST} FROM ({self._both()}) GROUP BY {self._groups()}"  # noqa: S608
        cells = [f"{side[0]}.{quoted(name)}" for side in _SIDES for name in self._columns[side]]
        query, parameters = _page_query(totals, cells, after, amount)
        result = self._connection.execute(query, parameters)
        for batch in result.to_arrow_reader(_BATCH_ROWS):
            for number in range(batch.num_rows):
                values = iter([column[number] for column in batch.columns])
                kind, first, count = (next(values).as_py() for _ in range(3))
                left, right = (
                    {name: json_value(next(values)) for name in self._columns[side]}
                    for side in _SIDES
                )
                yield _pair(kind, first, count, left if kind == "removed" else right)

    def _names(self) -> list[str]:
        return list(dict.fromkeys((*self._columns["right"], *self._columns["left"])))

    def _groups(self) -> str:
        return ", ".join(f"c{number}" for number in range(len(self._names()))) or "true"

    def _both(self) -> str:
        """Returns the query for the rows of both sides, with values that can be compared."""
        types = {name: self._type(name) for name in self._names()}
        queries = []
        for number, side in enumerate(_SIDES):
            cells = [
                f"{self._value(side, name, kind)} AS c{index}"
                for index, (name, kind) in enumerate(types.items())
            ]
            selected = ", ".join([f"{number} AS side", f"{quoted(ROW)} AS number", *cells])
            queries.append(f"SELECT {selected} FROM {quoted(side)}")  # noqa: S608
        return " UNION ALL ".join(queries)

    def _type(self, name: str) -> str | None:
        """Returns the type in which a column is compared, None for JSON."""
        types = [self._columns[side][name] for side in _SIDES if name in self._columns[side]]
        try:
            return widest_type(self._connection, name, types)
        except Conflict:
            return None

    def _value(self, side: str, name: str, kind: str | None) -> str:
        if name not in self._columns[side]:
            return f"NULL::{kind}"
        return f"to_json({quoted(name)})::VARCHAR" if kind is None else f"{quoted(name)}::{kind}"


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
            f"FROM {quoted(_LINES)} GROUP BY line"
        )
        cells = [f"{side[0]}.{quoted(LINE)}" for side in _SIDES]
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
            f"CREATE TABLE {quoted(_LINES)} "
            "(line VARCHAR, l BIGINT, r BIGINT, first_l BIGINT, first_r BIGINT)"
        )
        both = " UNION ALL ".join(
            f"SELECT {number} AS side, {quoted(ROW)} AS number, {quoted(LINE)} AS line "  # noqa: S608
            f"FROM {quoted(side)}"
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
                self._connection.execute(f"INSERT INTO {quoted(_LINES)} SELECT * FROM canonical")  # noqa: S608
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
    cells of tables `l` and `r`. `totals` is the query for how often and where first (`l`, `r`,
    `first_l`, `first_r`) each side has a row.
    """
    row, order = quoted(ROW), "first, kind = 'added'"
    position = "WHERE (first, kind = 'added') > (?, ? = 'added')" if after is not None else ""
    listed = ", ".join(
        ["d.kind", "d.first", "d.count", *(f"{cell} AS v{n}" for n, cell in enumerate(cells))]
    )
    query = (
        "WITH differing AS (SELECT if(l > r, 'removed', 'added') AS kind, "  # noqa: S608
        "if(l > r, first_l, first_r)::BIGINT AS first, abs(l - r)::BIGINT AS count "
        f"FROM ({totals}) WHERE l <> r), "
        f"page AS (SELECT * FROM differing {position} ORDER BY {order} LIMIT {amount}) "
        f"SELECT {listed} FROM page d "
        f"LEFT JOIN \"left\" l ON d.kind = 'removed' AND l.{row} = d.first "
        f"LEFT JOIN \"right\" r ON d.kind = 'added' AND r.{row} = d.first "
        f"ORDER BY {order}"
    )
    return query, list(after or ())


def _pair(kind: str, first: int, count: int, row: dict[str, Any]) -> RowPair:
    left, right = (row, None) if kind == "removed" else (None, row)
    return RowPair({}, left, right, [], [str(first), kind], count)
