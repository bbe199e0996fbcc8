"""The columns of a merged table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from anabranch.errors import Conflict

__all__ = [
    "LINE",
    "ROW",
    "Columns",
    "merged_columns",
    "merged_names",
    "quoted",
    "require_usable",
    "widest_type",
]

Columns = Mapping[str, str]
"""The names of a table's columns, in order, and their types in DuckDB."""

ROW = "anabranch row number"
"""The name of the column of row numbers, which every table has beside its own."""

LINE = "anabranch line"
"""The name of the column with the text of each line of JSON lines."""

_TEXT = "VARCHAR"
_FAMILIES = {
    "number": ("INT", "FLOAT", "DOUBLE", "DECIMAL"),
    "date": ("DATE", "TIMESTAMP"),
}
"""Types whose values can be widened to each other, by parts of their names."""


def quoted(name: str) -> str:
    """Returns a name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def require_usable(side: str, names: Iterable[str]) -> None:
    """Raises Conflict for the names of columns that a database cannot tell from others: they are
    empty, have a zero character, are equal but for case, or are reserved.
    """
    found: dict[str, str] = {}
    for name in names:
        other = found.get(name.casefold())
        found[name.casefold()] = name
        if not name:
            reason = "has a column without a name"
        elif "\0" in name:
            reason = f"has the column {name!r}, whose name has a zero character"
        elif name in (ROW, LINE):
            reason = f"has a column with the reserved name {name!r}"
        elif other is None:
            continue
        elif other == name:
            reason = f"has the column {name!r} twice"
        else:
            reason = f"has the columns {other!r} and {name!r}, which differ in case only"
        raise Conflict(
            f"the {side} {reason}",
            kind="merge_failed",
            hint="Rename the column, or choose a side for this path.",
        )


def merged_columns(
    connection: Any, base: Columns, source: Columns, destination: Columns
) -> dict[str, str]:
    """Returns the columns of the merge, as `merged_names`, with the widest of their types. Raises
    Conflict for types of which none holds the values of the other.
    """
    tables = base, source, destination
    return {
        name: widest_type(connection, name, [each[name] for each in tables if name in each])
        for name in merged_names(*tables)
    }


def merged_names(
    base: Iterable[str], source: Iterable[str], destination: Iterable[str]
) -> list[str]:
    """Returns the names of the merge's columns, given those of the tables. A column that one side
    dropped is dropped, one that a side added is added. The order is the destination's, unless only
    the source has changed it; added columns come after those that precede them there.
    """
    was, theirs, ours = list(base), list(source), list(destination)
    common = [name for name in ours if name in theirs]
    before = [name for name in was if name in common]
    reordered = common == before != [name for name in theirs if name in common]
    order = _order(theirs, ours) if reordered else _order(ours, theirs)
    return [name for name in order if (name in theirs and name in ours) or name not in was]


def _order(first: Sequence[str], second: Sequence[str]) -> list[str]:
    names = list(first)
    before = -1
    for name in second:
        if name in first:
            before = names.index(name)
        else:
            before += 1
            names.insert(before, name)
    return names


def widest_type(connection: Any, name: str, types: Sequence[str]) -> str:
    """Returns the type that holds the values of all `types` of a column. Raises Conflict if none
    does.
    """
    widest = types[0]
    for other in types[1:]:
        if other == widest:
            continue
        found = _union(connection, widest, other)
        if found is None:
            raise Conflict(
                f"the column {name!r} has clashing types: {widest} and {other}",
                kind="merge_failed",
                hint="Give the column one type on both sides, or choose a side for this path.",
            )
        widest = found
    return widest


def _union(connection: Any, one: str, other: str) -> str | None:
    """Returns the type of a column with values of two types, None if it would hold their text, or
    if they are of different families.
    """
    if _family(one) != _family(other):
        return None
    union = f"SELECT NULL::{one} AS value UNION ALL SELECT NULL::{other}"
    (found,) = connection.execute(f"DESCRIBE {union}").fetchall()
    merged = str(found[1])
    is_text = merged.count(_TEXT) > max(one.count(_TEXT), other.count(_TEXT))
    return None if is_text else merged


def _family(type_name: str) -> str:
    """Returns what kind of values a type has."""
    if type_name.endswith("]"):
        return "list"
    head = type_name.partition("(")[0]
    for family, names in _FAMILIES.items():
        if any(name in head for name in names):
            return family
    return head
