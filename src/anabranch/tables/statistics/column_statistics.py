"""Statistics of columns: counts, extremes, and what a small histogram shows.

DuckDB counts values of types that it holds; Arrow compares those that DuckDB has as text, such as
decimals of many digits.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.tables.json_values import json_column, text_column, to_json
from anabranch.tables.sql_columns import sql_array, sql_column, unique_names
from anabranch.tables.type_names import type_name

__all__ = ["BINS", "column_statistics"]

BINS = 20

_GROUP = 64
"""Columns that DuckDB has at once: each query over a relation looks at all of its columns."""

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
_RELATION = "statistics of columns"


def column_statistics(connection: Any, table: Any, seconds: float) -> list[dict[str, Any]]:
    """Returns the statistics of the columns of an Arrow table: of the first one, and of as many as
    `seconds` allow: `name`, `type`, `nulls`, `distinct`, `min`, `max`, `mean`, and `histogram`:
    counts of numbers and times in BINS bins of equal width from `low` to `high`, or of the most
    frequent other values. `connection` is one of DuckDB. Raises what DuckDB raises.
    """
    deadline = time.monotonic() + seconds
    result: list[dict[str, Any]] = []
    names = unique_names(table.schema.names)
    for start in range(0, len(names), _GROUP):
        group = {name: table.column(start + at) for at, name in enumerate(names[start:][:_GROUP])}
        held = {name: sql_array(column.combine_chunks()) for name, column in group.items()}
        connection.register("statistics of arrays", pa.table(held))
        create = f"CREATE OR REPLACE TEMP TABLE {_quoted(_RELATION)} AS"
        connection.execute(f'{create} FROM "statistics of arrays"')
        connection.unregister("statistics of arrays")
        described = connection.execute(f"DESCRIBE {_quoted(_RELATION)}").fetchall()
        kinds = {row[0]: row[1] for row in described}
        try:
            for name, column in group.items():
                if result and time.monotonic() > deadline:
                    return result
                if _is_held_as_text(column.type):
                    result.append(_arrow_statistics(name, column))
                else:
                    shown = _statistics(connection, _quoted(_RELATION), name, kinds[name])
                    result.append(shown | {"type": type_name(column.type)})
        finally:
            connection.execute(f"DROP TABLE {_quoted(_RELATION)}")
    return result


def _is_held_as_text(kind: Any) -> bool:
    is_text = pa.types.is_string(sql_column(kind).type)
    return is_text and not (pa.types.is_string(kind) or pa.types.is_dictionary(kind))


def _arrow_statistics(name: str, column: Any) -> dict[str, Any]:
    """Returns the statistics of a column whose values DuckDB does not hold."""
    kind = column.type
    low = high = mean = None
    values = pc.drop_null(column) if not pa.types.is_union(kind) else column
    if len(values) and (pa.types.is_decimal(kind) or pa.types.is_duration(kind)):
        extremes = pc.min_max(values)
        low, high = (json_column(pa.array([extremes[end]], kind))[0] for end in ("min", "max"))
        if pa.types.is_decimal(kind):
            mean = float(pc.sum(values).as_py()) / len(values)
    texts = [text[:_TEXT_CHARS] for text in text_column(column) if text is not None]
    is_nested = pa.types.is_nested(kind)
    counted = sorted(Counter(texts).items(), key=lambda each: (-each[1], each[0]))
    top = [{"value": value, "count": count} for value, count in counted[:_TOP_VALUES]]
    return {
        "name": name,
        "type": type_name(kind),
        "nulls": len(column) - len(texts),
        "distinct": len(set(texts)),
        "min": low,
        "max": high,
        "mean": to_json(mean),
        "histogram": None if is_nested else {"values": top},
    }


def _statistics(connection: Any, relation: str, name: str, kind: str) -> dict[str, Any]:
    base = kind.partition("(")[0].strip()
    column = _quoted(name)
    is_nested = kind.endswith("]") or base in _NESTED
    is_binned = base in _NUMERIC or base in _TEMPORAL or base in _TEMPORAL_VARIANTS
    value = column if is_binned or is_nested else f"left(CAST({column} AS VARCHAR), {_TEXT_CHARS})"
    extremes = "NULL, NULL" if is_nested else f"min({value}), max({value})"
    mean = _mean(column) if base in _NUMERIC else "NULL"
    nulls, distinct, low, high, average = _row(
        connection,
        f"SELECT count(*) - count({column}), count(DISTINCT {value}), {extremes}, {mean} "  # noqa: S608
        f"FROM {relation}",
    )
    return {
        "name": name,
        "type": kind,
        "nulls": nulls,
        "distinct": distinct,
        "min": low,
        "max": high,
        "mean": average,
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
    low, high = connection.execute(f"SELECT min({number}), max({number}) {finite}").fetchone()
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
    first, last = _row(connection, f"SELECT min({column}), max({column}) {finite}")
    return {"low": first, "high": last, "counts": counts}


def _row(connection: Any, query: str) -> list[Any]:
    """Returns the JSON values of a query's only row: by Arrow, as Python has no nanoseconds."""
    table = connection.execute(query).to_arrow_table()
    return [json_column(column)[0] for column in table.columns]


def _mean(column: str) -> str:
    return f"avg(CAST({column} AS DOUBLE)) FILTER (isfinite(CAST({column} AS DOUBLE)))"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
