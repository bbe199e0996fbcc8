"""The partition specs of tables: what is accepted, the ids of their fields, which are the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from anabranch.tables.iceberg.commits.definitions.schemas import Columns
from anabranch.tables.iceberg.commits.definitions.sources import (
    VOID,
    check_source,
    source_id,
    with_source,
)
from anabranch.tables.iceberg.commits.forms import PARTITION_FIELDS, SPEC
from anabranch.tables.iceberg.commits.refusals import checked, refused

__all__ = [
    "FIRST_FIELD_ID",
    "check_columns",
    "check_new_spec",
    "field_ids",
    "fresh_spec",
    "highest_field_id",
    "spec_identity",
    "with_field_ids",
]

FIRST_FIELD_ID = 1000
"""The id of the first field of the first spec of a table."""


def check_columns(spec: Mapping[str, Any], columns: Columns) -> None:
    """Raises Invalid unless the columns of a spec are among these, and its transforms can have
    them.
    """
    for field in checked(spec, SPEC, "partition spec").fields:
        what = f"partition field {field.name!r}"
        check_source(what, field.transform, source_id(field), columns, is_partition=True)


def check_new_spec(spec: Mapping[str, Any], columns: Columns) -> None:
    """Raises Invalid unless a table with these columns can get a spec. Columns that are added later
    may have the names of its fields.
    """
    check_columns(spec, columns)
    names: set[str] = set()
    for field in checked(spec, SPEC, "partition spec").fields:
        what = f"partition field {field.name!r}"
        source = source_id(field)
        if field.name in names:
            raise refused(f"the partition spec has the field {field.name!r} twice")
        names.add(field.name)
        same_name = columns.ids.get(field.name)
        is_own = field.transform in {"identity", VOID} and same_name == source
        if same_name is not None and not is_own:
            raise refused(f"{what}: a column of the schema has this name")


def fresh_spec(spec: Mapping[str, Any], new_ids: Mapping[int, int]) -> dict[str, Any]:
    """Returns a spec as the first of a new table, for the new ids of the columns by the old ones.
    Raises Invalid for a column that is not there.
    """
    fields = []
    shape = checked(spec, SPEC, "partition spec")
    for number, (given, field) in enumerate(zip(spec["fields"], shape.fields, strict=True)):
        source = new_ids.get(source_id(field))
        if source is None:
            raise refused(
                f"partition field {field.name!r}: the schema has no column with the id "
                f"{source_id(field)}"
            )
        fields.append(with_source(given, source) | {"field-id": FIRST_FIELD_ID + number})
    return {**spec, "spec-id": 0, "fields": fields}


def with_field_ids(
    spec: Mapping[str, Any], known: Mapping[tuple[int, str], int], last_id: int
) -> dict[str, Any]:
    """Returns a spec with an id for each field: the given one, that which is `known` of the same
    field of other specs, or the next after `last_id`. Raises Invalid for an id that is there twice.
    """
    shape = checked(spec, SPEC, "partition spec")
    last_id = max([last_id, *(field.field_id or 0 for field in shape.fields)])
    fields = []
    for given, field in zip(spec["fields"], shape.fields, strict=True):
        source = source_id(field)
        number = field.field_id
        if number is None:
            number = known.get((source, field.transform))
        if number is None:
            last_id = number = last_id + 1
        fields.append(with_source(given, source) | {"field-id": number})
    ids = [field["field-id"] for field in fields]
    if len(set(ids)) != len(ids):
        raise refused("the partition spec has a field id twice")
    return {**spec, "fields": fields}


def field_ids(specs: Iterable[Mapping[str, Any]]) -> dict[tuple[int, str], int]:
    """Returns the ids of the fields of specs, by their columns and transforms."""
    return {
        (source_id(field), field.transform): field.field_id
        for each in specs
        for field in checked(each, SPEC, "partition spec").fields
        if field.field_id is not None
    }


def spec_identity(spec: Mapping[str, Any]) -> Hashable:
    """Returns what two specs have in common if they differ at most in their ids and those of their
    fields.
    """
    fields = checked(spec["fields"], PARTITION_FIELDS, "partition spec")
    return tuple((source_id(field), field.transform, field.name) for field in fields)


def highest_field_id(specs: Sequence[Mapping[str, Any]]) -> int:
    """Returns the highest id of a field of specs, or the one before the first id."""
    ids = [field.get("field-id") or 0 for spec in specs for field in spec["fields"]]
    return max([FIRST_FIELD_ID - 1, *ids])
