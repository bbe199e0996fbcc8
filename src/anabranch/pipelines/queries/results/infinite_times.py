"""Dates and times that are `infinity` or `-infinity`: DuckDB has them, Arrow and Parquet have not.
Their readers would see the year 294247.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anabranch.tables.json_values import infinite_count
from anabranch.tables.lists import entries, is_list

__all__ = ["require_finite"]


def require_finite(batch: Any) -> None:
    """Raises ValueError for a record batch with an infinite date or time, also within other
    values; it names the column.
    """
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if any(_has(array, count) for array, count in _times(column)):
            raise ValueError(
                f"column {name} has infinite dates or times, which neither Arrow nor Parquet has: "
                "cast it to VARCHAR"
            )


def _times(array: Any) -> Iterator[tuple[Any, int]]:
    """Yields the dates and times in an array, with their number for infinity."""
    import pyarrow.types as kinds  # noqa: PLC0415  slow to import

    kind = array.type
    count = infinite_count(kind)
    if count is not None:
        yield array, count
    elif kinds.is_struct(kind):
        for field in array.flatten():
            yield from _times(field)
    elif kinds.is_map(kind) or is_list(kind):
        for part in entries(array)[1]:
            yield from _times(part)
    elif kinds.is_union(kind):
        for number in range(kind.num_fields):
            yield from _times(array.field(number))


def _has(array: Any, count: int) -> bool:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    counts = array.view(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
    found = pc.or_(pc.equal(counts, count), pc.equal(counts, -count))
    return bool(pc.any(found).as_py())
