"""The rows of three tables that belong together, as row numbers; -1 where a table has none.

Integers, dates and times as the only key are sorted in memory, which costs less than a join; other
keys are joined in DuckDB, which needs no more memory than it may have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.tables.carriage import carriage_of
from anabranch.tables.sql_names import identifier
from anabranch.versioning.strategies.rows.columns import ROW
from anabranch.versioning.strategies.rows.scanned_sides import ScannedSides

__all__ = ["Pairs", "find_pairs"]

Pairs = Mapping[str, Any]
"""Row numbers by side, in NumPy arrays of one length."""

_MAX_SORTED_ROWS = 1 << 24
"""Larger tables are joined in DuckDB."""

_LETTERS = {"base": "b", "source": "s", "destination": "d"}


def find_pairs(connection: Any, sides: ScannedSides, key: Sequence[str]) -> list[Pairs]:
    """Returns the rows of `base`, `source` and `destination` that belong together: first those of
    the destination in its order, then those that only the source has, in its order. Those of the
    base alone are left out. Keys are unique.
    """
    import pyarrow.types as kinds  # noqa: PLC0415  an optional library

    largest = max(sum(table.pieces) for table in sides.tables.values())
    if len(key) == 1 and largest <= _MAX_SORTED_ROWS:
        carrier = carriage_of(sides.types[key[0]]).carrier
        if kinds.is_integer(carrier):
            return _sorted_pairs({side: sides.column(side, key[0]) for side in _LETTERS})
    return _joined_pairs(connection, sides, key)


def _sorted_pairs(keys: Mapping[str, Any]) -> list[Pairs]:
    import numpy as np  # noqa: PLC0415

    base, source = _Sorted(keys["base"]), _Sorted(keys["source"])
    ours = np.arange(len(keys["destination"]))
    theirs = source.find(keys["destination"])
    only = np.ones(len(keys["source"]), bool)
    only[theirs[theirs >= 0]] = False
    added = np.flatnonzero(only)
    return [
        {"base": base.find(keys["destination"]), "source": theirs, "destination": ours},
        {
            "base": base.find(keys["source"][added]),
            "source": added,
            "destination": np.full(len(added), -1),
        },
    ]


class _Sorted:
    """A column of different integers, by value."""

    def __init__(self, values: Any) -> None:
        import numpy as np  # noqa: PLC0415

        self._order = None
        if len(values) and not (values[1:] > values[:-1]).all():
            self._order = np.argsort(values, kind="stable")
            values = values[self._order]
        self._values = values

    def find(self, wanted: Any) -> Any:
        """Returns the row numbers of values, -1 for those that there are not."""
        import numpy as np  # noqa: PLC0415

        if not len(self._values):
            return np.full(len(wanted), -1)
        places = np.searchsorted(self._values, wanted)
        places[places == len(self._values)] = 0
        is_there = self._values[places] == wanted
        rows = places if self._order is None else self._order[places]
        return np.where(is_there, rows, -1)


def _joined_pairs(connection: Any, sides: ScannedSides, key: Sequence[str]) -> list[Pairs]:
    row = identifier(ROW)
    using = f"USING ({', '.join(map(identifier, key))})"
    sides.execute(
        f"CREATE TABLE pairs AS SELECT d.{row} AS d, s.{row} AS s, b.{row} AS b "  # noqa: S608
        f"FROM destination d FULL JOIN source s {using} FULL JOIN base b {using}",
        key,
    )
    numbers = ", ".join(f"coalesce({letter}, -1)" for letter in _LETTERS.values())
    found: list[Pairs] = []
    for where, order in (("d IS NOT NULL", "d"), ("d IS NULL AND s IS NOT NULL", "s")):
        query = f"SELECT {numbers} FROM pairs WHERE {where} ORDER BY {order}"  # noqa: S608
        columns = connection.execute(query).to_arrow_table().columns
        found.append(dict(zip(_LETTERS, (each.to_numpy() for each in columns), strict=True)))
    connection.execute("DROP TABLE pairs")
    return found
