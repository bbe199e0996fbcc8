"""The key of tables: the columns whose values identify a row."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.tables.sql_names import identifier
from anabranch.versioning.strategies.rows.columns import ROW
from anabranch.versioning.strategies.rows.loaded_sides import Sides
from anabranch.versioning.strategies.rows.table_format import failure

__all__ = ["detect_key", "require_unique", "unique_column"]

_SAMPLE_ROWS = 5000
_SAMPLE_COLUMNS = 200
"""How many columns one query examines in the first rows."""


def detect_key(sides: Sides) -> list[str]:
    """Returns the column whose values are unique in all tables: one called `id`, or like an id, or
    the first of the first table. Raises Conflict if there is none.
    """
    first, *others = sides.names.values()
    common = [name for name in first if all(name in names for names in others)]
    found = unique_column(sides, common)
    if found is not None:
        return [found]
    raise failure(
        "no column has a different value in each row",
        "Give the columns that identify a row as the option `key`.",
    )


def unique_column(sides: Sides, names: Sequence[str]) -> str | None:
    """Returns the first of the columns `names` whose values are unique in all tables, None without
    one. Those that are called like an id come first.
    """
    ordered = sorted(names, key=_preference)
    for start in range(0, len(ordered), _SAMPLE_COLUMNS):
        candidates = ordered[start : start + _SAMPLE_COLUMNS]
        for name in _unique(sides, candidates, rows=_SAMPLE_ROWS):
            if _is_unique(sides, name):
                return name
    return None


def _is_unique(sides: Sides, name: str) -> bool:
    return all(
        sides.is_surely_unique(side, name) or _unique(sides, [name], rows=None, only=side)
        for side in sides.names
    )


def _preference(name: str) -> int:
    lower = name.lower()
    return 0 if lower == "id" else 1 if lower in ("key", "uuid") or lower.endswith("_id") else 2


def _unique(
    sides: Sides, names: Sequence[str], *, rows: int | None, only: str = ""
) -> Sequence[str]:
    """Returns those of the columns that have no null, and no value twice: among the first `rows`
    of each table, perhaps more, or among all. `only` is one side.
    """
    for side in sides.names:
        if not names:
            break
        if only not in ("", side):
            continue
        checks = ", ".join(
            f"count(*) = count({column}) AND count(*) = count(DISTINCT {column})"
            for column in map(identifier, names)
        )
        limit = "" if rows is None else f" WHERE {identifier(ROW)} <= {rows}"
        query = f"SELECT {checks} FROM {sides.table(side)}{limit}"  # noqa: S608  quoted names
        (found,) = sides.execute(query, names, rows=rows, only=side)
        names = [name for name, is_unique in zip(names, found, strict=True) if is_unique]
    return names


def require_unique(sides: Sides, key: Sequence[str]) -> None:
    """Raises Conflict if a table lacks a key column, or has a null or a repeated key."""
    listed = ", ".join(identifier(name) for name in key)
    for side, names in sides.names.items():
        missing = [name for name in key if name not in names]
        if missing:
            raise failure(f"the {side} has no key column {missing[0]!r}")
        if len(key) == 1 and sides.is_surely_unique(side, key[0]):
            continue
        table, row = sides.table(side), identifier(ROW)
        nulls = " OR ".join(f"{identifier(name)} IS NULL" for name in key)
        query = (
            f"SELECT bool_or({nulls}), max({row}), count(*) FROM {table} "  # noqa: S608
            f"GROUP BY {listed} HAVING bool_or({nulls}) OR count(*) > 1 ORDER BY 1 DESC, 2 LIMIT 1"
        )
        for is_null, number, _ in sides.execute(query, key, only=side):
            if is_null:
                raise failure(f"the {side} has a row without a key ({', '.join(key)})")
            shown = sides.key_text(side, key, number)
            raise failure(f"the {side} has the key {shown} more than once")
