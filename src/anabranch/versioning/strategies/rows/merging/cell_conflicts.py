"""The conflicts of a merge with the values of the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.tables.byte_forms import ByteForm, form_text
from anabranch.tables.json_values import json_column
from anabranch.tables.row_selection import rows_at
from anabranch.tables.table import Table, places
from anabranch.versioning.strategies.contract import ContentConflict
from anabranch.versioning.strategies.rows.merging.cell_decisions import CellDecisions

__all__ = ["MAX_CONFLICTS", "cell_conflicts", "rows_as_json"]

MAX_CONFLICTS = 1000
_SIDES = ("destination", "source", "base")


def cell_conflicts(
    decisions: CellDecisions, tables: Mapping[str, Table], key: Sequence[str]
) -> list[ContentConflict]:
    """Returns the first conflicts: rows that one side removed and the other changed, then cells
    that both sides changed differently.
    """
    lost = decisions.lost_rows(MAX_CONFLICTS)
    cells = decisions.clashing_cells(MAX_CONFLICTS - len(lost))
    if not lost and not cells:
        return []
    found = [("", rows) for rows in lost] + cells
    columns = list(dict.fromkeys([*key, *(column for column, _ in cells)]))
    values = {}
    for place, side in enumerate(_SIDES):
        table = tables[side]
        whole = [rows[place] for rows in lost]
        parts = [rows[place] for _, rows in cells]
        values[side] = rows_as_json(table, [n for n in columns if n in table.schema.names], parts)
        # a cell's row may be among those that are shown whole, which have all its columns
        values[side] |= rows_as_json(table, table.schema.names, whole)
    return [_conflict(column, rows, key, tables, values) for column, rows in found]


def _conflict(
    column: str,
    rows: Sequence[int | None],
    key: Sequence[str],
    tables: Mapping[str, Table],
    values: Mapping[str, Mapping[int, Mapping[str, Any]]],
) -> ContentConflict:
    here = {
        side: None if row is None else values[side][row]
        for side, row in zip(_SIDES, rows, strict=True)
    }
    known = next(row for row in here.values() if row is not None)

    def part(side: str) -> Any:
        row = here[side]
        if row is None:
            return None
        if column:
            return row.get(column)
        cells = {name: row[name] for name in tables[side].schema.names if name not in key}
        return cells or None

    return ContentConflict(
        key={name: known[name] for name in key},
        column=column,
        base=part("base"),
        source=part("source"),
        destination=part("destination"),
    )


def rows_as_json(
    table: Table, names: Sequence[str], numbers: Sequence[int | None]
) -> dict[int, dict[str, Any]]:
    """Returns columns of the rows with these numbers, by number, as JSON values."""
    import numpy as np  # noqa: PLC0415  an optional library

    wanted = sorted({number for number in numbers if number is not None})
    rows = iter(wanted)
    forms = [table.byte_forms.get(place) for place in places(table, names)]
    found: dict[int, dict[str, Any]] = {}
    for batch in rows_at(table, names, np.array(wanted, np.int64)):
        columns = list(map(_show, batch.columns, forms))
        for place in range(batch.num_rows):
            cells = [column[place] for column in columns]
            found[next(rows)] = dict(zip(names, cells, strict=True))
    return found


def _show(column: Any, form: ByteForm | None) -> list[Any]:
    if form is None:
        return json_column(column, cut=False)
    return [form_text(value, form) for value in column.to_pylist()]
