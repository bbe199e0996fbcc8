"""The key of tables: the columns whose values identify a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.errors import Conflict
from anabranch.versioning.strategies.rows.columns import Columns, quoted

__all__ = ["detect_key", "require_unique", "unique_column"]


def detect_key(connection: Any, tables: Mapping[str, Columns]) -> list[str]:
    """Returns the column whose values are unique in all tables, which are given by side: one called
    `id`, or like an id, or the first of the first table. Raises Conflict if there is none.
    """
    first, *others = tables.values()
    common = [name for name in first if all(name in columns for columns in others)]
    found = unique_column(connection, tables, common)
    if found is not None:
        return [found]
    raise Conflict(
        "no column has a different value in each row",
        kind="merge_failed",
        hint="Give the columns that identify a row as the option `key`.",
    )


def unique_column(
    connection: Any, tables: Mapping[str, Columns], names: Sequence[str]
) -> str | None:
    """Returns the first of the columns `names` whose values are unique in all tables, None without
    one. Those that are called like an id come first.
    """
    for name in sorted(names, key=_preference):
        if all(_is_unique(connection, side, name) for side in tables):
            return name
    return None


def _preference(name: str) -> int:
    lower = name.lower()
    return 0 if lower == "id" else 1 if lower in ("key", "uuid") or lower.endswith("_id") else 2


def _is_unique(connection: Any, side: str, name: str) -> bool:
    column = quoted(name)
    is_unique = f"count(*) = count({column}) AND count(*) = count(DISTINCT {column})"
    query = f"SELECT {is_unique} FROM {quoted(side)}"  # noqa: S608  quoted names
    return bool(connection.execute(query).fetchone()[0])


def require_unique(connection: Any, key: Sequence[str], tables: Mapping[str, Columns]) -> None:
    """Raises Conflict if a table lacks a key column, or has a null or a repeated key."""
    names = ", ".join(quoted(name) for name in key)
    for side, columns in tables.items():
        table = quoted(side)
        missing = [name for name in key if name not in columns]
        if missing:
            raise _failed(f"the {side} has no key column {missing[0]!r}")
        nulls = " OR ".join(f"{quoted(name)} IS NULL" for name in key)
        if connection.execute(f"SELECT 1 FROM {table} WHERE {nulls} LIMIT 1").fetchone():  # noqa: S608
            raise _failed(f"the {side} has a row without a key ({', '.join(key)})")
        repeated = f"SELECT {names} FROM {table} GROUP BY ALL HAVING count(*) > 1 LIMIT 1"  # noqa: S608
        found = connection.execute(repeated).fetchone()
        if found:
            values = ", ".join(f"{name}={value}" for name, value in zip(key, found, strict=True))
            raise _failed(f"the {side} has the key {values} more than once")


def _failed(reason: str) -> Conflict:
    return Conflict(reason, kind="merge_failed", hint="Choose a side for this path.")
