"""The rows of three tables, joined by key in DuckDB.

The tables `base`, `source` and `destination` have a column of row numbers beside their own. The
join compares null with null and NaN with NaN as equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.versioning.strategies.contract import ContentConflict
from anabranch.versioning.strategies.rows.columns import ROW, Columns, quoted
from anabranch.versioning.strategies.rows.json_values import json_value

__all__ = ["MAX_CONFLICTS", "Join"]

MAX_CONFLICTS = 1000
_SIDES = ("base", "source", "destination")
_LETTERS = {"base": "b", "source": "s", "destination": "d"}


class Join:
    """The join of three tables. `columns` are those of the result."""

    def __init__(
        self,
        connection: Any,
        key: Sequence[str],
        tables: Mapping[str, Columns],
        columns: Columns,
    ) -> None:
        self._connection = connection
        self._key = list(key)
        self._columns = columns
        self._tables = tables
        base, self._source, self._destination = (tables[side] for side in _SIDES)
        names = dict.fromkeys((*self._destination, *self._source, *base))
        self._compared = [name for name in names if name not in self._key]

    def conflicts(self) -> Iterator[ContentConflict]:
        """Yields the first conflicts: of rows that one side removed and the other changed, and of
        cells that both sides changed differently.
        """
        conditions = {"": self._removed_and_changed()}
        conditions |= {name: self._both_changed(name) for name in self._compared}
        # one join tells which conditions hold anywhere: mostly none
        checks = ", ".join(f"bool_or({condition})" for condition in conditions.values())
        holds = self._connection.execute(f"SELECT {checks} {self._from()}").fetchone()
        found = 0
        for (column, condition), any_row in zip(conditions.items(), holds, strict=True):
            if not any_row:
                continue
            query = f"SELECT {self._report(column)} {self._from()} WHERE {condition}"
            result = self._connection.execute(f"{query} LIMIT {MAX_CONFLICTS - found}")
            for row in zip(*result.to_arrow_table().columns, strict=True):
                found += 1
                *key, base, source, destination = map(json_value, row)
                yield ContentConflict(
                    key=dict(zip(self._key, key, strict=True)),
                    column=column,
                    base=base,
                    source=source,
                    destination=destination,
                )
            if found >= MAX_CONFLICTS:
                return

    def merged(self) -> str:
        """Returns the query for the merged rows: the destination's in their order, then those that
        only the source has.
        """
        names = [f"{self._cell(name)} AS {quoted(name)}" for name in self._columns]
        row = quoted(ROW)
        kept = (
            f"(d.{row} IS NOT NULL AND (s.{row} IS NOT NULL OR b.{row} IS NULL)) OR "
            f"(d.{row} IS NULL AND s.{row} IS NOT NULL AND b.{row} IS NULL)"
        )
        order = f"d.{row} IS NULL, d.{row}, s.{row}"
        return f"SELECT {', '.join(names)} {self._from()} WHERE {kept} ORDER BY {order}"

    def _from(self) -> str:
        names = ", ".join(quoted(name) for name in self._key)
        using = f"USING ({names})"
        return f"FROM destination d FULL JOIN source s {using} FULL JOIN base b {using}"

    def _cell(self, name: str) -> str:
        if name in self._key:
            return f"{quoted(name)}::{self._columns[name]}"
        type_name = self._columns[name]
        source, destination = self._at("source", name), self._at("destination", name)
        row = quoted(ROW)
        if name not in self._source:
            chosen = destination
        elif name not in self._destination:
            chosen = source
        else:
            base = self._at("base", name)
            chosen = (
                f"CASE WHEN d.{row} IS NULL THEN {source} WHEN s.{row} IS NULL THEN {destination} "
                f"WHEN b.{row} IS NOT NULL AND {destination} IS NOT DISTINCT FROM {base} "
                f"THEN {source} ELSE {destination} END"
            )
        return f"({chosen})::{type_name}"

    def _at(self, side: str, name: str) -> str:
        """Returns a cell as SQL. A side that dropped the column is read as unchanged there."""
        base = self._tables["base"]
        if name not in self._tables[side]:
            side = "base"
            if name not in base:
                return "NULL"
        type_name = self._columns.get(name) or self._tables[side][name]
        return f"{_LETTERS[side]}.{quoted(name)}::{type_name}"

    def _both_changed(self, name: str) -> str:
        base, source, destination = (self._at(side, name) for side in _SIDES)
        row = quoted(ROW)
        known = f"{source} IS DISTINCT FROM {base} AND {destination} IS DISTINCT FROM {base}"
        is_new_column = name not in self._tables["base"] and (
            name not in self._source or name not in self._destination
        )
        if is_new_column:
            return "false"
        dropped = name not in self._columns
        if dropped:  # one side dropped it: no value of the other side may be lost
            changed = f"({source} IS DISTINCT FROM {base} OR {destination} IS DISTINCT FROM {base})"
            rows = f"b.{row} IS NOT NULL AND s.{row} IS NOT NULL AND d.{row} IS NOT NULL"
            return f"{rows} AND {changed}"
        return (
            f"s.{row} IS NOT NULL AND d.{row} IS NOT NULL AND {source} IS DISTINCT FROM "
            f"{destination} AND (b.{row} IS NULL OR ({known}))"
        )

    def _removed_and_changed(self) -> str:
        row = quoted(ROW)

        def changed(side: str) -> str:
            cells = [
                f"{self._at(side, name)} IS DISTINCT FROM {self._at('base', name)}"
                for name in self._compared
            ]
            return " OR ".join(cells) or "false"

        return (
            f"b.{row} IS NOT NULL AND ("
            f"(s.{row} IS NULL AND d.{row} IS NOT NULL AND ({changed('destination')})) OR "
            f"(d.{row} IS NULL AND s.{row} IS NOT NULL AND ({changed('source')})))"
        )

    def _report(self, column: str) -> str:
        """Returns the columns of a report: the key, and the three values."""
        parts = [quoted(name) for name in self._key]
        for side in _SIDES:
            if column:
                value = self._at(side, column) if column in self._tables[side] else "NULL"
            else:
                value = self._row(side)
            present = f"{_LETTERS[side]}.{quoted(ROW)} IS NOT NULL"
            parts.append(f"CASE WHEN {present} THEN {value} END")
        return ", ".join(f"{part} AS v{number}" for number, part in enumerate(parts))

    def _row(self, side: str) -> str:
        cells = [name for name in self._tables[side] if name not in self._key]
        if not cells:
            return "NULL"
        members = ", ".join(f"{quoted(name)} := {_LETTERS[side]}.{quoted(name)}" for name in cells)
        return f"struct_pack({members})"
