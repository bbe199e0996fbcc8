"""The sort orders of tables: what is accepted, and which are the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.tables.iceberg.commits.refusals import checked, refused
from anabranch.tables.iceberg.commits.schemas import Column
from anabranch.tables.iceberg.commits.shapes import SortFieldShape, SortOrderShape
from anabranch.tables.iceberg.commits.sources import check_source, source_id, with_source

__all__ = ["FIRST_ORDER_ID", "UNSORTED", "check_order", "fresh_order", "same_order"]

FIRST_ORDER_ID = 1
"""The id of the first order that sorts; 0 is the one that does not."""

UNSORTED: Mapping[str, Any] = {"order-id": 0, "fields": []}


def check_order(order: Mapping[str, Any], columns: Mapping[int, Column]) -> None:
    """Raises Invalid unless a table with these columns can have a sort order."""
    for field in checked(order, SortOrderShape, "sort order").fields:
        source = source_id(field)
        check_source("sort order", field.transform, source, columns, is_partition=False)


def fresh_order(order: Mapping[str, Any], new_ids: Mapping[int, int]) -> dict[str, Any]:
    """Returns a sort order as the first of a new table, for the new ids of the columns by the old
    ones. Raises Invalid for a column that is not there.
    """
    shape = checked(order, SortOrderShape, "sort order")
    if not shape.fields:
        return dict(UNSORTED)
    fields = []
    for given, field in zip(order["fields"], shape.fields, strict=True):
        source = new_ids.get(source_id(field))
        if source is None:
            raise refused(f"sort order: the schema has no column with the id {source_id(field)}")
        fields.append(with_source(given, source))
    return {**order, "order-id": FIRST_ORDER_ID, "fields": fields}


def same_order(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Returns whether two sort orders differ at most in their ids."""
    return _identity(one) == _identity(other)


def _identity(order: Mapping[str, Any]) -> list[tuple[int, str, str, str]]:
    fields = checked(order["fields"], list[SortFieldShape], "sort order")
    return [
        (source_id(field), field.transform, field.direction, field.null_order) for field in fields
    ]
