"""The sort orders of tables: what is accepted, and which are the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from anabranch.tables.iceberg.commits.definitions.schemas import Columns
from anabranch.tables.iceberg.commits.definitions.sources import (
    check_source,
    source_id,
    with_source,
)
from anabranch.tables.iceberg.commits.forms import SORT_FIELDS, SORT_ORDER
from anabranch.tables.iceberg.commits.refusals import checked, refused

__all__ = ["FIRST_ORDER_ID", "UNSORTED", "check_order", "fresh_order", "order_identity"]

FIRST_ORDER_ID = 1
"""The id of the first order that sorts; 0 is the one that does not."""

UNSORTED: Mapping[str, Any] = {"order-id": 0, "fields": []}


def check_order(order: Mapping[str, Any], columns: Columns) -> None:
    """Raises Invalid unless a table with these columns can have a sort order."""
    for field in checked(order, SORT_ORDER, "sort order").fields:
        source = source_id(field)
        check_source("sort order", field.transform, source, columns, is_partition=False)


def fresh_order(order: Mapping[str, Any], new_ids: Mapping[int, int]) -> dict[str, Any]:
    """Returns a sort order as the first of a new table, for the new ids of the columns by the old
    ones. Raises Invalid for a column that is not there.
    """
    shape = checked(order, SORT_ORDER, "sort order")
    if not shape.fields:
        return dict(UNSORTED)
    fields = []
    for given, field in zip(order["fields"], shape.fields, strict=True):
        source = new_ids.get(source_id(field))
        if source is None:
            raise refused(f"sort order: the schema has no column with the id {source_id(field)}")
        fields.append(with_source(given, source))
    return {**order, "order-id": FIRST_ORDER_ID, "fields": fields}


def order_identity(order: Mapping[str, Any]) -> Hashable:
    """Returns what two sort orders have in common if they differ at most in their ids."""
    fields = checked(order["fields"], SORT_FIELDS, "sort order")
    return tuple(
        (source_id(field), field.transform, field.direction, field.null_order) for field in fields
    )
