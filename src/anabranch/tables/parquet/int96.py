"""INT96 timestamps of Parquet, which Arrow reads in microseconds or in nanoseconds.

Nanoseconds do not reach the year 9999, and microseconds lose digits: the values of a column decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.types as kinds

from anabranch.tables.lists import entries, is_list
from anabranch.tables.parquet.form import leaf_count

__all__ = ["Int96Units", "int96_places", "int96_units"]


class Int96Units(NamedTuple):
    """The places of columns that have timestamps with nanoseconds, and of those that have others
    beside them which nanoseconds do not reach.
    """

    fine: frozenset[int]
    mixed: frozenset[int]


def int96_places(schema: Any, stored: Any) -> list[int]:
    """Returns the places of the columns of a file that have INT96 timestamps, also within other
    types. `stored` is Parquet's schema.
    """
    places = [place for place, field in enumerate(schema) for _ in range(leaf_count(field.type))]
    found = (
        places[leaf] for leaf in range(len(stored)) if stored.column(leaf).physical_type == "INT96"
    )
    return list(dict.fromkeys(found))


def int96_units(
    pairs: Iterable[tuple[Any, Any]], places: list[int], rows: int | None
) -> Int96Units:
    """Returns the units that columns need. `pairs` are record batches with the columns at these
    places, in microseconds and in nanoseconds. `rows` leaves out all but so many first rows.
    """
    fine: set[int] = set()
    far: set[int] = set()
    count = 0
    for micros, nanos in pairs:
        for number, place in enumerate(places):
            both = zip(
                _instants(micros.column(number)), _instants(nanos.column(number)), strict=True
            )
            for one, other in both:
                # beyond the range of nanoseconds, Arrow wraps them: differences still hold
                if (other - one * 1000).any():
                    fine.add(place)
                if (other // 1000 != one).any():
                    far.add(place)
        count += micros.num_rows
        if rows is not None and count >= rows:
            break
    return Int96Units(frozenset(fine - far), frozenset(fine & far))


def _instants(array: Any) -> list[Any]:
    """Returns the timestamps in an array, also within other types, as NumPy arrays of integers."""
    kind = array.type
    if kinds.is_timestamp(kind):
        return [array.view(pa.int64()).drop_null().to_numpy()]
    if kinds.is_struct(kind):
        return [each for field in array.flatten() for each in _instants(field)]
    if kinds.is_map(kind) or is_list(kind):
        return [each for part in entries(array)[1] for each in _instants(part)]
    return []
