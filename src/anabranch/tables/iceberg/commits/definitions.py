"""Schemas, partition specs and sort orders of a table, as a commit adds and chooses them.

One that the table has already is not added again: it has the id that it had. A new one has the id
after the highest, whatever id the request gives it, as in the Java library. The id -1 is that of
the last one that the commit added.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from anabranch.tables.iceberg.commits.draft import Draft
from anabranch.tables.iceberg.commits.partition_specs import (
    FIRST_FIELD_ID,
    check_spec,
    highest_field_id,
    same_spec,
    with_field_ids,
)
from anabranch.tables.iceberg.commits.refusals import refused
from anabranch.tables.iceberg.commits.schemas import check_schema, same_schema
from anabranch.tables.iceberg.commits.sort_orders import (
    FIRST_ORDER_ID,
    UNSORTED,
    check_order,
    same_order,
)

__all__ = [
    "add_order",
    "add_schema",
    "add_spec",
    "remove_schemas",
    "remove_specs",
    "set_current_schema",
    "set_default_order",
    "set_default_spec",
]

_LAST_ADDED = -1


def add_schema(draft: Draft, schema: Mapping[str, Any], last_column: int) -> None:
    """Adds a schema. `last_column` is the highest id of a column, if it is not in the schema."""
    columns = check_schema(schema, draft.version)
    known = draft.get("last-column-id")
    last_column = max([known, last_column, *columns])
    number, is_new = _number(draft, "schemas", "schema-id", schema, same_schema, 0)
    if is_new:
        draft.append("schemas", {**schema, "schema-id": number})
    if last_column != known:
        draft.set(last_column_id=last_column)
    draft.last_schema = number


def set_current_schema(draft: Draft, number: int) -> None:
    """Chooses the schema with an id."""
    _choose(draft, ("schemas", "schema-id", "current-schema-id"), number, draft.last_schema)


def remove_schemas(draft: Draft, numbers: Collection[int]) -> None:
    """Removes schemas that are there. Raises Invalid for the current one."""
    _remove(draft, ("schemas", "schema-id", "current-schema-id"), numbers)


def add_spec(draft: Draft, spec: Mapping[str, Any]) -> None:
    """Adds a partition spec, for the current schema."""
    check_spec(spec, draft.columns())
    number, is_new = _number(draft, "partition-specs", "spec-id", spec, same_spec, 0)
    if is_new:
        last = draft.get("last-partition-id")
        new = with_field_ids(spec, draft.get("partition-specs"), last)
        ids = [field["field-id"] for field in new["fields"]]
        if draft.version == 1 and ids != list(range(FIRST_FIELD_ID, FIRST_FIELD_ID + len(ids))):
            raise refused(
                f"the fields of a partition spec of version 1 have ids from {FIRST_FIELD_ID}"
            )
        draft.append("partition-specs", {**new, "spec-id": number})
        draft.set(last_partition_id=max(last, highest_field_id([new])))
    draft.last_spec = number


def set_default_spec(draft: Draft, number: int) -> None:
    """Chooses the partition spec with an id."""
    _choose(draft, ("partition-specs", "spec-id", "default-spec-id"), number, draft.last_spec)


def remove_specs(draft: Draft, numbers: Collection[int]) -> None:
    """Removes partition specs that are there. Raises Invalid for the default one."""
    _remove(draft, ("partition-specs", "spec-id", "default-spec-id"), numbers)


def add_order(draft: Draft, order: Mapping[str, Any]) -> None:
    """Adds a sort order, for the current schema."""
    check_order(order, draft.columns())
    number, is_new = _number(draft, "sort-orders", "order-id", order, same_order, FIRST_ORDER_ID)
    if not order["fields"]:
        number = UNSORTED["order-id"]
    if is_new:
        draft.append("sort-orders", {**order, "order-id": number})
    draft.last_order = number


def set_default_order(draft: Draft, number: int) -> None:
    """Chooses the sort order with an id."""
    _choose(draft, ("sort-orders", "order-id", "default-sort-order-id"), number, draft.last_order)


def _number(
    draft: Draft,
    kind: str,
    name: str,
    given: Mapping[str, Any],
    is_same: Callable[[Mapping[str, Any], Mapping[str, Any]], bool],
    first: int,
) -> tuple[int, bool]:
    """Returns the id of a definition, and whether the table does not have it yet."""
    for each in draft.get(kind):
        if is_same(each, given):
            return each[name], False
    return max([first, *(each[name] + 1 for each in draft.get(kind))]), True


def _choose(draft: Draft, names: tuple[str, str, str], number: int, last: int | None) -> None:
    kind, name, chosen = names
    if number == _LAST_ADDED:
        if last is None:
            raise refused(f"{name} {_LAST_ADDED}: the commit adds none before it")
        number = last
    draft.by_id(kind, name, number)
    if draft.get(chosen) != number:
        draft.set(**{chosen.replace("-", "_"): number})


def _remove(draft: Draft, names: tuple[str, str, str], numbers: Collection[int]) -> None:
    kind, name, chosen = names
    if draft.get(chosen) in numbers:
        raise refused(f"{name} {draft.get(chosen)} is in use: it is the {chosen} of the table")
    kept = [each for each in draft.get(kind) if each[name] not in numbers]
    if len(kept) != len(draft.get(kind)):
        draft.set(**{kind.replace("-", "_"): kept})
