"""The rows in conflict of a merge of tables with columns: their values, and choices for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.model.commits.row_conflict import RowConflict
from anabranch.tables.table import Table
from anabranch.versioning.strategies.rows.merging.cell_conflicts import rows_as_json
from anabranch.versioning.strategies.rows.merging.cell_decisions import CellDecisions
from anabranch.versioning.strategies.rows.merging.chosen_rows import ConflictRow
from anabranch.versioning.strategies.rows.merging.row_choices import RowChoices

__all__ = ["choose_rows", "conflict_rows"]

_SIDES = ("destination", "source", "base")
_BATCH_ROWS = 100
_KEY_BATCH_ROWS = 10_000


def conflict_rows(
    decisions: CellDecisions, tables: Mapping[str, Table], key: Sequence[str], start: int
) -> Iterator[RowConflict]:
    """Yields the rows in conflict without the first `start`, with their values."""
    while rows := decisions.conflict_rows(start, _BATCH_ROWS):
        values = {
            side: rows_as_json(
                tables[side], tables[side].schema.names, [row.numbers[place] for row in rows]
            )
            for place, side in enumerate(_SIDES)
        }
        for row in rows:
            here = {
                side: None if number is None else values[side][number]
                for side, number in zip(_SIDES, row.numbers, strict=True)
            }
            known = here["destination"] or here["source"] or {}
            yield RowConflict(
                key={name: known[name] for name in key},
                kind=row.kind,
                columns=list(row.columns),
                base=here["base"],
                source=here["source"],
                destination=here["destination"],
            )
        start += len(rows)


def choose_rows(
    decisions: CellDecisions,
    tables: Mapping[str, Table],
    key: Sequence[str],
    choices: RowChoices,
) -> None:
    """Decides about the rows in conflict that have a choice; the others stay in conflict. Raises
    Conflict for a choice that cannot be made, or is for a row that is not in conflict.
    """
    start = 0
    while rows := decisions.conflict_rows(start, _KEY_BATCH_ROWS):
        start += len(rows)
        for row, shown in zip(rows, _keys(rows, tables, key), strict=True):
            choice = choices.find(shown)
            if choice is not None:
                decisions.chosen.add(row, choice)
    choices.require_found()
    decisions.settle()


def _keys(
    rows: Sequence[ConflictRow], tables: Mapping[str, Table], key: Sequence[str]
) -> Iterator[Mapping[str, Any]]:
    """Yields the keys of rows, in the form that listings show."""
    ours = rows_as_json(tables["destination"], key, [row.destination for row in rows])
    theirs = rows_as_json(tables["source"], key, [row.source for row in rows])
    for row in rows:
        if row.destination is not None:
            yield ours[row.destination]
        elif row.source is not None:
            yield theirs[row.source]
