"""What a statement needs of tables whose files are left out by their bounds, read from its plan.

The plan is the text of `EXPLAIN (FORMAT json)` of the statement over stand-ins: relations without
rows and statistics, in which the columns of table 3 are called `lake3c0`, `lake3c1` and so on. So
the text of a filter names no column of a user. Rows that do not meet the filters of a scan are not
used, whatever the tables have. Of filters those are read that compare a column with a constant, or
with one of some; a scan that cannot be told from others needs everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from anabranch.pipelines.queries.functions.constants import constant
from anabranch.pipelines.queries.functions.plan_text import (
    enclosed_parts,
    plan_nodes,
    plan_parts,
)
from anabranch.tables.live_rows.columns import Column
from anabranch.tables.live_rows.needs import ColumnCondition, Needs

__all__ = ["needs_in_plan", "stand_in_column"]

_COLUMN = re.compile(r"lake(\d+)c(\d+)")
_FILTER = re.compile(r"(lake\d+c\d+)(=|<=|<|>=|>)(?![=<>])(.*)", re.DOTALL)
_COMPARISON = re.compile(r"\((lake\d+c\d+|#0) (=|<=|<|>=|>) (.*)\)", re.DOTALL)

_NO_TABLE = -1

_Tables = Mapping[int, Sequence[Column]]
_Scan = tuple[int, tuple[ColumnCondition, ...]]


def stand_in_column(table: int, place: int) -> str:
    """Returns the name of a column of a stand-in."""
    return f"lake{table}c{place}"


def needs_in_plan(plan: str, tables: _Tables) -> dict[int, Needs]:
    """Returns what a statement needs of tables, given by their numbers with their columns. Tables
    of which it is not known are left out.
    """
    scans: list[_Scan] = []
    nodes = list(plan_nodes(msgspec.json.decode(plan)))
    above = {id(child): node for node in nodes for child in node.get("children", ())}
    for node in nodes:
        if node.get("name") == "ARROW_SCAN":
            found = _scan(node, above.get(id(node), {}), tables)
            if found is None:
                return _of_the_only_table(nodes, node, tables)
            scans.append(found)
    needs = {}
    for number in tables:
        own = tuple(conditions for table, conditions in scans if table == number)
        if own:
            needs[number] = Needs(scans=own)
    return needs


def _of_the_only_table(
    nodes: Sequence[dict[str, Any]], scan: dict[str, Any], tables: _Tables
) -> dict[int, Needs]:
    """Returns what is needed if a scan without columns is the only one of a plan: counts."""
    about = scan.get("extra_info", {})
    is_only = sum(node.get("name") == "ARROW_SCAN" for node in nodes) == 1 == len(tables)
    if is_only and not about.get("Projections") and "Filters" not in about:
        return {number: Needs(scans=((),), only_counts=True) for number in tables}
    return {}


def _scan(node: dict[str, Any], parent: dict[str, Any], tables: _Tables) -> _Scan | None:
    """Returns the number of the table that a node scans, and its conditions; None if the node does
    not say it.
    """
    about = node.get("extra_info", {})
    shown = about.get("Projections") or []
    projected = [shown] if isinstance(shown, str) else list(shown)
    found = list(_pushed_down(about.get("Filters") or []))
    if parent.get("name") == "FILTER":
        expression = parent.get("extra_info", {}).get("Expression", "")
        if isinstance(expression, str):
            found += _above(expression, projected)
    named = [name for name in (*projected, *(each[0] for each in found)) if _COLUMN.fullmatch(name)]
    if not named:
        return None if not projected else (_NO_TABLE, ())
    table = _place(named[0])[0]
    if any(_place(name)[0] != table for name in named) or table not in tables:
        return None
    conditions = (_condition(each, tables[table]) for each in found)
    return table, tuple(each for each in conditions if each is not None)


_Found = tuple[str, str, list[str]]
"""A condition: the column of a stand-in, the operator, and constants."""


def _pushed_down(filters: str | list[str]) -> Iterator[_Found]:
    """Yields the conditions of the filters of a scan: some for each column, on a line. There are
    none if a text has line breaks: a plan leaves out empty lines.
    """
    lines = [filters] if isinstance(filters, str) else filters
    if any(line.count("'") % 2 for line in lines):
        return
    for line in lines:
        if len(plan_parts(line, " OR ")) > 1:
            continue
        for each in plan_parts(line, " AND "):
            if matched := _FILTER.fullmatch(each):
                yield matched[1], matched[2], [matched[3]]


def _above(expression: str, projected: Sequence[str]) -> Iterator[_Found]:
    """Yields the conditions of the expression of a filter above a scan."""
    for each in enclosed_parts(expression, " AND "):
        compared = [_COMPARISON.fullmatch(part) for part in enclosed_parts(each, " OR ")]
        known = [part for part in compared if part is not None]
        if len(known) < len(compared) or len({part.group(1, 2) for part in known}) != 1:
            continue
        name = known[0][1]
        if name == "#0" and len(projected) == 1:
            name = projected[0]
        if _COLUMN.fullmatch(name):
            yield name, known[0][2], [part[3] for part in known]


def _condition(found: _Found, columns: Sequence[Column]) -> ColumnCondition | None:
    name, operator, texts = found
    place = _place(name)[1]
    if place >= len(columns):
        return None
    values = [constant(columns[place].type, text) for text in texts]
    if any(value is None for value in values):
        return None
    return ColumnCondition(columns[place].name, operator, tuple(values))  # type: ignore[arg-type]


def _place(name: str) -> tuple[int, int]:
    matched = _COLUMN.fullmatch(name)
    assert matched is not None  # noqa: S101  the caller has matched it
    return int(matched[1]), int(matched[2])
