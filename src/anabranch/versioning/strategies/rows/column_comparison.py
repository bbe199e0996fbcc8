"""The comparison of two tables with columns, which DuckDB joins by key.

A column that one side does not have is null there. Columns whose types are different but have a
common one are compared by that; others by their values as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.errors import Conflict
from anabranch.versioning.strategies.rows.columns import ROW, Columns, quoted, widest_type
from anabranch.versioning.strategies.rows.json_values import json_value
from anabranch.versioning.strategies.rows.row_pair import RowPair

__all__ = ["ColumnComparison"]

_BATCH_ROWS = 100
_SIDES = ("left", "right")


class ColumnComparison:
    """The comparison of the tables `left` and `right`. Raises Conflict for keys of clashing
    types.
    """

    def __init__(self, connection: Any, key: Sequence[str], columns: Mapping[str, Columns]) -> None:
        self._connection = connection
        self._columns = columns
        self._key = {
            name: widest_type(connection, name, [columns[side][name] for side in _SIDES])
            for name in key
        }
        names = dict.fromkeys((*columns["right"], *columns["left"]))
        self._compared = [name for name in names if name not in self._key]

    def rows(self, after: Sequence[str] | None, amount: int) -> Iterator[RowPair]:
        """Yields at most `amount` rows that differ, in the order of their keys, which are greater
        than `after`, the key of a row as text.
        """
        query, parameters = self._query(after, amount)
        for batch in self._connection.execute(query, parameters).to_arrow_reader(_BATCH_ROWS):
            for number in range(batch.num_rows):
                yield self._pair([column[number] for column in batch.columns])

    def _query(self, after: Sequence[str] | None, amount: int) -> tuple[str, list[str]]:
        keys = [f"{quoted(name)}::{kind}" for name, kind in self._key.items()]
        changed = [self._differs(name) for name in self._compared]
        present = [f"{side[0]}.{quoted(ROW)} IS NOT NULL" for side in _SIDES]
        cells = [f"{side[0]}.{quoted(name)}" for side in _SIDES for name in self._columns[side]]
        texts = [f"({key})::VARCHAR" for key in keys]
        selected = [*keys, *texts, *present, *changed, *cells]
        listed = ", ".join(f"{value} AS v{number}" for number, value in enumerate(selected))
        using = ", ".join(quoted(name) for name in self._key)
        conditions = " OR ".join(["NOT " + each for each in present] + changed)
        where = f"({conditions})"
        if after is not None:
            values = ", ".join(f"CAST(? AS {kind})" for kind in self._key.values())
            where += f" AND row({', '.join(keys)}) > row({values})"
        query = (
            f'SELECT {listed} FROM "left" l FULL JOIN "right" r USING ({using}) '  # noqa: S608
            f"WHERE {where} ORDER BY {', '.join(keys)} LIMIT {amount}"
        )
        return query, list(after or ())

    def _differs(self, name: str) -> str:
        """Returns as SQL whether a column differs."""
        here = [side for side in _SIDES if name in self._columns[side]]
        cells = [f"{side[0]}.{quoted(name)}" for side in here]
        if len(cells) == 1:
            return f"({cells[0]} IS NOT NULL)"
        types = [self._columns[side][name] for side in _SIDES]
        try:
            kind = widest_type(self._connection, name, types)
        except Conflict:
            cells = [f"to_json({cell})::VARCHAR" for cell in cells]
        else:
            cells = [f"{cell}::{kind}" for cell in cells]
        return f"({cells[0]} IS DISTINCT FROM {cells[1]})"

    def _pair(self, scalars: list[Any]) -> RowPair:
        values = iter(scalars)
        key = {name: json_value(next(values)) for name in self._key}
        position = [next(values).as_py() for _ in self._key]
        present = [next(values).as_py() for _ in _SIDES]
        changed = [name for name in self._compared if next(values).as_py()]
        rows = [{name: json_value(next(values)) for name in self._columns[side]} for side in _SIDES]
        left, right = (
            row if is_there else None for row, is_there in zip(rows, present, strict=True)
        )
        return RowPair(key, left, right, changed if all(present) else [], position)
