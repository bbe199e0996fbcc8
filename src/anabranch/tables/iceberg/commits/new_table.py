"""The metadata of a new table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from anabranch.converter import Converter
from anabranch.tables.iceberg.commits.definitions.partition_specs import (
    check_new_spec,
    fresh_spec,
    highest_field_id,
)
from anabranch.tables.iceberg.commits.definitions.schemas import check_schema, fresh_schema
from anabranch.tables.iceberg.commits.definitions.sort_orders import (
    UNSORTED,
    check_order,
    fresh_order,
)
from anabranch.tables.iceberg.commits.draft import Draft
from anabranch.tables.iceberg.commits.encoded_metadata import check_depth
from anabranch.tables.iceberg.commits.normal_metadata import DEFAULT_VERSION
from anabranch.tables.iceberg.commits.refusals import checked
from anabranch.tables.iceberg.commits.table_fields import (
    FORMAT_VERSION,
    assign_uuid,
    set_location,
    set_properties,
    version_number,
)

__all__ = ["new_table_metadata"]

_DEFAULTS = {"write.parquet.compression-codec": "zstd"}
"""Properties that new tables have: those that the Java library gives them."""


class _Request(msgspec.Struct, rename="kebab"):
    schema: dict[str, Any]
    partition_spec: dict[str, Any] | None = None
    write_order: dict[str, Any] | None = None
    properties: dict[str, str] | None = None


_REQUEST = Converter(_Request)


def new_table_metadata(
    create_request: Mapping[str, Any], *, location: str, uuid: str, now_ms: int
) -> dict[str, Any]:
    """Returns the metadata of the table that a request of the operation createTable describes, at
    an address, made at `now_ms`, in milliseconds since 1970. Its columns have fresh ids. Raises
    Invalid for a request that is malformed or describes no table.
    """
    check_depth(create_request, "the request")
    request = checked(create_request, _REQUEST, "the request")
    properties = request.properties or {}
    version = DEFAULT_VERSION
    if FORMAT_VERSION in properties:
        version = version_number(properties[FORMAT_VERSION])
    draft = Draft.empty(version, now_ms)
    columns = check_schema(request.schema, version)
    schema, new_ids = fresh_schema(request.schema)
    given_spec = request.partition_spec or {"fields": []}
    check_new_spec(given_spec, columns)
    spec = fresh_spec(given_spec, new_ids)
    given_order = request.write_order or UNSORTED
    check_order(given_order, columns)
    order = fresh_order(given_order, new_ids)
    draft.schemas.add(schema, schema["schema-id"])
    draft.specs.add(spec, spec["spec-id"])
    draft.orders.add(order, order["order-id"])
    for each in (draft.schemas, draft.specs, draft.orders):
        each.choose(-1)
    draft.set(
        last_column_id=max(new_ids.values(), default=0),
        last_partition_id=highest_field_id([spec]),
    )
    assign_uuid(draft, uuid)
    set_location(draft, location)
    set_properties(draft, {**_DEFAULTS, **properties})
    return draft.finish(None)
