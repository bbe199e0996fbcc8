"""The records of a table of the Iceberg catalog on the three sides of a merge."""

from __future__ import annotations

from anabranch.errors import Corrupt
from anabranch.model.tables.table_record import (
    RECORDS_ROOT,
    TABLE_FILE,
    TableRecord,
    table_from,
)
from anabranch.versioning.strategies.contract import ObjectVersion, PathConflict, Side
from anabranch.versioning.strategies.side_objects import refusal

__all__ = ["is_record", "read_record", "require_same_table"]

_MAX_BYTES = 1 << 20
_SIDES: tuple[Side, ...] = ("source", "destination")


def is_record(path: str) -> bool:
    """Returns whether a path is that of the record of a table."""
    return path.startswith(RECORDS_ROOT) and path.endswith(f"/{TABLE_FILE}")


def read_record(conflict: PathConflict, side: Side) -> TableRecord:
    """Returns the record on a side. Raises Conflict if there is none, or it is damaged."""
    version: ObjectVersion | None = getattr(conflict, side)
    if version is None and side == "base":
        raise refusal("both sides created the table")
    if version is None:
        raise refusal(f"the {side} deleted the table")
    with version.open() as stream:
        content = stream.read(_MAX_BYTES)
    try:
        return table_from(content, conflict.repository, conflict.path)
    except Corrupt as error:
        raise refusal(f"the {side} has a damaged record: {error.message}") from error


def require_same_table(base: TableRecord, *others: TableRecord) -> None:
    """Raises Conflict unless the source and the destination have the table of the base."""
    for side, record in zip(_SIDES, others, strict=True):
        if (record.uuid, record.area) != (base.uuid, base.area):
            raise refusal(f"the {side} created the table anew")
