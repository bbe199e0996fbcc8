"""Statistics of a relation's columns: counts, extremes, and what a small histogram shows."""

from __future__ import annotations

import math
from typing import Any

from anabranch.pipelines.queries.json_values import to_json
from anabranch.pipelines.queries.table_files import quoted

__all__ = ["BINS", "MAX_COLUMNS", "column_statistics"]

BINS = 20
MAX_COLUMNS = 200
"""Columns after these have no statistics."""

_TOP_VALUES = 10
_TEXT_CHARS = 200
_NUMERIC = frozenset(
    {
        *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
        *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
        *("FLOAT", "DOUBLE", "DECIMAL"),
    }
)
_TEMPORAL = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"})
_TEMPORAL_VARIANTS = frozenset({"TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})
_NESTED = ("STRUCT", "MAP", "UNION", "VARIANT")


def column_statistics(connection: Any, relation: str) -> list[dict[str, Any]]:
    """Returns the statistics of the columns of a relation, at most MAX_COLUMNS: `name`, `type`,
    `nulls`, `distinct`, `min`, `max`, `mean`, and `histogram`: counts of numbers and
    times in BINS bins of equal width from `low` to `high`, or of the most frequent other values.
    """
    described = connection.execute(f"DESCRIBE {quoted(relation)}").fetchall()
    return [
        _statistics(connection, quoted(relation), row[0], row[1]) for row in described[:MAX_COLUMNS]
    ]


def _statistics(connection: Any, relation: str, name: str, kind: str) -> dict[str, Any]:
    base = kind.partition("(")[0].strip()
    column = quoted(name)
    is_nested = kind.endswith("]") or base in _NESTED
    is_binned = base in _NUMERIC or base in _TEMPORAL or base in _TEMPORAL_VARIANTS
    value = column if is_binned or is_nested else f"left(CAST({column} AS VARCHAR), {_TEXT_CHARS})"
    extremes = "NULL, NULL" if is_nested else f"min({value}), max({value})"
    mean = _mean(column) if base in _NUMERIC else "NULL"
    row = connection.execute(
        f"SELECT count(*) - count({column}), count(DISTINCT {value}), {extremes}, {mean} "  # noqa: S608
        f"FROM {relation}"
    ).fetchone()
    nulls, distinct, low, high, average = row
    return {
        "name": name,
        "type": kind,
        "nulls": nulls,
        "distinct": distinct,
        "min": to_json(low),
        "max": to_json(high),
        "mean": to_json(average),
        "histogram": _histogram(connection, relation, column, base, value)
        if not is_nested
        else None,
    }


def _histogram(
    connection: Any, relation: str, column: str, base: str, value: str
) -> dict[str, Any] | None:
    if base in _NUMERIC:
        return _bins(connection, relation, column, f"CAST({column} AS DOUBLE)")
    if base in _TEMPORAL or base in _TEMPORAL_VARIANTS:
        return _bins(connection, relation, column, f"epoch(CAST({column} AS TIMESTAMP))")
    rows = connection.execute(
        f"SELECT {value} AS value, count(*) FROM {relation} WHERE {column} IS NOT NULL "  # noqa: S608
        f"GROUP BY value ORDER BY count(*) DESC, value LIMIT {_TOP_VALUES}"
    ).fetchall()
    return {"values": [{"value": to_json(text), "count": count} for text, count in rows]}


def _bins(connection: Any, relation: str, column: str, number: str) -> dict[str, Any] | None:
    """Returns the counts of finite values in bins of equal width."""
    finite = f"FROM {relation} WHERE isfinite({number})"
    low, high, first, last = connection.execute(
        f"SELECT min({number}), max({number}), min({column}), max({column}) {finite}"
    ).fetchone()
    if low is None:
        return None
    counts = [0] * BINS
    width = high - low
    # huge values of both signs have no finite width
    place = f"least(floor(({number} - ?) / ? * {BINS}), {BINS - 1})"
    if width == 0 or not math.isfinite(width):
        place, bounds = "0", []
    else:
        bounds = [low, width]
    rows = connection.execute(
        f"SELECT CAST({place} AS INTEGER) AS place, count(*) {finite} GROUP BY place",
        bounds,
    ).fetchall()
    for position, count in rows:
        counts[position] += count
    return {"low": to_json(first), "high": to_json(last), "counts": counts}


def _mean(column: str) -> str:
    return f"avg(CAST({column} AS DOUBLE)) FILTER (isfinite(CAST({column} AS DOUBLE)))"
