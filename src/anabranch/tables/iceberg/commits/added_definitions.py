"""Schemas, partition specs and sort orders of a table, as a commit adds them.

One that the table has already is not added again: it has the id that it had. A new one has the id
after the highest, whatever id the request gives it, as in the Java library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.tables.iceberg.commits.definitions.partition_specs import (
    FIRST_FIELD_ID,
    check_new_spec,
    field_ids,
    highest_field_id,
    with_field_ids,
)
from anabranch.tables.iceberg.commits.definitions.schemas import check_schema
from anabranch.tables.iceberg.commits.definitions.sort_orders import UNSORTED, check_order
from anabranch.tables.iceberg.commits.draft import Draft
from anabranch.tables.iceberg.commits.refusals import refused

__all__ = ["add_order", "add_schema", "add_spec"]


def add_schema(draft: Draft, schema: Mapping[str, Any], last_column: int) -> None:
    """Adds a schema. `last_column` is the highest id of a column, if it is not in the schema."""
    columns = check_schema(schema, draft.version)
    known = draft.get("last-column-id")
    last_column = max([known, last_column, *columns.by_id])
    if draft.schemas.find(schema) is None:
        draft.schemas.add(schema)
    if last_column != known:
        draft.set(last_column_id=last_column)


def add_spec(draft: Draft, spec: Mapping[str, Any]) -> None:
    """Adds a partition spec, for the current schema."""
    check_new_spec(spec, draft.columns())
    if draft.specs.find(spec) is not None:
        return
    last = draft.get("last-partition-id")
    new = with_field_ids(spec, draft.partition_field_ids(), last)
    ids = [field["field-id"] for field in new["fields"]]
    if draft.version == 1 and ids != list(range(FIRST_FIELD_ID, FIRST_FIELD_ID + len(ids))):
        raise refused(f"the fields of a partition spec of version 1 have ids from {FIRST_FIELD_ID}")
    draft.specs.add(new)
    draft.partition_field_ids().update(field_ids([new]))
    draft.set(last_partition_id=max(last, highest_field_id([new])))


def add_order(draft: Draft, order: Mapping[str, Any]) -> None:
    """Adds a sort order, for the current schema."""
    check_order(order, draft.columns())
    if draft.orders.find(order) is None:
        draft.orders.add(order, None if order["fields"] else UNSORTED["order-id"])
