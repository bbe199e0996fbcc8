"""The transforms of partition fields and sort fields, and the columns that they can have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from anabranch.tables.iceberg.commits.definitions.schemas import Columns
from anabranch.tables.iceberg.commits.refusals import refused
from anabranch.tables.iceberg.commits.shapes import PartitionFieldShape, SortFieldShape

__all__ = ["VOID", "check_source", "source_id", "with_source"]

VOID = "void"

_PARAMETER = re.compile(r"(bucket|truncate)\[([1-9]\d{0,9})\]")
_MAX_PARAMETER = 2**31 - 1
_TIMESTAMPS = frozenset(["timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"])
_DATES = _TIMESTAMPS | {"date"}
_BASES = {
    "year": _DATES,
    "month": _DATES,
    "day": _DATES,
    "hour": _TIMESTAMPS,
    "bucket": _DATES
    | frozenset(["int", "long", "time", "decimal", "string", "fixed", "binary", "uuid"]),
    "truncate": frozenset(["int", "long", "string", "binary", "decimal"]),
}
_NEVER = frozenset(["variant", "geometry", "geography"])
"""Types that have no order and no partitions."""


def source_id(field: PartitionFieldShape | SortFieldShape) -> int:
    """Returns the id of the column that a field is made from. Raises Invalid for several."""
    if field.source_id is not None:
        return field.source_id
    if field.source_ids is None or len(field.source_ids) != 1:
        raise refused(f"the transform {field.transform!r} must have one column, its source-id")
    return field.source_ids[0]


def with_source(given: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Returns a field with another column."""
    kept = {name: value for name, value in given.items() if name != "source-ids"}
    return {**kept, "source-id": number}


def check_source(
    what: str, transform: str, number: int, columns: Columns, *, is_partition: bool
) -> None:
    """Raises Invalid unless there is a column with an id, and a
    transform can have it. Only fields of partitions may be `void`, whose column may be gone, and
    none may be in a list or map.
    """
    found = _PARAMETER.fullmatch(transform)
    kind = transform if found is None else found[1]
    is_known = (found is None) != (kind in {"bucket", "truncate"})
    if not is_known or kind not in {"identity", VOID, *_BASES}:
        raise refused(f"{what}: there is no transform {transform!r:.100}")
    if found is not None and int(found[2]) > _MAX_PARAMETER:
        raise refused(f"{what}: the parameter of {transform} is too large")
    if kind == VOID and is_partition:
        return
    column = columns.by_id.get(number)
    if column is None:
        raise refused(f"{what}: the schema has no column with the id {number}")
    bases = _BASES.get(kind)
    if not column.base or column.base in _NEVER or (bases is not None and column.base not in bases):
        raise refused(
            f"{what}: the transform {transform} cannot have the column {column.name!r} of type "
            f"{column.base or 'struct, list or map'}"
        )
    if is_partition and column.is_repeated:
        raise refused(f"{what}: the column {column.name!r} is in a list or a map")
