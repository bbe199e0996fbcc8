"""The columns that probably identify a row in both versions of a table, for a comparison.

A comparison shows what it used, and does no harm if a set of columns is unique by chance. A merge
could write wrong rows then, so it detects single columns only: `row_key.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from anabranch.errors import Conflict
from anabranch.versioning.strategies.rows.columns import ROW, Columns, quoted, widest_type
from anabranch.versioning.strategies.rows.row_key import unique_column
from anabranch.versioning.strategies.rows.table_format import literal

__all__ = ["find_key"]

_MAX_COLUMNS = 12
"""How many columns sets are made of: the first ones of the table that may be in a key."""

_MAX_SETS = 8
"""How many sets are counted in whole tables; others are only tried on a sample."""

_SAMPLE_ROWS = 5000
_SIZES = (2, 3)

_NO_KEY_TYPES = ("FLOAT", "DOUBLE", "STRUCT", "MAP", "UNION", "VARIANT", "GEOMETRY", "BIT")
_NO_KEY_TEXT = r"[-+]?[0-9]*[.][0-9]+([eE][-+]?[0-9]+)?|[-+]?[0-9.]+[eE][-+]?[0-9]+|[\[{].*"
"""Numbers with a fraction, and nested values in files of JSON lines, whose columns are texts."""


def find_key(connection: Any, tables: Mapping[str, Columns]) -> list[str]:
    """Returns the columns whose values together are different in each row of all tables, which are
    given by side: one, as for merges, else the set of two or three that most rows of both sides
    share; none if there is no such set.
    """
    first, *others = tables.values()
    common = [name for name in first if all(name in columns for columns in others)]
    usable = [name for name in common if _same_family(connection, name, tables)]
    single = unique_column(connection, tables, usable)
    if single is not None:
        return [single]
    candidates = [name for name in usable if not any(each in first[name] for each in _NO_KEY_TYPES)]
    candidates = [name for name in candidates if not first[name].endswith("]")]
    names = _with_values(connection, tables, candidates)[:_MAX_COLUMNS]
    found: list[tuple[str, ...]] = []
    for chosen in _sets(connection, tables, names):
        is_larger = any(set(smaller) <= set(chosen) for smaller in found)
        if not is_larger and _is_unique(connection, tables, chosen, sample=True):
            found.append(chosen)
            if len(found) == _MAX_SETS:
                break
    best: list[str] = []
    most = -1
    for chosen in found:
        if _is_unique(connection, tables, chosen, sample=False):
            shared = _shared_rows(connection, tables, chosen)
            if shared > most:
                best, most = list(chosen), shared
    return best


def _sets(
    connection: Any, tables: Mapping[str, Columns], names: Sequence[str]
) -> list[tuple[str, ...]]:
    """Returns sets of columns: small ones first, then those with few numbers, which are often
    measured, and then in the order of the table.
    """
    side = next(iter(tables))
    numbers = {name for name in names if _has_numbers(connection, side, name)}
    sets = [chosen for size in _SIZES for chosen in combinations(names, size)]
    return sorted(sets, key=lambda chosen: (len(chosen), len(numbers.intersection(chosen))))


def _has_numbers(connection: Any, side: str, name: str) -> bool:
    matches = f"regexp_full_match({quoted(name)}::VARCHAR, '-?[0-9]+')"
    sample = f"{quoted(ROW)} <= {_SAMPLE_ROWS}"
    query = f"SELECT bool_and({matches}) FROM {quoted(side)} WHERE {sample}"  # noqa: S608
    return bool(connection.execute(query).fetchone()[0])


def _same_family(connection: Any, name: str, tables: Mapping[str, Columns]) -> bool:
    try:
        widest_type(connection, name, [columns[name] for columns in tables.values()])
    except Conflict:
        return False
    return True


def _with_values(connection: Any, tables: Mapping[str, Columns], names: Sequence[str]) -> list[str]:
    """Returns the columns that have a value in each row, not all of them equal, and none of them a
    fraction or nested.
    """
    complete, differing = set(names), set()
    for side in tables:
        for name in names:
            column = quoted(name)
            facts = (
                f"count(*) = count({column}), min({column}) IS DISTINCT FROM max({column}), "
                f"bool_or(regexp_full_match({column}::VARCHAR, {literal(_NO_KEY_TEXT)}, 's'))"
            )
            query = f"SELECT {facts} FROM {quoted(side)}"  # noqa: S608  quoted names
            is_complete, differs, is_other = connection.execute(query).fetchone()
            if not is_complete or is_other:
                complete.discard(name)
            if differs:
                differing.add(name)
    return [name for name in names if name in complete and name in differing]


def _is_unique(
    connection: Any, tables: Mapping[str, Columns], names: Sequence[str], *, sample: bool
) -> bool:
    columns = ", ".join(map(quoted, names))
    where = f"WHERE {quoted(ROW)} <= {_SAMPLE_ROWS}" if sample else ""
    return not any(
        connection.execute(
            f"SELECT 1 FROM {quoted(side)} {where} "  # noqa: S608  quoted names
            f"GROUP BY {columns} HAVING count(*) > 1 LIMIT 1"
        ).fetchone()
        for side in tables
    )


def _shared_rows(connection: Any, tables: Mapping[str, Columns], names: Sequence[str]) -> int:
    """Returns how many rows of both sides have the same values in these columns."""
    if len(tables) == 1:
        return 0
    left, right = map(quoted, tables)
    using = ", ".join(map(quoted, names))
    query = f"SELECT count(*) FROM {left} JOIN {right} USING ({using})"  # noqa: S608
    return int(connection.execute(query).fetchone()[0])
