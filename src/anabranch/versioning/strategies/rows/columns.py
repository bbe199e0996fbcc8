"""The columns of a merged table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from anabranch.errors import Conflict
from anabranch.tables.sql_names import folded

__all__ = [
    "LINE",
    "ROW",
    "merged_names",
    "require_usable",
]

ROW = "anabranch row number"
"""The name of the column of row numbers, which every table has beside its own."""

LINE = "anabranch line"
"""The name of the column with the text of each line of JSON lines."""


def require_usable(side: str, names: Iterable[str]) -> None:
    """Raises Conflict for the names of columns that a database cannot tell from others: they are
    empty, have a zero character, are equal but for case, or are reserved.
    """
    found: dict[str, str] = {}
    for name in names:
        other = found.get(folded(name))
        found[folded(name)] = name
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
