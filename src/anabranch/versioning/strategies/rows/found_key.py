"""The columns that probably identify a row in both versions of a table, for a comparison.

A comparison shows what it used, and does no harm if a set of columns is unique by chance. A merge
could write wrong rows then, so it detects single columns only: `row_key.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from anabranch.tables.sql_names import identifier, literal
from anabranch.versioning.strategies.rows.columns import ROW
from anabranch.versioning.strategies.rows.loaded_sides import LoadedSides, Sides
from anabranch.versioning.strategies.rows.row_key import unique_column

__all__ = ["find_key"]

_MAX_COLUMNS = 12
"""How many columns sets are made of: the first ones of the table that may be in a key."""

_MAX_SETS = 8
"""How many sets are counted in whole tables; others are only tried on a sample."""

_SAMPLE_ROWS = 5000
_SIZES = (2, 3)
_QUERY_COLUMNS = 60

_NO_KEY_TEXT = r"[-+]?[0-9]*[.][0-9]+([eE][-+]?[0-9]+)?|[-+]?[0-9.]+[eE][-+]?[0-9]+|[\[{].*"
"""Numbers with a fraction, and nested values in files of JSON lines, whose columns are texts."""


def find_key(sides: Sides) -> list[str]:
    """Returns the columns whose values together are different in each row of all tables: one, as
    for merges, else the set of two or three that most rows of both sides share; none if there is no
    such set.
    """
    first, *others = sides.names.values()
    common = [name for name in first if all(name in names for names in others)]
    single = unique_column(sides, common)
    if single is not None:
        return [single]
    names = _with_values(sides, [name for name in common if sides.may_identify(name)])
    loaded = sides.load(names[:_MAX_COLUMNS])
    found: list[tuple[str, ...]] = []
    for chosen in _sets(loaded, names[:_MAX_COLUMNS]):
        is_larger = any(set(smaller) <= set(chosen) for smaller in found)
        if not is_larger and _is_unique(loaded, chosen, sample=True):
            found.append(chosen)
            if len(found) == _MAX_SETS:
                break
    best: list[str] = []
    most = -1
    for chosen in found:
        if _is_unique(loaded, chosen, sample=False):
            shared = _shared_rows(loaded, chosen)
            if shared > most:
                best, most = list(chosen), shared
    return best


def _sets(sides: LoadedSides, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Returns sets of columns: small ones first, then those with few numbers, which are often
    measured, and then in the order of the table.
    """
    side = next(iter(sides.names))
    numbers = {name for name in names if _has_numbers(sides, side, name)}
    sets = [chosen for size in _SIZES for chosen in combinations(names, size)]
    return sorted(sets, key=lambda chosen: (len(chosen), len(numbers.intersection(chosen))))


def _has_numbers(sides: LoadedSides, side: str, name: str) -> bool:
    matches = f"regexp_full_match({sides.text(name)}, '-?[0-9]+')"
    sample = f"{identifier(ROW)} <= {_SAMPLE_ROWS}"
    query = f"SELECT bool_and({matches}) FROM {sides.table(side)} WHERE {sample}"  # noqa: S608
    ((found,),) = sides.execute(query, [name])
    return bool(found)


def _with_values(sides: Sides, names: Sequence[str]) -> list[str]:
    """Returns the columns that have a value in each row, not all of them equal, and none of them a
    fraction or nested.
    """
    complete, differing = set(names), set()
    for side in sides.names:
        for start in range(0, len(names), _QUERY_COLUMNS):
            group = names[start : start + _QUERY_COLUMNS]
            facts = ", ".join(
                f"count(*) = count({column}), min({column}) IS DISTINCT FROM max({column}), "
                f"bool_or(regexp_full_match({sides.text(name)}, {literal(_NO_KEY_TEXT)}, 's'))"
                for name, column in zip(group, map(identifier, group), strict=True)
            )
            query = f"SELECT {facts} FROM {sides.table(side)}"  # noqa: S608  quoted names
            (found,) = sides.execute(query, group, only=side)
            for number, name in enumerate(group):
                is_complete, differs, is_other = found[3 * number : 3 * number + 3]
                if not is_complete or is_other:
                    complete.discard(name)
                if differs:
                    differing.add(name)
    return [name for name in names if name in complete and name in differing]


def _is_unique(sides: LoadedSides, names: Sequence[str], *, sample: bool) -> bool:
    columns = ", ".join(map(identifier, names))
    where = f"WHERE {identifier(ROW)} <= {_SAMPLE_ROWS}" if sample else ""
    return not any(
        sides.execute(
            f"SELECT 1 FROM {sides.table(side)} {where} "  # noqa: S608  quoted names
            f"GROUP BY {columns} HAVING count(*) > 1 LIMIT 1",
            names,
        )
        for side in sides.names
    )


def _shared_rows(sides: LoadedSides, names: Sequence[str]) -> int:
    """Returns how many rows of both sides have the same values in these columns."""
    if len(sides.names) == 1:
        return 0
    left, right = map(sides.table, sides.names)
    using = ", ".join(map(identifier, names))
    query = f"SELECT count(*) FROM {left} JOIN {right} USING ({using})"  # noqa: S608
    ((count,),) = sides.execute(query, names)
    return int(count)
